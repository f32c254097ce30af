/** What executors have launched and nobody has seen to be gone (spec 6): rows of the store, read in one place. */
import type { ProcessRecord } from '../model/records.ts';
import { readProcessRecord } from '../persistence/process-row.ts';
import { RANGES } from '../persistence/row-keys.ts';
import type { Store } from '../persistence/store.ts';

/**
 * Rows that cannot be read are left out, after `onUnreadable` was told their key.
 * @throws OffstageError `store.failed`, `store.closed`
 */
export async function readProcessRecords(store: Store, onUnreadable?: (key: string) => void): Promise<readonly ProcessRecord[]> {
  const records: ProcessRecord[] = [];
  for await (const { key, value } of store.range(RANGES.processes)) {
    const record = readProcessRecord(value);
    if (record === null) onUnreadable?.(key);
    else records.push(record);
  }
  return records;
}
