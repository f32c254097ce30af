/**
 * Chance from a seed: the same path gives the same numbers, on every machine, whatever else was drawn.
 *
 * SRN1  A generator is named by a seed and a path; those of different paths know nothing of each other.
 * SRN2  `pickNamed` depends on the names alone: an item that goes away changes only the picks that would have been it.
 */

/** A source of chance; every call draws. */
export interface Random {
  /** An integer from 0 to `below` - 1. */
  integer(below: number): number;
  /** True with this probability, 0 to 1. */
  chance(probability: number): boolean;
  /** One of them; the list must not be empty. */
  pick<Item>(items: readonly Item[]): Item;
  /** One of them by its weight. */
  weighted<Item>(items: readonly (readonly [weight: number, item: Item])[]): Item;
  /** One of the names, stable when others come and go (SRN2); undefined when there is none. */
  pickNamed(names: Iterable<string>): string | undefined;
}

/** FNV-1a over UTF-16 units, finished as in murmur3: short texts that differ in one character give far numbers. */
function hash(text: string, start: number): number {
  let value = start ^ 0x811c9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

/**
 * A generator of its own for this seed and path.
 * @example
 * const dice = random(7, 'step', 12);
 * dice.integer(6); // the same whenever and wherever it is asked
 */
export function random(seed: number, ...path: readonly (string | number)[]): Random {
  // Mulberry32: 32 bits of state are enough, since every step has its own.
  let state = hash(path.join('/'), hash(String(seed), 0));
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return (value ^ (value >>> 14)) >>> 0;
  };
  const integer = (below: number): number => Math.floor((next() / 0x1_0000_0000) * below);
  return {
    integer,
    chance: (probability) => next() < probability * 0x1_0000_0000,
    pick: (items) => items[integer(items.length)] as (typeof items)[number],
    weighted(items) {
      const total = items.reduce((sum, [weight]) => sum + weight, 0);
      let left = (next() / 0x1_0000_0000) * total;
      for (const [weight, item] of items) {
        left -= weight;
        if (left < 0) return item;
      }
      return (items.at(-1) as (typeof items)[number])[1];
    },
    pickNamed(names) {
      const salt = next();
      let best: string | undefined;
      let bestValue = -1;
      for (const name of names) {
        const value = hash(name, salt);
        if (value <= bestValue) continue;
        best = name;
        bestValue = value;
      }
      return best;
    },
  };
}
