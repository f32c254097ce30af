/**
 * A program with the example agent and a job at work, for tests: it owns the folder until it is killed.
 * Usage: node stop-host.mjs <scene> <dataDir> <marker>. The task `t` has the session `s`, and the job `j` runs on it:
 *   work      an agent with a subagent in the background, and a command that sleeps for <marker> seconds
 *   stubborn  the same command, which does not listen to TERM; it is killed after minutes only
 *   deaf      a body inside this process that does not listen to its signal, and a short grace
 *   quiet     nothing runs
 */
import { join } from 'node:path';
import { acpAgent } from '../../dist/agents.js';
import { open } from '../../dist/open.js';

const [scene, dataDir, marker] = process.argv.slice(2);
const program = join(import.meta.dirname, '..', '..', 'examples', 'agent.mjs');

const offstage = await open({
  dataDir,
  control: true,
  agents: { default: acpAgent({ command: process.execPath, args: [program], protocol: 'v2' }) },
  executors: { deaf: () => new Promise(() => {}) },
  log: () => {},
  ...(scene === 'stubborn' ? { cancelGraceMs: 600_000, killAfterMs: 300_000 } : {}),
  ...(scene === 'deaf' ? { cancelGraceMs: 200 } : {}),
});
await offstage.tasks.create({ taskId: 't', title: 'Release 1.4' });
await offstage.sessions.create({ sessionId: 's', taskId: 't' });

const told = (matches) =>
  new Promise((resolve) => {
    const end = offstage.onEvent((event) => {
      if (!matches(event)) return;
      end();
      resolve();
    });
  });

const job = { jobId: 'j', sessionId: 's', subject: 'a long sleep' };
const command = (script) => ({ ...job, kind: 'command', input: { command: 'sh', args: ['-c', script] } });

const scenes = {
  async work() {
    const isBehind = told(({ type, foregroundActivity: tier }) => type === 'session.activity_changed' && tier === 'background');
    await offstage.sessions.prompt('s', { content: '/background 10m subagent\nsay working on it' });
    await isBehind;
    const isReady = told(({ type }) => type === 'job.output');
    await offstage.spawn(command(`echo ready; sleep ${marker}; true`));
    await isReady;
  },
  async stubborn() {
    const isReady = told(({ type }) => type === 'job.output');
    await offstage.spawn(command(`trap '' TERM; echo ready; sleep ${marker}; true`));
    await isReady;
  },
  async deaf() {
    const isRunning = told(({ type, status }) => type === 'job.status' && status === 'running');
    await offstage.spawn({ ...job, kind: 'deaf' });
    await isRunning;
  },
  async quiet() {},
};
await scenes[scene]();
console.log('ready');
setInterval(() => {}, 60_000);
