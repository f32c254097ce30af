/** Things that are remembered for a while, at most so many of them: the oldest are forgotten first. */
const NOTHING = new Map<never, never>();

export class BoundedMap<Key, Value> {
  // Made with the first entry: most of these stay empty, and there are several for every session.
  #entries: Map<Key, Value> | null = null;
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries?.size ?? 0;
  }

  has(key: Key): boolean {
    return this.#entries?.has(key) === true;
  }

  get(key: Key): Value | undefined {
    return this.#entries?.get(key);
  }

  /** Set again, it counts as new. */
  set(key: Key, value: Value): void {
    this.#entries ??= new Map();
    this.#entries.delete(key);
    if (this.#entries.size >= this.#limit) {
      const [oldest] = this.#entries.keys();
      this.#entries.delete(oldest as Key);
    }
    this.#entries.set(key, value);
  }

  delete(key: Key): boolean {
    return this.#entries?.delete(key) === true;
  }

  keys(): IterableIterator<Key> {
    return (this.#entries ?? NOTHING).keys();
  }

  entries(): IterableIterator<[Key, Value]> {
    return (this.#entries ?? NOTHING).entries();
  }

  values(): IterableIterator<Value> {
    return (this.#entries ?? NOTHING).values();
  }
}
