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
const STAMPS = join(ROOT, 'dist', '.start.json');
const inRoot = (...names) => names.map((name) => join(ROOT, name));

/** What is built, of what, and how. */
const PARTS = [
  {
    name: 'the library',
    output: join(ROOT, 'dist', 'doors', 'cli', 'main.js'),
    inputs: inRoot('src', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'scripts/build.mjs'),
    command: inRoot('scripts/build.mjs'),
  },
  {
    name: 'the dashboard',
    output: join(ROOT, 'dist', 'dashboard', 'index.html'),
    inputs: inRoot('web', 'src/model', 'src/doors', 'package.json'),
    command: [...inRoot('node_modules/vite/bin/vite.js'), 'build', ...inRoot('web'), '--logLevel', 'warn'],
  },
];

const { isDemo, args } = readArguments(process.argv.slice(2));
for (const part of PARTS) build(part);
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

function build({ name, output, inputs, command }) {
  const [source] = inputs;
  // A package that was installed has none: it was built by whoever published it.
  if (!existsSync(source)) return;
  const newest = Math.max(...inputs.filter((path) => existsSync(path)).map(newestIn));
  if (existsSync(output) && (statSync(output).mtimeMs >= newest || stamps()[name] === newest)) return;
  if (!existsSync(join(ROOT, 'node_modules', 'typescript')))
    fail('The packages that it is built with are not installed. Run "npm ci" first.');
  process.stderr.write(`Building ${name} …\n`);
  const { status, error } = spawnSync(process.execPath, command, { cwd: ROOT, stdio: ['ignore', 2, 2] });
  if (status !== 0) fail(`Building ${name} has failed${error === undefined ? '.' : `: ${error.message}`}`);
  // A compiler leaves files alone that have come out the same.
  writeFileSync(STAMPS, JSON.stringify({ ...stamps(), [name]: newest }));
}

function stamps() {
  try {
    return JSON.parse(readFileSync(STAMPS, 'utf8'));
  } catch {
    return {};
  }
}

/** When the newest of a file, or of all below a folder, was changed; also of what was removed, by its folder. */
function newestIn(path) {
  const { mtimeMs } = statSync(path);
  if (!statSync(path).isDirectory()) return mtimeMs;
  const below = readdirSync(path, { withFileTypes: true }).filter(({ name }) => name !== 'node_modules' && name !== 'public');
  return Math.max(mtimeMs, ...below.map(({ name }) => newestIn(join(path, name))));
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
