/**
 * Data folders whose files are spoilt: cut, flipped, emptied, deleted, swapped, overwritten, put in the place of others. Opening gives every row as
 * it was written, or `store.corrupt` with every file left as it was; a repair gives rows that were written, in versions that were written, sets
 * aside what was damaged byte for byte, and can be repeated.
 */
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { surveyStore } from '../../src/persistence/integrity.ts';
import { levelStore } from '../../src/persistence/level-store.ts';
import { inspectStore, repairStore } from '../../src/persistence/repair.ts';
import { brief, type Rows, readAll, text, write } from '../../test/persistence/store-lab.ts';
import { strayErrors } from '../../test/support/hostile.ts';
import { LIMIT_MS, times } from '../support/how-often.ts';
import { type ByteChange, byteChange, codeOf, spoilBytes } from '../support/mutated.ts';

let base = '';
interface Folder {
  readonly path: string;
  readonly isSealed: boolean;
  /** All rows after each batch, the empty store first. */
  readonly states: readonly Rows[];
  /** How many batches are not in the log any more. */
  readonly inTables: number;
  /** Every version that each row ever had. */
  readonly versions: ReadonlyMap<string, ReadonlySet<string>>;
}
const folders: Folder[] = [];

/** A store through `lives` openings, each of a few batches with rows written anew; sealed unless it crashed. */
async function makeFolder(lives: number, isSealed: boolean): Promise<void> {
  const path = join(base, `${lives}-${isSealed}`);
  const states: Rows[] = [{}];
  const versions = new Map<string, Set<string>>();
  for (let life = 0; life < lives; life++) {
    const store = await levelStore(path);
    for (let batch = 0; batch < 6; batch++) {
      const some: Record<string, string> = Object.fromEntries(
        Array.from({ length: 4 }, (_, row) => [`r/${(batch * 3 + row) % 11}`, text(life * 100 + batch * 10 + row, 120)]),
      );
      // One row is never written again: it stays where it was put. Tables are told apart by their size.
      some[`k/${life}/${batch}`] = text(life + batch, (batch === 3 ? 40_000 : 200) + 7 * life);
      await write(store, some);
      states.push(inOrder({ ...states.at(-1), ...brief(some) }));
      for (const [key, value] of Object.entries(brief(some))) {
        versions.set(key, (versions.get(key) ?? new Set()).add(value));
      }
    }
    await store.close();
  }
  if (!isSealed) await rm(join(path, 'store', 'SEAL.json'));
  folders.push({ path, isSealed, states, inTables: 6 * (lives - 1), versions });
}

const inOrder = (rows: Rows): Rows => Object.fromEntries(Object.entries(rows).sort(([a], [b]) => (a < b ? -1 : 1)));

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'offstage-fuzz-'));
  for (const lives of [1, 3, 4]) for (const isSealed of [true, false]) await makeFolder(lives, isSealed);
});
afterAll(() => rm(base, { recursive: true, force: true }));

interface Harm {
  readonly what: 'bytes' | 'empty' | 'delete' | 'swap' | 'copy' | 'random' | 'extra' | 'folder' | 'lose';
  readonly at: number;
  readonly other: number;
  readonly change: ByteChange;
}
const harm: fc.Arbitrary<Harm> = fc.record({
  what: fc.oneof(
    fc.constant('bytes' as const),
    fc.constantFrom('bytes', 'empty', 'delete', 'delete', 'swap', 'copy', 'random', 'extra', 'folder', 'lose'),
  ),
  at: fc.nat(50),
  other: fc.nat(50),
  change: fc.oneof(
    byteChange,
    byteChange.map((change): ByteChange => ({ ...change, what: 'flip' })),
  ),
});
const EXTRAS = [
  '000099.log',
  '000099.ldb',
  'MANIFEST-000099',
  'CURRENT.bak',
  'x',
  '000001.sst',
  '9007199254740993.log',
  'SEAL.json',
];

async function doHarm(path: string, { what, at, other, change }: Harm): Promise<void> {
  const store = join(path, 'store');
  const names = (await readdir(store).catch(() => [])).filter((name) => !/^(?:LOCK|LOG)/.test(name)).sort();
  const first = names[at % names.length];
  const second = names[other % names.length];
  if (what === 'lose')
    return other % 2 === 0 ? rm(store, { recursive: true, force: true }) : rm(join(path, 'store.created'), { force: true });
  if (first === undefined || second === undefined) return;
  const file = join(store, first);
  if (!(await stat(file)).isFile()) return;
  if (what === 'bytes') await writeFile(file, spoilBytes(await readFile(file), change));
  else if (what === 'empty') await writeFile(file, '');
  else if (what === 'delete') await rm(file);
  else if (what === 'random') await writeFile(file, Buffer.from(text(at + other, 400)));
  else if (what === 'extra')
    await writeFile(join(store, EXTRAS[other % EXTRAS.length] as string), other % 3 === 0 ? '' : await readFile(file));
  else if (what === 'folder') {
    await rm(file);
    await mkdir(file);
  } else if (first !== second && (await stat(join(store, second))).isFile()) {
    if (what === 'copy') await cp(file, join(store, second));
    else {
      await rename(file, `${file}.x`);
      await rename(join(store, second), file);
      await rename(`${file}.x`, join(store, second));
    }
  }
}

/** Every file below, by name; without those in which LevelDB keeps its lock and its diary. */
async function filesIn(path: string): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    if (/^(?:LOCK|LOG(?:\.old)?)$/.test(entry.name)) continue;
    const name = join(entry.parentPath, entry.name);
    found[name.slice(path.length)] = entry.isFile()
      ? createHash('sha1')
          .update(await readFile(name))
          .digest('hex')
      : 'no file';
  }
  return found;
}

type Opening = { readonly rows: Rows } | { readonly refused: string } | { readonly unreadable: string };

async function opened(path: string): Promise<Opening> {
  let store: Awaited<ReturnType<typeof levelStore>>;
  try {
    store = await levelStore(path);
  } catch (error) {
    return { refused: codeOf(error) };
  }
  try {
    return { rows: brief(await readAll(store)) };
  } catch (error) {
    return { unreadable: codeOf(error) };
  } finally {
    await store.close();
  }
}

// One alone is found, or not, for what it is; of several the crudest is found.
const harms = fc.oneof(
  fc.tuple(harm).map(([one]): readonly Harm[] => [one]),
  fc.array(harm, { minLength: 1, maxLength: 3 }),
);
const IN_TABLE = /^\d+\.(?:ldb|sst) is damaged at byte \d+: (?:a block|the index of the table) is unreadable/;
const REFUSED = ['store.corrupt', 'store.failed'];
/** The seal speaks of the newest log: it says nothing of a store that has one more, or has lost its seal. */
const OF_SEAL = /(?:SEAL\.json|000099\.log|9007199254740993\.log|store\.created)$/;

it(
  'opening gives all rows, or refuses and changes nothing; a repair keeps what is intact',
  async () => {
    using stray = strayErrors();
    let count = 0;
    await fc.assert(
      fc.asyncProperty(fc.nat(folders.length - 1), harms, async (which, several) => {
        const { path: source, states, inTables, versions, isSealed } = folders[which] as Folder;
        const path = join(base, `run-${++count}`);
        await cp(source, path, { recursive: true });
        const whole = await filesIn(path);
        for (const one of several) await doHarm(path, one);
        const before = await filesIn(path);
        const isIntact = changedIn(whole, before).length === 0;
        const looked = await inspectStore(path).catch(codeOf);
        expect(changedIn(before, await filesIn(path))).toEqual([]);
        const damage = typeof looked === 'string' ? [looked] : looked.damage.map(({ message }) => message);
        const isWritten = (found: Rows): boolean =>
          Object.entries(found).every(([key, value]) => versions.get(key)?.has(value) === true);
        // LevelDB itself believes its tables: what is wrong inside one is for `doctor` to find, and here it has.
        const isHidden =
          damage.length > 0 &&
          (await surveyStore(join(path, 'store'))).faults.length === 0 &&
          damage.every((one) => IN_TABLE.test(one));
        const outcome: Opening | null = isHidden ? null : await opened(path);
        if (outcome === null) expect(isIntact).toBe(false);
        else if ('refused' in outcome) {
          expect(REFUSED).toContain(outcome.refused);
          expect(changedIn(before, await filesIn(path))).toEqual([]);
          expect([damage, isIntact]).not.toEqual([damage, true]);
        } else if (damage.length === 0) {
          // Only a log can lose its end, as a crash would have cut it off: at a batch, and not where a clean end was sealed.
          const changed = changedIn(whole, before);
          const isCut =
            changed.some((name) => name.endsWith('.log')) && !(isSealed && !changed.some((name) => OF_SEAL.test(name)));
          const isGone =
            !('/store.created' in before) && !Object.keys(before).some((name) => /CURRENT$|\d\.(?:log|ldb)$/.test(name));
          const allowed = isGone ? states.slice(0, 1) : isCut ? states.slice(inTables) : states.slice(-1);
          expect(allowed.map((state) => JSON.stringify(state))).toContain(
            JSON.stringify('rows' in outcome ? outcome.rows : outcome),
          );
        }
        const report = await repairStore(path).catch(codeOf);
        if (typeof report === 'string') expect(REFUSED).toContain(report);
        else {
          const repaired = await opened(path);
          expect([damage, 'rows' in repaired && isWritten(repaired.rows)]).toEqual([damage, true]);
          expect((await inspectStore(path)).damage).toEqual([]);
          expect(await repairStore(path)).toMatchObject({ damage: [], setAside: null });
        }
        await rm(path, { recursive: true });
      }),
      times(40),
    );
    expect(stray.errors).toEqual([]);
  },
  LIMIT_MS,
);

type Files = Readonly<Record<string, string>>;
const changedIn = (before: Files, after: Files): readonly string[] =>
  Object.keys({ ...before, ...after }).filter((name) => before[name] !== after[name]);
