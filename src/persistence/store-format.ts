/**
 * The version of the whole store: what lies where, and what it means; and the way from every older version to this one.
 *
 * FMT1  The format is written last: a migration that was cut off is done again, and doing it twice changes nothing.
 * FMT2  A store of a newer format is refused before anything is written.
 */
import { offstageError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import { KEYS, RANGES, SENTINELS } from './row-keys.ts';
import { isRemoved, readSessionRow, sessionIndexOperations } from './session-rows.ts';
import type { Store, StoreOperation } from './store.ts';

/**
 * 2: sessions are listed under their tasks (`m/`), and marked while a restart would have to settle them (`a/`).
 * 3: cards of pruned jobs (`k/`, `w/`), and notices (`u/`).
 */
export const STORE_FORMAT = 3;

/** The number of a format as it is stored; null where there is none, or none that can be read. */
export const formatOf = (stored: string | undefined): number | null => (/^[1-9]\d*$/.test(stored ?? '') ? Number(stored) : null);

/** @throws OffstageError `store.failed` when a newer release has written the store */
export function assertKnownFormat(format: string | undefined): void {
  if ((formatOf(format) ?? 0) <= STORE_FORMAT) return;
  throw offstageError('store.failed', {
    message: `it has format ${format}, written by a newer release; this one knows up to ${STORE_FORMAT}`,
  });
}

/** Whether every session has its index rows; a store that has lost its format may have any. */
export const hasSessionIndex = (format: string | undefined): boolean => (formatOf(format) ?? STORE_FORMAT) >= 2;

/** Brings a store, new or old, to the format of this release. @throws OffstageError `store.failed` (FMT2 too) */
export async function prepareStore(store: Store): Promise<void> {
  const format = await store.get(KEYS.format);
  assertKnownFormat(format);
  if (formatOf(format) === STORE_FORMAT) return;
  // Also where there is no format yet: a new store has no sessions, and one that lost its format may have any.
  await indexSessions(store);
  const operations: StoreOperation[] = SENTINELS.map((key) => ({ type: 'put', key, value: '' }));
  await store.batch([...operations, { type: 'put', key: KEYS.format, value: String(STORE_FORMAT) }], { sync: true });
}

/** From 1 on. Rows that cannot be read are left to `doctor`. */
async function indexSessions(store: Store): Promise<void> {
  let operations: StoreOperation[] = [];
  for await (const { value } of store.range(RANGES.sessions)) {
    operations.push(...indexOf(value));
    if (operations.length < LIMITS.changesPerBatch) continue;
    // Not synced: the last batch is, and none survives without those before it (STO1).
    await store.batch(operations, { sync: false });
    operations = [];
  }
  if (operations.length > 0) await store.batch(operations, { sync: false });
}

function indexOf(value: string): readonly StoreOperation[] {
  try {
    const row = readSessionRow(value);
    return row === null || isRemoved(row) ? [] : sessionIndexOperations(row);
  } catch {
    return [];
  }
}
