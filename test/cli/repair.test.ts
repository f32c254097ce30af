/** `doctor --repair`: afterwards everything works again, and what is lost is said (spec 6, 15). */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JobView } from '../../src/model/records.ts';
import type { RowCheck } from '../../src/persistence/row-check.ts';
import { host, json, newFolder, offstage } from './offstage.ts';

const dataFolder = async (): Promise<string> => join(await newFolder(), 'data');

/** Overwrites 4 KiB in the middle of the largest log. */
async function overwriteLog(data: string): Promise<void> {
  const store = join(data, 'store');
  const logs = (await readdir(store)).filter((name) => name.endsWith('.log'));
  const contents = await Promise.all(logs.map((name) => readFile(join(store, name))));
  const bytes = contents.toSorted((left, right) => right.length - left.length)[0] as (typeof contents)[number];
  const middle = Math.floor(bytes.length / 2);
  bytes.fill(0xa5, middle, middle + 4_096);
  await writeFile(join(store, logs[contents.indexOf(bytes)] as string), bytes);
}

describe('4 KiB in the middle of the log are overwritten', () => {
  it('DOC2: after the repair all jobs are listed, found and pruned, and no id is given twice', async () => {
    const data = await dataFolder();
    const at = ['--data-dir', data];
    expect((await host('large', data).ended).stdout).toBe('ready\n');
    await overwriteLog(data);
    expect(await offstage(['jobs', 'list', ...at])).toMatchObject({ code: 4 });
    expect(await offstage(['doctor', ...at])).toMatchObject({
      code: 4,
      stdout: expect.stringContaining('offstage doctor --repair'),
    });

    const repaired = await offstage(['doctor', '--repair', ...at]);
    expect(repaired).toMatchObject({ code: 0, stderr: '' });
    expect(repaired.stdout).toMatch(/^Damage: /);
    expect(repaired.stdout).toMatch(/^Rows: \d+ jobs have lost their input \(large-\d+, .+, …\): kept without/m);
    expect(repaired.stdout).toMatch(/^The store holds \d+ jobs and is intact now\.$/m);

    const { rows } = await json<{ rows: RowCheck }>(['doctor', ...at]);
    expect(rows.findings).toEqual([]);
    const jobs = await json<JobView[]>(['jobs', 'list', '--all', ...at]);
    expect(jobs).toHaveLength(rows.jobs);
    const mended = jobs.filter(({ input }) => input === null);
    expect(mended.length).toBeGreaterThan(0);
    const { jobId } = mended[0] as JobView;
    expect(await offstage(['jobs', 'history', jobId, ...at])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('The input and the description were lost with damaged data.'),
    });
    const again = JSON.parse((await host('again', data).ended).stdout);
    const expired = 1_200 - jobs.length;
    const answers = { 'job.conflict': jobs.length, ...(expired === 0 ? {} : { 'job.expired': expired }) };
    expect(again).toEqual({ answers, jobs: jobs.length });
    expect(await offstage(['doctor', ...at])).toMatchObject({ code: 0, stdout: expect.stringContaining('is intact') });
  });
});

describe('the folder of the store is deleted', () => {
  it('every verb says so and exits 4; --repair begins anew, and says that all is lost', async () => {
    const data = await dataFolder();
    const at = ['--data-dir', data];
    await offstage(['run', ...at, '--', 'true']);
    await rm(join(data, 'store'), { recursive: true });
    for (const verb of [['jobs', 'list'], ['jobs', 'get', 'x'], ['sessions', 'list'], ['run']]) {
      const end = await offstage([...verb, ...at, ...(verb[0] === 'run' ? ['--', 'true'] : [])]);
      expect(end, verb.join(' ')).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('missing or empty') });
    }
    expect(await offstage(['doctor', ...at])).toMatchObject({
      code: 4,
      stdout: expect.stringMatching(/^Damage: .+ missing or empty\.$/m),
    });
    const repaired = await offstage(['doctor', '--repair', ...at]);
    expect(repaired).toMatchObject({ code: 0, stdout: expect.stringContaining('Everything that was stored here is lost.') });
    expect(await offstage(['jobs', 'list', ...at])).toMatchObject({ code: 0, stdout: 'No jobs.\n' });
  });
});

describe('rows that do not fit together', () => {
  it('doctor says so and exits 1; --repair puts it right', async () => {
    const data = await dataFolder();
    const at = ['--data-dir', data];
    expect((await host('unfit', data).ended).stdout).toBe('ready\n');
    const found = await offstage(['doctor', ...at]);
    expect(found).toMatchObject({ code: 1, stderr: '' });
    expect(found.stdout).toBe('Rows: 1 job was not to be found (one).\nTo put it right: offstage doctor --repair\n');
    expect(await offstage(['jobs', 'get', 'one', ...at])).toMatchObject({ code: 2 });
    const { stdout, code } = await offstage(['doctor', '--json', ...at]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ rows: { findings: [{ kind: 'index_lost', count: 1, examples: ['one'] }] } });
    expect(await offstage(['doctor', '--repair', ...at])).toMatchObject({
      code: 0,
      stdout: 'Rows: 1 job was not to be found (one): found again.\nThe store holds 1 job and is intact now.\n',
    });
    expect(await offstage(['jobs', 'get', 'one', ...at])).toMatchObject({ code: 0 });
  });
});
