/**
 * Where the time of a job goes: runs H1 for one subject under `--cpu-prof` and prints the self time by part and by function.
 *
 *   node bench/profile.mjs [--subject offstage] [--jobs 30000] [--top 30] [--keep file.cpuprofile]
 */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Lab } from './lab.mjs';
import { SIZES } from './plan.mjs';
import { subjects } from './subjects.mjs';

const WARM_UP = 2_000;

const { values } = parseArgs({
  options: {
    subject: { type: 'string', default: 'offstage' },
    jobs: { type: 'string', default: '30000' },
    top: { type: 'string', default: '30' },
    keep: { type: 'string' },
  },
});

/** The part of the program a frame belongs to: a package, a file of ours, the engine of JavaScript itself. */
function partOf({ functionName, url }) {
  if (url === '') return functionName.startsWith('(') ? functionName : 'native (V8, add-ons)';
  if (url.startsWith('node:')) return 'node';
  const name = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
  if (name !== undefined) return ['level', 'classic-level', 'abstract-level', 'level-transcoder'].includes(name) ? 'level' : name;
  const file = /\/(dist|bench)\/(.+)$/.exec(url);
  if (file === null) return 'other';
  return file[1] === 'dist' ? `offstage ${file[2]}` : 'bench';
}

/** Self time in microseconds by part and by function. */
function summarise({ nodes, samples, timeDeltas }) {
  const selfUs = new Map();
  for (let index = 0; index < samples.length; index += 1)
    selfUs.set(samples[index], (selfUs.get(samples[index]) ?? 0) + timeDeltas[index]);
  const parts = new Map();
  const functions = new Map();
  for (const { id, callFrame } of nodes) {
    const us = selfUs.get(id) ?? 0;
    const part = partOf(callFrame);
    parts.set(part, (parts.get(part) ?? 0) + us);
    const place = callFrame.url === '' ? '' : ` ${callFrame.url.split('/').at(-1)}:${callFrame.lineNumber + 1}`;
    const name = `${callFrame.functionName || '(anonymous)'}${place}`;
    functions.set(name, (functions.get(name) ?? 0) + us);
  }
  const byTime = (map) => [...map].sort(([, a], [, b]) => b - a);
  return { parts: byTime(parts), functions: byTime(functions) };
}

const print = (title, rows, totalUs, jobs) => {
  console.log(`\n${title}`);
  for (const [name, us] of rows) {
    console.log(`  ${((100 * us) / totalUs).toFixed(1).padStart(5)} %  ${(us / jobs).toFixed(2).padStart(7)} µs/job  ${name}`);
  }
};

const subject = subjects[values.subject];
if (subject === undefined) throw new Error(`unknown subject ${values.subject}`);
const missing = await subject.missing();
if (missing !== null) {
  console.log(`${subject.name}: ${missing}`);
  process.exit(1);
}
const jobs = Number(values.jobs);
const folder = mkdtempSync(join(tmpdir(), 'offstage-profile-'));
const lab = new Lab({ parentDir: folder, sizes: SIZES.full });
try {
  const params = { ...(await lab.place(values.subject)), workers: 4, warmUp: WARM_UP, jobs };
  const execArgv = ['--cpu-prof', '--cpu-prof-interval', '200', '--cpu-prof-dir', folder];
  const { jobsPerSecond, cpuUsPerJob } = await lab.run('throughput', values.subject, params, { execArgv });
  const file = join(
    folder,
    readdirSync(folder).find((name) => name.endsWith('.cpuprofile')),
  );
  const { parts, functions } = summarise(JSON.parse(readFileSync(file, 'utf8')));
  const busy = parts.filter(([part]) => part !== '(idle)');
  const totalUs = busy.reduce((sum, [, us]) => sum + us, 0);
  const allJobs = jobs + WARM_UP;
  console.log(
    `${subject.name}: ${jobs} no-op jobs, ${Math.round(jobsPerSecond)} jobs/s under the profiler, ${cpuUsPerJob.toFixed(0)} µs CPU per job`,
  );
  console.log(
    `Shares are of the busy time of the main thread, start and warm-up included; idle ${((parts.find(([part]) => part === '(idle)')?.[1] ?? 0) / 1_000).toFixed(0)} ms.`,
  );
  print('by part', busy.slice(0, Number(values.top)), totalUs, allJobs);
  const busyFunctions = functions.filter(([name]) => name !== '(idle)');
  print('by function', busyFunctions.slice(0, Number(values.top)), totalUs, allJobs);
  if (values.keep !== undefined) copyFileSync(file, values.keep);
} finally {
  await lab.close();
  rmSync(folder, { recursive: true, force: true });
}
