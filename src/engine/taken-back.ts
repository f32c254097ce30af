/**
 * Rows that were written, refused, and taken back: what a read that began before may still come upon.
 *
 * TKN1  A row that was taken back is as it was before for whoever reads it, until it is written again; so it is in the store, too.
 */
import type { StoreOperation } from '../persistence/store.ts';

/** Each was refused once; so many at once are of a store that fails all day. */
const MOST_ROWS = 10_000;

export class TakenBack {
  readonly #rows = new Map<string, StoreOperation>();

  /** What takes the row back; undefined: nothing has. */
  of(key: string): StoreOperation | undefined {
    return this.#rows.get(key);
  }

  /** A batch is written that begins with `retractions`; what follows them is written anew. */
  written(retractions: readonly StoreOperation[], operations: readonly StoreOperation[]): void {
    for (const one of retractions) this.#rows.set(one.key, one);
    if (this.#rows.size === 0) return;
    for (const { key } of operations.slice(retractions.length)) this.#rows.delete(key);
    for (const key of this.#rows.keys()) {
      if (this.#rows.size <= MOST_ROWS) return;
      this.#rows.delete(key);
    }
  }
}
