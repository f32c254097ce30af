/**
 * A host that makes tasks with sessions, agents and jobs, and stops them, without end, until it is killed.
 * Usage: node stop-churn.mjs <dataDir> <runLog> <seed>. Says `ready`; `ack <jobId>`; `stopping <taskId>` before a stop; `settled <taskId>` when
 * its last report has come and names nothing that is left.
 */
import { writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { open } from '../../dist/index.js';
import { bodies } from './bodies.mjs';
import { randomFrom } from './random.mjs';
import { shellAgents, shellCommand } from './shell-agents.mjs';

const [dataDir, runLog, seed] = process.argv.slice(2);
const TASKS_AT_ONCE = 3;

/** Straight into the pipe: what is said has left this process. */
function say(line) {
  for (let rest = Buffer.from(`${line}\n`); rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

const random = randomFrom(Number(seed));
const { slow, family } = bodies(runLog);
const offstage = await open({
  dataDir,
  workers: 16,
  executors: { slow, family },
  agents: { default: shellAgents(runLog, random) },
  killAfterMs: 400,
  log: () => {},
});

const refused = () => {};

function ask(sessionId) {
  const ms = random.pick([0, 30, 10_000]);
  return offstage.sessions.prompt(sessionId, { content: { ms }, whenBusy: random.pick(['reject', 'queue']) }).catch(refused);
}

function spawn(taskId, sessionId, number) {
  const kind = random.pick(['command', 'command', 'slow', 'family']);
  const jobId = `${kind} ${taskId}/${number}`;
  const options =
    kind === 'command' ? shellCommand(jobId, runLog, random.next() < 0.3) : { kind, jobId, input: { ms: random.below(400) } };
  return offstage.spawn({ ...options, sessionId }).then(() => say(`ack ${jobId}`), refused);
}

/** One of them that is stopped whole is used no more afterwards. */
async function oneTask(taskId) {
  await offstage.tasks.create({ taskId });
  const sessions = Array.from({ length: 1 + random.below(3) }, (_, index) => `${taskId}/s${index}`);
  const works = [];
  for (const sessionId of sessions) {
    await offstage.sessions.create({ sessionId, taskId });
    if (random.next() < 0.8) works.push(ask(sessionId));
  }
  for (let number = random.below(4); number > 0; number -= 1) works.push(spawn(taskId, random.pick(sessions), number));
  if (random.next() < 0.8) await Promise.all(works);
  await delay(random.below(100));
  // What is under way when the stop comes is older than it.
  for (const sessionId of sessions) if (random.next() < 0.3) void ask(sessionId);
  if (random.next() < 0.3) void spawn(taskId, random.pick(sessions), 4);
  const options = { force: random.next() < 0.2 };
  if (random.next() < 0.3) {
    await Promise.all(
      sessions.map((sessionId) => offstage.sessions.stop(sessionId, options).then(({ settled }) => settled, refused)),
    );
    return;
  }
  say(`stopping ${taskId}`);
  const left = await offstage.tasks.stop(taskId, options).then(
    async ({ settled }) => {
      const { detached, failed } = await settled;
      return detached.length + failed.length;
    },
    ({ code }) => (code === 'stop.nothing_running' ? 0 : 1),
  );
  if (left === 0) say(`settled ${taskId}`);
}

say('ready');
let number = 0;
async function goOn() {
  for (;;) {
    number += 1;
    await oneTask(`t${seed}/${number}`);
  }
}
await Promise.all(Array.from({ length: TASKS_AT_ONCE }, goOn));
