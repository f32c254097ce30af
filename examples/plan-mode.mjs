/**
 * Plan mode: ten steps, four at a time, a line that tells how they go on. One step fails; what has not started by then is cancelled, to
 * save its cost, and what has started is let finish.
 *
 *   node examples/plan-mode.mjs
 */
import { setTimeout as pause } from 'node:timers/promises';
import { memoryStore, open } from 'offstage';

const STEPS = [
  'Read the ticket',
  'Find the code',
  'Reproduce the fault',
  'Look at the history',
  'Write a test',
  'Repair it',
  'Run all tests',
  'Measure the speed',
  'Update the docs',
  'Write the summary',
];

const offstage = await open({
  store: memoryStore(),
  workers: 4,
  executors: {
    /** Stands for an agent: give `agents` to `open`, and leave this out. */
    async agent(job, { signal }) {
      await pause(200 + 40 * STEPS.indexOf(job.subject), undefined, { signal });
      if (job.subject === 'Reproduce the fault') throw new Error('it does not happen here');
      return `done: ${job.input.prompt}`;
    },
  },
});

let hasGivenUp = false;
const plan = STEPS.map((description) => ({ description, prompt: `${description}. Answer in one sentence.` }));
const entries = await offstage.plan.run(plan, { parentMessageId: 'turn-1', onProgress });
if (process.stdout.isTTY) console.log();

console.log('\nWhat became of it:');
for (const { subject, status, resultText, error } of entries) {
  console.log(`  ${status.padEnd(9)}  ${subject.padEnd(20)}  ${resultText ?? error.message}`);
}
const { total, counts } = await offstage.plan.get('turn-1');
console.log(
  `\nOf ${total} steps ${counts.completed} are done, ${counts.errored} failed, ${counts.cancelled} were not needed any more.`,
);
await offstage.close();

/** Called whenever a step stands elsewhere. A failed step ends nothing by itself: what it means is for the planner to say. */
function onProgress({ parentMessageId, ended, total, counts }) {
  const bar = '#'.repeat(ended).padEnd(total, '.');
  const line = `[${bar}] ${counts.running} at work, ${counts.queued} waiting, ${counts.errored} failed`;
  process.stdout.write(process.stdout.isTTY ? `\r\u001b[K${line}` : `${line}\n`);
  if (counts.errored === 0 || hasGivenUp) return;
  hasGivenUp = true;
  void offstage.plan.cancel(parentMessageId, { onlyQueued: true, reason: 'a step before it failed' });
}
