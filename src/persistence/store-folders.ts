/**
 * The folders inside a data folder, and what their presence says about a repair that was cut off.
 */
import { readdir } from 'node:fs/promises';
import { offstageError } from '../model/errors.ts';

export const STORE_FOLDER = 'store';
/** What a repair has saved; it takes the place of `store` once it is complete. */
export const REBUILT_FOLDER = 'store.rebuilt';
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
