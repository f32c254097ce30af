/** Spec 6, INT1, INT2: damage is never silent, and what a crash leaves is not damage. */
import { appendFile, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { surveyStore } from '../../src/persistence/integrity.ts';
import { repairStore } from '../../src/persistence/repair.ts';
import {
  ALL,
  BATCHES,
  batchOffsets,
  brief,
  copyOf,
  cut,
  fileOf,
  flip,
  makeStore,
  OLD,
  outcomeOf,
  type Rows,
  rowsIn,
} from './store-lab.ts';

let inLog = '';
let inTable = '';
beforeAll(async () => {
  inLog = await makeStore({ withTable: false });
  inTable = await makeStore({ withTable: true });
});

const LOG = /\.log$/;
const MANIFEST = /^MANIFEST-/;
const CURRENT = /^CURRENT$/;
const TABLE = /\.ldb$/;
const faultsIn = async (dataDir: string): Promise<readonly string[]> =>
  (await surveyStore(join(dataDir, 'store'))).faults.map(({ message }) => message);
const without = (rows: Rows, ...lost: readonly (Rows | undefined)[]): Rows =>
  Object.fromEntries(Object.entries(rows).filter(([key]) => !lost.some((one) => one !== undefined && key in one)));
const upTo = (count: number): Rows => brief(Object.assign({}, ...BATCHES.slice(0, count)));

it('an undamaged store has no faults and all its rows', async () => {
  expect(await faultsIn(inTable)).toEqual([]);
  expect(await outcomeOf(await copyOf(inTable, { unsealed: false }))).toEqual({ ...OLD, ...ALL });
  expect(await outcomeOf(await copyOf(inTable, { unsealed: true }))).toEqual({ ...OLD, ...ALL });
});

describe('every single flipped bit is found', () => {
  it('in the log, wherever it is, without a seal', async () => {
    const copy = await copyOf(inLog, { unsealed: true });
    const path = await fileOf(copy, LOG);
    const bytes = await readFile(path);
    const missed: number[] = [];
    const starts = new Set(await batchOffsets(path));
    for (let offset = 0; offset < bytes.length; offset += 1) {
      // All of every header, and a sample of the payloads.
      const isNearStart = [0, 1, 2, 3, 4, 5, 6, 7, 14, 18].some((distance) => starts.has(offset - distance));
      if (!isNearStart && offset % 997 !== 0) continue;
      const mask = 1 << (offset % 8);
      bytes[offset] = (bytes[offset] as number) ^ mask;
      await writeFile(path, bytes);
      if ((await faultsIn(copy)).length === 0) missed.push(offset);
      bytes[offset] = (bytes[offset] as number) ^ mask;
    }
    expect(missed).toEqual([]);
  });

  it.each([MANIFEST, CURRENT])('in %s, at every byte, without a seal', async (pattern) => {
    const copy = await copyOf(inTable, { unsealed: true });
    const path = await fileOf(copy, pattern);
    const bytes = await readFile(path);
    const missed: number[] = [];
    for (const offset of bytes.keys()) {
      const mask = 1 << (offset % 8);
      bytes[offset] = (bytes[offset] as number) ^ mask;
      await writeFile(path, bytes);
      if ((await faultsIn(copy)).length === 0) missed.push(offset);
      bytes[offset] = (bytes[offset] as number) ^ mask;
    }
    expect(missed).toEqual([]);
  });
});

describe('a flipped byte in the log: refused, then repaired without the rows of that batch only', () => {
  it.each(['first', 'third', 'seventh, in several blocks', 'last'])('in the %s batch', async (which) => {
    const batch = { first: 0, third: 2, last: 11 }[which] ?? 6;
    for (const distance of [0, 5, 6, batch === 6 ? 50_000 : 60]) {
      const copy = await copyOf(inTable, { unsealed: true });
      const path = await fileOf(copy, LOG);
      const start = (await batchOffsets(path))[batch] as number;
      await flip(path, start + distance, 0x10);
      const damagedLog = await readFile(path);
      expect(await outcomeOf(copy), `at ${distance}`).toBe('corrupt');
      const report = await repairStore(copy);
      expect(report.lost.batches, `at ${distance}: ${JSON.stringify(report)}`).toBe(1);
      expect(report.lost.bytes).toBeGreaterThan(0);
      if (batch < 11) expect(report.lost.operations).toBe(Object.keys(BATCHES[batch] ?? {}).length);
      expect(await rowsIn(copy)).toEqual(without({ ...OLD, ...ALL }, BATCHES[batch]));
      expect(report.keptRows).toBe(Object.keys(await rowsIn(copy)).length);
      // The damaged original is still there, byte for byte.
      expect(report.setAside).toBe(join(copy, 'damaged-1'));
      expect(await readFile(path.replace(join(copy, 'store'), join(copy, 'damaged-1')))).toEqual(damagedLog);
      expect((await repairStore(copy)).damage).toEqual([]);
    }
  });

  it('in two batches, and a whole block overwritten', async () => {
    const copy = await copyOf(inLog, { unsealed: true });
    const path = await fileOf(copy, LOG);
    const offsets = await batchOffsets(path);
    await flip(path, (offsets[1] as number) + 30);
    const bytes = await readFile(path);
    bytes.fill(0, 32_768, 65_536);
    await writeFile(path, bytes);
    expect(await outcomeOf(copy)).toBe('corrupt');
    expect((await repairStore(copy)).lost.batches).toBe(2);
    expect(await rowsIn(copy)).toEqual(without(ALL, BATCHES[1], BATCHES[6]));
  });

  it('in a header, so that the record seems cut by the end of the file, although others stand behind it', async () => {
    const copy = await copyOf(inLog, { unsealed: true });
    const path = await fileOf(copy, LOG);
    const bytes = await readFile(path);
    const start = (await batchOffsets(path))[9] as number;
    const blockEnd = Math.ceil((start + 1) / 32_768) * 32_768;
    expect(blockEnd).toBeGreaterThan(bytes.length);
    bytes.writeUInt32LE(0x12345678, start);
    bytes.writeUInt16LE(blockEnd - start - 7, start + 4);
    await writeFile(path, bytes);
    expect(await outcomeOf(copy)).toBe('corrupt');
    expect((await repairStore(copy)).lost.batches).toBe(1);
    expect(await rowsIn(copy)).toEqual(without(ALL, BATCHES[9]));
  });

  it('a whole batch cut out leaves a hole in the numbering', async () => {
    const copy = await copyOf(inLog, { unsealed: true });
    const path = await fileOf(copy, LOG);
    const [, second, third] = (await batchOffsets(path)) as [number, number, number];
    const bytes = await readFile(path);
    // Within the first block, so that the blocks behind keep their places.
    const end = (await batchOffsets(path))[6] as number;
    await writeFile(path, Buffer.concat([bytes.subarray(0, second), bytes.subarray(third, end)]));
    expect(await faultsIn(copy)).toEqual([expect.stringMatching(/^\d+\.log has operation 4 at byte \d+, where 2 belongs$/)]);
    expect(await outcomeOf(copy)).toBe('corrupt');
    expect((await repairStore(copy)).lost.operations).toBe(2);
    expect(await rowsIn(copy)).toEqual(without(upTo(6), BATCHES[1]));
  });
});

describe('INT2: what a crash leaves opens, with every batch before it', () => {
  it('a log cut anywhere holds the batches up to there, whole (STO1)', async () => {
    const source = await fileOf(inLog, LOG);
    const offsets = await batchOffsets(source);
    const { size } = await stat(source);
    const places = [
      0,
      1,
      6,
      7,
      20,
      32_767,
      32_768,
      32_774,
      65_536,
      100_000,
      size - 1,
      ...offsets.flatMap((at) => [at, at + 3, at + 9]),
    ];
    for (const at of places) {
      const copy = await copyOf(inLog, { unsealed: true });
      await cut(await fileOf(copy, LOG), at);
      const whole = BATCHES.filter((_, batch) => (offsets[batch + 1] ?? size) <= at).length;
      expect(await outcomeOf(copy), `cut at ${at}`).toEqual(upTo(whole));
    }
  });

  it.each([1, 100, 512, 40_000])('a tail of %d zeros', async (zeros) => {
    const copy = await copyOf(inLog, { unsealed: true });
    await appendFile(await fileOf(copy, LOG), Buffer.alloc(zeros));
    expect(await outcomeOf(copy)).toEqual(ALL);
  });

  it('a last batch of which only the first sectors were written, and zeros behind', async () => {
    const copy = await copyOf(inLog, { unsealed: true });
    const path = await fileOf(copy, LOG);
    const bytes = await readFile(path);
    const last = (await batchOffsets(path)).at(-1) as number;
    bytes.fill(0, Math.ceil((last + 1) / 512) * 512);
    await writeFile(path, bytes);
    expect(await outcomeOf(copy)).toEqual(upTo(11));
  });

  it('a store whose creation was cut off', async () => {
    const copy = await copyOf(inLog, { unsealed: true });
    for (const name of await readdir(join(copy, 'store'))) {
      if (!/^(?:LOCK|LOG)$/.test(name)) await rm(join(copy, 'store', name));
    }
    await writeFile(join(copy, 'store', 'MANIFEST-000001'), '');
    await rm(join(copy, 'store.created'));
    expect(await outcomeOf(copy)).toEqual({});
  });

  it('a MANIFEST cut anywhere is refused, or everything is there all the same', async () => {
    const { size } = await stat(await fileOf(inTable, MANIFEST));
    let refused = 0;
    for (let at = 0; at < size; at += 1) {
      const copy = await copyOf(inTable, { unsealed: true });
      await cut(await fileOf(copy, MANIFEST), at);
      if ((await faultsIn(copy)).length > 0) refused += 1;
      else expect(await outcomeOf(copy), `cut at ${at}`).toEqual({ ...OLD, ...ALL });
    }
    expect(refused).toBeGreaterThan(size / 2);
  });
});

describe('files that are missing, empty or cut: refused, said, and repaired without loss where nothing is lost', () => {
  const cases: readonly { name: string; damage: (copy: string) => Promise<void>; says: RegExp; keeps: () => Rows }[] = [
    {
      name: 'CURRENT deleted',
      damage: async (copy) => rm(await fileOf(copy, CURRENT)),
      says: /CURRENT is missing/,
      keeps: () => ({ ...OLD, ...ALL }),
    },
    {
      name: 'CURRENT empty',
      damage: async (copy) => cut(await fileOf(copy, CURRENT), 0),
      says: /CURRENT is empty/,
      keeps: () => ({ ...OLD, ...ALL }),
    },
    {
      name: 'CURRENT cut',
      damage: async (copy) => cut(await fileOf(copy, CURRENT), 9),
      says: /CURRENT names no/,
      keeps: () => ({ ...OLD, ...ALL }),
    },
    {
      name: 'MANIFEST deleted',
      damage: async (copy) => rm(await fileOf(copy, MANIFEST)),
      says: /MANIFEST-\d+ is missing/,
      keeps: () => ({ ...OLD, ...ALL }),
    },
    {
      name: 'MANIFEST empty',
      damage: async (copy) => cut(await fileOf(copy, MANIFEST), 0),
      says: /MANIFEST-\d+ is empty/,
      keeps: () => ({ ...OLD, ...ALL }),
    },
    {
      name: 'MANIFEST cut',
      damage: async (copy) => cut(await fileOf(copy, MANIFEST), 30),
      says: /MANIFEST-\d+ is cut off/,
      keeps: () => ({ ...OLD, ...ALL }),
    },
    { name: 'log deleted', damage: async (copy) => rm(await fileOf(copy, LOG)), says: /\.log is missing/, keeps: () => OLD },
    {
      name: 'table deleted',
      damage: async (copy) => rm(await fileOf(copy, TABLE)),
      says: /table \d+\.ldb is missing/,
      keeps: () => ALL,
    },
    {
      name: 'table empty',
      damage: async (copy) => cut(await fileOf(copy, TABLE), 0),
      says: /ldb has 0 bytes instead of/,
      keeps: () => ALL,
    },
  ];
  it.each(cases)('$name', async ({ damage, says, keeps }) => {
    const copy = await copyOf(inTable, { unsealed: true });
    await damage(copy);
    expect(await outcomeOf(copy)).toBe('corrupt');
    expect((await faultsIn(copy)).join('\n')).toMatch(says);
    const report = await repairStore(copy);
    expect(report.damage.length).toBeGreaterThan(0);
    expect(await rowsIn(copy)).toEqual(keeps());
  });

  it('only LOCK and LOG left, and the seal: the rows are missing, and that is said', async () => {
    const copy = await copyOf(inTable, { unsealed: false });
    for (const name of await readdir(join(copy, 'store'))) {
      if (!/^(?:LOCK|LOG|SEAL.json)$/.test(name)) await rm(join(copy, 'store', name));
    }
    expect(await outcomeOf(copy)).toBe('corrupt');
    await repairStore(copy);
    expect(await rowsIn(copy)).toEqual({});
  });
});

describe('after a clean close the seal shows what LevelDB could not', () => {
  it.each([0, 'at a batch', 'in a batch'])('a log cut (%s)', async (where) => {
    const copy = await copyOf(inTable, { unsealed: false });
    const path = await fileOf(copy, LOG);
    const eighth = (await batchOffsets(path))[8] as number;
    await cut(path, where === 0 ? 0 : where === 'at a batch' ? eighth : eighth + 20);
    expect(await outcomeOf(copy)).toBe('corrupt');
    await repairStore(copy);
    expect(await rowsIn(copy)).toEqual({ ...OLD, ...(where === 0 ? {} : upTo(8)) });
  });

  it('SEAL2: a seal from before a crash accuses nobody', async () => {
    const copy = await copyOf(inTable, { unsealed: false });
    const oldSeal = await readFile(join(copy, 'store', 'SEAL.json'));
    expect(await rowsIn(copy)).toEqual({ ...OLD, ...ALL });
    await writeFile(join(copy, 'store', 'SEAL.json'), oldSeal);
    expect(await outcomeOf(copy)).toEqual({ ...OLD, ...ALL });
  });
});
