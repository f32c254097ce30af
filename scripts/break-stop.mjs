/**
 * Breaks a stop in every way that `stop-breaks.mjs` lists, one at a time, on a copy of the sources, and tells which of them the race test, or
 * one of its fixed examples, finds.
 *
 * `node scripts/break-stop.mjs [words of a name …]`; exits 1 if one survives. OFFSTAGE_SEED and OFFSTAGE_RUNS are those of the property tests.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BREAKS } from './stop-breaks.mjs';

const TESTS = ['property-tests/stop-races.test.ts', 'test/engine/stop-races.test.ts'];
/** A test that hangs has found the break, too. */
const LIMIT_MS = 600_000;

const root = join(import.meta.dirname, '..');
const wanted = process.argv.slice(2).join(' ');
const breaks = BREAKS.filter(({ name }) => name.includes(wanted));
if (breaks.length === 0) {
  console.error(`no break is named ${JSON.stringify(wanted)}`);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'offstage-break-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const name of ['src', 'test', 'property-tests', 'package.json', 'tsconfig.json', 'vitest.config.ts'])
  cpSync(join(root, name), join(folder, name), { recursive: true });
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));

/** What the test says first, or null when it passes. */
function failure() {
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '--root', folder, ...TESTS],
    {
      cwd: folder,
      encoding: 'utf8',
      timeout: LIMIT_MS,
      maxBuffer: 1 << 28,
      env: { OFFSTAGE_SEED: '1', ...process.env, OFFSTAGE_SHRINK: 'no', NO_COLOR: '1', FORCE_COLOR: '0' },
    },
  );
  if (status === 0) return null;
  if (signal !== null) return 'it hangs';
  const text = `${stdout}\n${stderr}`;
  const [, runs] = /Property failed after (\d+) tests/.exec(text) ?? [];
  const problem = /^\s*\+\s+"(.+)",$/m.exec(text)?.[1] ?? /Caused by: (.+)/.exec(text)?.[1];
  if (runs !== undefined && problem !== undefined) return `run ${runs}: ${problem}`;
  const example = /FAIL +test\/\S+ > (.+)/.exec(text)?.[1];
  // A break that does not even run shows nothing.
  if (example === undefined || /Failed Suites/.test(text)) throw new Error(`the test did not run:\n${text}`);
  return `example: ${example}`;
}

function changed({ name, file, find, replace }) {
  const text = readFileSync(join(root, file), 'utf8');
  const parts = text.split(find);
  if (parts.length !== 2) throw new Error(`${name}: its text is ${parts.length - 1} times in ${file}`);
  return parts.join(replace);
}

// All of them first: one that does not apply any more is no reason to wait for the others.
const sources = breaks.map((one) => changed(one));
const whole = failure();
if (whole !== null) throw new Error(`the test fails without any break: ${whole}`);
let survivors = 0;
for (const [index, { name, file }] of breaks.entries()) {
  writeFileSync(join(folder, file), sources[index]);
  const found = failure();
  cpSync(join(root, file), join(folder, file));
  if (found === null) survivors += 1;
  console.log(`${found === null ? 'SURVIVED' : 'caught  '}  ${name} (${file})${found === null ? '' : `\n          ${found}`}`);
}
console.log(`\n${breaks.length - survivors} of ${breaks.length} were caught.`);
process.exitCode = survivors === 0 ? 0 : 1;
