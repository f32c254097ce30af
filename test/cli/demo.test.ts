/** `npm run demo`: what a newcomer sees first. */
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { listed, newFolder, ROOT } from './offstage.ts';

it('runs eight commands, says how each of them ended, where the data lie and how to look at them again', async () => {
  const data = join(await newFolder(), 'data');
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [join(ROOT, 'examples', 'demo.mjs')], {
    cwd: ROOT,
    env: { ...process.env, OFFSTAGE_DATA_DIR: data },
  });
  expect(stderr).toBe('');
  const lines = stdout.trimEnd().split('\n');
  expect(lines[0]).toContain(data);
  expect(lines.slice(-3)).toEqual([
    '4 completed, 2 failed, 2 were cancelled; nothing is left running.',
    'Look at it again:',
    `  npx offstage jobs list --data-dir ${data}`,
  ]);
  expect(stdout).toMatch(/unit tests: failed after .+ exit code 3/);
  expect(stdout).toMatch(/a download that hangs: failed after .+ longer than its limit of 2500 ms/);
  expect(stdout).toMatch(/follow a log: cancelled \(not needed any more\); it went at once\./);
  expect(stdout).toMatch(/a server that ignores TERM: cancelled .+ did not listen and was killed \d\.\d s later\./);
  expect(stdout).not.toContain('\u001b');
  const jobs = await listed(data);
  expect(jobs.map(({ status }) => status).sort()).toEqual([
    'cancelled',
    'cancelled',
    ...Array(4).fill('completed'),
    'errored',
    'errored',
  ]);
  expect((await readdir(data)).sort()).toEqual(['store', 'store.created']);
});
