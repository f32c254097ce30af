/**
 * Lists in answers of bounded size: a few thousand records with large inputs would be gigabytes.
 *
 * PAG1  An answer holds at least one record, and no more of them than about half a frame; where it stops early, `next_before` says where to go on.
 */
import { LIMITS } from '../../model/limits.ts';
import type { WireFields } from './rename.ts';

const PAGE_CHARACTERS = LIMITS.frameBytes / 2;

/** Grows to as many rows as fit into one answer. */
export class Page<Row> {
  readonly rows: WireFields[] = [];
  readonly #toWire: (record: Row) => WireFields;
  #characters = 0;

  constructor(toWire: (record: Row) => WireFields) {
    this.#toWire = toWire;
  }

  /** As many of the records, from the first on, as there is room for; false: not for all of them. */
  take(records: readonly Row[]): boolean {
    for (const record of records) {
      const row = this.#toWire(record);
      this.#characters += JSON.stringify(row).length;
      if (this.rows.length > 0 && this.#characters > PAGE_CHARACTERS) return false;
      this.rows.push(row);
    }
    return true;
  }
}

/** As many of the records, from the first on, as fit into one answer; `isCut`: some did not. */
export function pageOf<Row>(
  records: readonly Row[],
  toWire: (record: Row) => WireFields,
): { readonly rows: readonly WireFields[]; readonly isCut: boolean } {
  const page = new Page(toWire);
  const isCut = !page.take(records);
  return { rows: page.rows, isCut };
}
