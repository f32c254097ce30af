/**
 * G5, G7, COM5: writes that fail before or after they are done, and crashes that take the unsynced tail with them. First every single
 * write of one scene, then random scenes with random faults.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isOffstageError } from '../src/model/errors.ts';
import { isTerminal } from '../src/model/records.ts';
import { memoryStore } from '../src/persistence/memory-store.ts';
import { RANGES } from '../src/persistence/row-keys.ts';
import type { Store } from '../src/persistence/store.ts';
import { type ControlledExecutor, controlledExecutor } from '../src/testing/controlled-executor.ts';
import { type ControlledStore, controlledStore } from '../src/testing/controlled-store.ts';
import { virtualClock } from '../src/testing/virtual-clock.ts';
import { keptStore } from '../test/support/kept-store.ts';
import { type TestEngine, testEngine } from '../test/support/test-engine.ts';
import { assertReadersAgree, turn, wholeLog } from './support/engine-lab.ts';
import { LIMIT_MS, times } from './support/how-often.ts';
import { Witness } from './support/witness.ts';

const which = fc.nat(20);
const fault = fc.record({
  type: fc.constant('fault' as const),
  when: fc.constantFrom('before' as const, 'after' as const),
  nth: fc.integer({ min: 1, max: 4 }),
});
const work = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('spawn' as const),
      kind: fc.constantFrom('heedful' as const, 'heedful' as const, 'stubborn' as const, 'strict' as const),
      id: fc.option(fc.nat(3), { nil: null }),
      parent: fc.option(which, { nil: null }),
      timeoutMs: fc.constantFrom(null, null, 20),
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('cancel' as const), which }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('release' as const), which }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('wait' as const), which }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('read' as const), which }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('advance' as const), ms: fc.constantFrom(5, 60, 1_000, 30_000) }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('turns' as const), count: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('full' as const), forMs: fc.constantFrom(10, 200) }) },
);
const step = fc.oneof({ weight: 5, arbitrary: work }, { weight: 1, arbitrary: fault });
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

const codeOf = (error: unknown): string => {
  if (!isOffstageError(error)) throw error;
  return error.code;
};

class Lab {
  readonly witness = new Witness();
  readonly clock = virtualClock();
  readonly acknowledged = new Set<string>();
  readonly known: string[] = [];
  readonly inner = memoryStore();
  readonly store: ControlledStore = controlledStore(keptStore(this.witness.watch(this.inner)).open());
  readonly #kinds: Readonly<Record<'heedful' | 'stubborn' | 'strict', ControlledExecutor>>;
  readonly #answers = new Set<Promise<unknown>>();
  isDead = false;
  engine!: TestEngine;

  constructor() {
    const watched = (executor: ControlledExecutor, isStrict: boolean): ControlledExecutor => ({
      ...executor,
      run: (job, context) => {
        if (!this.isDead) this.witness.called(job.jobId, isStrict);
        context.signal.addEventListener('abort', () => {
          // While the store refuses or hangs, cancels go on without it.
          const isDegraded = this.engine.offstage.health().store.lastError !== null;
          if (!this.isDead && !isDegraded) this.witness.signalled(job.jobId);
        });
        return executor.run(job, context);
      },
    });
    this.#kinds = {
      heedful: watched(controlledExecutor(), false),
      stubborn: watched(controlledExecutor({ stubborn: true }), false),
      strict: watched(controlledExecutor({ capabilities: { strictStart: true } }), true),
    };
  }

  async open(): Promise<void> {
    this.engine = await testEngine({ store: this.store, clock: this.clock, workers: 2, executors: this.#kinds });
    this.engine.offstage.onEvent((event) => {
      if (!this.isDead) this.witness.event(event);
    });
  }

  /** Answers are looked at as they come, whatever happens meanwhile. */
  #later<T>(asked: Promise<T>, look: (answer: T) => void): void {
    const answer = asked.then(look, codeOf);
    this.#answers.add(answer);
    answer.finally(() => this.#answers.delete(answer));
  }

  /** All that was asked has been answered, whatever it was. */
  async answered(): Promise<void> {
    for (let round = 0; this.#answers.size > 0; round++) {
      expect(round, 'rounds until everybody was answered').toBeLessThan(100);
      await this.clock.advance(1_000);
    }
  }

  async perform(one: Step): Promise<void> {
    const { offstage } = this.engine;
    const { witness, known } = this;
    const jobId = known[('which' in one ? one.which : 0) % Math.max(1, known.length)];
    if (one.type === 'spawn') {
      const id = one.id === null ? undefined : `id ${one.id}`;
      const parentJobId = one.parent === null ? undefined : known[one.parent % Math.max(1, known.length)];
      const spawned = offstage.spawn({
        kind: one.kind,
        timeoutMs: one.timeoutMs,
        ...(id === undefined ? {} : { jobId: id }),
        ...(parentJobId === undefined ? {} : { parentJobId }),
      });
      if (id !== undefined && !known.includes(id)) known.push(id);
      this.#later(spawned, (view) => {
        if (this.isDead) return;
        witness.told('a spawn', view);
        if (view.durable === false) witness.problems.push(`the spawn of ${view.jobId} was acknowledged without being stored`);
        this.acknowledged.add(view.jobId);
        if (!known.includes(view.jobId)) known.push(view.jobId);
      });
    } else if (one.type === 'advance') await this.clock.advance(one.ms);
    else if (one.type === 'turns') for (let count = 0; count < one.count; count++) await turn();
    else if (one.type === 'fault') this.store.failNext({ when: one.when, nth: one.nth });
    else if (one.type === 'full') {
      this.store.failAll(new Error('no space left'));
      await this.clock.advance(one.forMs);
      this.store.failAll(null);
    } else if (jobId !== undefined) {
      if (one.type === 'cancel') {
        this.#later(offstage.cancel(jobId), (view) => {
          witness.told('a cancel', view);
          witness.cancelAcknowledged(view);
        });
      } else if (one.type === 'release') {
        for (const executor of Object.values(this.#kinds)) if (executor.live.has(jobId)) await executor.release(jobId, 'text');
      } else if (one.type === 'wait') {
        this.#later(offstage.wait(jobId, { timeoutMs: 60_000 }), (view) => witness.told('a wait', view));
      } else {
        this.#later(offstage.get(jobId), (view) => witness.told('a get', view));
        this.#later(offstage.list(), (views) => {
          for (const view of views) witness.told('a list', view);
        });
      }
    }
  }

  /** The store is well again and everything is written. */
  async heal(): Promise<void> {
    this.store.failAll(null);
    for (let round = 0; this.engine.offstage.health().status === 'degraded'; round++) {
      expect(round, 'rounds until the engine is well again').toBeLessThan(100);
      await this.clock.advance(1_000);
    }
    await this.answered();
  }
}

const dump = async (store: Store): Promise<ReadonlyMap<string, string>> => {
  const rows = new Map<string, string>();
  for await (const { key, value } of store.range({})) rows.set(key, value);
  return rows;
};

/** What the next owner finds: nothing acknowledged is lost, no end that was told is another one, and looking a second time changes nothing. */
async function checkNextOwner(found: Store, lab: Lab): Promise<void> {
  const { witness, acknowledged } = lab;
  const kept = keptStore(found);
  const calls: string[] = [];
  const executors = Object.fromEntries(
    ['heedful', 'stubborn', 'strict'].map((kind) => [kind, async ({ jobId }: { jobId: string }) => calls.push(jobId)]),
  );
  {
    await using next = await testEngine({ store: kept.open(), executors });
    const { offstage, recovery } = next;
    const jobs = new Map((await offstage.list({ limit: 1_000 })).map((view) => [view.jobId, view]));
    const whole = [...acknowledged, ...witness.calls, ...witness.ends.keys()];
    expect([...new Set(whole)].filter((jobId) => !jobs.has(jobId))).toEqual([]);
    for (const view of jobs.values()) expect(isTerminal(view.status)).toBe(true);
    for (const [jobId, end] of witness.ends) {
      const { bodyLive: _, ...record } = end;
      expect(jobs.get(jobId)).toMatchObject(record);
    }
    for (const jobId of recovery.abandoned) {
      expect(jobs.get(jobId)).toMatchObject({ status: 'errored', reasonCode: 'abandoned.crash' });
      expect(witness.ends.has(jobId)).toBe(false);
    }
    await assertReadersAgree(offstage, [...jobs.keys()], await wholeLog(offstage));
    await next.clock.advance(60_000);
  }
  expect(calls).toEqual([]);
  const before = await dump(found);
  {
    await using third = await testEngine({ store: kept.open(), executors });
    expect(third.recovery.abandoned).toEqual([]);
    await third.clock.advance(1_000);
  }
  expect(await dump(found)).toEqual(before);
  expect(calls).toEqual([]);
}

/** After all faults are over: what is in the store is what was acknowledged, and nothing of what was refused. */
async function checkLeftovers(lab: Lab): Promise<void> {
  expect([...lab.witness.stored().keys()].toSorted()).toEqual([...lab.acknowledged].toSorted());
  const rows = await dump(lab.inner);
  const within = (range: { readonly gte: string; readonly lt: string }): number =>
    [...rows.keys()].filter((key) => key >= range.gte && key < range.lt).length;
  expect(within({ gte: 'i/', lt: 'i/~' })).toBe(lab.acknowledged.size);
  expect(within(RANGES.sessionJobs('default'))).toBe(lab.acknowledged.size);
  const announced = (await wholeLog(lab.engine.offstage)).flatMap((event) => ('jobId' in event ? [event.jobId] : []));
  expect([...new Set(announced)].toSorted()).toEqual([...lab.acknowledged].toSorted());
}

const SCENE: readonly Step[] = [
  { type: 'spawn', kind: 'heedful', id: 0, parent: null, timeoutMs: null },
  { type: 'spawn', kind: 'stubborn', id: 1, parent: null, timeoutMs: null },
  { type: 'wait', which: 0 },
  { type: 'turns', count: 6 },
  { type: 'spawn', kind: 'strict', id: 2, parent: 1, timeoutMs: 20 },
  { type: 'spawn', kind: 'heedful', id: null, parent: null, timeoutMs: null },
  { type: 'turns', count: 6 },
  { type: 'release', which: 0 },
  { type: 'turns', count: 6 },
  { type: 'read', which: 0 },
  { type: 'cancel', which: 1 },
  { type: 'turns', count: 6 },
  { type: 'spawn', kind: 'heedful', id: 0, parent: null, timeoutMs: null },
  { type: 'spawn', kind: 'heedful', id: null, parent: null, timeoutMs: null },
  { type: 'turns', count: 6 },
  { type: 'cancel', which: 3 },
  { type: 'read', which: 1 },
  { type: 'advance', ms: 60 },
  { type: 'advance', ms: 30_000 },
  { type: 'release', which: 1 },
  { type: 'turns', count: 6 },
];

async function countWrites(): Promise<number> {
  const lab = new Lab();
  await lab.open();
  for (const one of SCENE) await lab.perform(one);
  await lab.heal();
  await lab.engine[Symbol.asyncDispose]();
  return lab.store.writes.length;
}

const SCENE_WRITES = await countWrites();

describe(`one scene of ${SCENE_WRITES} writes`, () => {
  const points = Array.from({ length: SCENE_WRITES - 1 }, (_, index) => index + 2);

  it.each(points.flatMap((nth) => [[nth, 'before'] as const, [nth, 'after'] as const]))(
    'COM5, G7: write %i fails %s it is done',
    async (nth, when) => {
      const lab = new Lab();
      // The first write is the one that makes the store; it belongs to opening.
      lab.store.failNext({ when, nth });
      await lab.open();
      for (const one of SCENE) await lab.perform(one);
      await lab.heal();
      expect(lab.witness.problems).toEqual([]);
      await checkLeftovers(lab);
      await lab.engine[Symbol.asyncDispose]();
      expect(lab.witness.problems).toEqual([]);
      await checkNextOwner(lab.inner, lab);
    },
  );

  it.each(points.flatMap((nth) => [[nth, 0] as const, [nth, 1] as const, [nth, undefined] as const]))(
    'G5: a crash in write %i; of what is not synced %s batches survive',
    async (nth, keep) => {
      const lab = new Lab();
      await lab.open();
      for (const one of SCENE) {
        if (lab.store.writes.length >= nth - 1) lab.store.hold();
        if (lab.store.inFlight > 0) break;
        await lab.perform(one);
      }
      lab.isDead = true;
      const found = await lab.store.crash(keep);
      expect(lab.witness.problems).toEqual([]);
      await checkNextOwner(found, lab);
    },
  );
});

describe('random scenes', () => {
  it(
    'COM5, G7, G5: with random faults nobody is told what is not stored, and afterwards everything is in order',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
          const lab = new Lab();
          await lab.open();
          for (const one of steps) await lab.perform(one);
          await lab.heal();
          expect(lab.witness.problems).toEqual([]);
          await checkLeftovers(lab);
          await lab.engine[Symbol.asyncDispose]();
          expect(lab.witness.problems).toEqual([]);
          await checkNextOwner(lab.inner, lab);
        }),
        times(120),
      );
    },
    LIMIT_MS,
  );

  it(
    'G5: with random faults and a crash at any point, nothing acknowledged is lost, revived or run twice',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { maxLength: 25, size: 'max' }),
          fc.option(fc.nat(4), { nil: undefined }),
          fc.boolean(),
          async (steps, keep, inFlight) => {
            const lab = new Lab();
            await lab.open();
            for (const [index, one] of steps.entries()) {
              // The last requests of the dead: their writes are on their way.
              if (inFlight && index >= steps.length - 3) lab.store.hold();
              await lab.perform(one);
            }
            lab.isDead = true;
            const found = await lab.store.crash(keep);
            expect(lab.witness.problems).toEqual([]);
            await checkNextOwner(found, lab);
          },
        ),
        times(120),
      );
    },
    LIMIT_MS,
  );
});
