/**
 * The bounds of a range, reduced to at most one on each side: the tighter one where both an exclusive and an inclusive bound are given.
 */
import type { RangeOptions } from './store.ts';
import { compareKeys } from './utf8-order.ts';

export interface Bound {
  readonly key: string;
  readonly isExclusive: boolean;
}

export interface RangeBounds {
  readonly low: Bound | undefined;
  readonly high: Bound | undefined;
}

export function rangeBounds({ gt, gte, lt, lte }: RangeOptions): RangeBounds {
  return { low: tighter(gt, gte, 1), high: tighter(lt, lte, -1) };
}

/** `inward` is 1 for lower bounds, -1 for upper ones. */
function tighter(exclusive: string | undefined, inclusive: string | undefined, inward: 1 | -1): Bound | undefined {
  if (exclusive === undefined) return inclusive === undefined ? undefined : { key: inclusive, isExclusive: false };
  if (inclusive !== undefined && compareKeys(inclusive, exclusive) * inward > 0) return { key: inclusive, isExclusive: false };
  return { key: exclusive, isExclusive: true };
}
