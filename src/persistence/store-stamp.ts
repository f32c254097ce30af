/** Whether a store that is closed has changed since one looked at it last, without opening it. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { STORE_FOLDER } from './store-folders.ts';

/**
 * A text that differs once something was written. Opening and closing alone leave it as it is: LevelDB then starts another empty log, and makes
 * no table of nothing. A rearrangement of tables may change it as well. Empty when there is no store.
 */
export async function storeStamp(dataDir: string): Promise<string> {
  const folder = join(dataDir, STORE_FOLDER);
  const names = await readdir(folder).catch(() => []);
  if (names.length === 0) return '';
  const tables = names.filter((name) => /\.(?:ldb|sst)$/.test(name)).sort();
  let logBytes = 0;
  for (const name of names) {
    if (name.endsWith('.log')) logBytes += (await stat(join(folder, name)).catch(() => null))?.size ?? 0;
  }
  return [...tables, logBytes].join(' ');
}
