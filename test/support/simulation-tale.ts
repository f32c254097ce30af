/** Facts about jobs as a sound engine would leave them, for tests of checkers; whatever is to be broken is told by hand. */
import { cardEvent, changesCard, jobEvent } from '../../src/engine/job-event.ts';
import { NEW_JOB } from '../../src/machines/job.ts';
import { type Card, cardOf } from '../../src/model/cards.ts';
import type { OffstageEvent, RecordEvent, UnnumberedEvent } from '../../src/model/events.ts';
import { callerOf, type JobView } from '../../src/model/records.ts';
import { segmentOperation } from '../../src/persistence/event-log.ts';
import { isFinished, type JobBase, type JobSnapshot, type JobState, toRecord } from '../../src/persistence/job-codec.ts';
import { acceptOperations, pruneOperations, retractOperations, stateOperations } from '../../src/persistence/job-rows.ts';
import type { StoreEntry, StoreOperation } from '../../src/persistence/store.ts';
import type { Checker } from '../../src/testing/simulation/checker.ts';
import type { Caller, Fact, FactBody, FactOf, LifeSettings, RestView } from '../../src/testing/simulation/facts.ts';
import { Known } from '../../src/testing/simulation/known.ts';

const SETTINGS: LifeSettings = {
  workers: 2,
  perSessionLimit: null,
  durability: 'full',
  cancelGraceMs: 1_000,
  shutdownGraceMs: 500,
  interruptGraceMs: 1_000,
  outOfTurnIdleMs: 500,
  turnTimeoutMs: Number.POSITIVE_INFINITY,
  stallFailMs: Number.POSITIVE_INFINITY,
  display: 'attested',
  admission: 'attested',
  notices: true,
};

type Context = JobSnapshot['context'];
type Write = Partial<Pick<FactOf<'wrote'>, 'outcome' | 'sync'>> & { readonly isTold?: boolean };

interface Told {
  base: JobBase;
  snapshot: JobSnapshot;
  revision: number;
}

/** What the chart adds when a job gets there. */
function contextOf(before: Context, state: JobState, at: number): Partial<Context> {
  const never = before.startedAt === null;
  switch (state) {
    case 'pending':
      return {};
    case 'queued':
      return { queuedAt: at };
    case 'active':
      return { startedAt: at };
    case 'ending':
      return { cause: 'cancel', cancelRequestedAt: at, cancelCode: 'cancel.user' };
    case 'completed':
      return { completedAt: at, reasonCode: 'completed', resultText: 'done' };
    case 'cancelled':
      return {
        completedAt: at,
        cancelRequestedAt: never ? at : (before.cancelRequestedAt ?? at),
        reasonCode: 'cancel.user',
        error: { code: 'job.cancelled', message: 'cancelled' },
      };
    case 'errored':
      return { completedAt: at, reasonCode: 'failed', error: { code: 'job.failed', message: 'Error: no' } };
  }
}

/** What a crash makes of what it found unfinished. */
export const ABANDONED: Partial<Context> = {
  reasonCode: 'abandoned.crash',
  error: { code: 'job.abandoned', message: 'worker died before completion' },
};
export const FORCED: Partial<Context> = { reasonCode: 'cancel.timed_out', detached: true };

export class Tale {
  readonly facts: Fact[] = [];
  /** Milliseconds. */
  at = 0;
  readonly #jobs = new Map<string, Told>();
  readonly #rows = new Map<string, string>();
  readonly #log: RecordEvent[] = [];
  readonly #live = new Map<number, string>();
  #told = 0;
  #life = 1;
  #calls = 0;
  #runs = 0;
  #ordinals = 0;

  constructor(settings: Partial<LifeSettings> = {}) {
    this.opened(settings);
  }

  get seq(): number {
    return this.#log.length;
  }

  note(...bodies: readonly FactBody[]): this {
    for (const body of bodies) this.facts.push({ step: this.facts.length, at: this.at, life: this.#life, ...body });
    return this;
  }

  opened(settings: Partial<LifeSettings> = {}): this {
    return this.note({ type: 'opened', settings: { ...SETTINGS, ...settings }, epoch: `epoch ${this.#life}`, seq: this.seq });
  }

  pass(ms: number): this {
    this.at += ms;
    return this;
  }

  /** Stores these states of jobs in one batch, and tells of it. */
  write(states: readonly (readonly [jobId: string, state: JobState, context?: Partial<Context>])[], how: Write = {}): this {
    const operations: StoreOperation[] = [];
    const events: UnnumberedEvent[] = [];
    for (const [jobId, state, more] of states) {
      const job = this.#jobs.get(jobId) as Told;
      const before = job.revision === 0 ? null : job.snapshot;
      const context = { ...job.snapshot.context, ...contextOf(job.snapshot.context, state, this.at), ...more };
      const after: JobSnapshot = { ...job.snapshot, state, context };
      job.revision += 1;
      if (before === null) {
        operations.push(...acceptOperations(job.base));
        events.push(jobEvent('job.created', job.base, after, job.revision));
      }
      if (state !== 'pending') events.push(jobEvent('job.status', job.base, after, job.revision));
      if (changesCard(before, after)) events.push(cardEvent(job.base, after));
      operations.push(...stateOperations(job.base, after, job.revision));
      job.snapshot = after;
    }
    const firstSeq = this.seq + 1;
    operations.push(segmentOperation(firstSeq, events));
    for (const [index, event] of events.entries()) this.#log.push({ ...event, seq: firstSeq + index, epoch: '' } as RecordEvent);
    return this.rows(operations, how);
  }

  rows(operations: readonly StoreOperation[], { outcome = 'written', sync = true, isTold = true }: Write = {}): this {
    for (const operation of operations) {
      if (operation.type === 'put') this.#rows.set(operation.key, operation.value);
      else this.#rows.delete(operation.key);
    }
    this.note({ type: 'wrote', operations, sync, outcome });
    return isTold && outcome === 'written' ? this.tell() : this;
  }

  /** Tells observer 0 what it has not been told. */
  tell(): this {
    for (const event of this.#log.slice(this.#told)) this.told(event);
    this.#told = this.seq;
    return this;
  }

  told(event: object, observer = 0): this {
    return this.note({ type: 'told', observer, event: { ...event, ...this.#epoch } as OffstageEvent });
  }

  get #epoch(): { readonly epoch: string } {
    return { epoch: `epoch ${this.#life}` };
  }

  /** A stored event, counted from 1; with a minus, from the end. */
  event(place: number): RecordEvent {
    return { ...(this.#log.at(place > 0 ? place - 1 : place) as RecordEvent), ...this.#epoch };
  }

  /** Makes a job that nobody has stored yet. */
  job(jobId: string, more: Partial<JobBase> = {}): this {
    const base: JobBase = {
      ...{ ordinal: ++this.#ordinals, jobId, kind: 'plain', subject: jobId, description: '', agentId: null, input: null },
      ...{ createdAt: this.at, sessionId: 'default', callerSessionId: null, taskId: 'default', parentJobId: null },
      ...{ parentMessageId: null, contextMode: 'inherit', wait: false, timeoutMs: null, idleTimeoutMs: null },
      ...{ notifies: false, depth: 0, isLarge: false, ...more },
    };
    this.#jobs.set(jobId, {
      base,
      snapshot: { state: 'pending', context: NEW_JOB, lastActivityAt: null, notes: [] },
      revision: 0,
    });
    return this;
  }

  base(jobId: string): JobBase {
    return (this.#jobs.get(jobId) as Told).base;
  }

  view(jobId: string): JobView {
    const { base, snapshot, revision } = this.#jobs.get(jobId) as Told;
    const bodyLive = [...this.#live.values()].includes(jobId);
    return { ...toRecord(base, snapshot, revision), bodyLive, progress: null, partialText: null };
  }

  /** Asked, stored, told and answered. */
  spawn(jobId: string, more: Partial<JobBase> = {}): this {
    const call = this.ask('spawn', [{ kind: 'plain' }]);
    return this.job(jobId, more)
      .write([[jobId, 'queued']])
      .answer(call, this.view(jobId));
  }

  /** Its body is called, and its start stored. */
  start(jobId: string): this {
    return this.call(jobId).write([[jobId, 'active']], { sync: false });
  }

  call(jobId: string): this {
    const { kind, sessionId, wait } = this.base(jobId);
    this.#live.set(++this.#runs, jobId);
    return this.note({ type: 'body.called', run: this.#runs, jobId, kind, sessionId, isWaited: wait, isObedient: true });
  }

  run(jobId: string): number {
    return [...this.#live].find(([, one]) => one === jobId)?.[0] ?? 0;
  }

  settle(jobId: string): this {
    const run = this.run(jobId);
    this.#live.delete(run);
    return this.note({ type: 'body.settled', run, jobId, how: 'returned' });
  }

  end(jobId: string, state: JobState = 'completed', more: Partial<Context> = {}): this {
    return this.settle(jobId).write([[jobId, state, more]]);
  }

  /** A running one is told to end. */
  cancel(jobId: string): this {
    const call = this.ask('cancel', [jobId]);
    return this.write([[jobId, 'ending']])
      .signal(jobId)
      .answer(call, this.view(jobId));
  }

  signal(jobId: string, code = 'job.cancelled'): this {
    return this.note({ type: 'body.told', run: this.run(jobId), jobId, code });
  }

  ask(verb: string, args: readonly unknown[], by: Caller = { who: 'person' }): number {
    this.#calls += 1;
    this.note({ type: 'asked', call: this.#calls, by, verb, args });
    return this.#calls;
  }

  answer(call: number, value: unknown): this {
    return this.note({ type: 'answered', call, verb: this.#verbOf(call), value });
  }

  refuse(call: number, code: string): this {
    return this.note({ type: 'refused', call, verb: this.#verbOf(call), code, message: code });
  }

  #verbOf(call: number): string {
    const asked = this.facts.find((fact) => fact.type === 'asked' && fact.call === call) as FactOf<'asked'> | undefined;
    return asked?.verb ?? 'get';
  }

  /** A body waits inside the engine. */
  wait(jobId: string, target: string): number {
    const call = this.ask('wait', [target], { who: 'body', jobId });
    this.note({ type: 'body.waits', run: this.run(jobId), jobId, call });
    return call;
  }

  /** The call is settled, and the body has its slot again. */
  goOn(jobId: string, call: number): this {
    return this.note({ type: 'body.goes-on', run: this.run(jobId), jobId, call });
  }

  /** Time passes, and nothing that is due happens. */
  stand(ms: number): this {
    return this.pass(ms).note({ type: 'stood-still', ms });
  }

  prune(jobId: string, more: readonly StoreOperation[] = []): this {
    const { base } = this.#jobs.get(jobId) as Told;
    this.#jobs.delete(jobId);
    return this.rows([...pruneOperations(base, this.at), ...more]);
  }

  /** Takes the rows of a refused acceptance back. */
  retract(jobId: string, events: readonly StoreOperation[] = []): this {
    const { base } = this.#jobs.get(jobId) as Told;
    this.#jobs.delete(jobId);
    // Nobody was told of it, and its numbers are given again.
    while (this.#log.length > this.#told && (this.#log.at(-1) as { readonly jobId?: string }).jobId === jobId) this.#log.pop();
    return this.rows([...events, ...retractOperations(base)]);
  }

  /** What this crash leaves: everything, or what is given. */
  crash(kind: 'process' | 'power' = 'process', left: readonly StoreEntry[] = this.left()): this {
    this.note({ type: 'crashed', kind, left, taken: 0 });
    this.#life += 1;
    this.#live.clear();
    this.#told = this.seq;
    return this;
  }

  left(): readonly StoreEntry[] {
    return [...this.#rows].map(([key, value]) => ({ key, value }));
  }

  /** The next start, with all that it found unfinished. */
  recover(settings: Partial<LifeSettings> = {}): this {
    const unfinished = [...this.#jobs.values()].filter(({ snapshot }) => !isFinished(snapshot.state));
    if (unfinished.length > 0)
      this.write(
        unfinished.map(({ base }) => [base.jobId, 'errored', ABANDONED] as const),
        { isTold: false },
      );
    this.#told = this.seq;
    return this.opened(settings);
  }

  look(): RestView {
    const jobs = [...this.#jobs.keys()].map((jobId) => this.view(jobId));
    const cards = new Map<string, Card[]>();
    for (const job of jobs.toReversed()) cards.set(callerOf(job), [...(cards.get(callerOf(job)) ?? []), cardOf(job)]);
    const live = [...this.#live.values()].map((jobId) => this.#jobs.get(jobId)?.snapshot.state ?? 'errored');
    const detached = live.filter((state) => isFinished(state)).length;
    const queued = jobs.filter(({ status }) => status === 'queued').length;
    const settings = this.facts.findLast((fact) => fact.type === 'opened')?.settings ?? SETTINGS;
    return {
      ...{ jobs, jobsOf: new Map(), cards, sessions: [], tasks: [], workloads: new Map(), tickets: new Map() },
      health: {
        status: 'ok',
        pool: { workers: settings.workers, running: live.length - detached, waiting: 0, queued, detached },
        agents: { live: 0, ending: 0, detached: 0 },
        store: { durability: settings.durability, pendingWrites: 0, lastError: null },
      },
      ...{ seq: this.seq, log: this.#log.map((event) => ({ ...event, ...this.#epoch })), logAfter: 0 },
      ...{ canStore: true, isLast: false },
    };
  }

  rest(more: Partial<RestView> = {}): this {
    return this.note({ type: 'rested', view: { ...this.look(), ...more } });
  }

  /** The last rest: everything that was there has ended. */
  last(more: Partial<RestView> = {}): this {
    return this.rest({ isLast: true, ...more });
  }
}

/** Judges a tale by one checker: for `expect(…).toThrow`. */
export const judging =
  (checker: Checker) =>
  ({ facts }: Tale) =>
  (): void => {
    const known = new Known();
    const check = checker.begin();
    for (const fact of facts) {
      known.learn(fact);
      check(fact, known);
    }
  };

/** A tale by name, told when it is needed. */
export type Tales = readonly (readonly [name: string, tell: () => Tale])[];
