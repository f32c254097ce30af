/**
 * A plan of eight real commands on a pool of four: most succeed, one fails, one runs out of time, one is cancelled, and one ignores the
 * polite request to end and is killed. Run it with `npm run demo`; set OFFSTAGE_DATA_DIR to keep the data in a folder of your choice.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { open } from 'offstage';

const sh = (script) => ({ command: 'sh', args: ['-c', script] });
const PLAN = [
  { subject: 'count the files here', input: sh('ls | wc -l') },
  { subject: 'build', input: sh('for part in core doors docs; do echo "built $part"; sleep 0.7; done') },
  { subject: 'unit tests', input: sh('sleep 1; echo "1 of 214 tests failed" >&2; exit 3') },
  { subject: 'a download that hangs', input: { command: 'sleep', args: ['600'] }, timeoutMs: 2_500 },
  { subject: 'follow a log', input: sh('while :; do echo still here; sleep 0.2; done') },
  { subject: 'a server that ignores TERM', input: sh("trap '' TERM; while :; do sleep 0.1; done") },
  { subject: 'which node is this', input: { command: 'node', args: ['--version'] } },
  { subject: 'sum up', input: sh('sleep 1; echo "all parts looked at"') },
];

const dataDir = process.env.OFFSTAGE_DATA_DIR || (await mkdtemp(join(tmpdir(), 'offstage-demo-')));
const offstage = await open({ dataDir, workers: 4, cancelGraceMs: 5_000, killAfterMs: 1_500 });
console.log(`Eight commands, four at a time. The data lies in ${dataDir}\n`);

const jobs = new Map();
const screen = watch(jobs);
offstage.onEvent(async ({ type, jobId }) => {
  if (type === 'job.status' && jobs.has(jobId)) screen.show(await offstage.get(jobId));
});
for (const spec of PLAN) {
  const job = await offstage.spawn({ kind: 'command', ...spec });
  jobs.set(job.jobId, job);
  screen.show(await offstage.get(job.jobId));
}

// Somebody changes their mind: these two would run for ever.
for (const subject of ['follow a log', 'a server that ignores TERM']) {
  const { jobId } = [...jobs.values()].find((job) => job.subject === subject);
  while ((await offstage.get(jobId)).status === 'queued') await setTimeout(50);
  await setTimeout(800);
  await offstage.cancel(jobId, { reason: 'not needed any more' });
}

const ended = await offstage.waitMany([...jobs.keys()], { timeoutMs: null });
screen.close();
console.log('\nWhat happened:');
for (const job of ended) console.log(`  ${job.subject}: ${await inWords(job)}`);
const count = (status) => ended.filter((job) => job.status === status).length;
const { running, detached } = offstage.health().pool;
const rest = running + detached === 0 ? 'nothing is left running' : `${running + detached} are left running`;
console.log(`\n${count('completed')} completed, ${count('errored')} failed, ${count('cancelled')} were cancelled; ${rest}.`);
console.log(`Look at it again:\n  npx offstage jobs list --data-dir ${dataDir}`);
await offstage.close();

async function inWords(job) {
  const seconds = ((job.completedAt - job.startedAt) / 1_000).toFixed(1);
  if (job.status === 'completed') return `completed: ${job.resultText.trim().split('\n').at(-1)}`;
  if (job.status === 'errored') return `failed after ${seconds} s. ${job.error.message}`;
  const asked = (await offstage.history(job.jobId)).find(({ type }) => type === 'cancel_requested');
  const took = job.completedAt - asked.at;
  return `cancelled (${job.error.message}); it ${took < 1_000 ? 'went at once' : `did not listen and was killed ${(took / 1_000).toFixed(1)} s later`}.`;
}

/** On a terminal a table that is drawn again; elsewhere a line per change. */
function watch(known) {
  const isTerminal = process.stdout.isTTY === true;
  const shown = new Map();
  let height = 0;
  const wordOf = (job) => (job.status === 'running' && job.cancelRequestedAt !== null ? 'cancelling' : job.status);
  const draw = () => {
    const rows = [...known.values()].map((job) => `  ${wordOf(job).padEnd(10)}  ${took(job).padStart(6)}  ${job.subject}`);
    process.stdout.write(`${height > 0 ? `\u001b[${height}A` : ''}\u001b[J${rows.join('\n')}\n`);
    height = rows.length;
  };
  const took = (job) =>
    job.startedAt === null ? '' : `${(((job.completedAt ?? Date.now()) - job.startedAt) / 1_000).toFixed(1)} s`;
  const timer = isTerminal ? setInterval(draw, 100) : null;
  return {
    show(job) {
      // Records are read one by one, and may arrive out of order.
      if (job.revision < (known.get(job.jobId)?.revision ?? 0)) return;
      known.set(job.jobId, job);
      if (isTerminal) draw();
      else if (shown.get(job.jobId) !== wordOf(job)) console.log(`${wordOf(job).padEnd(10)}  ${job.subject}`);
      shown.set(job.jobId, wordOf(job));
    },
    close() {
      clearInterval(timer);
      if (isTerminal) draw();
    },
  };
}
