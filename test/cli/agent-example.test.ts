/** `node examples/agent.mjs` by hand; what it does as an agent is shown by test/executors/acp-agent.test.ts. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ROOT } from './offstage.ts';

const EXAMPLE = join(ROOT, 'examples', 'agent.mjs');
const run = promisify(execFile);

it('explains every step with --help', async () => {
  const { stdout, stderr } = await run(process.execPath, [EXAMPLE, '--help']);
  expect(stderr).toBe('');
  const explained = [...stdout.matchAll(/^ {2}(\/?[\w-]+)/gm)].map(([, step]) => step);
  const source = await readFile(EXAMPLE, 'utf8');
  const steps = [
    ...((source.split('const STEPS = {')[1] ?? '').split('\n};')[0]?.matchAll(/^ {2}(?:async )?'?(\/?[\w-]+)'?[:(]/gm) ?? []),
  ];
  expect(steps.length).toBeGreaterThan(15);
  expect(explained.filter((step) => step !== '/reject').sort()).toEqual(steps.map(([, step]) => step).sort());
});

it('refuses an option that it does not know', async () => {
  const refused = run(process.execPath, [EXAMPLE, '--v3']);
  await expect(refused).rejects.toMatchObject({ code: 2, stdout: '', stderr: /^There is no option --v3\.\n\nUsage: / });
});

it('ends when nobody speaks to it any more', async () => {
  const child = run(process.execPath, [EXAMPLE]);
  child.child.stdin?.end();
  expect(await child).toEqual({ stdout: '', stderr: '' });
});
