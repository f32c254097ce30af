/** REP1–REP3, TBL1, SAL1: what is intact is kept, from tables as from logs, and nothing is deleted. */
import { mkdir, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { isOffstageError } from '../../src/model/errors.ts';
import { levelStore } from '../../src/persistence/level-store.ts';
import { inspectStore, repairStore } from '../../src/persistence/repair.ts';
import type { StoreOperation } from '../../src/persistence/store.ts';
import {
  ALL,
  BATCHES,
  batchOffsets,
  brief,
  copyOf,
  fileOf,
  flip,
  makeStore,
  newFolder,
  OLD,
  type Rows,
  readAll,
  rowsIn,
  text,
} from './store-lab.ts';

/** Several tables and a log, with rows replaced and deleted in each session. */
let large = '';
let largeRows: Rows = {};
let small = '';
beforeAll(async () => {
  small = await makeStore({ withTable: true });
  large = await newFolder();
  const rows: Record<string, string> = {};
  for (let session = 0; session < 4; session += 1) {
    const store = await levelStore(large);
    for (let batch = 0; batch < 20; batch += 1) {
      const operations: StoreOperation[] = [];
      for (let row = 0; row < 400; row += 1) {
        const number = (session * 7_919 + batch * 400 + row * 13) % 9_000;
        const key = `row/${String(number).padStart(5, '0')}/é😀`;
        if ((number + session) % 5 === 0) {
          operations.push({ type: 'del', key });
          delete rows[key];
        } else {
          const value = text(number + session, 50 + (number % 900));
          operations.push({ type: 'put', key, value });
          rows[key] = value;
        }
      }
      await store.batch(operations, { sync: false });
    }
    await store.close();
  }
  largeRows = brief(rows);
});

const tablesIn = async (dataDir: string): Promise<readonly string[]> =>
  (await readdir(join(dataDir, 'store'))).filter((name) => name.endsWith('.ldb')).map((name) => join(dataDir, 'store', name));
const subsetOf = (part: Rows, whole: Rows): boolean => Object.entries(part).every(([key, value]) => whole[key] === value);

describe('an intact store', () => {
  it('is read whole, by the files alone, and left as it is', async () => {
    expect((await tablesIn(large)).length).toBeGreaterThan(1);
    expect(await inspectStore(large)).toEqual({ damage: [], rows: Object.keys(largeRows).length });
    expect(await repairStore(large)).toEqual({
      damage: [],
      keptRows: Object.keys(largeRows).length,
      lost: { batches: 0, operations: 0, bytes: 0 },
      setAside: null,
      isAllLost: false,
      rows: null,
    });
    expect(await rowsIn(await copyOf(large, { unsealed: false }))).toEqual(largeRows);
  });

  it('a data folder without a store has nothing to inspect', async () => {
    const folder = await newFolder();
    expect(await inspectStore(folder)).toEqual({ damage: [], rows: 0 });
    expect((await repairStore(folder)).setAside).toBe(null);
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('SAL1: without CURRENT and MANIFEST', () => {
  it('the newest version of every row comes back, and nothing deleted', async () => {
    const copy = await copyOf(large, { unsealed: true });
    for (const name of await readdir(join(copy, 'store'))) {
      if (/^(?:CURRENT|MANIFEST)/.test(name)) await rm(join(copy, 'store', name));
    }
    expect((await inspectStore(copy)).damage.map(({ file }) => file)).toEqual(['CURRENT']);
    expect((await repairStore(copy)).keptRows).toBe(Object.keys(largeRows).length);
    expect(await rowsIn(copy)).toEqual(largeRows);
  });
});

describe('TBL1: damage in tables', () => {
  it('inspection finds every flipped bit in a block of rows; repair loses that block only', async () => {
    for (const part of [0.01, 0.3, 0.6, 0.9]) {
      const copy = await copyOf(small, { unsealed: true });
      const path = await fileOf(copy, /\.ldb$/);
      await flip(path, Math.floor((await stat(path)).size * part), 0x20);
      const { damage } = await inspectStore(copy);
      expect(damage, `at ${part}`).toHaveLength(1);
      expect(damage[0]?.message).toMatch(/^\d+\.ldb is damaged at byte \d+: a block is unreadable/);
      const report = await repairStore(copy);
      expect(report.lost.bytes).toBe(damage[0]?.lostBytes);
      const rows = await rowsIn(copy);
      expect(subsetOf(rows, { ...OLD, ...ALL }) && subsetOf(ALL, rows)).toBe(true);
      const lost = Object.keys(OLD).length + Object.keys(ALL).length - Object.keys(rows).length;
      expect(lost).toBeGreaterThan(0);
      expect(lost).toBeLessThan(60);
    }
  });

  it.each(['index', 'last byte', 'half'])(
    'a table without its end (%s) gives up all whole blocks that are left',
    async (what) => {
      const copy = await copyOf(small, { unsealed: true });
      const path = await fileOf(copy, /\.ldb$/);
      const { size } = await stat(path);
      if (what === 'index') await flip(path, size - 60);
      else await truncate(path, what === 'half' ? Math.floor(size / 2) : size - 1);
      const report = await repairStore(copy);
      expect(report.damage.map(({ message }) => message).join()).toMatch(/index of the table is unreadable/);
      const rows = await rowsIn(copy);
      expect(subsetOf(rows, { ...OLD, ...ALL }) && subsetOf(ALL, rows)).toBe(true);
      const kept = Object.keys(rows).length - Object.keys(ALL).length;
      if (what === 'half') expect(kept).toBeGreaterThan(150);
      else expect(kept).toBe(Object.keys(OLD).length);
    },
  );

  it('bits flipped at random in all files at once: what comes back was written', async () => {
    for (let round = 0; round < 8; round += 1) {
      const copy = await copyOf(large, { unsealed: round % 2 === 0 });
      const names = (await readdir(join(copy, 'store'))).filter((name) => !/^(?:LOCK|LOG|SEAL)/.test(name));
      for (const [index, name] of names.entries()) {
        const path = join(copy, 'store', name);
        const { size } = await stat(path);
        if (size > 0) await flip(path, (round * 104_729 + index * 15_485_863) % size, 1 << (round % 8));
      }
      await repairStore(copy);
      const rows = await rowsIn(copy);
      expect(Object.keys(rows).length).toBeGreaterThan(Object.keys(largeRows).length / 2);
      // A lost block may have held the newest version of a row, so older versions may come back; invented ones may not.
      expect(Object.keys(rows).every((key) => /^row\/\d{5}\/é😀$/.test(key))).toBe(true);
      expect((await inspectStore(copy)).damage).toEqual([]);
    }
  });
});

describe('REP1, REP2: folders', () => {
  async function damaged(): Promise<string> {
    const copy = await copyOf(small, { unsealed: true });
    const path = await fileOf(copy, /\.log$/);
    await flip(path, ((await batchOffsets(path))[3] as number) + 30);
    return copy;
  }

  it('each repair sets its original aside under the next number', async () => {
    const copy = await damaged();
    await repairStore(copy);
    const path = await fileOf(copy, /\.(?:log|ldb)$/);
    await truncate(path, 0);
    await rm(join(copy, 'store', 'CURRENT'));
    expect((await repairStore(copy)).setAside).toBe(join(copy, 'damaged-2'));
    expect((await readdir(copy)).sort()).toEqual(['damaged-1', 'damaged-2', 'store', 'store.created']);
  });

  it('cut off before the new store was complete: the next repair begins again', async () => {
    const copy = await damaged();
    await copyOf(small, { unsealed: true }).then((other) => rename(join(other, 'store'), join(copy, 'store.rebuilt')));
    await truncate(await fileOf(copy, /^CURRENT$/).then((path) => path.replace('/store/', '/store.rebuilt/')), 0);
    expect((await repairStore(copy)).lost.batches).toBe(1);
    expect(Object.keys(await rowsIn(copy))).toHaveLength(
      Object.keys({ ...OLD, ...ALL }).length - Object.keys(BATCHES[3] ?? {}).length,
    );
    expect((await readdir(copy)).sort()).toEqual(['damaged-1', 'store', 'store.created']);
  });

  it('cut off between the two moves: opening is refused until the repair is finished', async () => {
    const copy = await damaged();
    await repairStore(copy);
    const rows = await rowsIn(copy);
    await rename(join(copy, 'store'), join(copy, 'store.rebuilt'));
    await expect(levelStore(copy)).rejects.toSatisfy((error) => isOffstageError(error, 'store.corrupt'));
    expect((await inspectStore(copy)).damage.map(({ message }) => message)).toEqual(['a repair was interrupted']);
    expect((await repairStore(copy)).damage).toHaveLength(1);
    expect(await rowsIn(copy)).toEqual(rows);
  });

  it('an open store is neither inspected nor repaired', async () => {
    const copy = await copyOf(small, { unsealed: true });
    const store = await levelStore(copy);
    await expect(inspectStore(copy)).rejects.toSatisfy((error) => isOffstageError(error, 'store.locked'));
    await expect(repairStore(copy)).rejects.toSatisfy((error) => isOffstageError(error, 'store.locked'));
    await store.close();
  });

  it('a folder that is not there is said to be so, and not made', async () => {
    const missing = join(await newFolder(), 'none');
    await expect(inspectStore(missing)).rejects.toSatisfy(
      (error) => isOffstageError(error, 'config.invalid') && error.message.includes(missing),
    );
    await expect(stat(missing)).rejects.toThrow();
  });
});

it('REP3: the rows are judged, and may be mended, by the caller', async () => {
  const copy = await copyOf(small, { unsealed: true });
  const path = await fileOf(copy, /\.log$/);
  await flip(path, ((await batchOffsets(path))[3] as number) + 30);
  const report = await repairStore(copy, {
    checkRows: async (store) => {
      await store.batch([{ type: 'put', key: 'mended', value: 'yes' }], { sync: true });
      return Object.keys(await readAll(store)).length;
    },
  });
  expect(report.rows).toBe(report.keptRows + 1);
  expect(Object.keys(await rowsIn(copy))).toContain('mended');
});

describe('a store that is gone', () => {
  const isCorrupt = (error: unknown): boolean =>
    isOffstageError(error, 'store.corrupt') && /missing or empty/.test(error.message);

  it.each(['deleted', 'emptied', 'left with its lock only'])(
    '%s: it is not taken for a new one; repair begins anew, and says so',
    async (what) => {
      const copy = await copyOf(small, { unsealed: false });
      const store = join(copy, 'store');
      await rm(store, { recursive: true });
      if (what !== 'deleted') await mkdir(store);
      if (what === 'left with its lock only') await writeFile(join(store, 'LOCK'), '');
      const before = await readdir(copy, { recursive: true });
      await expect(levelStore(copy)).rejects.toSatisfy(isCorrupt);
      expect(await readdir(copy, { recursive: true })).toEqual(before);
      expect(await inspectStore(copy)).toMatchObject({ rows: 0, damage: [{ file: 'store' }] });
      await expect(levelStore(copy)).rejects.toSatisfy(isCorrupt);
      expect(await repairStore(copy)).toMatchObject({
        keptRows: 0,
        isAllLost: true,
        setAside: null,
        damage: [{ file: 'store' }],
      });
      expect(await rowsIn(copy)).toEqual({});
      expect(await repairStore(copy)).toMatchObject({ damage: [], isAllLost: false });
    },
  );

  it('what is left beside the data goes aside', async () => {
    const copy = await copyOf(small, { unsealed: false });
    for (const name of await readdir(join(copy, 'store'))) if (name !== 'SEAL.json') await rm(join(copy, 'store', name));
    expect(await repairStore(copy)).toMatchObject({ isAllLost: true, setAside: join(copy, 'damaged-1') });
    expect(await readdir(join(copy, 'damaged-1'))).toContain('SEAL.json');
  });

  it('INT2, FOL1: a creation that was cut off is gone on with; a store without the mark gets it', async () => {
    const folder = await newFolder();
    await mkdir(join(folder, 'store'));
    await writeFile(join(folder, 'store', 'MANIFEST-000001'), '');
    expect(await rowsIn(folder)).toEqual({});
    const copy = await copyOf(small, { unsealed: false });
    await rm(join(copy, 'store.created'));
    expect(Object.keys(await rowsIn(copy)).length).toBeGreaterThan(0);
    expect(await readdir(copy)).toContain('store.created');
  });
});

it('inspection changes no file of the store', async () => {
  const copy = await copyOf(small, { unsealed: true });
  const path = await fileOf(copy, /\.log$/);
  await flip(path, 100);
  const contents = async (): Promise<unknown> => {
    const names = (await readdir(join(copy, 'store'))).filter((name) => !/^LO/.test(name)).sort();
    return Promise.all(names.map(async (name) => [name, (await readFile(join(copy, 'store', name))).toString('base64')]));
  };
  const before = await contents();
  expect((await inspectStore(copy)).damage).not.toEqual([]);
  expect(await contents()).toEqual(before);
});
