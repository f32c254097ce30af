/**
 * Tools that outlive a turn of the conversation, by `AsyncTaskManager`: launched in one turn, looked at in a later one, cancelled, or ended
 * by their time limit. The tasks here are small programs, each in a Node.js process of its own.
 *
 *   node examples/async-tasks.mjs
 */
import { execFile } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { AsyncTaskManager, asyncTasksReducer } from 'offstage/async-tasks';

// Every change of a task is written here, for whoever looks later. The manager never reads it.
const written = [];
const store = {
  async put(namespace, key, value) {
    written.push({ path: [...namespace, key].join('/'), ...value });
  },
  async get(namespace, key) {
    return written.findLast(({ path }) => path === [...namespace, key].join('/')) ?? null;
  },
};

const manager = new AsyncTaskManager(store);
manager.registerExecutor('sandbox_exec', {
  async execute(_taskId, input, { signal }) {
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', input.code], { signal });
    return { stdout: stdout.trim() };
  },
});

// One turn: launch, and go on at once.
const launch = (name, type, options = {}) => {
  const { taskId, status, error } = manager.startBackground({ type, threadId: 'conversation', agentName: name, ...options });
  console.log(`launched   ${name}: ${status}${error === undefined ? '' : `, ${error}`}`);
  return taskId;
};
const sum = launch('sum', 'sandbox_exec', { input: { code: 'console.log([...Array(101).keys()].reduce((a, b) => a + b))' } });
const slow = launch('slow', 'sandbox_exec', { input: { code: 'setInterval(() => {}, 1000)' }, timeoutMs: 500 });
const endless = launch('endless', 'sandbox_exec', { input: { code: 'setInterval(() => {}, 1000)' } });
const bad = launch('bad', 'subagent');
const unknown = launch('unknown', 'deep_thought');

// Somebody changes their mind: the signal ends the program.
await setTimeout(200);
console.log(`cancelled  endless: ${await manager.cancel(endless)}, and again: ${await manager.cancel(endless)}`);

// Later turns: look.
while (manager.list({ status: 'queued' }).length + manager.list({ status: 'running' }).length > 0) await setTimeout(20);
for (const taskId of [sum, slow, endless, bad, unknown]) {
  const { agentName, status, result, error } = manager.getTaskSync(taskId);
  console.log(`${status.padEnd(10)} ${agentName}: ${error ?? JSON.stringify(result ?? {})}`);
}

// A channel of the conversation's state: the newest entry of each task.
let channel = {};
for (const task of manager.list({ threadId: 'conversation' })) channel = asyncTasksReducer(channel, { [task.taskId]: task });
console.log(
  `channel    ${Object.values(channel)
    .map(({ agentName, status }) => `${agentName} ${status}`)
    .join(', ')}`,
);
console.log(
  `written    sum: ${written
    .filter(({ taskId }) => taskId === sum)
    .map(({ status }) => status)
    .join(' -> ')}`,
);
