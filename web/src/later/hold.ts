/**
 * Holds the list still under the pointer and the focus.
 *
 * DSH9  The row at the anchor and all above it keep their places: none leaves, none comes in between. Below, new rows appear.
 */
import type { Row } from '../model/rows.ts';

export interface HeldRows {
  readonly rows: readonly Row[];
  /** Rows that wait above the anchor. */
  readonly waiting: number;
}

/**
 * @param shown what is on the screen
 * @param next what would be, in the order of `shown` where it can
 * @param anchor the key of the row that must not move
 */
export function holdRows(shown: readonly Row[], next: readonly Row[], anchor: string): HeldRows {
  const index = shown.findIndex(({ key }) => key === anchor);
  if (index < 0) return { rows: next, waiting: 0 };
  const current = new Map(next.map((row) => [row.key, row]));
  // What has gone is shown as it last was.
  const head = shown.slice(0, index + 1).map((row) => current.get(row.key) ?? row);
  const headKeys = new Set(head.map(({ key }) => key));
  const from = next.findIndex(({ key }) => key === anchor);
  const tail: Row[] = [];
  let waiting = 0;
  const known = new Set(shown.map(({ key }) => key));
  for (const [place, row] of next.entries()) {
    if (headKeys.has(row.key)) continue;
    if (place > from || known.has(row.key)) tail.push(row);
    else waiting += 1;
  }
  return { rows: [...head, ...tail], waiting };
}
