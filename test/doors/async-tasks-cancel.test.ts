/** Ending a task from outside: rows P15 to P21. */
import { describe, expect, it } from 'vitest';
import type { AsyncTaskExecutor } from '../../src/doors/async-tasks/index.ts';
import { desk, heldExecutor, recordingStore } from '../support/async-tasks.ts';

const started = { type: 'held', threadId: 'thread', input: {} };

describe('cancel', () => {
  it('P15: a queued task is cancelled at once, and its execute is never called', async () => {
    const executor = heldExecutor();
    const { manager, clock, store, status } = desk(executor);
    const { taskId } = manager.startBackground(started);
    const cancelling = manager.cancel(taskId);
    expect(status(taskId)).toBe('cancelled');
    expect(await cancelling).toBe(true);
    await clock.advance(1_000);
    expect([executor.calls.length, store.statuses(taskId)]).toEqual([0, ['queued', 'cancelled']]);
  });

  it('P16: a running one hears its signal, then its executor is told, then it is cancelled, then put; the answer is true', async () => {
    const order: unknown[] = [];
    const seen = (what: string, taskId: string): unknown => order.push(`${what} while ${desks.status(taskId)}`);
    const executor = heldExecutor({
      cancel: async (taskId) => seen('executor.cancel', taskId),
    });
    const desks = desk(
      executor,
      recordingStore(({ key, value }) => order.push(`put ${value.status} while ${desks.status(key)}`)),
    );
    const taskId = await desks.running();
    order.length = 0;
    executor.of(taskId).signal.addEventListener('abort', () => seen('signal', taskId));
    expect(await desks.manager.cancel(taskId)).toBe(true);
    expect(order).toEqual(['signal while running', 'executor.cancel while running', 'put cancelled while cancelled']);
  });

  it('P16: a cancelled task leaves no timer, also where its execute never ends', async () => {
    const { manager, clock, running } = desk();
    await running();
    const { pending } = clock;
    const taskId = await running({ timeoutMs: 3_600_000 });
    expect(clock.pending).toBe(pending + 1);
    await manager.cancel(taskId);
    await clock.advance(0);
    expect(clock.pending).toBe(pending);
  });

  it('P17: an executor.cancel that throws or rejects is swallowed', async () => {
    const bad: readonly AsyncTaskExecutor['cancel'][] = [
      () => Promise.reject(new Error('no')),
      () => {
        throw new Error('no');
      },
    ];
    for (const cancel of bad) {
      const { manager, running, status, log } = desk(heldExecutor({ cancel: (taskId) => cancel?.(taskId) ?? Promise.resolve() }));
      const taskId = await running();
      expect([await manager.cancel(taskId), status(taskId), log]).toEqual([true, 'cancelled', ['async_task.cancel_failed']]);
    }
  });

  it('P17: one that never answers holds up neither the task nor, for more than five seconds, the caller', async () => {
    const { manager, clock, running, status } = desk(heldExecutor({ cancel: () => new Promise(() => {}) }));
    const taskId = await running();
    const cancelling = manager.cancel(taskId);
    expect(status(taskId)).toBe('cancelled');
    await clock.advance(5_000);
    expect(await cancelling).toBe(true);
  });

  it('P18: without executor.cancel the signal alone ends it', async () => {
    const executor = heldExecutor();
    const { manager, running, status } = desk(executor);
    const taskId = await running();
    expect([await manager.cancel(taskId), status(taskId)]).toEqual([true, 'cancelled']);
    expect(executor.of(taskId).signal.aborted).toBe(true);
  });

  it('P19: a task that has ended stays as it is: the answer is false, and nobody is told', async () => {
    const told: string[] = [];
    const executor = heldExecutor({ cancel: async (id) => told.push(id) });
    const { manager, clock, running, task, store } = desk(executor);
    const [success, error, timeout] = [await running(), await running(), await running({ timeoutMs: 5 })];
    executor.of(success).resolve({});
    executor.of(error).reject(new Error('x'));
    await clock.advance(5);
    const cancelled = await running();
    await manager.cancel(cancelled);
    const ids = [success, error, timeout, cancelled];
    const before = ids.map(task);
    expect(before.map(({ status }) => status)).toEqual(['success', 'error', 'timeout', 'cancelled']);
    const puts = store.puts.length;
    expect(await Promise.all(ids.map((taskId) => manager.cancel(taskId)))).toEqual([false, false, false, false]);
    await clock.settle();
    expect([ids.map(task), store.puts.length, told]).toEqual([before, puts, [cancelled]]);
  });

  it('P19: of two cancels in one tick one ends it', async () => {
    const told: string[] = [];
    const executor = heldExecutor({ cancel: async (id) => told.push(id) });
    const { manager, running } = desk(executor);
    const taskId = await running();
    // One of them from within the signal.
    let inner: Promise<boolean> | undefined;
    executor.of(taskId).signal.addEventListener('abort', () => {
      inner = manager.cancel(taskId);
    });
    expect(await Promise.all([manager.cancel(taskId), manager.cancel(taskId)])).toEqual([true, false]);
    expect([await inner, told]).toEqual([false, [taskId]]);
  });

  it('P20: what execute resolves or rejects with after a cancel is dropped', async () => {
    const executor = heldExecutor();
    const { manager, clock, running, task, store } = desk(executor);
    const ids = [await running(), await running()] as const;
    for (const taskId of ids) await manager.cancel(taskId);
    const before = ids.map(task);
    const puts = store.puts.length;
    executor.of(ids[0]).resolve({ a: 1 });
    executor.of(ids[1]).reject(new Error('x'));
    await clock.advance(60_000);
    expect([ids.map(task), store.puts.length]).toEqual([before, puts]);
  });

  it('P20: what settles because of the signal itself is dropped too', async () => {
    const { manager, clock, running, status } = desk({
      execute: (_taskId, _input, { signal }) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve({ isPartial: true }))),
      cancel: () => new Promise((resolve) => setImmediate(resolve)),
    });
    const taskId = await running();
    await manager.cancel(taskId);
    await clock.settle();
    expect(status(taskId)).toBe('cancelled');
  });

  it('P21: an unknown id answers false, null, or nothing', async () => {
    const { manager } = desk();
    expect(await manager.cancel('task_none')).toBe(false);
    expect([manager.get('task_none'), manager.getTaskSync('task_none'), await manager.check('task_none')]).toEqual([
      null,
      null,
      null,
    ]);
    expect(await manager.update('task_none', 'm')).toBe(false);
  });
});

describe('close', () => {
  it('cancels what has not ended, accepts nothing more, and leaves the catalog readable', async () => {
    const executor = heldExecutor();
    const { manager, clock, running, status } = desk(executor);
    const [taskId, queued] = [await running({ timeoutMs: 60_000 }), manager.startBackground(started).taskId];
    const closing = manager.close();
    expect(manager[Symbol.asyncDispose]()).toStrictEqual(closing);
    await clock.advance(0);
    await closing;
    expect([taskId, queued].map(status)).toEqual(['cancelled', 'cancelled']);
    await expect(manager.start(started)).rejects.toMatchObject({ code: 'engine.closing' });
    expect(manager.startBackground(started)).toMatchObject({ status: 'error' });
    expect(clock.pending).toBe(0);
  });

  it('has nothing to do for a manager that was never used', async () => {
    await desk().manager.close();
  });
});
