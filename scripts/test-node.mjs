/**
 * Runs the suite on another Node: `node scripts/test-node.mjs 22` or `24`. The runtime comes from the npm package `node`, into a folder of its own.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

const version = process.argv[2] ?? '';
if (!/^\d+(\.\d+){0,2}$/.test(version)) {
  console.error('usage: node scripts/test-node.mjs <version of node, for example 22>');
  process.exit(2);
}
const root = join(import.meta.dirname, '..');
const folder = join(tmpdir(), `offstage-node-${version}`);
const node = join(folder, 'node_modules', 'node', 'bin', 'node');
const run = (command, args, options = {}) => {
  const { status } = spawnSync(command, args, { stdio: 'inherit', ...options });
  if (status !== 0) process.exit(status ?? 1);
};
if (!existsSync(node)) {
  mkdirSync(folder, { recursive: true });
  // The package fetches its binary, another npm package, in an install script.
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, allowScripts: { node: true } }));
  run('npm', ['install', '--save-exact', `node@${version}`], { cwd: folder });
}
const environment = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
run(node, ['--version']);
run(node, [join(root, 'scripts', 'build.mjs')], { cwd: root, env: environment });
run(node, [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...process.argv.slice(3)], { cwd: root, env: environment });
