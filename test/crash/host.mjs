/**
 * A host that is killed. Usage: node host.mjs <task> <dataDir> <runLog> <seed>. Says on its standard output, one line per fact:
 * `ready`, `ack <jobId>` once a spawn was acknowledged, `end <jobId> <status>` once a wait told of an end, `launched`.
 */
import { existsSync, readFileSync, writeSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { open } from '../../dist/index.js';
import { bodies, lingering } from './bodies.mjs';
import { randomFrom } from './random.mjs';

const [task, dataDir, runLog, seed] = process.argv.slice(2);

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
const offstage = await open({ dataDir, workers: task === 'commands' ? 2 : 8, executors: bodies(runLog), killAfterMs: 500 });

async function follow(spawned) {
  const { jobId } = await spawned;
  say(`ack ${jobId}`);
  const view = await offstage.wait(jobId, { timeoutMs: null });
  say(`end ${jobId} ${view.status}`);
  return view;
}

const tasks = {
  /** Jobs of all kinds, without end; some are spawned twice, some cancelled. */
  async churn() {
    let open = 0;
    for (let number = 0; ; number += 1) {
      while (open >= 24) await turn();
      open += 1;
      const kind = random.pick(['noop', 'noop', 'noop', 'slow', 'slow', 'failing', 'family', 'command']);
      const jobId = `${kind} ${seed}/${number}`;
      const isBrief = random.next() < 0.92;
      const options =
        kind === 'command'
          ? lingering(jobId, runLog, isBrief ? 0 : 30)
          : { kind, jobId, input: { ms: isBrief ? random.below(30) : 300 }, description: 'x'.repeat(random.below(3_000)) };
      const isCancelled = random.next() < 0.15;
      const spawned = offstage.spawn(options);
      if (random.next() < 0.1) void offstage.spawn(options);
      if (isCancelled) void spawned.then(() => offstage.cancel(jobId));
      void follow(spawned).then(() => {
        open -= 1;
      });
      if (random.next() < 0.3) await turn();
    }
  },

  /** Five commands on two workers; then it waits to be killed. */
  async commands() {
    for (let number = 1; number <= 5; number += 1)
      void follow(offstage.spawn(lingering(`command ${seed}/${number}`, runLog, 60)));
    // Until the processes of the first two are noted, with their pids, and have begun.
    const areNoted = async () => (await offstage.processes()).filter(({ pid }) => pid !== null).length === 2;
    const haveBegun = () => existsSync(runLog) && readFileSync(runLog, 'utf8').split('\n').length === 3;
    while (!((await areNoted()) && haveBegun())) await turn();
    say('launched');
    await new Promise(() => {});
  },
};

say('ready');
await tasks[task]();
