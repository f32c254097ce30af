/**
 * `npm start`: builds what is missing or out of date, and serves ./.offstage (or OFFSTAGE_DATA_DIR) with the dashboard.
 *
 *   npm start                          serves until Ctrl-C
 *   npm start -- --demo                the same with a live scene, in a folder of its own that goes with it
 *   npm start -- --port 8080           everything else goes to `offstage serve`: see npm start -- --help
 *
 * What it says of the build goes to stderr: the first line of stdout is the address.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const STAMP = join(ROOT, 'dist', '.startinfo');
const inRoot = (...names) => names.map((name) => join(ROOT, name));

const INPUTS = inRoot('src', 'web', 'scripts', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json');
/** Where there is a page to build, it is built as well. */
const outputs = () =>
  inRoot('dist/doors/cli/main.js', ...(existsSync(join(ROOT, 'web', 'index.html')) ? ['dist/dashboard/index.html'] : []));

const { isDemo, args } = readArguments(process.argv.slice(2));
buildWhatIsMissing();
process.argv = [process.execPath, join(ROOT, 'bin', 'offstage.js'), 'serve', ...(isDemo ? demoArguments(args) : []), ...args];
await import('../dist/doors/cli/main.js');

function readArguments(given) {
  return { isDemo: given.includes('--demo'), args: given.filter((arg) => arg !== '--demo') };
}

function demoArguments(args) {
  const scene = ['--config', join(ROOT, 'examples', 'scene.mjs')];
  if (args.some((arg) => arg === '--data-dir' || arg.startsWith('--data-dir='))) return scene;
  const folder = mkdtempSync(join(tmpdir(), 'offstage-live-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return [...scene, '--data-dir', folder];
}

/** Looks at times only, so that a start is immediate; the build itself looks closer, and leaves alone what is as it was. */
function buildWhatIsMissing() {
  // A package that was installed has no sources: it was built by whoever published it.
  if (!existsSync(INPUTS[0])) return;
  const times = INPUTS.filter((path) => existsSync(path)).flatMap(timesIn);
  const newest = Math.max(...times);
  const sources = `${times.length} files, ${newest}`;
  if (outputs().every((path) => existsSync(path))) {
    const last = stamp();
    // Nobody has started it yet: `npm ci` has built it.
    const isFresh = last === null && outputs().every((path) => statSync(path).mtimeMs >= newest);
    if (isFresh || last === sources) return;
  }
  if (!existsSync(join(ROOT, 'node_modules', 'typescript')))
    fail('The packages that it is built with are not installed. Run "npm ci" first.');
  process.stderr.write('Building …\n');
  const { status, error } = spawnSync(process.execPath, inRoot('scripts/build.mjs'), { cwd: ROOT, stdio: ['ignore', 2, 2] });
  if (status !== 0) fail(`The build has failed${error === undefined ? '.' : `: ${error.message}`}`);
  writeFileSync(STAMP, sources);
}

function stamp() {
  try {
    return readFileSync(STAMP, 'utf8');
  } catch {
    return null;
  }
}

/** When each file below was changed last. What there are fewer of than before is a reason to build, too. */
function timesIn(path) {
  const found = statSync(path);
  if (!found.isDirectory()) return [found.mtimeMs];
  // What is in `public` is made by the build.
  const below = readdirSync(path).filter((name) => name !== 'node_modules' && name !== 'public');
  return below.flatMap((name) => timesIn(join(path, name)));
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
