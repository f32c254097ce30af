/**
 * G7, G16 and the start rule under every order of completions: turns of the loop, reads, writes, their answers and the steps of bodies all
 * pass through one scheduler that picks the next at random.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Executors, JobContext, JobOf } from '../src/model/executor.ts';
import { isTerminal } from '../src/model/records.ts';
import { memoryStore } from '../src/persistence/memory-store.ts';
import { keptStore } from '../test/support/kept-store.ts';
import { type TestEngine, testEngine } from '../test/support/test-engine.ts';
import { assertReadersAgree, wholeLog } from './support/engine-lab.ts';
import { LIMIT_MS, times } from './support/how-often.ts';
import { type Hop, pump, scheduledClock, scheduledStore } from './support/scheduled.ts';
import { Witness } from './support/witness.ts';

const which = fc.nat(20);
const kind = fc.constantFrom('quick' as const, 'quick' as const, 'strict' as const, 'deaf' as const, 'nested' as const);
const ask = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      ask: fc.constant('spawn' as const),
      kind,
      id: fc.option(fc.nat(2), { nil: null }),
      parent: fc.option(which, { nil: null }),
      wait: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ ask: fc.constant('cancel' as const), which }) },
  { weight: 2, arbitrary: fc.record({ ask: fc.constant('get' as const), which }) },
  { weight: 2, arbitrary: fc.record({ ask: fc.constant('list' as const) }) },
  { weight: 2, arbitrary: fc.record({ ask: fc.constant('wait' as const), which }) },
  {
    weight: 1,
    arbitrary: fc.record({ ask: fc.constant('waitMany' as const), which, mode: fc.constantFrom('all' as const, 'any' as const) }),
  },
);
type Ask = typeof ask extends fc.Arbitrary<infer One> ? One : never;

/** Users who ask one thing after the other, and tell the witness what they were told. */
class Scene {
  readonly witness = new Witness();
  readonly known: string[] = [];
  readonly acknowledged = new Set<string>();
  readonly #hop: Hop;
  engine!: TestEngine;

  constructor(hop: Hop) {
    this.#hop = hop;
  }

  executors(): Executors {
    const { witness } = this;
    const hop = this.#hop;
    const body =
      (isStrict: boolean, isDeaf: boolean, isNested: boolean) =>
      async (job: JobOf, context: JobContext): Promise<string> => {
        witness.called(job.jobId, isStrict);
        const gone = new Promise<never>((_, reject) => {
          context.signal.addEventListener('abort', () => {
            witness.signalled(job.jobId);
            if (!isDeaf) reject(context.signal.reason);
          });
        });
        gone.catch(() => {});
        if (isNested) witness.told('a body', await context.run({ kind: 'quick' }));
        for (let step = 0; step < (isDeaf ? 4 : 2); step++) await Promise.race([hop('body'), gone]);
        return 'done';
      };
    return {
      quick: body(false, false, false),
      deaf: body(false, true, false),
      nested: body(false, false, true),
      strict: { run: body(true, false, false), capabilities: { strictStart: true } },
    };
  }

  async user(asks: readonly Ask[]): Promise<void> {
    for (const one of asks) {
      await this.#hop('user');
      await this.#ask(one).catch((error: { code?: string }) => {
        if (error.code === undefined) throw error;
      });
    }
  }

  async #ask(one: Ask): Promise<void> {
    const { offstage } = this.engine;
    const { witness, known } = this;
    const index = 'which' in one ? one.which : 0;
    // Often one of the given ids, which somebody may be spawning at this moment.
    const jobId = (index < 6 ? `id ${index % 3}` : known[index % Math.max(1, known.length)]) ?? 'nobody';
    const floor = witness.floor(jobId);
    if (one.ask === 'spawn') {
      const parentJobId = one.parent === null ? undefined : known[one.parent % Math.max(1, known.length)];
      const id = one.id === null ? undefined : `id ${one.id}`;
      if (id !== undefined && !known.includes(id)) known.push(id);
      const view = await offstage.spawn({
        kind: one.kind,
        wait: one.wait,
        ...(id === undefined ? {} : { jobId: id }),
        ...(parentJobId === undefined ? {} : { parentJobId }),
      });
      witness.told('a spawn', view);
      this.acknowledged.add(view.jobId);
      if (!known.includes(view.jobId)) known.push(view.jobId);
    } else if (one.ask === 'cancel') {
      const view = await offstage.cancel(jobId);
      witness.told('a cancel', view, floor);
      witness.cancelAcknowledged(view);
    } else if (one.ask === 'get') witness.told('a get', await offstage.get(jobId), floor);
    else if (one.ask === 'list') for (const view of await offstage.list()) witness.told('a list', view);
    else if (one.ask === 'wait') witness.told('a wait', await offstage.wait(jobId, { timeoutMs: null }), floor);
    else witness.toldMany('a wait', await offstage.waitMany(known.slice(0, 3), { mode: one.mode, timeoutMs: null }));
  }
}

it(
  'G7: in any order of completions nobody is told what is not stored, nothing runs before it may, and every job ends',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.constantFrom(1, 2, null),
        fc.array(fc.array(ask, { maxLength: 8 }), { minLength: 1, maxLength: 3 }),
        fc.boolean(),
        async (scheduler, workers, users, closesEarly) => {
          const hop: Hop = (label) => scheduler.schedule(Promise.resolve(), label);
          const scene = new Scene(hop);
          const { witness } = scene;
          const inner = memoryStore();
          const kept = keptStore(witness.watch(inner));
          const clock = scheduledClock(hop);
          const options = { store: scheduledStore(kept.open(), hop), clock, workers, executors: scene.executors() };
          scene.engine = await pump(scheduler, testEngine(options));
          const { offstage } = scene.engine;
          offstage.onEvent(witness.event);
          const everybody: Promise<unknown> = Promise.all(users.map((asks) => scene.user(asks)));
          if (closesEarly) {
            // The last request of the first user, so to speak: in the midst of everything.
            everybody.catch(() => {});
            for (let index = 0; index < 60 && scheduler.count() > 0; index++) await scheduler.waitNext(1);
          } else {
            await pump(scheduler, everybody);
            const rest = offstage.waitMany([...scene.acknowledged], { timeoutMs: null });
            witness.toldMany('a wait', await pump(scheduler, rest));
          }
          await pump(scheduler, scene.engine[Symbol.asyncDispose]());
          expect(witness.problems).toEqual([]);
          await using second = await testEngine({ store: kept.open() });
          expect(second.recovery.abandoned).toEqual([]);
          const stored = witness.stored();
          expect([...scene.acknowledged].filter((jobId) => !stored.has(jobId))).toEqual([]);
          const listed = await assertReadersAgree(second.offstage, [...stored.keys()], await wholeLog(second.offstage));
          for (const view of listed.values()) expect(isTerminal(view.status)).toBe(true);
          for (const [jobId, end] of witness.ends)
            expect(listed.get(jobId)).toMatchObject({ status: end.status, completedAt: end.completedAt });
        },
      ),
      times(400),
    );
  },
  LIMIT_MS,
);
