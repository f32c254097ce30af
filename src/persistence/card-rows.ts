/**
 * Cards of jobs that were pruned. While a job is there its card is read off its record; what is kept here is what outlives it (spec 9).
 *
 * CRW1  The card is kept in the batch that prunes its job, so that at every instant there is the one or the other.
 * CRW2  A row that cannot be read is no card, and hides no other.
 */
import { type Card, cardOf, readCard } from '../model/cards.ts';
import { type StoredJob, toRecord } from './job-codec.ts';
import { KEYS, RANGES } from './row-keys.ts';
import { isCount, isIdText } from './row-shape.ts';
import type { Store, StoreEntry, StoreOperation } from './store.ts';

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
    if (!isCount(ordinal) || card === null) return null;
    const hasKeys = [card.sessionId, card.attach.job_id].every(isIdText);
    return hasKeys ? { ordinal, card } : null;
  } catch {
    return null;
  }
}

/** What no id can be leads to no card. */
const idIn = (value: string): string => (isIdText(value) ? value : '');

/** Newest first. @throws OffstageError `store.failed`, `store.closed` */
export async function keptCardsOf(store: Store, sessionId: string, before: number, limit: number): Promise<readonly KeptCard[]> {
  const { gte } = RANGES.sessionCards(sessionId);
  const kept: KeptCard[] = [];
  for (let end = KEYS.sessionCard(sessionId, before); kept.length < limit; ) {
    const page: StoreEntry[] = [];
    for await (const entry of store.range({ gte, lt: end, reverse: true, limit })) page.push(entry);
    const rows = await store.getMany(page.map(({ value }) => KEYS.card(idIn(value))));
    for (const [index, { key }] of page.entries()) {
      const one = readKeptCard(rows[index]);
      // The id of a job that was forgotten long ago may have been used again, and then its newer card is here.
      if (one !== null && KEYS.sessionCard(sessionId, one.ordinal) === key) kept.push(one);
    }
    const last = page.at(-1);
    if (page.length < limit || last === undefined) break;
    end = last.key;
  }
  return kept.slice(0, limit);
}

/** Everything kept of the conversation goes with it. @throws OffstageError `store.failed`, `store.closed` */
export async function removeCardsOperations(store: Store, sessionId: string): Promise<readonly StoreOperation[]> {
  const operations: StoreOperation[] = [];
  for await (const { key, value } of store.range(RANGES.sessionCards(sessionId))) {
    operations.push({ type: 'del', key }, { type: 'del', key: KEYS.card(idIn(value)) });
  }
  return operations;
}
