/**
 * Two tasks whose sessions are in all the states there are, with jobs at work, on an engine whose every turn, read and write waits for the
 * scheduler as soon as the scene is set.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import fc from 'fast-check';
import { idSource } from '../../src/actors/id-source.ts';
import type { PausePoints } from '../../src/engine/pause-points.ts';
import type { IdSource } from '../../src/model/clock.ts';
import type { SessionRow, SessionState } from '../../src/model/records.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import type { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { type TestEngine, testEngine } from '../../test/support/test-engine.ts';
import { ActivityWitness } from './activity-witness.ts';
import { scheduledClock, scheduledStore } from './scheduled.ts';
import { codeOf } from './session-scene.ts';
import { cue, type Lives, type Plan, StopAgents } from './stop-agents.ts';
import { KINDS, type Kind, StopBodies, type Wanted } from './stop-bodies.ts';
import { StopLedger, type StopNote } from './stop-ledger.ts';
import { type Faults, faultyStore, sessionRow, storeRows } from './stop-store.ts';
import type { Ticks } from './ticks.ts';

export const CANCEL_GRACE_MS = 5_000;
/** Longer than everything that happens once the scene is set. */
const STALL_FAIL_MS = 3_600_000;

const was = fc.constantFrom(
  'created' as const,
  'idle' as const,
  'completed' as const,
  'failed' as const,
  'cancelled' as const,
  'waiting' as const,
  'background' as const,
  'running' as const,
  'running' as const,
  'busy' as const,
  'starting' as const,
  /** Idle, and its last agent does not close. */
  'leaving' as const,
  /** Failed, and its agent does not close. */
  'stalled' as const,
);
export type Was = typeof was extends fc.Arbitrary<infer One> ? One : never;

const badClose = fc.constantFrom('fails once' as const, 'fails' as const, 'hangs' as const, 'slow' as const);
const goodClose = fc.constantFrom(
  'at once' as const,
  'slow' as const,
  'fails once' as const,
  'throws once' as const,
  'hangs' as const,
);
const before = fc.record({ was, goodClose, badClose });
type Before = typeof before extends fc.Arbitrary<infer One> ? One : never;
const early = fc.record({ session: fc.nat(5), caller: fc.option(fc.nat(5), { freq: 2 }), kind: fc.constantFrom(...KINDS) });

export const scenes = fc.record({
  stopped: fc.array(before, { minLength: 2, maxLength: 4 }),
  others: fc.array(before, { minLength: 1, maxLength: 2 }),
  jobs: fc.array(early, { maxLength: 4 }),
  /** Reads that fail once the scene is set, by their number. */
  failing: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.array(fc.nat(60), { maxLength: 3 }) }),
  /** Reads of everybody else that are answered only when a stop has decided, by their number. */
  held: fc.array(fc.nat(10), { maxLength: 3 }),
  /** Writes that are refused, by their number. */
  refused: fc.oneof({ weight: 5, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.array(fc.nat(15), { maxLength: 2 }) }),
});
export type Scene = typeof scenes extends fc.Arbitrary<infer One> ? One : never;

/** These need no agent: their rows lie in the store, and nobody has read them yet. */
const STORED: Partial<Record<Was, SessionState>> = {
  created: 'created',
  idle: 'idle',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

const TURNS: Partial<Record<Was, Plan['turn']>> = {
  waiting: ['accept', 'return'],
  background: ['accept', 'launch', 'return'],
  running: ['accept'],
  busy: ['accept', 'launch'],
  starting: ['accept'],
  leaving: ['accept', 'return'],
  stalled: ['accept'],
};

export const STOPPED = 't';
export const OTHER = 'u';
export const taskOf = (sessionId: string): string => sessionId.slice(0, 1);

/** Which stop comes to a point. One for all scenes, and switched off between them: each that is on costs something with every promise. */
const ASKING = new AsyncLocalStorage<StopNote>();

export class StopScene {
  readonly ticks: Ticks;
  readonly ledger: StopLedger;
  readonly agents: StopAgents;
  readonly bodies: StopBodies;
  readonly witness = new ActivityWitness();
  readonly sessionIds: readonly string[];
  readonly #given: Scene;
  #passing: Promise<void> = Promise.resolve();
  readonly #faults: Faults;
  /** Reads that were held go on. */
  readonly readOn = cue();
  engine!: TestEngine;

  constructor(ticks: Ticks, given: Scene, lives: Lives) {
    this.ticks = ticks;
    this.#given = given;
    this.ledger = new StopLedger(ticks, taskOf);
    this.agents = new StopAgents(this.ledger, lives);
    this.bodies = new StopBodies(this.ledger);
    const { failing, held, refused } = given;
    this.#faults = {
      isOn: false,
      failing,
      held,
      refused,
      onRefusal: () => {
        this.ledger.isDegraded = true;
      },
      isHeld: () => ASKING.getStore() === undefined,
      until: this.readOn.given,
    };
    const named = (all: readonly Before[], task: string): string[] => all.map((_, index) => `${task}${index}`);
    this.sessionIds = [...named(given.stopped, STOPPED), ...named(given.others, OTHER)];
  }

  sessionAt(index: number): string {
    return this.sessionIds[index % this.sessionIds.length] as string;
  }

  /** Until it begins nothing is scheduled. */
  async set(): Promise<void> {
    const { ticks, agents, ledger } = this;
    const inner = memoryStore();
    await storeRows(inner, this.#rows());
    const clock = scheduledClock(ticks.hop);
    this.engine = await testEngine({
      store: scheduledStore(faultyStore(inner, this.#faults), ticks.hop),
      clock,
      ids: this.#ids(),
      workers: 3,
      cancelGraceMs: CANCEL_GRACE_MS,
      stallFailMs: STALL_FAIL_MS,
      executors: this.bodies.executors,
      agents: { default: agents.factory },
      points: this.#points(),
    });
    const { offstage } = this.engine;
    offstage.onEvent(ledger.observe);
    offstage.onEvent(this.witness.observe);
    const all = this.sessionIds.map((sessionId, index): [string, Before] => {
      const { stopped, others } = this.#given;
      return [sessionId, (stopped[index] ?? others[index - stopped.length]) as Before];
    });
    // Those that have to fail first: the time that this takes is nobody else's.
    for (const [sessionId, given] of all) if (given.was === 'stalled') await this.#ask(sessionId, given, clock);
    if (all.some(([, given]) => given.was === 'stalled')) await clock.advance(STALL_FAIL_MS);
    for (const [sessionId, given] of all)
      if (given.was !== 'stalled' && !(given.was in STORED)) await this.#ask(sessionId, given, clock);
    for (const [sessionId, given] of all) if (given.was === 'leaving') agents.unload(sessionId);
    await clock.settle();
    for (const { session, caller, kind } of this.#given.jobs) {
      const callerId = caller === null ? null : this.sessionAt(caller);
      this.spawn({ kind: kind as Kind, host: this.sessionAt(session), caller: callerId, wait: false, isNamed: false });
    }
    await clock.settle();
  }

  /** From now on one thing happens after the other. */
  begin(): void {
    this.ticks.isFree = false;
    this.#faults.isOn = true;
    this.agents.begin.give();
  }

  /** Whatever hung goes on, and what failed does so no more. */
  letGo(): void {
    this.#faults.isOn = false;
    this.readOn.give();
    this.agents.letGo.give();
    this.bodies.letGo.give();
  }

  async close(): Promise<void> {
    const { ledger, ticks, engine } = this;
    ledger.closedAt = ledger.now;
    await ticks.pump(engine[Symbol.asyncDispose]());
    ASKING.disable();
  }

  ask(sessionId: string, origin: 'human' | 'synthetic', whenBusy: 'reject' | 'queue'): void {
    const { sessions } = this.engine.offstage;
    const note = this.ledger.asked(sessionId);
    const { promptId } = note;
    sessions.prompt(sessionId, { content: promptId, promptId, origin, whenBusy }).then(
      (answer) => {
        note.answer = 'accepted' in answer ? 'accepted' : 'queued';
      },
      (error) => {
        note.answer = { refused: codeOf(error) };
      },
    );
  }

  spawn(wanted: Wanted): void {
    const { offstage } = this.engine;
    void this.bodies.spawn(wanted, { spawn: (options) => offstage.spawn(options as never), parent: null });
  }

  /** Answers as `tasks.stop` and `sessions.stop` do. */
  stop(note: StopNote, isForced: boolean) {
    const { sessions, tasks } = this.engine.offstage;
    const options = { reason: 'enough', force: isForced };
    return ASKING.run(note, () =>
      note.sessionId === null ? tasks.stop(note.taskId, options) : sessions.stop(note.sessionId, options),
    );
  }

  /** Time goes on for everybody, one after the other. */
  pass(ms: number): Promise<void> {
    this.#passing = this.#passing.then(() => this.engine.clock.advance(ms));
    return this.#passing;
  }

  async #ask(sessionId: string, { was: state, goodClose: good, badClose: bad }: Before, clock: VirtualClock): Promise<void> {
    this.agents.plan(sessionId, {
      start: state === 'starting' ? 'held' : 'at once',
      turn: TURNS[state] ?? [],
      close: state === 'leaving' || state === 'stalled' ? bad : good,
    });
    this.ask(sessionId, 'human', 'reject');
    await clock.settle();
  }

  #rows(): readonly SessionRow[] {
    const { stopped, others } = this.#given;
    const all = [...stopped, ...others];
    return this.sessionIds.map((sessionId, index) =>
      sessionRow(sessionId, STORED[all[index]?.was ?? 'created'] ?? 'created', index),
    );
  }

  #ids(): IdSource {
    let count = 0;
    return {
      jobId: idSource.jobId,
      id: (prefix) => {
        const id = `${prefix}_${count++}`;
        if (prefix === 'exec') this.ledger.launched(id);
        return id;
      },
    };
  }

  /** Every stop waits at each point; in the tick in which it passes the lock it decides. */
  #points(): PausePoints {
    return {
      isPaused: (point, resume) => {
        if (this.ticks.isFree || point === 'publish') return false;
        const stop = ASKING.getStore();
        void this.ticks.hop(point).then(() => {
          if (point === 'snapshot') stop?.onRead();
          else if (point === 'lock' && stop !== undefined) this.ledger.decided(stop);
          resume();
        });
        return true;
      },
    };
  }
}
