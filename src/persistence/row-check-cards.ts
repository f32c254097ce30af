/**
 * The part of the check of rows that is about what outlives its job: kept cards, what lists them, and notices that nobody has taken.
 *
 * RCC1  A card says itself where it is listed, never the other way round.
 * RCC2  A notice is of a job that is there, or was pruned and has left its card.
 */
import { type KeptCard, keptCardOperations, readKeptCard } from './card-rows.ts';
import { readNotice } from './notice-rows.ts';
import type { JobRowCheck } from './row-check-jobs.ts';
import { idOf, ordinalOf, pagesOf, type RowCheckNotes } from './row-check-notes.ts';
import { KEYS, RANGES } from './row-keys.ts';
import type { Store, StoreEntry } from './store.ts';

export class CardRowCheck {
  readonly #store: Store;
  readonly #notes: RowCheckNotes;
  readonly #jobs: Pick<JobRowCheck, 'jobsAt'>;

  constructor(store: Store, notes: RowCheckNotes, jobs: Pick<JobRowCheck, 'jobsAt'>) {
    this.#store = store;
    this.#notes = notes;
    this.#jobs = jobs;
  }

  /** After the jobs. */
  async run(): Promise<void> {
    await this.#walk(RANGES.cards, (page) => this.#checkCards(page));
    await this.#walk(RANGES.cardIndex, (page) => this.#checkIndex(page));
    await this.#walk(RANGES.notices, (page) => this.#checkNotices(page));
  }

  async #walk(range: { gte: string; lt: string }, check: (page: readonly StoreEntry[]) => Promise<void>): Promise<void> {
    for await (const page of pagesOf(this.#store, range)) {
      await check(page);
      await this.#notes.flush();
    }
  }

  async #checkCards(page: readonly StoreEntry[]): Promise<void> {
    const notes = this.#notes;
    const kept = page.flatMap(({ key, value }) => {
      const one = cardIn(key, value);
      if (one !== null) return [one];
      notes.drop('unreadable', key, [key]);
      return [];
    });
    const got = await notes.read(kept.map(({ ordinal, card }) => KEYS.sessionCard(card.sessionId, ordinal)));
    for (const one of kept) {
      const { ordinal, card } = one;
      const place = KEYS.sessionCard(card.sessionId, ordinal);
      notes.see(ordinal);
      if (got.get(place) === card.attach.job_id) continue;
      notes.settledKeys.add(place);
      notes.find('card_index_lost', card.cardId);
      notes.write(...keptCardOperations(one));
    }
  }

  async #checkIndex(page: readonly StoreEntry[]): Promise<void> {
    const notes = this.#notes;
    const got = await notes.read(page.map(({ value }) => KEYS.card(value)));
    for (const { key, value: jobId } of page) {
      if (notes.settledKeys.has(key)) continue;
      const ordinal = ordinalOf(key);
      const sessionId = idOf(key, key.lastIndexOf('/'));
      if (ordinal === null || sessionId === null) {
        notes.drop('unreadable', key, [key]);
        continue;
      }
      notes.see(ordinal);
      const kept = cardIn(KEYS.card(jobId), got.get(KEYS.card(jobId)));
      // The id of a job that was forgotten long ago may have been used again: its newer card has taken the place of the older one.
      const isNewer = kept !== null && kept.ordinal > ordinal;
      const isListed = kept?.ordinal === ordinal && kept.card.sessionId === sessionId;
      if (!isNewer && !isListed) notes.drop('left_over', key, [key]);
    }
  }

  async #checkNotices(page: readonly StoreEntry[]): Promise<void> {
    const notes = this.#notes;
    const read = page.map((entry) => ({ key: entry.key, notice: readNotice(entry) }));
    const jobs = await this.#jobs.jobsAt(read.flatMap(({ notice }) => notice?.ordinal ?? []));
    const got = await notes.read(read.flatMap(({ notice }) => (notice === null ? [] : [KEYS.card(notice.jobId)])));
    for (const { key, notice } of read) {
      if (notice === null) {
        notes.drop('unreadable', key, [key]);
        continue;
      }
      notes.see(notice.ordinal);
      const isThere = jobs.get(notice.ordinal)?.base.jobId === notice.jobId;
      const cardKey = KEYS.card(notice.jobId);
      const hasLeftItsCard = cardIn(cardKey, got.get(cardKey))?.ordinal === notice.ordinal;
      if (!isThere && !hasLeftItsCard) notes.drop('left_over', key, [key]);
    }
  }
}

/** What lies under `k/`; null when it is nothing that was ever written there. */
function cardIn(key: string, value: string | undefined): KeptCard | null {
  const kept = readKeptCard(value);
  return kept !== null && KEYS.card(kept.card.attach.job_id) === key ? kept : null;
}
