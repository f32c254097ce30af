/**
 * Cards as conversations see them (spec 9): read off the records of their jobs, or kept of those that were pruned.
 *
 * CDS1  Card and job are one: a card is made from the record that `get` would answer in the same tick.
 * CDS2  In a context running cards are left out, completed ones stand once per source, and of cancelled and errored ones only the mark.
 * CDS3  Items are the host's: what is no card passes untouched, whatever it does when it is looked at.
 */
import { type Card, type ContextItem, cardOf, jobIdIn, jobIdOfCard, markOf, readContextItem } from '../model/cards.ts';
import { isOffstageError, offstageError } from '../model/errors.ts';
import { callerOf } from '../model/records.ts';
import type { CardQuery, ContextBlock } from '../model/requests.ts';
import { keptCardsOf, readKeptCard } from '../persistence/card-rows.ts';
import { type StoredJob, toRecord } from '../persistence/job-codec.ts';
import { KEYS } from '../persistence/row-keys.ts';
import { namesOf, readArray, readOptions } from './check-options.ts';
import type { Core } from './core.ts';
import { checkListLimit } from './list-limit.ts';
import type { LiveJob } from './live-job.ts';
import type { Sessions } from './sessions.ts';
import { checkId, invalidInput, isId } from './spawn-request.ts';

const QUERY_NAMES = namesOf<CardQuery>({ sessionId: true, limit: true, before: true });

interface Placed {
  readonly ordinal: number;
  readonly card: Card;
}

export class Cards {
  readonly #core: Core;
  readonly #sessions: Sessions;

  constructor(core: Core, sessions: Sessions) {
    this.#core = core;
    this.#sessions = sessions;
  }

  /** @throws OffstageError `card.not_found`, `input.invalid` */
  async get(cardId: string): Promise<Card> {
    return (await this.#find('cardId', cardId)).card;
  }

  /** Of one conversation, newest first. @throws OffstageError `session.not_found`, `card.not_found` for an unknown `before`, `input.invalid` */
  async list(given: CardQuery): Promise<readonly Card[]> {
    const query = readOptions('query', given, QUERY_NAMES);
    const limit = checkListLimit(query.limit);
    const { sessionId } = await this.#sessions.get(query.sessionId);
    const before = query.before === undefined ? Number.MAX_SAFE_INTEGER : (await this.#find('before', query.before)).ordinal;
    const { jobs, rows, store, loop } = this.#core;
    // Of what is accepted while the store is read nothing is missed: it comes later.
    const bound = Math.min(before, loop.lastOrdinal + 1);
    const isAsked = ({ base }: Pick<StoredJob, 'base'>): boolean => base.ordinal < bound && callerOf(base) === sessionId;
    const live: LiveJob[] = [];
    for (const job of jobs.values()) if (job.committed !== null && isAsked(job)) live.push(job);
    // What lives now answers from memory (CDS1): the store may have an end of it already of which nobody knows whether it was written.
    const alive = new Set(live.map(({ base }) => base.ordinal));
    const matches = (job: Pick<StoredJob, 'base'>): boolean => isAsked(job) && !alive.has(job.base.ordinal);
    const placed = live.slice(-limit).map(liveCard);
    placed.push(...(await rows.listFinished({ before: bound, sessionId, matches, limit })).map(storedCard));
    placed.push(...(await keptCardsOf(store, sessionId, bound, limit)));
    // Pruned between two reads, it is there twice.
    const known = new Map(placed.map((one) => [one.ordinal, one.card]));
    return [...known]
      .sort(([a], [b]) => b - a)
      .slice(0, limit)
      .map(([, card]) => card);
  }

  /**
   * What a conversation's items come to when a context is built of them: cards become blocks, or nothing, as their jobs stand now; every
   * other item passes as it is.
   * @throws OffstageError `session.not_found`, `input.invalid`
   */
  async expand<Item>(sessionId: string, items: readonly (Item | ContextItem)[]): Promise<readonly (Item | ContextBlock)[]> {
    const given = readArray('items', items) as readonly (Item | ContextItem)[];
    await this.#sessions.get(checkId('sessionId', sessionId));
    const cards = await Promise.all(given.map((item) => this.#cardIn(item)));
    const sources = new Set<string>();
    return given.flatMap((item, index): readonly (Item | ContextBlock)[] => {
      const card = cards[index] ?? null;
      if (card === null) return [item as Item];
      const block = blockOf(card);
      if (block?.status !== 'completed') return block === null ? [] : [block];
      if (sources.has(block.source)) return [];
      sources.add(block.source);
      return [block];
    });
  }

  /** As its job stands now; as the host has kept it where nobody knows the job, or can read it. Null: it is no card. */
  async #cardIn(item: unknown): Promise<ContextItem | null> {
    const jobId = jobIdIn(item);
    if (jobId === null) return null;
    try {
      const placed = isId(jobId) ? await this.#findByJob(jobId) : null;
      if (placed !== null) return placed.card;
    } catch (error) {
      // One row that cannot be read must not keep a whole context from being built.
      if (!isOffstageError(error, 'store.corrupt')) throw error;
    }
    return readContextItem(item);
  }

  /** @throws OffstageError `card.not_found`, `input.invalid` */
  async #find(argument: string, cardId: unknown): Promise<Placed> {
    if (typeof cardId !== 'string') throw invalidInput(argument, 'it must be a string');
    // It is longer than its job's id, which may be as long as any.
    const jobId = jobIdOfCard(cardId);
    const placed = isId(jobId) ? await this.#findByJob(jobId) : null;
    if (placed === null) throw offstageError('card.not_found', { cardId });
    return placed;
  }

  async #findByJob(jobId: string): Promise<Placed | null> {
    const { rows, store } = this.#core;
    const live = this.#live(jobId);
    if (live !== null) return live;
    const stored = await rows.find(jobId);
    // Accepted while the store was asked.
    const born = this.#live(jobId);
    if (born !== null) return born;
    // A card outlives the job, and also the mark that there was one.
    if (stored === null || stored === 'expired') return readKeptCard(await store.get(KEYS.card(jobId)));
    return storedCard(stored);
  }

  #live(jobId: string): Placed | null {
    const job = this.#core.committedJob(jobId);
    return job === undefined ? null : liveCard(job);
  }
}

const liveCard = (job: LiveJob): Placed => ({ ordinal: job.base.ordinal, card: cardOf(job.view()) });

const storedCard = ({ base, snapshot, revision }: StoredJob): Placed => ({
  ordinal: base.ordinal,
  card: cardOf(toRecord(base, snapshot, revision)),
});

/** CDS2. Null: it is left out. */
function blockOf(card: ContextItem): ContextBlock | null {
  const { status, job_id: jobId, session_id: sessionId, head_id: headId, source_commit_id: sourceCommitId, label } = card.attach;
  if (status === 'running') return null;
  // Both parts may hold anything, so they are not just joined.
  const source = JSON.stringify([sessionId, sourceCommitId ?? headId ?? jobId]);
  const text = status === 'completed' ? card.content : markOf(card);
  return { type: 'attach', status, source, jobId, sessionId, headId, sourceCommitId, label, text };
}
