import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { jobMachine, toMermaid } from '../../src/machines/index.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

/** Runs a sample as a program of its own, in an empty project that has Offstage installed. */
async function runSample(file: string, containing: string): Promise<string> {
  const samples = [...readFileSync(join(ROOT, file), 'utf8').matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code as string);
  const sample = samples.find((code) => code.includes(containing));
  if (sample === undefined) throw new Error(`${file} has no sample with ${containing}`);
  const folder = mkdtempSync(join(tmpdir(), 'offstage-sample-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'sample.js'), sample);
    await run('mkdir', ['node_modules'], { cwd: folder });
    symlinkSync(ROOT, join(folder, 'node_modules', 'offstage'));
    return (await run(process.execPath, ['sample.js'], { cwd: folder })).stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

it('the sample of the README runs as printed, in at most twelve lines', async () => {
  expect(await runSample('README.md', 'research')).toBe('looked at the logs for default\ncompleted\n');
});

it('the sample of docs/testing.md runs as printed', async () => {
  expect(await runSample('docs/testing.md', 'virtualClock')).toBe('cancel.timed_out\n');
});

it('the sample of docs/simulation.md runs as printed', async () => {
  expect(await runSample('docs/simulation.md', 'onlyOnce')).toBe('only once\n');
});

it('the sample of docs/guarantees.md runs as printed', async () => {
  expect(await runSample('docs/guarantees.md', 'simulateMany')).toBe('every guarantee held\n');
});

it('the sample of docs/tools.md runs as printed', async () => {
  const lines = (await runSample('docs/tools.md', 'memoryStore')).split('\n');
  expect(lines).toEqual([
    'The answer to "What is it all about?" is 42.',
    'The answer to "And the rest?" is 42.',
    expect.stringMatching(/^\[task job_\w+ status=completed\]$/),
    '',
  ]);
});

it('the sample of docs/async-tasks.md runs as printed', async () => {
  expect(await runSample('docs/async-tasks.md', 'startBackground')).toBe('queued queued\nHI\n');
});

it('the sample of docs/client.md runs as printed', async () => {
  expect(await runSample('docs/client.md', 'offstage/client')).toBe('hello has ended\nHELLO\n');
});

it('the lifecycle in the README is the one that runs', () => {
  expect(readFileSync(join(ROOT, 'README.md'), 'utf8')).toContain(`\`\`\`mermaid\n${toMermaid(jobMachine)}\n\`\`\``);
});

it('the README says the two commands, first that which shows something, and the second is what CI runs', () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  expect(readme.indexOf('```sh\nnpm ci && npm start\n```')).toBe(readme.indexOf('```'));
  expect(readme).toContain('```sh\nnpm ci && npm test\n```');
  const ci = readFileSync(join(ROOT, '.ci', 'run'), 'utf8').split('\n');
  expect(ci.indexOf('npm ci')).toBeLessThan(ci.indexOf('npm test'));
  expect(ci).toContain('npm test');
});
