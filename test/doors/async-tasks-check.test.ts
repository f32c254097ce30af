/** Asking an executor, and telling it: rows P22 to P29. */
import { describe, expect, it } from 'vitest';
import { desk, heldExecutor } from '../support/async-tasks.ts';

type Answer = Record<string, unknown>;

/** A desk with one running task whose executor answers `checkStatus` with what `answer` resolves with. */
async function asked(answer: () => Promise<Answer>) {
  const executor = heldExecutor({ checkStatus: () => answer() });
  const one = desk(executor);
  const taskId = await one.running();
  await one.clock.advance(1_000);
  return { ...one, executor, taskId };
}

describe('check', () => {
  it('P22: what checkStatus answers is merged, stamped and put', async () => {
    const { manager, clock, taskId, task, store, executor } = await asked(async () => ({ status: 'success', result: { a: 1 } }));
    const before = task(taskId);
    const checked = await manager.check(taskId);
    expect(checked).toEqual({
      ...before,
      status: 'success',
      result: { a: 1 },
      updatedAt: '2026-01-01T00:00:01.000Z',
      checkedAt: '2026-01-01T00:00:01.000Z',
    });
    expect(checked).toBe(task(taskId));
    expect(store.puts.at(-1)?.value).toEqual(checked);
    // Its own result comes late, and its signal has nothing to say.
    executor.of(taskId).resolve({ a: 2 });
    await clock.settle();
    expect([task(taskId), executor.of(taskId).signal.aborted]).toEqual([checked, false]);
  });

  it('P22: a task that was checked to its end times out no more', async () => {
    const executor = heldExecutor({ checkStatus: async () => ({ status: 'error' }) });
    const { manager, clock, running, task } = desk(executor);
    const taskId = await running({ timeoutMs: 5_000 });
    const checked = await manager.check(taskId);
    expect(checked).toMatchObject({ status: 'error', error: 'The executor says no more than "error".' });
    await clock.advance(60_000);
    expect([task(taskId), executor.of(taskId).signal.aborted]).toEqual([checked, false]);
  });

  it('P22: right after start it is merged as well, and execute is called all the same', async () => {
    const executor = heldExecutor({ checkStatus: async () => ({ status: 'running', progress: 1 }) });
    const { manager, clock, store, task } = desk(executor);
    const { taskId } = manager.startBackground({ type: 'held', threadId: 'thread', input: {} });
    expect(await manager.check(taskId)).toMatchObject({ status: 'running', progress: 1 });
    await clock.settle();
    expect([executor.calls.length, store.statuses(taskId), task(taskId).status]).toEqual([1, ['queued', 'running'], 'running']);
  });

  it('P23: the same status again sets checkedAt and leaves updatedAt', async () => {
    const { manager, taskId, task, store } = await asked(async () => ({ status: 'running' }));
    const before = task(taskId);
    expect(await manager.check(taskId)).toEqual({ ...before, checkedAt: '2026-01-01T00:00:01.000Z' });
    expect(store.puts.at(-1)?.value.checkedAt).toBe('2026-01-01T00:00:01.000Z');
  });

  it('P23: a step back, a status that is none, and no answer count as the same', async () => {
    const answers: unknown[] = [{ status: 'queued' }, { status: 'done' }, { status: 7 }, undefined, 'running'];
    const { manager, taskId, task } = await asked(async () => answers.shift() as Answer);
    const { updatedAt } = task(taskId);
    for (const _ of [...answers]) expect(await manager.check(taskId)).toMatchObject({ status: 'running', updatedAt });
  });

  it('P24: without checkStatus the task is answered as it is, and nothing is put', async () => {
    const { manager, running, store, task } = desk();
    const taskId = await running();
    const puts = store.puts.length;
    expect(await manager.check(taskId)).toBe(task(taskId));
    expect(store.puts.length).toBe(puts);
  });

  it('P25: a checkStatus that rejects or throws changes nothing', async () => {
    for (const answer of [
      () => Promise.reject(new Error('no')),
      () => {
        throw new Error('no');
      },
    ]) {
      const { manager, taskId, task, store, log } = await asked(answer);
      const [before, puts] = [task(taskId), store.puts.length];
      expect(await manager.check(taskId)).toBe(before);
      expect([task(taskId), store.puts.length, log]).toEqual([before, puts, ['async_task.check_failed']]);
    }
  });

  it('P26: a task that has ended stays as it is, whatever checkStatus would say', async () => {
    const { manager, clock, taskId, task, executor } = await asked(async () => ({ status: 'running' }));
    executor.of(taskId).resolve({ a: 1 });
    await clock.settle();
    const ended = task(taskId);
    expect([ended.status, await manager.check(taskId)]).toEqual(['success', ended]);
    expect(task(taskId)).toBe(ended);
  });

  it('P27: a task that is cancelled while checkStatus is asked stays cancelled', async () => {
    let answer: (told: Answer) => void = () => {};
    const { manager, taskId, task, store } = await asked(() => new Promise((resolve) => (answer = resolve)));
    const checking = manager.check(taskId);
    await manager.cancel(taskId);
    const [cancelled, puts] = [task(taskId), store.puts.length];
    answer({ status: 'success', result: { a: 1 } });
    expect(await checking).toBe(cancelled);
    expect([cancelled.status, task(taskId), store.puts.length]).toEqual(['cancelled', cancelled, puts]);
  });

  it('P28: a partial answer keeps everything else, and what was asked for cannot be overwritten', async () => {
    const { manager, taskId, task } = await asked(async () => ({
      progress: 5,
      agentName: 'helper',
      taskId: 'other',
      type: 'other',
      threadId: 'other',
      createdAt: 'never',
      updatedAt: 'never',
      input: { other: 1 },
      timeoutMs: 1,
      jobType: undefined,
      result: { early: true },
      error: 'early',
    }));
    const before = task(taskId);
    expect(await manager.check(taskId)).toEqual({
      ...before,
      progress: 5,
      agentName: 'helper',
      checkedAt: '2026-01-01T00:00:01.000Z',
    });
  });
});

describe('update', () => {
  it('P29: a message is handed to sendUpdate; without one, or at the end, it is not', async () => {
    const told: unknown[] = [];
    const executor = heldExecutor({ sendUpdate: async (...message) => void told.push(message) });
    const { manager, clock, running } = desk(executor);
    const taskId = await running();
    expect([await manager.update(taskId, 'm'), told]).toEqual([true, [[taskId, 'm']]]);
    executor.of(taskId).resolve({});
    await clock.settle();
    expect([await manager.update(taskId, 'late'), told.length]).toEqual([false, 1]);
    const silent = desk();
    expect(await silent.manager.update(await silent.running(), 'm')).toBe(false);
  });

  it('P29: what sendUpdate rejects with, or refuses, is for the caller', async () => {
    const refusing = desk(heldExecutor({ sendUpdate: async () => false }));
    expect(await refusing.manager.update(await refusing.running(), 'm')).toBe(false);
    const failing = desk(heldExecutor({ sendUpdate: () => Promise.reject(new Error('no line')) }));
    await expect(failing.manager.update(await failing.running(), 'm')).rejects.toThrow('no line');
  });
});
