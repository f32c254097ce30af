/** OWN1–OWN3, LVL2, LVL3: one owner per folder (B40), no crash at close (B41), a full disk (B43), nothing outside the folder (B73). */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { isOffstageError, type OffstageError } from '../../src/model/errors.ts';
import { levelStore } from '../../src/persistence/level-store.ts';
import { readOwner, thisOwner, writeOwner } from '../../src/persistence/ownership.ts';
import { inspectStore } from '../../src/persistence/repair.ts';
import { fileOf, flip, newFolder, readAll, rowsIn } from './store-lab.ts';

const HOST = join(dirname(fileURLToPath(import.meta.url)), 'host.mjs');

interface Host {
  readonly process: ChildProcess;
  readonly pid: number;
  next(): Promise<Record<string, unknown>>;
  say(line: string): void;
  ended(): Promise<{ code: number | null; signal: string | null }>;
}

const hosts: ChildProcess[] = [];
afterEach(async () => {
  for (const child of hosts.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

function host(task: string, dataDir: string, command: readonly string[] = []): Host {
  const [program = '', ...rest] = [...command, process.execPath, HOST, task, dataDir];
  const child = spawn(program, rest, { stdio: ['pipe', 'pipe', 'inherit'] });
  hosts.push(child);
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  const exit = once(child, 'exit');
  return {
    process: child,
    pid: child.pid as number,
    next: async () => JSON.parse((await lines.next()).value as string) as Record<string, unknown>,
    say: (line) => child.stdin?.write(`${line}\n`),
    ended: async () => {
      const [code, signal] = (await exit) as [number | null, string | null];
      return { code, signal };
    },
  };
}

async function refusal(work: Promise<unknown>): Promise<OffstageError> {
  try {
    await work;
  } catch (error) {
    if (isOffstageError(error)) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

const put = (key: string) => [{ type: 'put', key, value: key } as const];

describe('B40: one owner', () => {
  it('a second open in this process is refused, naming folder and process; the first still works', async () => {
    const folder = await newFolder();
    const results = await Promise.allSettled([levelStore(folder), levelStore(folder)]);
    const [store, ...others] = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect([store !== undefined, others]).toEqual([true, []]);
    for (const error of [...refused, await refusal(levelStore(folder))]) {
      expect([error.code, error.details]).toEqual(['store.locked', { folder, pid: process.pid }]);
      expect(error.message).toBe(`${folder} is in use by process ${process.pid}.`);
    }
    await store?.batch(put('a'), { sync: true });
    expect(await store?.get('a')).toBe('a');
    await store?.close();
  });

  it('the same folder by another name is the same folder', async () => {
    const folder = await newFolder();
    const alias = join(await newFolder(), 'alias');
    await symlink(folder, alias);
    const store = await levelStore(folder);
    expect((await refusal(levelStore(alias))).code).toBe('store.locked');
    expect((await refusal(levelStore(`${folder}/../${folder.split('/').at(-1)}/`))).code).toBe('store.locked');
    await store.close();
  });

  it('open while close is in flight waits for it; twice at once, one gets it', async () => {
    const folder = await newFolder();
    let store = await levelStore(folder);
    for (let round = 0; round < 20; round += 1) {
      const write = store.batch(put(`round/${round}`), { sync: false });
      const closing = store.close();
      store = await levelStore(folder);
      expect(await store.get(`round/${round}`)).toBe(`round/${round}`);
      await Promise.all([write, closing]);
    }
    const closing = store.close();
    const results = await Promise.allSettled([levelStore(folder), levelStore(folder)]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    for (const result of results) {
      if (result.status === 'fulfilled') await result.value.close();
      else expect(isOffstageError(result.reason, 'store.locked')).toBe(true);
    }
    await closing;
  });

  it('a folder that another process owns is refused with its pid, and opens as soon as that one is killed', async () => {
    const folder = await newFolder();
    const owner = host('hold', folder);
    await owner.next();
    const error = await refusal(levelStore(folder));
    expect([error.code, error.details]).toEqual(['store.locked', { folder, pid: owner.pid }]);
    // What an owner is writing may look damaged: it is in use, that is all that can be said.
    await flip(await fileOf(folder, /^CURRENT$/), 3);
    expect((await refusal(levelStore(folder))).code).toBe('store.locked');
    await flip(await fileOf(folder, /^CURRENT$/), 3);
    await rm(join(folder, 'owner.json'));
    expect((await refusal(levelStore(folder))).message).toBe(`${folder} is in use.`);
    process.kill(owner.pid, 'SIGKILL');
    await owner.ended();
    expect(Object.keys(await rowsIn(folder))).toEqual(['held']);
  });

  it('OWN2: what a killed owner leaves is no obstacle, and names nobody', async () => {
    const folder = await newFolder();
    const owner = host('hold', folder);
    await owner.next();
    expect((await readOwner(folder))?.pid).toBe(owner.pid);
    owner.process.kill('SIGKILL');
    await owner.ended();
    expect((await readdir(folder)).includes('owner.json')).toBe(true);
    expect(await readOwner(folder)).toBe(null);
    const store = await levelStore(folder, { control: '/run/x.sock' });
    expect(await readOwner(folder)).toEqual({ ...(await thisOwner('/run/x.sock')) });
    await store.close();
    expect(await readOwner(folder)).toBe(null);
    expect((await readdir(folder)).sort()).toEqual(['store', 'store.created']);
  });

  it.runIf(process.platform === 'linux')('OWN2: a pid that was given to another process names nobody', async () => {
    const folder = await newFolder();
    await writeOwner(folder, { pid: process.pid, startTime: '1', control: null });
    expect(await readOwner(folder)).toBe(null);
    await writeOwner(folder, { pid: process.pid, startTime: null, control: null });
    expect((await readOwner(folder))?.pid).toBe(process.pid);
    for (const text of ['', '{', 'null', '[]', '{"pid":"x"}', '{"pid":-1}', '{"pid":0}']) {
      await writeFile(join(folder, 'owner.json'), text);
      expect(await readOwner(folder), text).toBe(null);
    }
  });
});

describe('OWN3: the data folder', () => {
  it('is made for its owner alone, and nothing beside it', async () => {
    const parent = await newFolder();
    const folder = join(parent, 'data');
    const store = await levelStore(folder);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, 'store'))).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, 'owner.json'))).mode & 0o777).toBe(0o600);
    await store.batch([...put('../../x'), ...put('/etc/x')], { sync: true });
    await store.close();
    expect(await readdir(parent)).toEqual(['data']);
  });

  it('that cannot be used is refused, with its path', async () => {
    const parent = await newFolder();
    await writeFile(join(parent, 'file'), '');
    const cases: readonly [string, RegExp][] = [
      [join(parent, 'none', 'data'), /the folder .*\/none does not exist/],
      [join(parent, 'file'), /\/file is not a folder/],
      [join(parent, 'file', 'data'), /\/file is not a folder/],
      ['', /not the path of a folder/],
      ['a\0b', /not the path of a folder/],
    ];
    for (const [path, message] of cases) {
      const error = await refusal(levelStore(path));
      expect(error.code).toBe('config.invalid');
      expect(error.message).toMatch(message);
    }
    expect(await readdir(parent)).toEqual(['file']);
  });

  it('that may not be written is refused, with its path', async () => {
    const folder = join(await newFolder(), 'data');
    await mkdir(folder);
    await chmod(folder, 0o500);
    // Permissions do not bind root; nobody at all makes files in /proc.
    const unwritable = process.getuid?.() === 0 && process.platform === 'linux' ? '/proc/self' : folder;
    expect((await refusal(levelStore(unwritable))).message).toContain(unwritable);
    await chmod(folder, 0o700);
  });

  it('that could not be opened is free again', async () => {
    const folder = await newFolder();
    await writeFile(join(folder, 'store'), '');
    expect(isOffstageError(await refusal(levelStore(folder)))).toBe(true);
    await rm(join(folder, 'store'));
    await (await levelStore(folder)).close();
  });
});

it('B40: an owner killed in the middle of writing, again and again, is never taken for damage and loses nothing acknowledged', async () => {
  const folder = await newFolder();
  for (const kills of [1, 40, 90, 15, 60, 5]) {
    const owner = host('churn', folder);
    let acknowledged = 0;
    for (let lines = 0; lines < kills; lines += 1) acknowledged = (await owner.next()).number as number;
    owner.process.kill('SIGKILL');
    await owner.ended();
    const store = await levelStore(folder);
    const rows = await readAll(store);
    await store.close();
    expect(Number(rows.last)).toBeGreaterThanOrEqual(acknowledged);
    expect(rows.twin).toBe(rows.last);
    expect((await inspectStore(folder)).damage).toEqual([]);
  }
});

it('B41: a process that closes in the middle of everything ends by itself, with 0, and keeps what it acknowledged', async () => {
  const folder = await newFolder();
  const burst = host('burst', folder);
  const { acknowledged, codes } = (await burst.next()) as { acknowledged: string[]; codes: string[] };
  expect(await burst.ended()).toEqual({ code: 0, signal: null });
  expect(codes.filter((code) => code !== 'store.closed')).toEqual([]);
  expect(acknowledged.length).toBe(100);
  const rows = await rowsIn(folder);
  expect(acknowledged.filter((key) => !(key in rows))).toEqual([]);
});

const canLimit = process.platform === 'linux' && spawnSync('prlimit', ['--version']).status === 0;

it.runIf(canLimit)(
  'B43: a disk that is full for a while: what was acknowledged stays, reads go on, and writing goes on with room',
  async () => {
    const folder = await newFolder();
    const full = host('fill', folder, ['prlimit', `--fsize=${3 * 1024 * 1024}:unlimited`]);
    const first = await full.next();
    expect(first).toMatchObject({ code: 'store.failed', again: ['store.failed', 'store.failed'] });
    expect(first.rowsWhileFull).toBe((first.acknowledged as number) * 2);
    expect(spawnSync('prlimit', ['--pid', String(full.pid), '--fsize=unlimited']).status).toBe(0);
    full.say('there is room');
    const { after, acknowledged, failed } = (await full.next()) as { after: unknown[]; acknowledged: string[]; failed: string[] };
    expect(await full.ended()).toEqual({ code: 0, signal: null });
    expect(after).toEqual(Array.from({ length: 20 }, () => null));
    const store = await levelStore(folder);
    const rows = await readAll(store);
    await store.close();
    expect(acknowledged.filter((key) => !(key in rows) || !(`${key}/twin` in rows))).toEqual([]);
    // A batch that failed may be there, but only whole.
    expect(failed.filter((key) => key in rows !== `${key}/twin` in rows)).toEqual([]);
  },
);
