/** Where a text may be cut: never within a pair of surrogates. */

/** `index`, or the place after it where no pair of surrogates is torn apart. */
export const cutPoint = (text: string, index: number): number =>
  (text.charCodeAt(index) & 0xfc00) === 0xdc00 ? index + 1 : Math.min(index, text.length);
