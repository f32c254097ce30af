/** The task manager against a model of the lifecycle: an end is final, every change is put once and in order, what comes late is dropped. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { AsyncTask, AsyncTaskStatus } from '../src/doors/async-tasks/index.ts';
import { type Desk, desk, type HeldExecutor, heldExecutor } from '../test/support/async-tasks.ts';
import { LIMIT_MS, times } from './support/how-often.ts';

const which = fc.nat(12);
const timeoutMs = fc.constantFrom(undefined, undefined, 0, 5, 50);
const start = { weight: 5, arbitrary: fc.record({ type: fc.constant('start' as const), timeoutMs, isBackground: fc.boolean() }) };
const step = fc.oneof(
  start,
  { weight: 1, arbitrary: fc.record({ type: fc.constant('start and cancel' as const), timeoutMs }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('settle' as const), which, isGood: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('cancel' as const), which }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('ask' as const), which }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('answer' as const),
      which,
      told: fc.constantFrom(null, undefined, 'queued', 'running', 'success', 'error', 'cancelled', 'timeout', 'nonsense'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('advance' as const), ms: fc.constantFrom(1, 5, 45, 50) }) },
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

const RANKS: Readonly<Record<string, number>> = { queued: 0, running: 1, success: 2, error: 2, cancelled: 2, timeout: 2 };
const isFinal = (status: string): boolean => RANKS[status] === 2;

/** What the model knows of a task. */
interface Expected {
  readonly taskId: string;
  readonly dueAt: number;
  status: AsyncTaskStatus;
  /** The statuses of its puts. */
  readonly puts: AsyncTaskStatus[];
  /** Questions that the executor has not answered, the oldest first. */
  readonly questions: ((told: unknown) => void)[];
  /** Whether it was executed, and told to end. */
  isExecuted: boolean;
  isAborted: boolean;
  /** The entry it ended with. */
  last: AsyncTask | null;
}

class Lab {
  readonly tasks: Expected[] = [];
  readonly cancelled: string[] = [];
  readonly executor: HeldExecutor;
  readonly desk: Desk;
  /** Questions as they arrive at the executor. */
  #asked: ((told: unknown) => void) | null = null;

  constructor() {
    this.executor = heldExecutor({
      checkStatus: () => new Promise((resolve) => (this.#asked = resolve as (told: unknown) => void)),
      cancel: async (taskId) => this.cancelled.push(taskId),
    });
    this.desk = desk(this.executor);
  }

  /** Does it; what the model makes of it is what the task is after everything has settled. */
  async perform(one: Step): Promise<void> {
    const { manager, clock } = this.desk;
    if (one.type === 'start' || one.type === 'start and cancel') return this.#start(one);
    if (one.type === 'advance') {
      await clock.advance(one.ms);
      for (const task of this.tasks) {
        if (isFinal(task.status) || task.dueAt > clock.monotonic()) continue;
        task.isAborted = true;
        moved(task, 'timeout');
      }
      return;
    }
    const task = this.tasks[one.which % Math.max(1, this.tasks.length)];
    if (task === undefined) return;
    const wasLive = !isFinal(task.status);
    if (one.type === 'cancel') {
      if (wasLive) {
        task.isAborted = task.isExecuted;
        moved(task, 'cancelled');
      }
      expect(await manager.cancel(task.taskId)).toBe(wasLive);
    } else if (one.type === 'settle') {
      if (!task.isExecuted) return;
      const call = this.executor.of(task.taskId);
      if (one.isGood) call.resolve({ a: 1 });
      else call.reject(new Error('x'));
      if (wasLive) moved(task, one.isGood ? 'success' : 'error');
    } else if (one.type === 'ask') {
      this.#asked = null;
      void manager.check(task.taskId);
      expect(this.#asked !== null).toBe(wasLive);
      if (this.#asked !== null) task.questions.push(this.#asked);
    } else {
      const answer = task.questions.shift();
      answer?.(one.told === null ? null : { status: one.told, progress: 1 });
      if (answer === undefined || !wasLive) return;
      const told = RANKS[String(one.told)] ?? -1;
      moved(task, told > (RANKS[task.status] as number) ? (one.told as AsyncTaskStatus) : task.status);
    }
  }

  async #start(one: Extract<Step, { type: 'start' | 'start and cancel' }>): Promise<void> {
    const { manager, clock } = this.desk;
    const given = { type: 'held', threadId: 'thread', input: {}, timeoutMs: one.timeoutMs };
    const isCancelled = one.type === 'start and cancel';
    const { taskId } = isCancelled || one.isBackground ? manager.startBackground(given) : await manager.start(given);
    if (isCancelled) void manager.cancel(taskId);
    const status = isCancelled ? 'cancelled' : 'running';
    this.tasks.push({
      taskId,
      dueAt: clock.monotonic() + (one.timeoutMs ?? Number.POSITIVE_INFINITY),
      status,
      puts: ['queued', status],
      questions: [],
      isExecuted: !isCancelled,
      isAborted: false,
      last: null,
    });
  }

  expectAll(): void {
    const { manager, store, task } = this.desk;
    expect(manager.list().map(({ taskId, status }) => [taskId, status])).toEqual(
      this.tasks.map(({ taskId, status }) => [taskId, status]),
    );
    for (const expected of this.tasks) {
      const { taskId, status, puts, isExecuted, isAborted } = expected;
      const entry = task(taskId);
      expect(store.statuses(taskId)).toEqual(puts);
      expect(this.executor.calls.filter((call) => call.taskId === taskId).length).toBe(isExecuted ? 1 : 0);
      if (isExecuted) expect(this.executor.of(taskId).signal.aborted).toBe(isAborted);
      if (isFinal(status)) expected.last ??= entry;
      if (expected.last !== null) expect(entry).toBe(expected.last);
    }
  }
}

function moved(task: Expected, status: AsyncTaskStatus): void {
  task.status = status;
  task.puts.push(status);
}

/** What holds of the puts of any task, whatever was done to it. */
function assertSound({ desk: { manager, store }, executor, cancelled }: Lab): void {
  for (const task of manager.list()) {
    const puts = store.puts.filter(({ key }) => key === task.taskId).map(({ value }) => value as unknown as AsyncTask);
    expect(puts.at(-1)).toEqual(task);
    puts.reduce((before, after) => {
      const hasMoved = before.status !== after.status;
      expect(isFinal(before.status)).toBe(false);
      expect(RANKS[after.status] as number).toBeGreaterThanOrEqual(RANKS[before.status] as number);
      if (hasMoved) expect((after.updatedAt as string) > (before.updatedAt ?? before.createdAt)).toBe(true);
      else expect(after.checkedAt).toBeDefined();
      return after;
    });
    for (const { status, result, error, createdAt } of puts) {
      expect(result !== undefined && status !== 'success').toBe(false);
      expect(error !== undefined).toBe(status === 'error' || status === 'timeout');
      expect(createdAt).toBe(task.createdAt);
    }
  }
  expect(new Set(executor.calls.map(({ taskId }) => taskId)).size).toBe(executor.calls.length);
  expect(new Set(cancelled).size).toBe(cancelled.length);
}

it(
  'P10, P12, P19, P20, P26, P27, P33: one thing after the other, every task is as the model says, and so are its puts',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
        const lab = new Lab();
        for (const one of steps) {
          await lab.perform(one);
          await lab.desk.clock.settle();
          lab.expectAll();
        }
        assertSound(lab);
      }),
      times(120),
    );
  },
  LIMIT_MS,
);

it(
  'P10, P19, P20, P26, P33: many things in the same tick, every task ends once, and its puts tell it in order',
  async () => {
    const burst = fc.array(step, { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(fc.array(burst, { maxLength: 8, size: 'max' }), async (bursts) => {
        const lab = new Lab();
        const { clock, manager } = lab.desk;
        const ended = new Map<string, AsyncTask>();
        for (const together of bursts) {
          // What the model expects is beside the point here: it knows no ties.
          await Promise.all(together.map((one) => lab.perform(one).catch(() => {})));
          await clock.settle();
          for (const [taskId, entry] of ended) expect(manager.get(taskId)).toBe(entry);
          for (const task of manager.list()) if (isFinal(task.status)) ended.set(task.taskId, task);
        }
        for (const taskId of lab.cancelled) expect(manager.get(taskId)?.status).toBe('cancelled');
        assertSound(lab);
        const closing = manager.close();
        await clock.advance(0);
        await closing;
        await clock.settle();
        expect(manager.list().every(({ status }) => isFinal(status))).toBe(true);
        assertSound(lab);
        expect(clock.pending).toBe(0);
      }),
      times(120),
    );
  },
  LIMIT_MS,
);
