/**
 * Looking at a store as a whole, and keeping what is intact of a damaged one (`doctor`, `doctor --repair`).
 *
 * REP1  Nothing is deleted: the damaged store moves, as it is, to `<dataDir>/damaged-<n>`, and its intact rows are in a new one.
 * REP2  A repair may be cut off at any point. Until the new store is complete the old one stays in its place; after that the repair
 *       can only be finished, and until it is, opening is refused.
 * REP3  A row comes back in its newest intact version. A version that was lost may have replaced or deleted it: whether rows still make sense
 *       together is judged by those who know what they mean (`checkRows`; row-check.ts knows an engine's).
 */
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type StoreFault, surveyStore } from './integrity.ts';
import { isLocked, openDatabase, toStoreError } from './level-engine.ts';
import { levelStore } from './level-store.ts';
import { claimFolder, findDataDir, lockedError } from './ownership.ts';
import { Salvage } from './salvage.ts';
import type { Store } from './store.ts';
import {
  isHalfRepaired,
  isStoreGone,
  nextDamagedFolder,
  REBUILT_FOLDER,
  STORE_FOLDER,
  STORE_GONE,
  syncFolder,
  unmarkCreated,
} from './store-folders.ts';

const PORTION_BYTES = 1024 * 1024;

export interface StoreInspection {
  /** Empty when every byte of the store is as it was written. */
  readonly damage: readonly StoreFault[];
  /** Rows that are intact. */
  readonly rows: number;
}

/**
 * Reads a store that nobody has open, all of it, and changes nothing.
 * @throws OffstageError `config.invalid` (no such folder), `store.locked`, `store.failed`
 */
export async function inspectStore(dataDir: string): Promise<StoreInspection> {
  return withFolder(dataDir, async (folder) => {
    if (await isStoreGone(folder)) return { damage: [GONE], rows: 0 };
    const isUnfinished = await isHalfRepaired(folder);
    const { damage, salvage } = await examine(join(folder, isUnfinished ? REBUILT_FOLDER : STORE_FOLDER));
    return { damage: isUnfinished ? [INTERRUPTED, ...damage] : damage, rows: salvage.countRows() };
  });
}

export interface RepairReport<Rows> {
  /** What was found; empty when there was nothing to repair. */
  readonly damage: readonly StoreFault[];
  readonly keptRows: number;
  /** What is known to be lost, at least: damaged records of logs, operations missing by number, bytes of files. */
  readonly lost: { readonly batches: number; readonly operations: number; readonly bytes: number };
  /** The folder that now holds the damaged store; null when there was nothing to repair. */
  readonly setAside: string | null;
  /** Nothing at all was left; the next open begins with an empty store. */
  readonly isAllLost: boolean;
  /** What `checkRows` answered. */
  readonly rows: Rows | null;
}

export interface RepairOptions<Rows> {
  /** Judges, and may mend, the rows of the repaired store; `damage` is what was found in its files. */
  readonly checkRows?: (store: Store, damage: readonly StoreFault[]) => Promise<Rows>;
}

/**
 * Puts a store with all intact rows in the place of a damaged one; an intact one stays as it is.
 * @throws OffstageError `config.invalid` (no such folder), `store.locked`, `store.failed`
 */
export async function repairStore<Rows = never>(dataDir: string, options: RepairOptions<Rows> = {}): Promise<RepairReport<Rows>> {
  const report = await withFolder(dataDir, repairFolder);
  if (options.checkRows === undefined) return { ...report, rows: null };
  const store = await levelStore(dataDir);
  try {
    return { ...report, rows: await options.checkRows(store, report.damage) };
  } finally {
    await store.close();
  }
}

const INTERRUPTED: StoreFault = { file: REBUILT_FOLDER, message: 'a repair was interrupted', lostBytes: 0, lostOperations: 0 };
const GONE: StoreFault = { file: STORE_FOLDER, message: STORE_GONE, lostBytes: 0, lostOperations: 0 };
const NOTHING = { batches: 0, operations: 0, bytes: 0 } as const;

async function withFolder<Result>(dataDir: string, work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await findDataDir(dataDir);
  const claim = await claimFolder(folder);
  try {
    await assertUnlocked(folder);
    return await work(folder);
  } catch (error) {
    throw toStoreError(error, folder);
  } finally {
    claim.release();
  }
}

async function assertUnlocked(folder: string): Promise<void> {
  for (const name of [STORE_FOLDER, REBUILT_FOLDER]) {
    const location = join(folder, name);
    if ((await exists(location)) && (await isLocked(location))) throw await lockedError(folder);
  }
}

async function examine(location: string): Promise<{ damage: readonly StoreFault[]; salvage: Salvage }> {
  const survey = await surveyStore(location);
  const salvage = new Salvage(location, survey);
  return { damage: [...survey.faults, ...(await salvage.collect())], salvage };
}

async function repairFolder(folder: string): Promise<Omit<RepairReport<never>, 'rows'>> {
  const location = join(folder, STORE_FOLDER);
  const rebuilt = join(folder, REBUILT_FOLDER);
  if (await isStoreGone(folder)) return startAnew(folder);
  const isUnfinished = await isHalfRepaired(folder);
  if (isUnfinished) await rename(rebuilt, location);
  const { damage, salvage } = await examine(location);
  const keptRows = salvage.countRows();
  if (damage.length === 0) {
    const found = isUnfinished ? [INTERRUPTED] : [];
    return { damage: found, keptRows, lost: NOTHING, setAside: null, isAllLost: false };
  }
  await rm(rebuilt, { recursive: true, force: true });
  await rebuild(salvage, rebuilt, folder);
  await assertUnlocked(folder);
  const setAside = join(folder, await nextDamagedFolder(folder));
  await rename(location, setAside);
  await rename(rebuilt, location);
  await syncFolder(folder);
  return { damage, keptRows, lost: lossOf(damage), setAside, isAllLost: false };
}

/** What little there may be goes aside too (REP1); without the mark the next open makes a store, as in a folder that never had one. */
async function startAnew(folder: string): Promise<Omit<RepairReport<never>, 'rows'>> {
  const location = join(folder, STORE_FOLDER);
  const isWorthKeeping = (await readdir(location).catch(() => [])).some((name) => !/^LO(?:CK|G)/.test(name));
  const setAside = isWorthKeeping ? join(folder, await nextDamagedFolder(folder)) : null;
  if (setAside !== null) await rename(location, setAside);
  await unmarkCreated(folder);
  await syncFolder(folder);
  return { damage: [GONE], keptRows: 0, lost: NOTHING, setAside, isAllLost: true };
}

async function rebuild(salvage: Salvage, location: string, dataDir: string): Promise<void> {
  const database = await openDatabase(location, dataDir);
  try {
    for await (const rows of salvage.rows(PORTION_BYTES)) {
      const batch = database.batch();
      for (const { key, value } of rows) batch.put(key, value);
      await batch.write({ sync: true });
    }
  } finally {
    await database.close();
  }
}

function lossOf(damage: readonly StoreFault[]): RepairReport<never>['lost'] {
  const inLogs = damage.filter(({ file, lostBytes }) => file.endsWith('.log') && lostBytes > 0);
  return {
    batches: inLogs.length,
    operations: damage.reduce((sum, { lostOperations }) => sum + lostOperations, 0),
    bytes: damage.reduce((sum, { lostBytes }) => sum + lostBytes, 0),
  };
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}
