/** The engine behind the task manager: it is really used, it keeps nothing, and it holds nobody up. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { AsyncTaskManager } from '../../src/doors/async-tasks/index.ts';
import { PrivateEngine } from '../../src/doors/async-tasks/private-engine.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import type { Store } from '../../src/persistence/store.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';

async function keysOf(store: Store): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const { key } of store.range({})) keys.push(key);
  return keys;
}

it('runs every task as a job with a row of its own, and keeps nothing of it afterwards', async () => {
  const clock = virtualClock();
  const store = memoryStore();
  const open = new Map<string, () => void>();
  const jobs = new Map<string, string>();
  const engine = new PrivateEngine({
    clock,
    store,
    run: (taskId, context) => {
      jobs.set(taskId, context.jobId);
      return new Promise((resolve) => open.set(taskId, resolve));
    },
  });
  await engine.submit('first', null);
  await clock.settle();
  open.get('first')?.();
  await clock.settle();
  const idle = await keysOf(store);

  for (let round = 0; round < 3; round++) {
    const ids = Array.from({ length: 100 }, (_, index) => `${round}-${index}`);
    await Promise.all(ids.map((taskId) => engine.submit(taskId, index(taskId) === 2 ? 1_000 : null)));
    await clock.settle();
    expect((await keysOf(store)).filter((key) => key.startsWith('l/')).length).toBeGreaterThanOrEqual(100);
    for (const taskId of ids) {
      if (index(taskId) === 0) open.get(taskId)?.();
      if (index(taskId) === 1) engine.release(jobs.get(taskId) ?? '');
    }
    // A third returned, a third is let go while its bodies hang, a third runs out of time.
    await clock.advance(1_000);
    for (const taskId of ids) if (index(taskId) === 1) open.get(taskId)?.();
    await clock.settle();
    expect(await keysOf(store)).toEqual(idle);
  }
  expect(idle.filter((key) => !/^!|~$|default$/.test(key))).toEqual([]);
  const closing = engine.close();
  await clock.advance(1);
  await closing;
});

/** Which third of a round. */
const index = (taskId: string): number => Number(taskId.split('-')[1]) % 3;

it('takes the clock, the ids and the log of the host, and refuses what is none', async () => {
  const clock = virtualClock();
  const ids = { jobId: (ordinal: number) => `j${ordinal}`, id: (prefix: string) => `${prefix}_mine` };
  const manager = new AsyncTaskManager(undefined, { clock, ids });
  expect(manager.startBackground({ type: 'subagent', threadId: 'a' }).taskId).toBe('task_mine');
  await clock.settle();
  expect(manager.get('task_mine')?.status).toBe('error');
  expect(() => new AsyncTaskManager(undefined, { clock: {} as typeof clock })).toThrow(/clock/);
  expect(() => new AsyncTaskManager(undefined, { workers: 3 } as object)).toThrow(/workers/);
});

it('P6: what the engine refuses ends as an error', async () => {
  const clock = virtualClock();
  const refuse = (): never => {
    throw new Error('no more ids');
  };
  const manager = new AsyncTaskManager(undefined, { clock, ids: { jobId: refuse, id: (prefix) => `${prefix}_1` } });
  const { taskId, status } = manager.startBackground({ type: 'subagent', threadId: 'a' });
  await clock.settle();
  expect([status, manager.get(taskId)]).toMatchObject(['queued', { status: 'error', error: 'no more ids' }]);
});

it('neither holds the process nor installs signal handlers', async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'async-tasks-host.mjs')], {
    timeout: 30_000,
  });
  expect([JSON.parse(stdout), stderr]).toEqual([{ statuses: ['success', 'cancelled', 'timeout'], handlers: [0, 0] }, '']);
});
