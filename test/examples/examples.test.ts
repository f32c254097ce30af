/** The examples, run as their readers run them. `demo.mjs`, `sessions.mjs` and `agent.mjs` are run by the tests of the command line. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const EXAMPLES = join(ROOT, 'examples');

async function linesOf(name: string): Promise<readonly string[]> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [join(EXAMPLES, name)]);
  expect(stderr).toBe('');
  return stdout.trim().split('\n');
}

describe('every example', () => {
  it.each(readdirSync(EXAMPLES))('%s imports only what its reader has installed, and says what it is', (name) => {
    const text = readFileSync(join(EXAMPLES, name), 'utf8');
    expect(text).toMatch(/^(#!.+\n)?\/\*\*\n \* .+/);
    const imported = [...text.matchAll(/from '([^']+)'/g)].map(([, from]) => from as string);
    expect(imported.filter((from) => !/^(node:|offstage($|\/)|ai($|\/)|@agentclientprotocol\/sdk)/.test(from))).toEqual([]);
  });
});

describe('agent-loop.mjs', () => {
  it('hands work off, talks on, looks at it, gets it, waits for it, and stops it', async () => {
    const lines = await linesOf('agent-loop.mjs');
    const calls = lines.filter((line) => line.startsWith('call ')).map((line) => /call +(\w+)/.exec(line)?.[1]);
    expect(calls).toEqual(['agent', 'agent', 'agent', 'list_jobs', 'job_output', 'job_output', 'job_stop', 'job_output']);
    expect(lines.filter((line) => line.startsWith('person'))).toHaveLength(5);
    expect(lines.filter((line) => line.startsWith('answer  {"job_id"'))).toEqual(
      [1, 2, 3].map((number) => `answer  {"job_id":"job_${number}"}`),
    );
    // It goes on talking before anything has ended.
    const text = lines.join('\n');
    expect(text.indexOf('137 for a KILL')).toBeLessThan(text.indexOf('status=completed'));
    const listed = lines.find((line) => line.startsWith('answer  [')) as string;
    expect(listed).toContain('"subject":"ask the web"');
    expect(text).toContain('answer  The disk was full from 02:10 to 02:40.\n        [task job_1 status=completed]');
    expect(text).toContain('answer  {"ok":true,');
    expect(text).toContain('"upload a file" failed.\n        [task job_2 status=completed]');
    expect(lines.at(-1)).toMatch(/^model {3}Only the upload/);
  });
});

describe('plan-mode.mjs', () => {
  it('runs ten steps four at a time, tells how they go on, and cancels what is queued when one fails', async () => {
    const lines = await linesOf('plan-mode.mjs');
    const progress = lines.filter((line) => line.startsWith('['));
    expect(progress[0]).toBe('[..........] 0 at work, 10 waiting, 0 failed');
    expect(progress.at(-1)).toBe('[##########] 0 at work, 0 waiting, 1 failed');
    for (const line of progress) expect(Number(/(\d+) at work/.exec(line)?.[1])).toBeLessThanOrEqual(4);
    expect(progress).toContain('[..........] 4 at work, 6 waiting, 0 failed');
    const outcomes = lines.filter((line) => /^ {2}(completed|errored|cancelled) /.test(line));
    expect(outcomes).toHaveLength(10);
    expect(outcomes[2]).toBe('  errored    Reproduce the fault   Error: it does not happen here');
    const cancelled = outcomes.filter((line) => line.startsWith('  cancelled'));
    expect(cancelled.length).toBeGreaterThan(0);
    for (const line of cancelled) expect(line).toContain('a step before it failed');
    const completed = 9 - cancelled.length;
    expect(lines.at(-1)).toBe(`Of 10 steps ${completed} are done, 1 failed, ${cancelled.length} were not needed any more.`);
  });
});

describe('host.mjs', () => {
  it('talks, runs jobs with cards, has its agent told, calls tools by hand, and stops all of it', async () => {
    const lines = await linesOf('host.mjs');
    const of = (word: string) => lines.filter((line) => line.startsWith(word)).map((line) => line.slice(word.length).trim());
    expect(of('agent   ')).toEqual([
      'Hello, what shall I do?',
      expect.stringMatching(/^\[task job_\w+ completed\] the sea/),
      'I am another agent.',
    ]);
    expect(of('job_output')).toEqual([expect.stringMatching(/tides\. \| \[task job_\w+ status=completed\]$/)]);
    expect(of('context')).toEqual(['Why does it rise? Because of the tides.']);
    expect(of('card').filter((text) => text === 'cancelled')).toHaveLength(2);
    expect(of('stopped')).toEqual([expect.stringMatching(/^\d+ ended, 0 did not$/)]);
    expect(of('job ')).toEqual(['cancelled sleeps', 'cancelled never ends', 'completed ask somebody else', 'completed the sea']);
    expect(lines.filter((line) => line.startsWith('shows')).at(-1)).toBe('shows     nothing, 0 subagents at work');
  });
});

describe('simulation.mjs', () => {
  it('finds how one lock is given back too early, tells it in a few lines, and finds nothing in the other', async () => {
    const lines = await linesOf('simulation.mjs');
    const [, hasty = '', patient = ''] = lines.join('\n').split(/^--- .+\n/m);
    expect(hasty).toMatch(/^Seed \d+, step \d+ of 300: one upload: \w+ uploads to (shop|blog), and \w+ has not finished$/m);
    const left = /^After \d+ worlds these are left of 300: (.+)$/m.exec(hasty)?.[1] ?? '';
    expect(left.split(',').length).toBeLessThan(12);
    expect(hasty).toMatch(/asks \(\d+\): spawn \{"kind":"publish".+ is told to end: .+ uploads \{"site"/s);
    expect(hasty).toContain('It breaks: one upload to a site at a time.');
    expect(patient).toBe('1500 steps, and every guarantee held.');
  });
});
