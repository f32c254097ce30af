/**
 * The seal of a clean close: how long the newest files were. LevelDB cannot tell a log that was cut at a record from one that ended there;
 * after a clean close the seal can.
 *
 * SEAL1  What the seal speaks of is on disk before the seal is: a seal never accuses a store that lost power.
 * SEAL2  It speaks of files by number, and LevelDB begins new ones at every open: a seal that is out of date says nothing, so it need not be removed.
 */
import { open, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export const SEAL_FILE = 'SEAL.json';

/** Size in bytes by file name. */
export type Seal = ReadonlyMap<string, number>;

/**
 * Writes the seal of the store in `folder`. Called while the lock is still held, after the last write: from then on the newest log and MANIFEST
 * stay and do not shrink, whatever LevelDB still does before it is closed.
 */
export async function writeSeal(folder: string): Promise<void> {
  const names = await readdir(folder);
  const sizes: [string, number][] = [];
  for (const name of [newest(names, /^(\d+)\.log$/), newest(names, /^MANIFEST-(\d+)$/)]) {
    if (name === undefined) return;
    const { size } = await stat(join(folder, name));
    if (size > 0) await syncFile(join(folder, name));
    sizes.push([name, size]);
  }
  await writeFile(join(folder, SEAL_FILE), `${JSON.stringify(Object.fromEntries(sizes))}\n`, { mode: 0o600 });
}

function newest(names: readonly string[], pattern: RegExp): string | undefined {
  const numbered = names.map((name) => ({ name, number: Number(pattern.exec(name)?.[1] ?? Number.NaN) }));
  return numbered.filter(({ number }) => number >= 0).sort((left, right) => right.number - left.number)[0]?.name;
}

/** The seal, or null where there is none that can be read. */
export async function readSeal(folder: string): Promise<Seal | null> {
  try {
    const sizes: unknown = JSON.parse(await readFile(join(folder, SEAL_FILE), 'utf8'));
    if (typeof sizes !== 'object' || sizes === null) return null;
    return new Map(Object.entries(sizes).filter((entry): entry is [string, number] => typeof entry[1] === 'number'));
  } catch {
    return null;
  }
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.datasync();
  } finally {
    await file.close();
  }
}
