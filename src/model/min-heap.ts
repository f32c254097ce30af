/**
 * A binary heap: the smallest item first, at logarithmic cost.
 *
 * HEA1  `peek` and `pop` give an item before which no other one is.
 */
export class MinHeap<Item> {
  readonly #isBefore: (a: Item, b: Item) => boolean;
  #items: Item[] = [];

  constructor(isBefore: (a: Item, b: Item) => boolean) {
    this.#isBefore = isBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): Item | undefined {
    return this.#items[0];
  }

  push(item: Item): void {
    const items = this.#items;
    let index = items.length;
    items.push(item);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = items[parent] as Item;
      if (!this.#isBefore(item, above)) break;
      items[index] = above;
      items[parent] = item;
      index = parent;
    }
  }

  pop(): Item | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (last === undefined || items.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= items.length) break;
      const right = items[child + 1];
      if (right !== undefined && this.#isBefore(right, items[child] as Item)) child += 1;
      const smaller = items[child] as Item;
      if (!this.#isBefore(smaller, last)) break;
      items[index] = smaller;
      index = child;
    }
    items[index] = last;
    return first;
  }

  /** Drops what is not wanted any more. */
  keep(isWanted: (item: Item) => boolean): void {
    const kept = this.#items.filter(isWanted);
    this.#items = [];
    for (const item of kept) this.push(item);
  }

  clear(): readonly Item[] {
    const items = this.#items;
    this.#items = [];
    return items;
  }
}
