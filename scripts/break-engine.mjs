/**
 * Breaks the engine in every way that `engine-breaks.mjs` lists, one at a time, on a copy, and tells which checker of the simulation catches it.
 *
 * `node scripts/break-engine.mjs [--steps N] [--seed N] [--table file] [words of a name or a guarantee …]`; exits 1 if one survives.
 * `--explain`: shrinks what is caught, and tells what happened, as `npm run simulate` does.
 * What worlds do not show (a store that hangs, say) names the test that does: `test`, a file, which is run instead.
 * Each break is given `--steps` simulated steps (default 300,000, more than it takes without one to be sure of nothing); `--table` writes a
 * table in Markdown.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BREAKS } from './engine-breaks.mjs';

/** A break that makes the engine hang has been caught, too. */
const LIMIT_MS = 600_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    steps: { type: 'string', default: '300000' },
    seed: { type: 'string', default: '1' },
    table: { type: 'string' },
    explain: { type: 'boolean', default: false },
  },
});
const wanted = positionals.join(' ');
const breaks = BREAKS.filter(({ name, guarantee }) => guarantee === wanted || name.includes(wanted));
if (breaks.length === 0) {
  console.error(`no break is named ${JSON.stringify(wanted)}`);
  process.exit(2);
}

const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'offstage-break-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const name of [
  'src',
  'test',
  'property-tests',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'vitest.config.ts',
]) {
  cpSync(join(root, name), join(folder, name), { recursive: true });
}
cpSync(join(root, 'scripts', 'simulate.mjs'), join(folder, 'scripts', 'simulate.mjs'), { recursive: true });
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));

function build() {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const flags = ['-p', join(folder, 'tsconfig.build.json'), '--noCheck', '--noEmitOnError', 'false', '--declaration', 'false'];
  const { status, stdout } = spawnSync(process.execPath, [compiler, ...flags], { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`it does not compile:\n${stdout}`);
}

const simulateArguments = [join(folder, 'scripts', 'simulate.mjs'), '--seed', values.seed, '--steps', values.steps];

/** What was broken first, or null. */
function simulated() {
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [...simulateArguments, '--json', '--no-shrink'], {
    cwd: folder,
    encoding: 'utf8',
    timeout: LIMIT_MS,
    maxBuffer: 1 << 28,
  });
  if (signal !== null) return { guarantee: 'G16', message: 'G16: the simulation hangs', steps: Number.NaN };
  // Nothing that the simulator itself relies on is broken on purpose: a break that stops it shows nothing.
  if (status !== 0 && status !== 1) throw new Error(`the simulation did not run:\n${stdout}\n${stderr}`);
  const line = stdout.trim().split('\n').at(-1) ?? '';
  if (!line.startsWith('{')) throw new Error(`the simulation did not run:\n${stdout}\n${stderr}`);
  const { failure, steps } = JSON.parse(line);
  return failure === null ? null : { ...failure, steps };
}

/** What a test says first, or null. */
function tested(file) {
  const { status, signal, stdout } = spawnSync(
    process.execPath,
    [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '--root', folder, '--project', 'node', file],
    {
      cwd: folder,
      encoding: 'utf8',
      timeout: LIMIT_MS,
      maxBuffer: 1 << 28,
      env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' },
    },
  );
  if (status === 0) return null;
  if (signal !== null) return { guarantee: 'test', message: `${file} hangs`, steps: null };
  const title = /^ *× (.+?)(?: \d+ms)?$/m.exec(stdout)?.[1];
  // A break that does not even run shows nothing.
  if (title === undefined) throw new Error(`the test did not run:\n${stdout}`);
  return { guarantee: 'test', message: `${file}: ${title}`, steps: null };
}

function changed({ name, file, find, replace }) {
  const parts = readFileSync(join(root, file), 'utf8').split(find);
  if (parts.length !== 2) throw new Error(`${name}: its text is ${parts.length - 1} times in ${file}`);
  return parts.join(replace);
}

// All of them first: one that does not apply any more is no reason to wait for the others.
const sources = breaks.map((one) => changed(one));
build();
const whole = values.explain ? null : simulated();
if (whole !== null) throw new Error(`without any break: ${whole.message}`);
const rows = [];
for (const [index, { name, file, test }] of breaks.entries()) {
  writeFileSync(join(folder, file), sources[index]);
  if (test === undefined) build();
  const found = test === undefined ? simulated() : tested(test);
  if (values.explain && found !== null) spawnSync(process.execPath, simulateArguments, { cwd: folder, stdio: 'inherit' });
  cpSync(join(root, file), join(folder, file));
  const caught =
    found === null ? 'SURVIVED' : `${found.guarantee.padEnd(3)} ${found.steps === null ? '' : `after ${found.steps} steps`}`;
  console.log(`${caught.padEnd(24)} ${name} (${file})${found === null ? '' : `\n${' '.repeat(25)}${found.message}`}`);
  rows.push({ name, file, found });
}
const survivors = rows.filter(({ found }) => found === null).length;
console.log(`\n${rows.length - survivors} of ${rows.length} were caught.`);
if (values.table !== undefined) {
  const cell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
  const line = ({ name, file, found }) =>
    `| ${cell(name)} | \`${file}\` | ${found === null ? 'survived' : found.guarantee} | ${found?.steps ?? ''} | ${cell(found?.message ?? '')} |`;
  writeFileSync(
    values.table,
    `| break | file | caught by | within steps | what was said |\n| --- | --- | --- | --- | --- |\n${rows.map(line).join('\n')}\n`,
  );
}
process.exitCode = survivors === 0 ? 0 : 1;
