/**
 * Rows of one kind, by id, and how far they can be trusted.
 *
 * RTB1  Since a snapshot a row is vouched for when it was read, or told of, after it. The others go when all is read.
 * RTB2  A row gives way only to one that is not older. One of an earlier process gives way to any: the counters of the two say nothing of each other.
 * RTB3  Answers may overtake each other, and events and snapshots. One that may be older than what is shown changes nothing, and is asked for again:
 *       one that was asked for before the last snapshot, and one of a row that another answer has shown since, unless it is newer by its counters.
 */
import { Asking } from './asking.ts';

export class RowTable<Row> {
  readonly #rows = new Map<string, Row>();
  readonly #idOf: (row: Row) => string;
  readonly #isNewer: (a: Row, b: Row) => boolean;
  /** Rows from before the last snapshot that nothing has vouched for since. */
  readonly #unvouched = new Set<string>();
  /** Those of them that were shown by an earlier process. */
  readonly #foreign = new Set<string>();
  /** Questions that are under way. */
  readonly #askings = new Set<Asking>();
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

  /** A snapshot has come. `isOther`: of another process than the rows that are here. */
  beginReading(isOther: boolean): void {
    this.#isRead = false;
    this.#isChanged = true;
    for (const id of this.#rows.keys()) {
      this.#unvouched.add(id);
      if (isOther) this.#foreign.add(id);
    }
  }

  /** Whether no answer and no event of the process that is followed now has shown this row. */
  isForeign(id: string): boolean {
    return this.#foreign.has(id);
  }

  /** Rows are asked for. What `question` answers is taken with the asking that it gets. */
  async ask<Answer>(question: (asking: Asking) => Promise<Answer>): Promise<Answer> {
    const asking = new Asking();
    this.#askings.add(asking);
    try {
      return await question(asking);
    } finally {
      this.#askings.delete(asking);
    }
  }

  /** What is asked for now may be older than the snapshot that is shown from here on. */
  snapshotCame(): void {
    for (const asking of this.#askings) asking.snapshotCame();
  }

  /** See `Asking`. */
  heard(id: string): void {
    for (const asking of this.#askings) asking.heard(id);
  }

  /** All pages were read: what none of them has shown is gone. */
  endReading(): void {
    for (const id of this.#unvouched) this.remove(id);
    this.#isRead = true;
    this.#isChanged = true;
  }

  /** A row that was read, by an answer to this asking if it was asked for. Answers whether it was taken. */
  take(row: Row, asking?: Asking): boolean {
    const id = this.#idOf(row);
    const known = this.#rows.get(id);
    if (asking !== undefined && this.#isOvertaken(row, asking)) {
      this.dirty.add(id);
      return false;
    }
    // It is there, even if it is known better.
    this.#unvouched.delete(id);
    if (known !== undefined && !this.#foreign.has(id) && !this.#isNewer(row, known)) return false;
    this.put(row);
    this.#answered(id, asking);
    return true;
  }

  /** RTB3. */
  #isOvertaken(row: Row, asking: Asking): boolean {
    const id = this.#idOf(row);
    if (asking.isBeforeSnapshot) return true;
    if (!asking.isAnsweredElsewhere(id)) return false;
    const known = this.#rows.get(id);
    return known === undefined || this.#isNewer(known, row);
  }

  #answered(id: string, by?: Asking): void {
    for (const asking of this.#askings) if (asking !== by) asking.answeredElsewhere(id);
  }

  /** A row that is known to be the newest. */
  put(row: Row): void {
    const id = this.#idOf(row);
    this.#unvouched.delete(id);
    this.#foreign.delete(id);
    this.#rows.set(id, row);
    this.#isChanged = true;
  }

  remove(id: string): void {
    this.#unvouched.delete(id);
    this.#foreign.delete(id);
    this.dirty.delete(id);
    this.#answered(id);
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
