/** Usage: node test/crash/run-crash-loop.mjs [--loop jobs|notices|stops] [--kills 200] [--seed 1] [--json]. Needs a built dist/. Exits 1 when something is wrong. */
import { parseArgs } from 'node:util';
import { crashLoop } from './crash-loop.mjs';
import { noticeLoop } from './notice-loop.mjs';
import { stopLoop } from './stop-loop.mjs';

const { values } = parseArgs({
  options: {
    loop: { type: 'string', default: 'jobs' },
    kills: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const isShown = process.stderr.isTTY && !values.json;
const loops = { jobs: crashLoop, notices: noticeLoop, stops: stopLoop };
const run = loops[values.loop];
if (run === undefined) throw new Error(`--loop must be one of ${Object.keys(loops).join(', ')}`);
const { summary, problems } = await run({
  kills: Number(values.kills),
  seed: Number(values.seed),
  onProgress: ({ kills }) => isShown && process.stderr.write(`\r${kills} kills`),
});
if (isShown) process.stderr.write('\n');
if (values.json) process.stdout.write(`${JSON.stringify({ summary, problems })}\n`);
else {
  for (const [name, figure] of Object.entries(summary)) process.stdout.write(`${name.padEnd(20)}${figure}\n`);
  for (const problem of problems) process.stdout.write(`PROBLEM ${problem}\n`);
}
process.exitCode = problems.length === 0 ? 0 : 1;
