/**
 * What all rooms of one engine share: the live jobs, the step from an event to a change, and the machinery that stores and reveals it.
 *
 * COR1  Every state of a job comes from its chart, through `step`.
 * COR2  Times within one job never go back, whatever the wall clock does.
 * COR3  A live job is found from the moment it is decided; outsiders are shown it from the moment it is committed.
 */
import { decide, startJobActor } from '../actors/job-actor.ts';
import { type ActorSystem, startActorSystem } from '../actors/supervisor-actor.ts';
import { TimerService } from '../actors/timer-service.ts';
import type { JobEvent } from '../machines/job.ts';
import { offstageError } from '../model/errors.ts';
import type { Executor, ExecutorCapabilities } from '../model/executor.ts';
import type { HistoryEntry, ProcessRecord } from '../model/records.ts';
import { isFinished, type JobSnapshot, type JobState } from '../persistence/job-codec.ts';
import { JobRows } from '../persistence/job-rows.ts';
import type { Store, StoreOperation } from '../persistence/store.ts';
import { CommitLoop } from './commit-loop.ts';
import { EventBus } from './event-bus.ts';
import { ExecutionRegistry } from './execution-registry.ts';
import { Inspection } from './inspection.ts';
import { KeptCards } from './kept-cards.ts';
import { Lineage } from './lineage.ts';
import { type LiveJob, viewOf } from './live-job.ts';
import { Liveness } from './liveness.ts';
import { OpenCalls } from './open-calls.ts';
import { errorMessage } from './outcome.ts';
import type { PausePoints } from './pause-points.ts';
import { Pool } from './pool.ts';
import { type PoolModel, ReadModels } from './read-models.ts';
import type { ProcessReaper } from './recovery.ts';
import type { Settings } from './settings.ts';
import { StopEpochs } from './stop-epochs.ts';
import type { Change, CommitHook, Transaction } from './transaction.ts';
import { Waiters } from './waiters.ts';

/** An executor with everything filled in. */
export type RegisteredExecutor = Executor & { readonly capabilities: ExecutorCapabilities };

export interface CoreStart {
  readonly seq: number;
  readonly ordinal: number;
  /** Records of processes that an earlier engine has left, and that are not proven to be gone. */
  readonly leftovers?: readonly ProcessRecord[];
}

export interface CoreHost {
  /** What becomes of a process of an earlier engine. */
  readonly reap: ProcessReaper;
  readonly hooks?: readonly CommitHook[];
  readonly points?: PausePoints | null;
}

export class Core {
  readonly settings: Settings;
  readonly store: Store;
  readonly rows: JobRows;
  readonly executors: ReadonlyMap<string, RegisteredExecutor>;
  readonly epoch: string;
  readonly jobs = new Map<string, LiveJob>();
  readonly timers: TimerService;
  readonly bus: EventBus;
  readonly waiters: Waiters;
  readonly registry = new ExecutionRegistry();
  readonly lineage = new Lineage();
  readonly epochs = new StopEpochs();
  readonly keptCards: KeptCards;
  readonly pool: Pool;
  readonly system: ActorSystem;
  readonly loop: CommitLoop;
  readonly models: ReadModels;
  readonly liveness: Liveness;
  readonly inspection: Inspection;
  readonly points: PausePoints | null;
  /** By execution id: what an earlier engine has left, and nobody has proven to be gone. */
  readonly leftovers: Map<string, ProcessRecord>;
  readonly reap: ProcessReaper;
  readonly #calls = new OpenCalls();
  /** Set by the room that tells callers of ended jobs. */
  onJobsCommitted: (changes: readonly Change[]) => void = () => {};
  /** Set by the room that admits jobs: there is room for more. */
  onRoom: () => void = () => {};
  /** Accepted and not started. */
  queuedCount = 0;
  /** Events that a chart refused; counted, never acted upon. */
  rejectedEvents = 0;

  constructor(
    settings: Settings,
    store: Store,
    executors: ReadonlyMap<string, RegisteredExecutor>,
    start: CoreStart,
    host: CoreHost,
  ) {
    const { hooks = [], points = null } = host;
    this.reap = host.reap;
    this.leftovers = new Map(start.leftovers?.map((record) => [record.executionId, record]));
    this.settings = settings;
    this.store = store;
    this.keptCards = new KeptCards(store);
    this.executors = executors;
    this.rows = new JobRows(store, settings.log, (jobId) => this.jobs.get(jobId)?.committed === null);
    this.epoch = settings.ids.id('epoch');
    this.timers = new TimerService(settings.clock, (error) => this.report('timer.failed', error));
    this.bus = new EventBus(settings.log);
    this.waiters = new Waiters(this.timers);
    this.pool = new Pool(settings);
    this.models = new ReadModels((error) => this.report('read_model.observer_failed', error));
    this.system = startActorSystem({
      workers: settings.workers,
      perSessionLimit: settings.perSessionLimit,
      inspect: settings.inspect,
      onInspectError: (error) => this.report('inspector.failed', error),
    });
    this.points = points;
    this.liveness = new Liveness(this, points);
    this.inspection = new Inspection(this);
    this.loop = new CommitLoop(
      {
        store,
        clock: settings.clock,
        timers: this.timers,
        epoch: this.epoch,
        isSynced: settings.durability === 'full',
        keepsHistory: settings.keepsHistory,
        hooks,
        hasObservers: () => this.bus.hasObservers,
        publish: (event) => this.bus.publish(this.liveness.decorate(event)),
        committed: (changes, seq) => {
          this.liveness.jobsCommitted(changes);
          this.onJobsCommitted(changes);
          this.models.committed(changes, seq, this);
        },
        published: () => this.liveness.settle(),
        ended: (change, durable) => this.#ended(change, durable),
        dropped: (job) => this.#dropped(job),
        roomForCreations: () => this.onRoom(),
        mayBeStored: (job) => this.rows.hide(job.base.ordinal),
        storeFailed: (error) => {
          this.system.tell({ type: 'store.failed', message: String((error as Error).message) });
          this.report('store.failed', error);
        },
        storeRecovered: () => {
          this.system.tell({ type: 'store.recovered' });
          settings.log('info', 'store.recovered', {});
        },
        effectFailed: (error) => this.report('effect.failed', error),
      },
      { ...start, lowWater: () => this.#lowWater() },
    );
  }

  get isClosing(): boolean {
    return this.system.supervisor.getSnapshot().hasTag('closing');
  }

  /** Nothing is read or written any more. */
  get isClosed(): boolean {
    return this.system.supervisor.getSnapshot().value === 'closed';
  }

  /** For every verb that reads: once the engine has closed, it answers so, also to what is under way. @throws OffstageError `engine.closing` */
  whileOpen<T>(verb: () => Promise<T>): Promise<T> {
    return this.isClosed ? Promise.reject(offstageError('engine.closing', {})) : this.#calls.answer(verb);
  }

  /** Nothing is read or written any more, and nobody is left waiting: the store is closed next. */
  closed(): void {
    this.system.tell({ type: 'engine.closed' });
    this.system.stop();
    this.#calls.refuseAll(offstageError('engine.closing', {}));
  }

  /** @throws OffstageError `engine.closing` */
  assertOpen(): void {
    if (this.isClosing) throw offstageError('engine.closing', {});
  }

  /** @throws OffstageError `engine.closing`, `engine.degraded` */
  assertAccepting(): void {
    const snapshot = this.system.supervisor.getSnapshot();
    if (snapshot.hasTag('accepts-work')) return;
    throw snapshot.hasTag('closing') ? offstageError('engine.closing', {}) : offstageError('engine.degraded', {});
  }

  report(event: string, error: unknown): void {
    this.settings.log('error', event, { error: errorMessage(error) });
  }

  /** Now, but not before anything that has happened to the job. */
  stamp(job: LiveJob): number {
    const { context } = job.decided;
    return Math.max(
      this.settings.clock.now(),
      context.completedAt ?? 0,
      context.cancelRequestedAt ?? 0,
      context.startedAt ?? 0,
      context.queuedAt ?? 0,
      job.base.createdAt,
    );
  }

  /** Sends the event to the job's chart. Null when the chart refuses it. */
  step(job: LiveJob, event: JobEvent, note?: HistoryEntry): Change | null {
    const before = job.decided;
    if (isFinished(before.state)) {
      this.rejectedEvents += 1;
      return null;
    }
    if (job.actor === null) {
      job.actor = startJobActor(this.system.jobs, before.state === 'pending' ? 'pending' : 'queued', before.context);
      if (this.inspection.isOn) this.inspection.jobStarted(job, job.actor);
    }
    const context = decide(job.actor, event);
    if (context === null) {
      this.rejectedEvents += 1;
      return null;
    }
    const value = job.actor.getSnapshot().value;
    const state = (typeof value === 'string' ? value : value.running) as JobState;
    const isEnd = isFinished(state);
    const after: JobSnapshot = {
      state,
      context,
      lastActivityAt: job.execution === null ? before.lastActivityAt : (job.execution.lastActivityAt ?? context.startedAt),
      notes: note === undefined ? before.notes : [...before.notes, note],
    };
    job.decided = after;
    job.decidedRevision += 1;
    if (before.state === 'queued' || before.state === 'pending') this.queuedCount -= 1;
    if (isEnd) job.actor = null;
    const change: Change = { job, before, after, announce: ANNOUNCE_STATUS };
    const intent = state === 'ending' ? job.execution?.intentToEnd(event.at) : undefined;
    return intent === undefined ? change : { ...change, rows: [intent] };
  }

  /** A line of history that changes no field of the record. */
  note(job: LiveJob, ...entries: readonly HistoryEntry[]): Change {
    const before = job.decided;
    const after: JobSnapshot = { ...before, notes: [...before.notes, ...entries] };
    job.decided = after;
    if (!isFinished(before.state)) job.decidedRevision += 1;
    return { job, before, after, announce: [] };
  }

  submit(transaction: Transaction): void {
    this.loop.submit(transaction);
  }

  /** Stores rows that belong to no job's change; resolves once that has worked, or says that it did not. */
  storeRows(rows: readonly StoreOperation[], more: Partial<Transaction> = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      this.submit({ changes: [], rows, mustSync: true, isCreation: true, acknowledge: () => resolve(), refuse: reject, ...more });
    });
  }

  /** The live job as outsiders may see it, or undefined. */
  committedJob(jobId: string): LiveJob | undefined {
    const job = this.jobs.get(jobId);
    return job === undefined || job.committed === null ? undefined : job;
  }

  /** Agents that were told to end and are not seen to, more or fewer by one. */
  countDetachedAgents(by: 1 | -1): void {
    this.system.tell({ type: by === 1 ? 'agent.detached' : 'agent.reclaimed' });
  }

  #ended(change: Change, durable: boolean): void {
    const { job } = change;
    if (durable) {
      job.actedEnd = null;
      this.waiters.settleAll(job);
      this.lineage.end(job.base.jobId);
      this.forget(job);
      return;
    }
    job.actedEnd ??= { ...viewOf(job, change.after, job.decidedRevision), durable: false };
    this.waiters.settleAll(job);
  }

  /** Forgets a job whose end is stored and whose body has settled. */
  forget(job: LiveJob): void {
    if (job.committed === null || !isFinished(job.committed.state)) return;
    if (job.execution !== null && !job.execution.hasSettled) return;
    // A note about the late end of a detached body is still on its way to the store.
    if (job.committed !== job.decided) return;
    if (this.jobs.get(job.base.jobId) === job) this.jobs.delete(job.base.jobId);
  }

  #dropped(job: LiveJob): void {
    if (!isFinished(job.decided.state)) this.queuedCount -= 1;
    this.pool.release(job.place);
    this.waiters.refuseAll(job);
    if (this.jobs.get(job.base.jobId) === job) this.jobs.delete(job.base.jobId);
    this.lineage.end(job.base.jobId);
  }

  #lowWater(): number {
    // Insertion order is creation order, so the first live job is the oldest.
    for (const job of this.jobs.values()) return job.base.ordinal;
    return this.loop.lastOrdinal;
  }

  poolCounters(): PoolModel {
    const { detached } = this.system.supervisor.getSnapshot().context;
    return {
      workers: this.settings.workers,
      running: this.pool.taken - this.pool.stuck,
      waiting: this.pool.waiting,
      queued: this.queuedCount,
      detached,
    };
  }
}

const ANNOUNCE_STATUS = ['job.status'] as const;
