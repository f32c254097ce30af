/** Stores on disk to be damaged: what was written, by batch, and where each batch stands in the log. */
import { createHash } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { isOffstageError } from '../../src/model/errors.ts';
import { levelStore } from '../../src/persistence/level-store.ts';
import { readLog } from '../../src/persistence/leveldb-log.ts';
import type { Store, StoreOperation } from '../../src/persistence/store.ts';

export type Rows = Readonly<Record<string, string>>;

const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

export async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'offstage-store-'));
  folders.push(folder);
  return folder;
}

export async function readAll(store: Store): Promise<Rows> {
  const rows: Record<string, string> = {};
  for await (const { key, value } of store.range({})) rows[key] = value;
  return rows;
}

/** Rows with digests for values, so that a failing comparison can be read. */
export const brief = (rows: Rows): Rows =>
  Object.fromEntries(
    Object.entries(rows).map(([key, value]) => [key, createHash('sha1').update(value).digest('hex').slice(0, 8)]),
  );

/** Opens, reads all, closes; values as in `brief`. */
export async function rowsIn(dataDir: string): Promise<Rows> {
  const store = await levelStore(dataDir);
  try {
    return brief(await readAll(store));
  } finally {
    await store.close();
  }
}

export const write = (store: Store, rows: Rows): Promise<void> =>
  store.batch(
    Object.entries(rows).map(([key, value]): StoreOperation => ({ type: 'put', key, value })),
    { sync: false },
  );

/** Text that does not compress to nothing. */
export function text(seed: number, length: number): string {
  let state = seed * 2_654_435_761 + 1;
  let result = '';
  while (result.length < length) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    result += state.toString(36);
  }
  return result.slice(0, length);
}

/** Twelve batches of one to three rows; the seventh spans more than two blocks of the log. */
export const BATCHES: readonly Rows[] = Array.from({ length: 12 }, (_, batch) =>
  Object.fromEntries(
    Array.from({ length: 1 + (batch % 3) }, (_, row) => [
      `b${batch}/r${row}`,
      text(batch * 3 + row, batch === 6 ? 70_000 : 300 + batch * 40),
    ]),
  ),
);
export const ALL: Rows = brief(Object.assign({}, ...BATCHES));
/** What stands in tables, written before the batches. */
const OLD_TEXTS: Rows = Object.fromEntries(Array.from({ length: 400 }, (_, row) => [`old/${row}`, text(row, 200)]));
export const OLD: Rows = brief(OLD_TEXTS);

/** A closed store: its rows in a log, and, when `withTable`, `OLD` in a table. */
export async function makeStore({ withTable }: { readonly withTable: boolean }): Promise<string> {
  const dataDir = await newFolder();
  if (withTable) {
    const first = await levelStore(dataDir);
    await write(first, OLD_TEXTS);
    await first.close();
  }
  const store = await levelStore(dataDir);
  for (const batch of BATCHES) await write(store, batch);
  await store.close();
  return dataDir;
}

/** A copy, as a crash would have left it when `unsealed`. */
export async function copyOf(dataDir: string, { unsealed }: { readonly unsealed: boolean }): Promise<string> {
  const copy = await newFolder();
  await cp(dataDir, copy, { recursive: true });
  if (unsealed) await rm(join(copy, 'store', 'SEAL.json'));
  return copy;
}

export async function fileOf(dataDir: string, pattern: RegExp): Promise<string> {
  const name = (await readdir(join(dataDir, 'store')))
    .filter((one) => pattern.test(one))
    .sort()
    .at(-1);
  if (name === undefined) throw new Error(`no file like ${pattern}`);
  return join(dataDir, 'store', name);
}

export async function flip(path: string, offset: number, mask = 0x01): Promise<void> {
  const bytes = await readFile(path);
  bytes[offset] = (bytes[offset] as number) ^ mask;
  await writeFile(path, bytes);
}

export const cut = (path: string, bytes: number): Promise<void> => truncate(path, bytes);

/** Where each batch begins in the log. */
export async function batchOffsets(logPath: string): Promise<readonly number[]> {
  const offsets: number[] = [];
  readLog(await readFile(logPath), (_, offset) => offsets.push(offset));
  return offsets;
}

/** What opening gives: the rows, or `'corrupt'`. Anything else fails the test. */
export async function outcomeOf(dataDir: string): Promise<Rows | 'corrupt'> {
  try {
    return await rowsIn(dataDir);
  } catch (error) {
    if (!isOffstageError(error, 'store.corrupt')) throw error;
    expect(error.details.folder).toBe(dataDir);
    return 'corrupt';
  }
}
