/** The task manager from a start to an end: rows P1 to P14, P30 to P33, P40 and P42 to P45. */
import { afterEach, describe, expect, it } from 'vitest';
import { type AsyncTaskExecutor, AsyncTaskManager } from '../../src/doors/async-tasks/index.ts';
import { isOffstageError } from '../../src/model/errors.ts';
import { desk, heldExecutor, recordingStore } from '../support/async-tasks.ts';

const started = { type: 'held', threadId: 'thread', input: { code: '1' } };
const echo: AsyncTaskExecutor = { execute: async (_taskId, input) => ({ said: input.text }) };

const unhandled: unknown[] = [];
const onUnhandled = (error: unknown): void => void unhandled.push(error);
process.on('unhandledRejection', onUnhandled);
afterEach(() => expect(unhandled).toEqual([]));

describe('starting', () => {
  it('P1: start puts a queued task, then dispatches it, and answers the seeded one', async () => {
    const order: unknown[] = [];
    const execute: AsyncTaskExecutor['execute'] = async () => {
      order.push('execute');
      return {};
    };
    const { manager, clock } = desk(
      { execute },
      recordingStore(({ value }) => order.push(value.status)),
    );
    const task = await manager.start({ ...started, agentName: 'a', jobType: 'j', timeoutMs: 5 });
    expect(task).toEqual({
      taskId: expect.stringMatching(/^task_\w{26}$/),
      type: 'held',
      threadId: 'thread',
      status: 'queued',
      input: { code: '1' },
      createdAt: '2026-01-01T00:00:00.000Z',
      agentName: 'a',
      jobType: 'j',
      timeoutMs: 5,
    });
    await clock.settle();
    expect(order).toEqual(['queued', 'execute', 'running', 'success']);
  });

  it('P2: of two executors for one type the last one is used; tasks that run keep theirs', async () => {
    const [first, second] = [heldExecutor(), heldExecutor()];
    const { manager, clock, running } = desk(first);
    const before = await running();
    manager.registerExecutor('held', second);
    const after = await running();
    expect([first.calls.map((call) => call.taskId), second.calls.map((call) => call.taskId)]).toEqual([[before], [after]]);
    first.of(before).resolve({ by: 'first' });
    await clock.settle();
    expect(manager.get(before)?.result).toEqual({ by: 'first' });
    expect(() => manager.registerExecutor('held', {} as AsyncTaskExecutor)).toThrow(/executor is not valid/);
  });

  it('P3: startBackground without an executor answers an error in the same tick, and the task says so too', async () => {
    const { manager, clock, store } = desk();
    const answer = manager.startBackground({ type: 'none', threadId: 'thread', input: {} });
    expect(answer).toEqual({
      taskId: expect.stringMatching(/^task_/),
      status: 'error',
      error: 'No executor is registered for the kind "none".',
    });
    expect(manager.getTaskSync(answer.taskId)).toMatchObject({ status: 'error', error: answer.error });
    await clock.settle();
    expect(store.statuses(answer.taskId)).toEqual(['error']);
    expect(await manager.cancel(answer.taskId)).toBe(false);
  });

  it('P4: start without an executor rejects with a typed error, and leaves nothing', async () => {
    const { manager, store } = desk();
    const refusal = await manager.start({ type: 'none', threadId: 'thread', input: {} }).catch((error) => error);
    expect(isOffstageError(refusal, 'executor.unknown')).toBe(true);
    expect([manager.list(), store.puts]).toEqual([[], []]);
  });

  it('P4: the same for a time limit that is none', async () => {
    const { manager } = desk();
    for (const timeoutMs of [-1, Number.NaN, '5' as unknown as number]) {
      await expect(manager.start({ ...started, timeoutMs })).rejects.toMatchObject({ code: 'input.invalid' });
      expect(manager.startBackground({ ...started, timeoutMs })).toMatchObject({ status: 'error' });
    }
  });

  it('P5: startBackground returns before execute is called, and the task is there in the same tick', async () => {
    const executor = heldExecutor();
    const { manager, clock } = desk(executor);
    const { taskId, status } = manager.startBackground(started);
    expect([status, manager.getTaskSync(taskId)?.status, executor.calls.length]).toEqual(['queued', 'queued', 0]);
    await clock.settle();
    expect([manager.getTaskSync(taskId)?.status, executor.calls.length]).toEqual(['running', 1]);
  });

  it('P6: after startBackground neither a failing store nor a failing execute reaches the caller', async () => {
    const store = recordingStore(() => {
      throw new Error('the disk is full');
    });
    const { manager, clock, status, log } = desk({ execute: () => Promise.reject(new Error('no')) }, store);
    const { taskId } = manager.startBackground(started);
    expect(store.puts).toEqual([]);
    await clock.settle();
    expect([status(taskId), log]).toEqual(['error', Array(3).fill('async_task.put_failed')]);
  });

  it('P43: two startBackground calls in one tick have distinct ids', () => {
    const { manager } = desk();
    expect(manager.startBackground(started).taskId).not.toBe(manager.startBackground(started).taskId);
    expect(manager.list().length).toBe(2);
  });

  it('P5: a thousand at once all run, without a limit and in their order', async () => {
    const executor = heldExecutor();
    const { manager, clock, status } = desk(executor);
    const ids = Array.from({ length: 1_000 }, () => manager.startBackground(started).taskId);
    while (executor.calls.length < ids.length) await clock.settle();
    expect(executor.calls.map((call) => call.taskId)).toEqual(ids);
    expect(new Set(ids.map(status))).toEqual(new Set(['running']));
  });
});

describe('ending', () => {
  it('P7: what execute resolves with becomes the result of a success, later than the creation', async () => {
    const executor = heldExecutor();
    const { clock, running, task } = desk(executor);
    const taskId = await running();
    executor.of(taskId).resolve({ a: 1 });
    await clock.settle();
    const { status, result, createdAt, updatedAt, ...rest } = task(taskId);
    expect([status, result, 'error' in rest]).toEqual(['success', { a: 1 }, false]);
    expect((updatedAt as string) > createdAt).toBe(true);
  });

  it('P7: every change of the status is later than the one before, also where the wall clock goes back', async () => {
    const executor = heldExecutor();
    const { clock, running, task } = desk(executor);
    const taskId = await running();
    const begun = task(taskId).updatedAt as string;
    expect(begun > task(taskId).createdAt).toBe(true);
    clock.jumpWall(-60_000);
    executor.of(taskId).resolve({});
    await clock.settle();
    expect((task(taskId).updatedAt as string) > begun).toBe(true);
  });

  it('P8: what execute rejects with becomes the error, by its bare message', async () => {
    const executor = heldExecutor();
    const { clock, running, task } = desk(executor);
    const thrown: readonly [unknown, string][] = [
      [new Error('x'), 'x'],
      ['just a text', 'just a text'],
      [new TypeError(''), 'TypeError: (no message)'],
      [undefined, 'Thrown: undefined'],
    ];
    for (const [error, text] of thrown) {
      const taskId = await running();
      executor.of(taskId).reject(error);
      await clock.settle();
      expect(task(taskId)).toMatchObject({ status: 'error', error: text });
      expect(task(taskId)).not.toHaveProperty('result');
    }
  });

  it('P9: an execute that throws at once is the same', async () => {
    const { running, task } = desk({
      execute: () => {
        throw new Error('x');
      },
    });
    expect(task(await running())).toMatchObject({ status: 'error', error: 'x' });
  });

  it('P10: a task passes through running, and each status was put', async () => {
    const { manager, clock, store } = desk(echo);
    const { taskId } = manager.startBackground({ ...started, input: { text: 'hi' } });
    await clock.settle();
    expect(store.statuses(taskId)).toEqual(['queued', 'running', 'success']);
  });

  it('P11: after timeoutMs the task is timeout, with an error, and its signal has fired', async () => {
    const executor = heldExecutor();
    const { clock, running, task, store } = desk(executor);
    const taskId = await running({ timeoutMs: 30_000 });
    await clock.advance(29_999);
    expect([task(taskId).status, executor.of(taskId).signal.aborted]).toEqual(['running', false]);
    await clock.advance(1);
    expect(task(taskId)).toMatchObject({ status: 'timeout', error: 'timed out after 30000 ms' });
    expect(executor.of(taskId).signal.aborted).toBe(true);
    expect(store.statuses(taskId)).toEqual(['queued', 'running', 'timeout']);
  });

  it('P12: what execute resolves or rejects with after the time-out is dropped', async () => {
    const executor = heldExecutor();
    const { clock, running, task } = desk(executor);
    const [late, later] = [await running({ timeoutMs: 30_000 }), await running({ timeoutMs: 30_000 })];
    await clock.advance(30_000);
    const before = [task(late), task(later)];
    executor.of(late).resolve({ a: 1 });
    executor.of(later).reject(new Error('x'));
    await clock.settle();
    expect(task(late)).toBe(before[0]);
    expect(task(later)).toBe(before[1]);
  });

  it('P13: an execute that finishes a millisecond before is a success, and its timer is gone', async () => {
    const executor = heldExecutor();
    const { clock, running, task } = desk(executor);
    const taskId = await running({ timeoutMs: 30_000 });
    await clock.advance(29_999);
    executor.of(taskId).resolve({ a: 1 });
    await clock.settle();
    const ended = task(taskId);
    await clock.advance(60_000);
    expect([ended.status, task(taskId)]).toEqual(['success', ended]);
    expect(executor.of(taskId).signal.aborted).toBe(false);
  });

  it('P14: without timeoutMs, and with one without end, a task never times out', async () => {
    const { clock, running, status } = desk();
    const ids = [await running(), await running({ timeoutMs: Number.POSITIVE_INFINITY })];
    await clock.advance(40 * 24 * 60 * 60 * 1000);
    expect(ids.map(status)).toEqual(['running', 'running']);
  });

  it('P40: the type subagent is there, fails with its own sentence, and is replaced by registerExecutor', async () => {
    const { manager, clock, task } = desk();
    const { taskId, status } = manager.startBackground({ type: 'subagent', threadId: 'thread', input: {} });
    await clock.settle();
    expect([status, task(taskId)]).toMatchObject([
      'queued',
      { status: 'error', error: '[SubagentTaskExecutor] SubagentExecutor is server-only' },
    ]);
    manager.registerExecutor('subagent', echo);
    const second = manager.startBackground({ type: 'subagent', threadId: 'thread', input: { text: 'hi' } });
    await clock.settle();
    expect(task(second.taskId)).toMatchObject({ status: 'success', result: { said: 'hi' } });
  });

  it('P45: execute is handed a signal, and listeners on it that throw harm nobody', async () => {
    const executor = heldExecutor();
    const { manager, running, log } = desk(executor);
    const taskId = await running();
    const { signal } = executor.of(taskId);
    expect(signal).toBeInstanceOf(AbortSignal);
    signal.addEventListener('abort', () => {
      throw new Error('in a listener');
    });
    expect(await manager.cancel(taskId)).toBe(true);
    expect([signal.aborted, signal.reason.name, log]).toEqual([true, 'AbortError', ['async_task.listener_failed']]);
  });
});

describe('reading', () => {
  it('P30: getTaskSync never calls the executor', async () => {
    let calls = 0;
    const count = async (): Promise<Record<string, unknown>> => ({ calls: ++calls });
    const { manager, clock } = desk({ execute: async () => ({}), checkStatus: count, sendUpdate: count, cancel: count });
    const { taskId } = manager.startBackground(started);
    manager.getTaskSync(taskId);
    await clock.settle();
    expect([manager.getTaskSync(taskId)?.status, calls]).toEqual(['success', 0]);
  });

  it('P31: list filters by threadId, type and status, all of them together', async () => {
    const { manager, clock } = desk();
    manager.registerExecutor('echo', echo);
    const start = (type: string, threadId: string) => manager.startBackground({ type, threadId, input: {} }).taskId;
    const [a, b, c] = [start('held', 't1'), start('echo', 't1'), start('echo', 't2')];
    await clock.settle();
    const ids = (filter?: Parameters<typeof manager.list>[0]) => manager.list(filter).map(({ taskId }) => taskId);
    expect(ids()).toEqual([a, b, c]);
    expect(ids({ threadId: 't1' })).toEqual([a, b]);
    expect(ids({ type: 'echo' })).toEqual([b, c]);
    expect(ids({ status: 'success' })).toEqual([b, c]);
    expect(ids({ threadId: 't1', type: 'echo', status: 'success' })).toEqual([b]);
    expect(ids({ threadId: 't1', type: 'echo', status: 'running' })).toEqual([]);
  });

  it('P32: a store that rejects, throws, or never answers changes nothing', async () => {
    const bad = [
      () => Promise.reject(new Error('no')),
      () => {
        throw new Error('no');
      },
      () => new Promise(() => {}),
    ];
    for (const onPut of bad) {
      const { manager, clock, status } = desk(echo, recordingStore(onPut));
      const starting = manager.start(started);
      await clock.advance(5_000);
      const { taskId } = await starting;
      expect(status(taskId)).toBe('success');
    }
    const withoutStore = new AsyncTaskManager();
    withoutStore.registerExecutor('held', echo);
    expect((await withoutStore.start(started)).status).toBe('queued');
  });

  it('P33: puts go to the namespace of the thread under the taskId, once per change, in order, and nothing is ever read', async () => {
    const waiting: (() => void)[] = [];
    const store = recordingStore(() => new Promise<void>((resolve) => waiting.push(resolve)));
    const { manager, clock, status } = desk(echo, store);
    const { taskId } = manager.startBackground(started);
    await clock.settle();
    // The first put is still on its way: the others wait for it, the task does not.
    expect([status(taskId), store.statuses(taskId)]).toEqual(['success', ['queued']]);
    for (let index = 0; index < 3; index++) {
      waiting[index]?.();
      await clock.settle();
    }
    expect(store.statuses(taskId)).toEqual(['queued', 'running', 'success']);
    for (const { namespace, key } of store.puts) expect([namespace, key]).toEqual([['async_tasks', 'thread'], taskId]);
    expect(store.puts.at(-1)?.value).toEqual(manager.get(taskId));
    expect(store.gets).toBe(0);
  });

  it('P42: what a caller does to a task, to its input or to a put never reaches the catalog', async () => {
    const store = recordingStore(({ value }) => Object.assign(value, { status: 'changed by the store' }));
    const result = { list: [1] };
    const { manager, clock, task } = desk({ execute: async () => result }, store);
    const input = { deep: { a: 1 } };
    const { taskId } = manager.startBackground({ ...started, input });
    input.deep.a = 2;
    await clock.settle();
    result.list.push(2);
    const read = task(taskId) as unknown as { status: string; result: { list: number[] }; input: typeof input };
    for (const change of [
      () => Object.assign(read, { status: 'queued' }),
      () => read.result.list.push(3),
      () => Object.assign(read.input.deep, { a: 3 }),
    ]) {
      expect(change).toThrow(TypeError);
    }
    manager.list().pop();
    expect(task(taskId)).toMatchObject({ status: 'success', input: { deep: { a: 1 } }, result: { list: [1] } });
    expect(manager.list().length).toBe(1);
  });

  it('P42: the executor has an input of its own, whatever is in it', async () => {
    const executor = heldExecutor();
    const { manager, clock, task } = desk(executor);
    class Handle {
      isOpen = true;
    }
    const handle = new Handle();
    const cyclic: Record<string, unknown> = { handle, run: () => 7, ['__proto__']: { polluted: true } };
    cyclic.self = cyclic;
    const throwing = Object.defineProperty({}, 'a', {
      enumerable: true,
      get: () => {
        throw new Error('a getter');
      },
    });
    const { taskId } = manager.startBackground({ ...started, input: cyclic });
    const other = manager.startBackground({ ...started, input: throwing });
    await clock.settle();
    const { input } = executor.of(taskId);
    expect([input.handle, (input.run as () => number)(), input.self]).toEqual([handle, 7, input]);
    input.handle = null;
    expect(task(taskId).input.handle).toBe(handle);
    expect(executor.of(other.taskId).input).toBe(throwing);
  });

  it('P44: createdAt is the same from the first put to the last', async () => {
    const executor = heldExecutor();
    const { clock, running, store } = desk(executor);
    const taskId = await running();
    await clock.advance(1_000);
    executor.of(taskId).resolve({});
    await clock.settle();
    expect(store.puts.map(({ value }) => value.createdAt)).toEqual(Array(3).fill('2026-01-01T00:00:00.000Z'));
  });
});
