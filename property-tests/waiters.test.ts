/** G14, WAI1, WAI2: every waiter settles exactly once, at the moment the model says, with the answer the model says; and leaves nothing. */
import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isOffstageError } from '../src/model/errors.ts';
import type { WaitManyEntry, WaitManyOptions } from '../src/model/requests.ts';
import { controlledExecutor } from '../src/testing/controlled-executor.ts';
import { type TestEngine, testEngine } from '../test/support/test-engine.ts';
import { LIMIT_MS, times } from './support/how-often.ts';

const which = fc.nat(30);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('spawn' as const) }) },
  {
    weight: 9,
    arbitrary: fc.record({
      type: fc.constant('wait' as const),
      targets: fc.array(fc.oneof({ weight: 8, arbitrary: which }, { weight: 1, arbitrary: fc.constant('unknown' as const) }), {
        minLength: 1,
        maxLength: 4,
      }),
      mode: fc.constantFrom('one' as const, 'all' as const, 'any' as const),
      timeoutMs: fc.constantFrom(null, null, 0, 5, 50, 2 ** 31, Number.POSITIVE_INFINITY),
      isSignalled: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ type: fc.constant('end' as const), which, how: fc.constantFrom('release', 'fail', 'cancel') }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('abort' as const), which }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('advance' as const), ms: fc.constantFrom(1, 5, 45, 50) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('prune' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;
type WaitStep = Extract<Step, { type: 'wait' }>;

type Outcome = { readonly entries: readonly string[] } | { readonly failed: unknown };

interface Job {
  readonly jobId: string;
  /** Its last status; null while it runs. */
  ended: string | null;
  isPruned: boolean;
}

interface Waiter {
  readonly jobs: readonly (Job | null)[];
  readonly mode: WaitStep['mode'];
  readonly dueAt: number;
  readonly controller: AbortController | null;
  /** How each target stood at the call: what had ended then is never waited for. */
  readonly atCall: readonly (string | null)[];
  expected: Outcome | null;
  actual: Outcome | null;
  settlements: number;
}

const shown = (entry: WaitManyEntry): string => {
  if (!('status' in entry)) return entry.error.code;
  return entry.timedOut === true ? `${entry.status}, timed out` : entry.status;
};

/** Jobs that run until they are told, and waiters with what the model expects of them. */
class Lab {
  readonly gate = controlledExecutor();
  readonly jobs: Job[] = [];
  readonly waiters: Waiter[] = [];
  #engine!: TestEngine;

  async open(): Promise<void> {
    this.#engine = await testEngine({ workers: null, executors: { gate: this.gate } });
  }

  get engine(): TestEngine {
    return this.#engine;
  }

  async perform(one: Step): Promise<void> {
    const { offstage, clock } = this.#engine;
    if (one.type === 'spawn') {
      const { jobId } = await offstage.spawn({ kind: 'gate' });
      this.jobs.push({ jobId, ended: null, isPruned: false });
    } else if (one.type === 'wait') this.#wait(one);
    else if (one.type === 'end') {
      const job = this.jobs[one.which % Math.max(1, this.jobs.length)];
      if (job === undefined || job.ended !== null) return;
      job.ended = one.how === 'release' ? 'completed' : one.how === 'fail' ? 'errored' : 'cancelled';
      if (one.how === 'release') await this.gate.release(job.jobId);
      else if (one.how === 'fail') await this.gate.fail(job.jobId, new Error('failed'));
      else await offstage.cancel(job.jobId);
    } else if (one.type === 'abort') {
      this.waiters[one.which % Math.max(1, this.waiters.length)]?.controller?.abort(new Error(`reason ${one.which}`));
    } else if (one.type === 'advance') await clock.advance(one.ms);
    else {
      await offstage.prune({ maxJobs: 0 });
      for (const job of this.jobs) job.isPruned = job.ended !== null;
    }
  }

  #wait(one: WaitStep): void {
    const { offstage, clock } = this.#engine;
    const targets = one.mode === 'one' ? one.targets.slice(0, 1) : one.targets;
    const jobs = targets.map((index) =>
      index === 'unknown' ? null : (this.jobs[index % Math.max(1, this.jobs.length)] ?? null),
    );
    const waiter: Waiter = {
      jobs,
      mode: one.mode,
      dueAt: clock.monotonic() + (one.timeoutMs ?? Number.POSITIVE_INFINITY),
      controller: one.isSignalled ? new AbortController() : null,
      atCall: jobs.map((job) => (job === null ? 'job.not_found' : job.isPruned ? 'job.expired' : job.ended)),
      expected: null,
      actual: null,
      settlements: 0,
    };
    this.waiters.push(waiter);
    const options: WaitManyOptions = {
      timeoutMs: one.timeoutMs,
      ...(waiter.controller === null ? {} : { signal: waiter.controller.signal }),
    };
    const ids = jobs.map((job) => job?.jobId ?? 'nobody');
    const answer =
      one.mode === 'one'
        ? offstage.wait(ids[0] as string, options).then((view) => [view])
        : offstage.waitMany(ids, { ...options, mode: one.mode });
    const settle = (outcome: Outcome): void => {
      waiter.actual = outcome;
      waiter.settlements += 1;
    };
    answer.then(
      (entries) => settle({ entries: entries.map(shown) }),
      (error) => settle(isOffstageError(error) ? { entries: [error.code] } : { failed: error }),
    );
  }

  /** What each waiter should have been told by now, one after the other. */
  expectAll(): void {
    const now = this.#engine.clock.monotonic();
    for (const waiter of this.waiters) waiter.expected ??= outcomeOf(waiter, now);
  }
}

function outcomeOf(waiter: Waiter, now: number): Outcome | null {
  const { jobs, atCall, mode, controller } = waiter;
  const current = jobs.map((job, index) => atCall[index] ?? job?.ended ?? null);
  const live = jobs.filter((_, index) => atCall[index] === null);
  const hadEnded = atCall.some((status) => status !== null && !status.startsWith('job.'));
  const entries = (rest: string): Outcome => ({ entries: current.map((status) => status ?? rest) });
  if (live.length === 0) return entries('');
  if (mode === 'any' && (hadEnded || live.some((job) => job?.ended !== null))) return entries('running');
  if (mode !== 'any' && current.every((status) => status !== null)) return entries('');
  if (controller?.signal.aborted === true) return { failed: controller.signal.reason };
  return now >= waiter.dueAt ? entries('running, timed out') : null;
}

it(
  'G14: one thing after the other, every waiter is told exactly what the model says, when it says so',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
        const lab = new Lab();
        await lab.open();
        const { offstage, clock } = lab.engine;
        const timersBefore = clock.pending;
        for (const one of steps) {
          await lab.perform(one);
          await clock.settle();
          lab.expectAll();
          expect(lab.waiters.map(({ actual }) => actual)).toEqual(lab.waiters.map(({ expected }) => expected));
        }
        const hasTimer = lab.waiters.some(({ actual, dueAt }) => actual === null && dueAt !== Number.POSITIVE_INFINITY);
        expect(clock.pending).toBe(timersBefore + (hasTimer ? 1 : 0));
        await offstage.close();
        await clock.settle();
        for (const job of lab.jobs) job.ended ??= 'errored';
        lab.expectAll();
        expect(lab.waiters.map(({ actual }) => actual)).toEqual(lab.waiters.map(({ expected }) => expected));
        assertNothingLeft(lab);
        await lab.engine[Symbol.asyncDispose]();
      }),
      times(120),
    );
  },
  LIMIT_MS,
);

it(
  'G14: many things in the same tick, every waiter is told once, and nothing that is not so',
  async () => {
    const burst = fc.array(step, { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(fc.array(burst, { maxLength: 8, size: 'max' }), fc.boolean(), async (bursts, closesInTheMiddle) => {
        const lab = new Lab();
        await lab.open();
        const { offstage, clock } = lab.engine;
        for (const together of bursts) {
          const done = together.map((one) => lab.perform(one).catch(() => {}));
          if (closesInTheMiddle && together === bursts.at(-1)) break;
          await Promise.all(done);
          await clock.settle();
        }
        await offstage.close();
        await clock.settle();
        assertNothingLeft(lab);
        for (const { actual, controller, dueAt, jobs } of lab.waiters) {
          if (actual === null) continue;
          if ('failed' in actual) expect(actual.failed).toBe(controller?.signal.reason);
          else if (actual.entries.some((entry) => entry.endsWith('timed out')))
            expect(dueAt).toBeLessThanOrEqual(clock.monotonic());
          else if (actual.entries.includes('job.not_found')) expect(jobs).toContain(null);
        }
        await lab.engine[Symbol.asyncDispose]();
      }),
      times(120),
    );
  },
  LIMIT_MS,
);

function assertNothingLeft({ waiters, engine }: Lab): void {
  for (const { settlements, controller } of waiters) {
    expect(settlements).toBe(1);
    if (controller !== null) expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
  }
  expect(engine.clock.pending).toBe(0);
}
