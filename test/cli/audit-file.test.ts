/** The file of the audit: bounded, private, and it holds nobody up. */
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type AuditEntry, AuditFile } from '../../src/doors/cli/audit-file.ts';
import { newFolder } from './offstage.ts';

const entry = (action: string, more: object = {}): AuditEntry => ({
  at: 0,
  action,
  scope: 'operate',
  caller: 'token',
  remote: null,
  ids: { job_id: 'j1' },
  outcome: 'ok',
  durationMs: 1,
  ...more,
});
const linesOf = async (folder: string, file = 'audit.ndjson'): Promise<readonly Record<string, unknown>[]> =>
  (await readFile(join(folder, file), 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

it('has a line for each entry, in order, of what it knows and nothing else; a full file makes room, one older is kept', async () => {
  const folder = await newFolder();
  const failures: Error[] = [];
  const audit = new AuditFile(folder, { onFailure: (error) => failures.push(error), mostBytes: 2_000 });
  for (let index = 0; index < 40; index += 1) {
    audit.add(entry(`action ${index}`, { prompt: 'zz1', token: 'zz2' }));
    // Each in a write of its own, or some together.
    if (index % 3 === 0) await audit.close();
  }
  await audit.close();
  const lines = [...(await linesOf(folder, 'audit.1.ndjson')), ...(await linesOf(folder))];
  const numbers = lines.map(({ action }) => Number(String(action).split(' ')[1]));
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => 40 - numbers.length + index));
  expect((await readdir(folder)).sort()).toEqual(['audit.1.ndjson', 'audit.ndjson']);
  for (const file of ['audit.ndjson', 'audit.1.ndjson']) {
    const { size, mode } = await stat(join(folder, file));
    expect(size).toBeLessThanOrEqual(2_000);
    expect(mode & 0o777).toBe(0o600);
  }
  expect(lines[0]).toEqual({
    at: '1970-01-01T00:00:00.000Z',
    action: expect.any(String),
    scope: 'operate',
    caller: 'token',
    remote: null,
    ids: { job_id: 'j1' },
    outcome: 'ok',
    duration_ms: 1,
  });
  expect(failures).toEqual([]);
});

it('tells once that it cannot be written, and in the file how many lines are missing', async () => {
  const folder = await newFolder();
  const inTheWay = join(folder, 'audit.ndjson');
  await mkdir(inTheWay);
  const failures: Error[] = [];
  const audit = new AuditFile(folder, { onFailure: (error) => failures.push(error) });
  for (let index = 0; index < 5; index += 1) {
    audit.add(entry('lost'));
    await audit.close();
  }
  expect(failures).toHaveLength(1);
  await rm(inTheWay, { recursive: true });
  audit.add(entry('kept'));
  await audit.close();
  expect((await linesOf(folder)).map(({ action, left_out }) => action ?? left_out)).toEqual(['kept', 5]);
});

it('lines that the disk does not take in time are left out, rather than kept in memory', async () => {
  const folder = await newFolder();
  const audit = new AuditFile(folder, { onFailure: () => {} });
  const ids = { job_id: 'x'.repeat(100_000) };
  for (let index = 0; index < 100; index += 1) audit.add(entry('many', { ids }));
  await audit.close();
  const lines = await linesOf(folder);
  const left = lines.find(({ left_out }) => left_out !== undefined)?.left_out as number;
  const written = lines.filter(({ action }) => action === 'many').length;
  expect(written + left).toBe(100);
  expect(left).toBeGreaterThan(40);
});

it('a file of others is made private', async () => {
  const folder = await newFolder();
  await writeFile(join(folder, 'audit.ndjson'), '{}\n');
  await chmod(join(folder, 'audit.ndjson'), 0o644);
  const audit = new AuditFile(folder, { onFailure: () => {} });
  audit.add(entry('one'));
  await audit.close();
  expect((await stat(join(folder, 'audit.ndjson'))).mode & 0o777).toBe(0o600);
});
