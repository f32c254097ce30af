/** Folders that are locked, damaged or left behind (spec 6, 15). */
import { mkdir, readdir, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JobView } from '../../src/model/records.ts';
import { host, json, listed, newFolder, offstage, onlyJob, processesWith, start, uniqueSleep } from './offstage.ts';

const dataFolder = async (): Promise<string> => join(await newFolder(), 'data');

interface Findings {
  readonly owner: { readonly pid: number } | null;
  readonly health: { readonly pool: { readonly running: number; readonly queued: number } } | null;
  readonly processes: readonly {
    readonly executionId: string;
    readonly jobId: string;
    readonly pid: number;
    readonly startTime: string;
    readonly bootId: string;
    readonly verdict: string;
  }[];
}

describe('a folder in use by a process without a control socket', () => {
  it('control.unavailable: every verb exits 4 and names the owner; the owner is not disturbed', async () => {
    const data = await dataFolder();
    const owner = host('hold', data);
    await owner.saw('ready');
    const verbs = [
      ['run', '--data-dir', data, '--', 'true'],
      ...[
        ['jobs', 'list'],
        ['jobs', 'list', '--watch'],
        ['jobs', 'get', 'x'],
        ['jobs', 'tail'],
        ['sessions', 'list'],
        ['doctor'],
        ['doctor', '--repair'],
      ].map((verb) => [...verb, '--data-dir', data]),
    ];
    const ends = await Promise.all(verbs.map((verb) => offstage(verb)));
    for (const [index, end] of ends.entries()) {
      expect([end.code, end.stdout], verbs[index]?.join(' ')).toEqual([4, '']);
      expect(end.stderr).toMatch(new RegExp(`^offstage: ${data} is in use by process ${owner.pid}[,.]`));
    }
    expect(owner.child.exitCode).toBeNull();
    owner.child.kill('SIGKILL');
    await owner.ended;
    expect(await offstage(['jobs', 'list', '--data-dir', data])).toMatchObject({ code: 0, stdout: 'No jobs.\n' });
  });
});

describe('a damaged store', () => {
  it('exits 4 and says what to do; doctor finds it, --repair keeps what is intact', async () => {
    const data = await dataFolder();
    const at = ['--data-dir', data];
    await offstage(['run', ...at, '--', 'echo', 'kept']);
    const [job] = await listed(data);
    await truncate(join(data, 'store', 'CURRENT'), 0);
    for (const verb of [
      ['jobs', 'list'],
      ['jobs', 'get', 'x'],
      ['run', '--', 'true'],
    ]) {
      const [name = '', ...rest] = verb;
      const end = await offstage(name === 'run' ? [name, ...at, ...rest] : [...verb, ...at]);
      expect([end.code, end.stdout], verb.join(' ')).toEqual([4, '']);
      expect(end.stderr).toMatch(/^offstage: The data in .+ is damaged: .+ doctor --repair/);
    }
    expect(await offstage(['doctor', ...at])).toMatchObject({
      code: 4,
      stdout: expect.stringMatching(/^Damage: .+\n\d+ rows can be kept/),
    });
    expect(await offstage(['doctor', '--repair', ...at])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('The damaged store lies in'),
    });
    expect((await readdir(data)).sort()).toEqual(['damaged-1', 'store', 'store.created']);
    expect(await listed(data)).toEqual([job]);
    expect(await offstage(['doctor', ...at])).toMatchObject({ code: 0, stdout: expect.stringContaining('is intact') });
  });
});

describe('an owner that was killed', () => {
  it('doctor shows what it left; the next start ends it, reports it once, and changes nothing more', async () => {
    const data = await dataFolder();
    const at = ['--data-dir', data];
    const sleep = uniqueSleep();
    const owner = host('busy', data, { env: { SLEEP: sleep } });
    await owner.saw('ready');
    const living = await json<Findings>(['doctor', ...at]);
    expect(living).toMatchObject({ owner: { pid: owner.pid }, health: { pool: { running: 2, queued: 3 } } });
    owner.child.kill('SIGKILL');
    await owner.ended;

    const left = await json<Findings>(['doctor', ...at]);
    expect(left.owner).toBeNull();
    expect(left.processes).toHaveLength(2);
    expect(left.processes).toEqual(living.processes);
    for (const record of left.processes) {
      expect(record).toMatchObject({
        executionId: expect.stringMatching(/^exec_/),
        jobId: expect.stringMatching(/^busy-[01]$/),
        pid: expect.any(Number),
        startTime: expect.any(String),
        bootId: expect.any(String),
        verdict: 'alive',
      });
    }
    expect((await offstage(['doctor', ...at])).stdout).toMatch(
      /2 process records:\n {2}busy-\d {2}exec_\w+ {2}pid \d+ {2}alive: /,
    );
    expect(await processesWith(sleep)).toHaveLength(2);

    const first = await offstage(['jobs', 'list', '--json', ...at]);
    expect([first.code, first.stderr]).toEqual([0, '5 jobs were abandoned by an earlier process.\n']);
    const jobs = JSON.parse(first.stdout) as readonly JobView[];
    expect(jobs.map(({ jobId, status, reasonCode, detached }) => [jobId, status, reasonCode, detached])).toEqual(
      [4, 3, 2, 1, 0].map((number) => [`busy-${number}`, 'errored', 'abandoned.crash', false]),
    );
    expect(await processesWith(sleep)).toEqual([]);
    const second = await offstage(['jobs', 'list', '--json', ...at]);
    expect(second).toEqual({ ...first, stderr: '' });
    expect((await json<Findings>(['doctor', ...at])).processes).toEqual([]);
  });
});

describe('any folder', () => {
  it('deeper than a socket address: two terminals meet all the same', async () => {
    const base = await newFolder();
    const parent = join(base, ...Array.from({ length: 6 }, (_, number) => `a-rather-long-name-for-a-folder-${number}`));
    await mkdir(parent, { recursive: true });
    const data = join(parent, 'data');
    const flag = join(base, 'flag');
    const running = start([
      'run',
      '--data-dir',
      data,
      '--',
      'sh',
      '-c',
      `echo ready; while [ ! -e ${flag} ]; do sleep 0.02; done`,
    ]);
    await running.saw('ready');
    expect((await stat(join(data, 'control.sock'))).mode & 0o777).toBe(0o600);
    expect((await onlyJob(data)).status).toBe('running');
    await writeFile(flag, '');
    expect((await running.ended).code).toBe(0);
    expect((await readdir(data)).sort()).toEqual(['store', 'store.created']);
  });

  it('that cannot be one is told plainly', async () => {
    const folder = await newFolder();
    await writeFile(join(folder, 'file'), '');
    for (const path of ['file', 'file/data', 'file/data/deeper']) {
      for (const verb of [
        ['run', '--', 'true'],
        ['doctor'],
        ['jobs', 'list'],
        ['jobs', 'list', '--watch'],
        ['jobs', 'get', 'x'],
        ['jobs', 'tail', 'x'],
        ['jobs', 'tail'],
        ['sessions', 'list'],
        ['tasks', 'get', 'x'],
      ]) {
        const [name = '', ...rest] = verb;
        const end = await offstage([
          name,
          ...(name === 'run' ? [] : rest),
          '--data-dir',
          join(folder, path),
          ...(name === 'run' ? rest : []),
        ]);
        expect(end, `${verb.join(' ')} in ${path}`).toMatchObject({ code: 2, stdout: '' });
        expect(end.stderr).toMatch(/file.* is not a folder/);
      }
    }
    expect(await offstage(['jobs', 'list', '--data-dir', join(folder, 'missing')])).toMatchObject({
      code: 0,
      stdout: 'No jobs.\n',
    });
  });
});
