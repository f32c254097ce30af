/**
 * The engine as hosts see it: verbs, and nothing but verbs (spec 18; api.md). Each one hands over to the room that does it.
 *
 * OFF1  Every verb that writes resolves after its commit, or says `durable: false`.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Observable } from 'rxjs';
import { isOffstageError, offstageError } from '../model/errors.ts';
import type { OffstageEvent } from '../model/events.ts';
import type { Executor, Executors, JobContext } from '../model/executor.ts';
import type { HistoryEntry, JobView, ProcessRecord } from '../model/records.ts';
import type {
  CancelManyResult,
  CancelManySelector,
  CancelOptions,
  Health,
  ListQuery,
  Retention,
  RunOptions,
  Snapshot,
  SpawnOptions,
  WaitManyEntry,
  WaitManyOptions,
  WaitOptions,
} from '../model/requests.ts';
import type { Store } from '../persistence/store.ts';
import { Admission } from './admission.ts';
import { BodyRunner } from './body-runner.ts';
import { CancelVerbs } from './cancel-verbs.ts';
import { Canceller } from './canceller.ts';
import { readOptions, readRun } from './check-options.ts';
import { type Closer, closeAll } from './closers.ts';
import { Core, type CoreHost, type RegisteredExecutor } from './core.ts';
import { type DoorHost, doorHost } from './door-host.ts';
import type { EventCallback } from './event-bus.ts';
import { type EventsOptions, readFrom } from './event-reader.ts';
import type { Execution } from './execution-registry.ts';
import type { InspectionObserver } from './inspection.ts';
import type { PrintedOptions, PrintedOutput } from './output-log.ts';
import { Plans } from './plans.ts';
import { readProcessRecords } from './process-records.ts';
import { Queries } from './queries.ts';
import type { JobsModel, PoolModel, ReadModel, SessionsModel, TasksModel } from './read-models.ts';
import type { Recovered, RecoveryReport } from './recovery.ts';
import { type PruneResult, RetentionSweep } from './retention.ts';
import { SessionRooms } from './session-rooms.ts';
import { Sessions } from './sessions.ts';
import { RETENTION_NAMES, type Settings } from './settings.ts';
import { endAllJobs, flushAll } from './shutdown.ts';
import { onAbortOf } from './signal-fan.ts';
import { checkId, invalidInput, SPAWN_NAMES } from './spawn-request.ts';
import { Waiting } from './waiting.ts';

/** What `spawn` takes for a kind: what its schema takes, or else what its body takes. */
export type InputOf<Kind> = Kind extends { readonly input: StandardSchemaV1<infer Input, infer _Output> }
  ? Input
  : Kind extends Executor<infer Input, infer _Result>
    ? Input
    : Kind extends (job: infer Job, ...rest: never[]) => unknown
      ? Job extends { readonly input: infer Input }
        ? Input
        : unknown
      : unknown;

/**
 * An open engine; made by `open`, never by hand. Its verbs are safe to call at any time and from any number of callers at once.
 * @example
 * const job = await offstage.spawn({ kind: 'command', input: { command: 'npm', args: ['test'] } });
 * const { status, error } = await offstage.wait(job.jobId, { timeoutMs: 60_000 });
 */
export class Offstage<Kinds extends Executors = Executors> implements AsyncDisposable {
  readonly #core: Core;
  readonly #sessions: Sessions;
  readonly #canceller: Canceller;
  readonly #runner: BodyRunner;
  readonly #admission: Admission;
  readonly #waiting: Waiting;
  readonly #queries: Queries;
  readonly #cancels: CancelVerbs;
  readonly #retention: RetentionSweep;
  readonly #rooms: SessionRooms;
  readonly #onClose = new Set<() => void>();
  /** What hangs on the engine and goes before its store does; may grow while the engine runs. */
  readonly #closers: readonly Closer[];
  readonly #doorClosers = new Set<Closer>();
  #closing: Promise<void> | null = null;
  /** Readers of events have been ended, and new ones end at once. */
  #hasClosed = false;

  /** What the start found of an earlier process, and did with it. */
  readonly recovery: RecoveryReport;
  /** For programs that open doors to this engine, such as `offstage/server`. */
  readonly doors: DoorHost;

  constructor(
    settings: Settings,
    store: Store,
    executors: ReadonlyMap<string, RegisteredExecutor>,
    recovered: Recovered,
    host: CoreHost & { readonly closers?: readonly Closer[]; readonly dataDir?: string | null },
  ) {
    const core = new Core(settings, store, executors, recovered, host);
    this.#core = core;
    this.recovery = recovered.report;
    this.#closers = host.closers ?? [];
    this.doors = doorHost(core, this.#doorClosers, { dataDir: host.dataDir ?? null, isClosing: () => this.#closing !== null });
    this.#sessions = new Sessions(core);
    this.#canceller = new Canceller(core, () => this.#runner);
    this.#waiting = new Waiting(core, () => this.#admission);
    this.#runner = new BodyRunner(core, {
      verbs: {
        spawnFrom: (caller, options) => this.#admission.spawn(options, caller.job),
        runFrom: (caller, options, more) => this.#runFrom(caller, options, more),
        waitFrom: (caller, jobId, options) => this.#waiting.waitFrom(caller, jobId, options),
        waitManyFrom: (caller, jobIds, options) => this.#waiting.waitManyFrom(caller, jobIds, options),
      },
      endForegroundChildren: (job) => this.#canceller.decideForegroundChildren(job),
      runEffectsOf: (changes) => this.#canceller.runEffectsOf(changes),
    });
    this.#admission = new Admission(core, {
      canceller: this.#canceller,
      sessions: this.#sessions,
      start: (job) => this.#runner.start(job),
    });
    core.onRoom = () => this.#admission.advance();
    this.#rooms = new SessionRooms(core, this.#sessions, this.#canceller);
    this.sessions = this.#rooms.sessionVerbs;
    this.tasks = this.#rooms.taskVerbs;
    this.workloads = this.#rooms.workloadVerbs;
    this.cards = this.#rooms.cardVerbs.cards;
    this.context = this.#rooms.cardVerbs.context;
    this.notices = this.#rooms.noticeVerbs;
    this.#queries = new Queries(core, { sessions: this.#sessions, views: this.#rooms.views, waiting: this.#waiting });
    this.#cancels = new CancelVerbs(core, {
      canceller: this.#canceller,
      admission: this.#admission,
      queries: this.#queries,
      sessions: this.#sessions,
    });
    this.plan = new Plans(core, {
      admission: this.#admission,
      waiting: this.#waiting,
      cancels: this.#cancels,
      queries: this.#queries,
    }).verbs;
    this.#retention = new RetentionSweep(core);
    this.#retention.start();
    this.#rooms.tellLeft(recovered.notices);
  }

  /**
   * Accepts a job. Resolves once it is durable, with the record (`queued`); never waits for the body.
   * @throws OffstageError `input.invalid`, `executor.unknown`, `session.not_found`, `job.conflict`, `job.expired`, `job.parent_cancelled`,
   *   `job.cross_task`, `limit.*`, `engine.closing`, `engine.degraded`, `store.failed`
   */
  spawn<Kind extends keyof Kinds & string>(options: SpawnOptions<Kind, InputOf<Kinds[Kind]>>): Promise<JobView> {
    return this.#admission.spawn(options as SpawnOptions, null);
  }

  /**
   * Starts a foreground job and waits for it without limit: its record when it has ended. When `signal` fires, nobody waits for it any more,
   * and it is cancelled.
   * @throws OffstageError as `spawn`; the signal's reason
   */
  async run<Kind extends keyof Kinds & string>(
    options: SpawnOptions<Kind, InputOf<Kinds[Kind]>>,
    more?: RunOptions,
  ): Promise<JobView> {
    const run = readRun(more);
    run.signal?.throwIfAborted();
    const job = await this.#admission.spawn(
      { ...readOptions('options', options as SpawnOptions, SPAWN_NAMES), wait: true },
      null,
    );
    return this.#awaitOrCancel(job, run, (rest) => this.wait(job.jobId, { timeoutMs: null, ...rest }));
  }

  /**
   * What the body of a running job was handed: for tools that act on behalf of it. Their waits count as the body's.
   * @throws OffstageError `job.not_found`, when no such job is running
   */
  contextOf(jobId: string): JobContext {
    const context = this.#core.registry.get(checkId('jobId', jobId))?.context ?? null;
    if (context === null) throw offstageError('job.not_found', { jobId });
    return context;
  }

  /** @throws OffstageError `job.not_found`, `job.expired` */
  get(jobId: string): Promise<JobView> {
    return this.#core.whileOpen(() => this.#queries.get(jobId));
  }

  /** Newest first. @throws OffstageError `input.invalid`; `job.not_found`, `job.expired` for an unknown `before` */
  list(query?: ListQuery): Promise<readonly JobView[]> {
    return this.#core.whileOpen(() => this.#queries.list(query));
  }

  /**
   * Resolves with the record at its end, or, after `timeoutMs` (30,000), with the current one and `timedOut: true`. Never rejects because
   * a job failed or was cancelled.
   * @throws OffstageError `job.not_found`, `job.expired`, `input.invalid`, `limit.waiters`, `store.failed`; the signal's reason
   */
  wait(jobId: string, options?: WaitOptions): Promise<JobView> {
    return this.#core.whileOpen(() => this.#waiting.wait(jobId, options));
  }

  /** An entry per id, in order, duplicates kept; unknown and pruned ids are marked. */
  waitMany(jobIds: readonly string[], options?: WaitManyOptions): Promise<readonly WaitManyEntry[]> {
    return this.#core.whileOpen(() => this.#waiting.waitMany(jobIds, options));
  }

  /**
   * Asks the job and all its descendants to end. Resolves with the current record once the request is durable; never waits for the body.
   * @throws OffstageError `job.not_found`, `job.expired`, `engine.closing`
   */
  cancel(jobId: string, options?: CancelOptions): Promise<JobView> {
    return this.#core.whileOpen(() => this.#cancels.cancel(jobId, options));
  }

  /** Cancels what the selector names; answers arrays of ids. */
  cancelMany(selector: CancelManySelector, options?: CancelOptions): Promise<CancelManyResult> {
    return this.#core.whileOpen(() => this.#cancels.cancelMany(selector, options));
  }

  /** Everything that happened to the job, oldest first; it answers why the job is where it is. */
  history(jobId: string): Promise<readonly HistoryEntry[]> {
    return this.#core.whileOpen(() => this.#queries.history(jobId));
  }

  /** What the job has printed; with `tail`, only its last lines. */
  output(jobId: string, options?: { readonly tail?: number }): Promise<string> {
    return this.#core.whileOpen(() => this.#queries.output(jobId, options));
  }

  /** The same with the places of its pieces: `end` and their offsets count as the `offset` of `job.output` events does. */
  printed(jobId: string, options?: PrintedOptions): Promise<PrintedOutput> {
    return this.#core.whileOpen(() => this.#queries.printed(jobId, options));
  }

  /** Record events after a cursor, then everything that happens. Leaving the loop ends it. */
  events(options?: EventsOptions): AsyncIterableIterator<OffstageEvent> & AsyncDisposable {
    const iterator = readFrom(this.#core, options, (end) => {
      if (this.#hasClosed) end();
      this.#onClose.add(end);
      return () => this.#onClose.delete(end);
    });
    return Object.assign(iterator, { [Symbol.asyncDispose]: async () => void (await iterator.return(undefined)) });
  }

  /** Live events, volatile ones included. Subscribers may throw. */
  get events$(): Observable<OffstageEvent> {
    return this.#core.bus.events$;
  }

  /** Calls back for every live event; may throw. Returns a function that ends it. */
  onEvent(callback: EventCallback): () => void {
    if (typeof callback !== 'function') throw invalidInput('callback', 'it must be a function');
    return this.#core.bus.subscribe(callback);
  }

  /** The folder that holds everything; null with a store of the host's own. */
  get dataDir(): string | null {
    return this.doors.dataDir;
  }

  /** Tells of every live actor with its owner, then of what becomes of them; may throw. Returns a function that ends it. */
  inspect(observer: InspectionObserver): () => void {
    return this.#core.inspection.attach(observer);
  }

  /** Everything at one instant, with the `seq` to follow from. */
  snapshot(): Promise<Snapshot> {
    return this.#core.whileOpen(() => this.#queries.snapshot());
  }

  health(): Health {
    return this.#queries.health();
  }

  /** Processes that were launched and are not yet verified gone. @throws OffstageError `store.failed` */
  processes(): Promise<readonly ProcessRecord[]> {
    return this.#core.whileOpen(() => readProcessRecords(this.#core.store));
  }

  /** Unfinished jobs, for screens; changes with each commit. */
  get jobsModel(): ReadModel<JobsModel> {
    return this.#core.models.jobs;
  }

  /** The pool's counters, for screens. */
  get poolModel(): ReadModel<PoolModel> {
    return this.#core.models.pool;
  }

  /** What sessions show of their activity, for screens. */
  get sessionsModel(): ReadModel<SessionsModel> {
    return this.#core.models.sessions;
  }

  /** What tasks show of their sessions' activity, for screens. */
  get tasksModel(): ReadModel<TasksModel> {
    return this.#core.models.tasks;
  }

  /** Prunes finished jobs now, by the engine's retention or by tighter limits. */
  async prune(limits?: Retention): Promise<PruneResult> {
    const given = readOptions('limits', limits, RETENTION_NAMES);
    this.#core.assertOpen();
    return this.#core.whileOpen(() => this.#retention.prune(given));
  }

  /** Many foreground jobs as one plan. */
  readonly plan: Plans['verbs'];

  /** Sessions: conversations with agents. */
  readonly sessions: SessionRooms['sessionVerbs'];
  /** Tasks: what people asked for; they own sessions. */
  readonly tasks: SessionRooms['taskVerbs'];
  /** Background work of agents, where a host tells of it itself. */
  readonly workloads: SessionRooms['workloadVerbs'];
  /** Cards: the placeholders of jobs in the conversations that asked for them. */
  readonly cards: SessionRooms['cardVerbs']['cards'];
  /** Conversations as models see them. */
  readonly context: SessionRooms['cardVerbs']['context'];
  /** Notices about ended jobs. */
  readonly notices: SessionRooms['noticeVerbs'];

  /** Ends everything within `shutdownGraceMs`, settles every waiter, closes the store. A second call joins the first. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const core = this.#core;
    const ended = endAllJobs(core, this.#runner);
    this.#admission.refuseAll(offstageError('engine.closing', {}));
    await Promise.all([ended, closeAll(core, [() => this.#rooms.close()])]);
    // What the agents' ends came to is stored too.
    await flushAll(core);
    await closeAll(core, [() => this.#retention.stop()]);
    core.loop.stop();
    core.bus.close();
    this.#rooms.abandon();
    this.#hasClosed = true;
    for (const end of this.#onClose) end();
    core.timers.clear();
    const closers = [
      ...this.#closers,
      ...this.#doorClosers,
      ...[...core.executors.values()].map((executor) => () => executor.close?.()),
    ];
    await closeAll(core, closers);
    core.closed();
    await core.store.close();
  }

  async #runFrom(caller: Execution, options: SpawnOptions, more: RunOptions): Promise<JobView> {
    more.signal?.throwIfAborted();
    const child = await this.#admission.spawn({ ...readOptions('options', options, SPAWN_NAMES), wait: true }, caller.job);
    return this.#awaitOrCancel(child, more, (rest) => this.#waiting.waitFrom(caller, child.jobId, { timeoutMs: null, ...rest }));
  }

  /** Whatever it does is nobody's but its own. */
  #tellSpawned(job: JobView, onSpawned: RunOptions['onSpawned']): void {
    const failed = (error: unknown): void => this.#core.report('run.observer_failed', error);
    try {
      Promise.resolve(onSpawned?.(job)).catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  /** The job is cancelled when its caller goes. */
  async #awaitOrCancel(
    job: JobView,
    { signal, onSpawned }: RunOptions,
    wait: (more: { readonly signal?: AbortSignal }) => Promise<JobView>,
  ): Promise<JobView> {
    const gone = (): void => this.#cancels.callerGone([job.jobId]);
    // At once, not when the wait has rejected: that needs a slot, and the child may hold the last one.
    const stopListening = signal === undefined ? null : onAbortOf(signal, gone);
    if (signal?.aborted === true) gone();
    try {
      this.#tellSpawned(job, onSpawned);
      return await wait(signal === undefined ? {} : { signal });
    } catch (error) {
      if (!isOffstageError(error, 'job.wait_cycle')) gone();
      throw error;
    } finally {
      stopListening?.();
    }
  }
}
