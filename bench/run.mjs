/**
 * `npm run bench`: measures Offstage, its floor and its peers on the same work and prints a table per benchmark.
 *
 *   node bench/run.mjs [--only H1,H3] [--subjects offstage,floor] [--rounds 5] [--quick] [--json file] [--dir folder]
 *
 * Rounds are interleaved (A, B, C, A, B, C …), so that a slow minute of the machine hits all alike; ratios are taken within a round.
 * A subject that fails is left out of the later rounds of that benchmark; `--json` keeps the whole error.
 * Exit code: 0 measured (targets missed or not), 1 something failed, 2 usage.
 */
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { Lab } from './lab.mjs';
import { PLAN, SIZES } from './plan.mjs';
import { figureTable, judge, targetTable } from './report.mjs';
import { subjects } from './subjects.mjs';

const OPTIONS = {
  only: { type: 'string' },
  subjects: { type: 'string' },
  rounds: { type: 'string' },
  quick: { type: 'boolean', default: false },
  json: { type: 'string' },
  dir: { type: 'string', default: tmpdir() },
};

function usage(message) {
  console.error(
    `${message}\nusage: node bench/run.mjs [--only H1,H3] [--subjects ${Object.keys(subjects).join(',')}] [--rounds n] [--quick] [--json file] [--dir folder]`,
  );
  process.exit(2);
}

function readArguments() {
  let values;
  try {
    ({ values } = parseArgs({ options: OPTIONS }));
  } catch (error) {
    usage(error.message);
  }
  const only = values.only?.toUpperCase().split(',') ?? PLAN.map(({ id }) => id);
  const wanted = values.subjects?.split(',') ?? Object.keys(subjects);
  for (const id of only) if (!PLAN.some((benchmark) => benchmark.id === id)) usage(`unknown benchmark ${id}`);
  for (const key of wanted) if (subjects[key] === undefined) usage(`unknown subject ${key}`);
  const sizes = values.quick ? SIZES.quick : SIZES.full;
  const rounds = values.rounds === undefined ? sizes.rounds : Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) usage('--rounds takes a whole number, 1 or more');
  return { ...values, plan: PLAN.filter(({ id }) => only.includes(id)), wanted, sizes, rounds };
}

/** Why a subject is not measured, by key. */
async function findMissing(wanted) {
  const missing = {};
  for (const [key, subject] of Object.entries(subjects)) {
    const reason = wanted.includes(key) ? await subject.missing() : 'not asked for';
    if (reason !== null) missing[key] = reason;
  }
  return missing;
}

async function measureAll(lab, benchmark, rounds, missing, earlier) {
  const failures = [];
  const failed = new Set();
  const measured = [];
  const say = (text) => process.stderr.isTTY && process.stderr.write(`${text}\u001b[K\r`);
  for (let round = 0; round < (benchmark.rounds ?? rounds); round += 1) {
    measured.push({});
    const before = Object.fromEntries(Object.entries(earlier).map(([id, results]) => [id, results[round]]));
    for (const key of benchmark.subjects) {
      if (missing[key] !== undefined || failed.has(key)) continue;
      say(`  ${benchmark.id} round ${round + 1}: ${subjects[key].name} …`);
      try {
        measured[round][key] = await benchmark.measure(lab, key, before);
      } catch (error) {
        failed.add(key);
        failures.push(`${subjects[key].name}, round ${round + 1}: ${error.message}`);
      }
    }
  }
  say('');
  return { measured, failures };
}

const options = readArguments();
const { plan, sizes, rounds } = options;
const missing = await findMissing(options.wanted);
const names = Object.fromEntries(Object.entries(subjects).map(([key, { name }]) => [key, name]));
const lab = new Lab({ parentDir: options.dir, sizes });
const interrupt = () => lab.close().finally(() => process.exit(130));
process.once('SIGINT', interrupt);
process.once('SIGTERM', interrupt);

const machine = {
  node: process.version,
  platform: `${process.platform} ${process.arch}`,
  cores: availableParallelism(),
  cpu: cpus()[0]?.model ?? 'unknown',
  loadAtStart: loadavg()[0],
};
console.log(`Node ${machine.node}, ${machine.platform}, ${machine.cores} cores (${machine.cpu}), data in ${options.dir}`);
if (machine.loadAtStart > 0.5)
  console.log(
    `Others are at work here (load ${machine.loadAtStart.toFixed(1)} at the start): trust the ratios and their ranges, not the figures.`,
  );
console.log(
  `Rounds: ${rounds}, interleaved; medians with ranges; each measurement in a process of its own${options.quick ? '; --quick: smaller sizes' : ''}.`,
);
console.log(
  'BullMQ talks to a Redis server that many processes and machines can share; Offstage is embedded in one process and needs none.',
);
console.log(
  'Most of the gap comes from that. p-queue and fastq keep nothing. Absolute figures mean little on a shared machine; compare within a table.',
);

const results = {};
const report = [];
try {
  for (const benchmark of plan) {
    const { measured, failures } = await measureAll(lab, benchmark, rounds, missing, results);
    results[benchmark.id] = measured;
    const judged = judge(benchmark, measured);
    report.push({ id: benchmark.id, title: benchmark.title(sizes), rounds: measured, targets: judged, failures });
    console.log(`\n${benchmark.id} ${benchmark.title(sizes)}`);
    console.log([...figureTable(benchmark, measured, names, missing), ...targetTable(judged)].join('\n'));
    for (const failure of failures) console.log(`  FAILED ${failure.split('\n')[0]}`);
    if (failures.length > 0) process.exitCode = 1;
  }
} finally {
  process.removeListener('SIGINT', interrupt);
  process.removeListener('SIGTERM', interrupt);
  await lab.close();
}
if (options.json !== undefined)
  writeFileSync(options.json, `${JSON.stringify({ machine, quick: options.quick, missing, benchmarks: report }, null, 2)}\n`);
