/**
 * Rows of one kind, by id, and how far they can be trusted.
 *
 * RTB1  Since a snapshot a row is vouched for when it was read, or told of, after it. The others give way to any row, and go when all is read.
 * RTB2  A row that is vouched for gives way only to one that is not older.
 */
export class RowTable<Row> {
  readonly #rows = new Map<string, Row>();
  readonly #idOf: (row: Row) => string;
  readonly #isNewer: (a: Row, b: Row) => boolean;
  /** Rows from before the last snapshot that nothing has vouched for since. */
  readonly #unvouched = new Set<string>();
  /** Ids of which more is to be read. */
  readonly dirty = new Set<string>();
  #isRead = false;
  #isChanged = false;

  /** @param options `isNewer`: whether `a` may take the place of `b` */
  constructor(options: { readonly idOf: (row: Row) => string; readonly isNewer: (a: Row, b: Row) => boolean }) {
    this.#idOf = options.idOf;
    this.#isNewer = options.isNewer;
  }

  get rows(): ReadonlyMap<string, Row> {
    return this.#rows;
  }

  /** All there is was read since the last snapshot. */
  get isComplete(): boolean {
    return this.#isRead;
  }

  /** A snapshot has come. */
  beginReading(): void {
    this.#isRead = false;
    this.#isChanged = true;
    for (const id of this.#rows.keys()) this.#unvouched.add(id);
  }

  /** All pages were read: what none of them has shown is gone. */
  endReading(): void {
    for (const id of this.#unvouched) this.remove(id);
    this.#isRead = true;
    this.#isChanged = true;
  }

  /** A row that was read. Answers whether it was taken. */
  take(row: Row): boolean {
    const id = this.#idOf(row);
    const known = this.#rows.get(id);
    if (known !== undefined && !this.#unvouched.has(id) && !this.#isNewer(row, known)) return false;
    this.put(row);
    return true;
  }

  /** A row that is known to be the newest. */
  put(row: Row): void {
    const id = this.#idOf(row);
    this.#unvouched.delete(id);
    this.#rows.set(id, row);
    this.#isChanged = true;
  }

  remove(id: string): void {
    this.#unvouched.delete(id);
    this.dirty.delete(id);
    if (this.#rows.delete(id)) this.#isChanged = true;
  }

  /** Whether anything has changed since the last call. */
  takeChanged(): boolean {
    const isChanged = this.#isChanged;
    this.#isChanged = false;
    return isChanged;
  }

  /** Up to `most` ids of which more is to be read. */
  takeDirty(most: number): string[] {
    const ids: string[] = [];
    for (const id of this.dirty) {
      if (ids.length >= most) break;
      ids.push(id);
      this.dirty.delete(id);
    }
    return ids;
  }
}
