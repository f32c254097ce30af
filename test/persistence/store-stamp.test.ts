/** Seeing from outside whether a closed store has changed. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { levelStore } from '../../src/persistence/level-store.ts';
import { storeStamp } from '../../src/persistence/store-stamp.ts';
import { newFolder } from './store-lab.ts';

async function write(folder: string, key: string | null): Promise<void> {
  const store = await levelStore(folder);
  if (key !== null) await store.batch([{ type: 'put', key, value: 'x' }], { sync: false });
  await store.close();
}

it('the stamp changes with what is written, and not by opening and closing', async () => {
  const folder = await newFolder();
  expect(await storeStamp(join(folder, 'none'))).toBe('');
  const stamps: string[] = [];
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
    await write(folder, key);
    stamps.push(await storeStamp(folder));
    await write(folder, null);
    const seen = await storeStamp(folder);
    stamps.push(seen);
    await write(folder, null);
    expect(await storeStamp(folder)).toBe(seen);
  }
  expect(new Set(stamps).size).toBe(stamps.length);
});
