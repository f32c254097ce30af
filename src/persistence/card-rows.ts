/**
 * Cards of jobs that were pruned. While a job is there its card is read off its record; what is kept here is what outlives it (spec 9).
 *
 * CRW1  The card is kept in the batch that prunes its job, so that at every instant there is the one or the other.
 * CRW2  A row that cannot be read is no card, and hides no other.
 */
import type { Card } from '../model/cards.ts';
import { cardOf } from '../model/cards.ts';
import { type StoredJob, toRecord } from './job-codec.ts';
import { decodeOrdinal } from './key-encoding.ts';
import { KEYS, RANGES } from './row-keys.ts';
import type { Store, StoreOperation } from './store.ts';

/** A card and its place in the order of creation. */
export interface KeptCard {
  readonly ordinal: number;
  readonly card: Card;
}

export function keepCardOperations({ base, snapshot, revision }: StoredJob): StoreOperation[] {
  const card = cardOf(toRecord(base, snapshot, revision));
  return [
    { type: 'put', key: KEYS.card(base.jobId), value: JSON.stringify([base.ordinal, card]) },
    { type: 'put', key: KEYS.sessionCard(card.sessionId, base.ordinal), value: base.jobId },
  ];
}

/** Null when it is none. */
export function readKeptCard(value: string | undefined): KeptCard | null {
  if (value === undefined) return null;
  try {
    const [ordinal, card] = JSON.parse(value) as [unknown, Partial<Card> | null];
    const isCard = Number.isSafeInteger(ordinal) && typeof card?.cardId === 'string' && typeof card.sessionId === 'string';
    return isCard && typeof card.attach === 'object' ? { ordinal: ordinal as number, card: card as Card } : null;
  } catch {
    return null;
  }
}

/** Newest first. @throws OffstageError `store.failed`, `store.closed` */
export async function keptCardsOf(store: Store, sessionId: string, before: number, limit: number): Promise<readonly KeptCard[]> {
  const range = RANGES.sessionCards(sessionId);
  const jobIds: string[] = [];
  const end = KEYS.sessionCard(sessionId, before);
  for await (const { value } of store.range({ gte: range.gte, lt: end, reverse: true, limit })) jobIds.push(value);
  const rows = await store.getMany(jobIds.map((jobId) => KEYS.card(jobId)));
  return rows.flatMap((row) => readKeptCard(row) ?? []);
}

/** Everything kept of the conversation goes with it. @throws OffstageError `store.failed`, `store.closed` */
export async function removeCardsOperations(store: Store, sessionId: string): Promise<readonly StoreOperation[]> {
  const operations: StoreOperation[] = [];
  for await (const { key, value } of store.range(RANGES.sessionCards(sessionId))) {
    operations.push({ type: 'del', key }, { type: 'del', key: KEYS.card(value) });
  }
  return operations;
}

/** The ordinal in a key of `w/`. */
export const ordinalOfCardKey = (key: string): number => decodeOrdinal(key.slice(key.lastIndexOf('/') + 1));
