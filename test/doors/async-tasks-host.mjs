/** A host that uses a task manager and closes nothing: it must end by itself. What it saw goes to stdout. */
import { AsyncTaskManager } from '../../dist/doors/async-tasks/index.js';

const manager = new AsyncTaskManager();
manager.registerExecutor('echo', { execute: async (_taskId, input) => input });
manager.registerExecutor('stuck', { execute: () => new Promise(() => {}) });

const echo = manager.startBackground({ type: 'echo', threadId: 'a', input: { said: 'hi' }, timeoutMs: 3_600_000 });
// Bodies that never settle must not hold the process either, once their tasks have ended.
const cancelled = await manager.start({ type: 'stuck', threadId: 'a', input: {}, timeoutMs: 3_600_000 });
const timedOut = await manager.start({ type: 'stuck', threadId: 'a', input: {}, timeoutMs: 50 });
await manager.start({ type: 'stuck', threadId: 'a', input: {} });
await manager.cancel(cancelled.taskId);
process.once('exit', () => {
  const statuses = [echo, cancelled, timedOut].map(({ taskId }) => manager.get(taskId)?.status);
  const handlers = ['SIGINT', 'SIGTERM'].map((signal) => process.listenerCount(signal));
  console.log(JSON.stringify({ statuses, handlers }));
});
