/** Things that are remembered for a while, at most so many of them: the oldest are forgotten first. */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  /** Set again, it counts as new. */
  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    if (this.#entries.size >= this.#limit) {
      const [oldest] = this.#entries.keys();
      this.#entries.delete(oldest as Key);
    }
    this.#entries.set(key, value);
  }

  delete(key: Key): boolean {
    return this.#entries.delete(key);
  }

  keys(): IterableIterator<Key> {
    return this.#entries.keys();
  }

  entries(): IterableIterator<[Key, Value]> {
    return this.#entries.entries();
  }

  values(): IterableIterator<Value> {
    return this.#entries.values();
  }
}
