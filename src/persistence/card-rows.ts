/**
 * Cards of jobs that were pruned. While a job is there its card is read off its record; what is kept here is what outlives it (spec 9).
 *
 * CRW1  The card is kept in the batch that prunes its job, so that at every instant there is the one or the other.
 * CRW2  A row that cannot be read is no card, and hides no other.
 */
import { type Card, cardOf, readCard } from '../model/cards.ts';
import { type StoredJob, toRecord } from './job-codec.ts';
import { decodeOrdinal } from './key-encoding.ts';
import { KEYS, RANGES } from './row-keys.ts';
import type { Store, StoreOperation } from './store.ts';

/** A card and its place in the order of creation. */
export interface KeptCard {
  readonly ordinal: number;
  readonly card: Card;
}

export const keepCardOperations = ({ base, snapshot, revision }: StoredJob): StoreOperation[] =>
  keptCardOperations({ ordinal: base.ordinal, card: cardOf(toRecord(base, snapshot, revision)) });

export const keptCardOperations = ({ ordinal, card }: KeptCard): StoreOperation[] => [
  { type: 'put', key: KEYS.card(card.attach.job_id), value: JSON.stringify([ordinal, card]) },
  { type: 'put', key: KEYS.sessionCard(card.sessionId, ordinal), value: card.attach.job_id },
];

/** Null when it is none. */
export function readKeptCard(value: string | undefined): KeptCard | null {
  if (value === undefined) return null;
  try {
    const [ordinal, kept] = JSON.parse(value) as [unknown, unknown];
    const card = readCard(kept);
    if (!Number.isSafeInteger(ordinal) || card === null) return null;
    // Ids are parts of keys.
    const hasKeys = [card.sessionId, card.attach.job_id].every((id) => id.isWellFormed());
    return hasKeys ? { ordinal: ordinal as number, card } : null;
  } catch {
    return null;
  }
}

/** Newest first. @throws OffstageError `store.failed`, `store.closed` */
export async function keptCardsOf(store: Store, sessionId: string, before: number, limit: number): Promise<readonly KeptCard[]> {
  const { gte } = RANGES.sessionCards(sessionId);
  const kept: KeptCard[] = [];
  for (let end = before; kept.length < limit; ) {
    const page: { readonly ordinal: number; readonly jobId: string }[] = [];
    for await (const { key, value } of store.range({ gte, lt: KEYS.sessionCard(sessionId, end), reverse: true, limit })) {
      page.push({ ordinal: decodeOrdinal(key.slice(gte.length)), jobId: value });
    }
    const rows = await store.getMany(page.map(({ jobId }) => KEYS.card(jobId)));
    for (const [index, { ordinal }] of page.entries()) {
      const one = readKeptCard(rows[index]);
      // The id of a job that was forgotten long ago may have been used again, and then its newer card is here.
      if (one !== null && one.ordinal === ordinal) kept.push(one);
    }
    const last = page.at(-1);
    if (page.length < limit || last === undefined) break;
    end = last.ordinal;
  }
  return kept.slice(0, limit);
}

/** Everything kept of the conversation goes with it. @throws OffstageError `store.failed`, `store.closed` */
export async function removeCardsOperations(store: Store, sessionId: string): Promise<readonly StoreOperation[]> {
  const operations: StoreOperation[] = [];
  for await (const { key, value } of store.range(RANGES.sessionCards(sessionId))) {
    operations.push({ type: 'del', key }, { type: 'del', key: KEYS.card(value) });
  }
  return operations;
}
