/** The samples of docs/server.md run as printed. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ROUTES } from '../../src/doors/server/rest-routes.ts';
import { LIMITS } from '../../src/index.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);
const page = (): Promise<string> => readFile(join(ROOT, 'docs', 'server.md'), 'utf8');

async function runSample(containing: string): Promise<string> {
  const samples = [...(await page()).matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code as string);
  const folder = await mkdtemp(join(tmpdir(), 'offstage-sample-'));
  try {
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await writeFile(join(folder, 'sample.js'), samples.find((code) => code.includes(containing)) as string);
    await mkdir(join(folder, 'node_modules'));
    await symlink(ROOT, join(folder, 'node_modules', 'offstage'));
    await symlink(join(ROOT, 'node_modules', 'ws'), join(folder, 'node_modules', 'ws'));
    return (await run(process.execPath, ['sample.js'], { cwd: folder })).stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

it('REST', async () => {
  expect(await runSample('api/jobs/await')).toBe('completed HI\n');
});

it('WebSocket', async () => {
  expect(await runSample('offstage.token')).toBe('j1 queued\nj1 running\nj1 completed\n');
});

it('every route and its action are in the table', async () => {
  const text = await page();
  for (const { path, action } of ROUTES) {
    expect(text, action).toContain(`\`${action}\``);
    expect(text, path).toContain(path.split('/').at(-1) as string);
  }
});

it('the limits are those that hold', async () => {
  const text = await page();
  expect(text).toContain(`${LIMITS.connections.toLocaleString('en')}; then \`limit.connections\``);
  expect(text).toContain(`${LIMITS.requestBurst.toLocaleString('en')} at once, then ${LIMITS.requestsPerSecond} per second`);
  expect(text).toContain(`${LIMITS.refusalBurst} at once, then one per second`);
  expect(text).toContain(`${LIMITS.broadcastBytes / 1024 / 1024} MiB; who is further behind`);
  expect(text).toContain(`${LIMITS.requestHeadBytes / 1024} KiB, within ${LIMITS.requestHeadMs / 1_000} seconds`);
});
