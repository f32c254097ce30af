/**
 * Cards that outlive their jobs: each stays with whoever asked for its job, for as long as that conversation is there (spec 9).
 *
 * KCD1  Whatever keeps cards and whatever takes conversations away reads and writes in turn: no card is kept for one that is gone, and none is
 *       overlooked by the batch that it has to go with.
 */
import { callerOf } from '../model/records.ts';
import { keepCardOperations } from '../persistence/card-rows.ts';
import type { StoredJob } from '../persistence/job-codec.ts';
import { KEYS } from '../persistence/row-keys.ts';
import { isRemoved, readSessionRow } from '../persistence/session-rows.ts';
import type { Store, StoreOperation } from '../persistence/store.ts';

export class KeptCards {
  readonly #store: Store;
  #last: Promise<unknown> = Promise.resolve();

  constructor(store: Store) {
    this.#store = store;
  }

  /** From the reading to the end of the write (KCD1). */
  inTurn<T>(act: () => Promise<T>): Promise<T> {
    const mine = this.#last.catch(() => {}).then(act);
    this.#last = mine;
    return mine;
  }

  /** The cards of jobs that go, as far as somebody is left to keep them. To be called in turn. */
  async operationsFor(jobs: readonly StoredJob[]): Promise<readonly StoreOperation[]> {
    const ids = [...new Set(jobs.map(({ base }) => callerOf(base)))];
    if (ids.length === 0) return [];
    const rows = await this.#store.getMany(ids.map((sessionId) => KEYS.session(sessionId)));
    const gone = new Set(ids.filter((_, index) => isGone(rows[index])));
    return jobs.filter(({ base }) => !gone.has(callerOf(base))).flatMap(keepCardOperations);
  }
}

/** One that cannot be read may be there: `doctor` finds it. */
function isGone(value: string | undefined): boolean {
  try {
    const row = readSessionRow(value);
    return row !== null && isRemoved(row);
  } catch {
    return false;
  }
}
