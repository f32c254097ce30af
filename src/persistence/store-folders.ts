/**
 * What lies inside a data folder, and what its presence says: about a repair that was cut off, and about a store that is gone.
 *
 * FOL1  The mark is written once the store is there, and on disk: a creation that was cut off, also by a loss of power, leaves no mark.
 */
import { open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { offstageError } from '../model/errors.ts';

export const STORE_FOLDER = 'store';
/** What a repair has saved; it takes the place of `store` once it is complete. */
export const REBUILT_FOLDER = 'store.rebuilt';
/** A folder with this file had a store: without one it has lost it. */
export const CREATED_MARK = 'store.created';
const DAMAGED = /^damaged-(\d+)$/;

/** Whether a repair was cut off after it had set the damaged store aside: what it saved is then complete. */
export async function isHalfRepaired(dataDir: string): Promise<boolean> {
  const names = await readdir(dataDir);
  return names.includes(REBUILT_FOLDER) && !names.includes(STORE_FOLDER);
}

/** @throws OffstageError `store.corrupt` */
export async function assertNotHalfRepaired(dataDir: string): Promise<void> {
  if (!(await isHalfRepaired(dataDir))) return;
  throw offstageError('store.corrupt', { folder: dataDir, message: 'a repair was interrupted' });
}

/** The first `damaged-<n>` that does not exist yet. */
export async function nextDamagedFolder(dataDir: string): Promise<string> {
  const numbers = (await readdir(dataDir)).map((name) => Number(DAMAGED.exec(name)?.[1] ?? 0));
  return `damaged-${Math.max(0, ...numbers) + 1}`;
}

/** Whether the data folder had a store, and nothing is left of it. What is left of one is for a survey to judge. */
export async function isStoreGone(dataDir: string): Promise<boolean> {
  const names = await readdir(dataDir);
  if (!names.includes(CREATED_MARK)) return false;
  if (!names.includes(STORE_FOLDER)) return !names.includes(REBUILT_FOLDER);
  return !(await readdir(join(dataDir, STORE_FOLDER))).some((name) => name === 'CURRENT' || /\.(?:log|ldb|sst)$/.test(name));
}

export const STORE_GONE = `the folder ${STORE_FOLDER} that held all of it is missing or empty`;

/** @throws OffstageError `store.corrupt` */
export async function assertStoreNotGone(dataDir: string): Promise<void> {
  if (await isStoreGone(dataDir)) throw offstageError('store.corrupt', { folder: dataDir, message: STORE_GONE });
}

/** Called once the store has been opened. */
export async function markCreated(dataDir: string): Promise<void> {
  const path = join(dataDir, CREATED_MARK);
  if ((await stat(path).catch(() => null)) !== null) return;
  await syncFolder(join(dataDir, STORE_FOLDER));
  await syncFolder(dataDir);
  await (await open(path, 'a', 0o600)).close();
}

export const unmarkCreated = (dataDir: string): Promise<void> => rm(join(dataDir, CREATED_MARK), { force: true });

/** What was made, removed or renamed in the folder survives a loss of power. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
