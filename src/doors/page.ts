/**
 * Lists in answers of bounded size: a few thousand records with large inputs would be gigabytes.
 *
 * PAG1  An answer holds at least one record, and no more of them than about half a frame; where it stops early, `next_before` says where to go on.
 */
import { LIMITS } from '../model/limits.ts';
import type { WireFields } from './rename.ts';

const PAGE_CHARACTERS = LIMITS.frameBytes / 2;

export interface Page {
  readonly rows: readonly WireFields[];
  /** Some did not fit. */
  readonly isCut: boolean;
}

/** As many of the records, from the first on, as fit into one answer. */
export function pageOf<Row>(records: readonly Row[], toWire: (record: Row) => WireFields): Page {
  const rows: WireFields[] = [];
  let characters = 0;
  for (const record of records) {
    const row = toWire(record);
    characters += JSON.stringify(row).length;
    if (rows.length > 0 && characters > PAGE_CHARACTERS) return { rows, isCut: true };
    rows.push(row);
  }
  return { rows, isCut: false };
}
