/** What executors have launched and nobody has seen to be gone (spec 6): rows of the store, read in one place. */
import type { ProcessRecord } from '../model/records.ts';
import { RANGES } from '../persistence/row-keys.ts';
import type { Store } from '../persistence/store.ts';

/** @throws OffstageError `store.failed`, `store.closed` */
export async function readProcessRecords(store: Store): Promise<readonly ProcessRecord[]> {
  const records: ProcessRecord[] = [];
  for await (const { value } of store.range(RANGES.processes)) {
    // Rows of the first format belong to jobs, and name no session.
    records.push({ sessionId: null, ...(JSON.parse(value) as Omit<ProcessRecord, 'sessionId'>) });
  }
  return records;
}
