/**
 * The order of keys (STO3): by their UTF-8 bytes, which is the order of code points. JavaScript compares UTF-16 units; the two differ
 * only where a surrogate (part of a character above U+FFFF) meets a unit from U+E000 on, so nearly every key may use the fast comparison.
 */

/** Negative when `left` comes first, 0 when equal, positive otherwise. */
export type KeyOrder = (left: string, right: string) => number;

const HIGH_UNIT = /[\ud800-\uffff]/;

const byUnits: KeyOrder = (left, right) => (left < right ? -1 : left > right ? 1 : 0);

/** Moves the surrogates above all other units, where their characters belong. */
const rank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800);

const byCodePoints: KeyOrder = (left, right) => {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const difference = rank(left.charCodeAt(index)) - rank(right.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
};

/** The order to use for comparing `key` with any other: units suffice unless `key` itself has a high one. */
export const orderFor = (key: string): KeyOrder => (HIGH_UNIT.test(key) ? byCodePoints : byUnits);

/** Compares two keys by their UTF-8 bytes. */
export const compareKeys: KeyOrder = (left, right) => orderFor(left)(left, right);
