/**
 * Cards as conversations see them (spec 9): read off the records of their jobs, or kept of those that were pruned.
 *
 * CDS1  Card and job are one: a card is made from the record that `get` would answer in the same tick.
 * CDS2  In a context running cards are left out, completed ones stand once per source, and of cancelled and errored ones only the mark.
 */
import { type Card, cardOf, jobIdOfCard } from '../model/cards.ts';
import { offstageError } from '../model/errors.ts';
import type { CardQuery, ContextBlock, ContextItem } from '../model/requests.ts';
import { keptCardsOf, readKeptCard } from '../persistence/card-rows.ts';
import { type StoredJob, toRecord } from '../persistence/job-codec.ts';
import { KEYS } from '../persistence/row-keys.ts';
import { namesOf, readArray, readOptions } from './check-options.ts';
import type { Core } from './core.ts';
import { checkListLimit } from './list-limit.ts';
import type { Sessions } from './sessions.ts';
import { checkId, isId } from './spawn-request.ts';

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

  /** @throws OffstageError `card.not_found` */
  async get(cardId: string): Promise<Card> {
    const placed = await this.#find(checkId('cardId', cardId));
    if (placed === null) throw offstageError('card.not_found', { cardId });
    return placed.card;
  }

  /** Of one conversation, newest first. @throws OffstageError `session.not_found`, `card.not_found` for an unknown `before`, `input.invalid` */
  async list(given: CardQuery): Promise<readonly Card[]> {
    const query = readOptions('query', given, QUERY_NAMES);
    const limit = checkListLimit(query.limit);
    const { sessionId } = await this.#sessions.get(query.sessionId);
    const before = query.before === undefined ? Number.MAX_SAFE_INTEGER : await this.#ordinalOf(query.before);
    const { jobs, rows, store } = this.#core;
    const bound = Math.min(before, this.#core.loop.lastOrdinal + 1);
    const placed: Placed[] = [];
    const live = new Set<number>();
    for (const job of jobs.values()) {
      live.add(job.base.ordinal);
      if (job.committed === null || job.base.ordinal >= bound || callerOf(job.base) !== sessionId) continue;
      placed.push({ ordinal: job.base.ordinal, card: cardOf(job.view()) });
    }
    const finished = await rows.listFinished({
      before: bound,
      sessionId,
      matches: ({ base }) => !live.has(base.ordinal) && callerOf(base) === sessionId,
      limit,
    });
    for (const job of finished) placed.push(placedOf(job));
    placed.push(...(await keptCardsOf(store, sessionId, bound, limit)));
    // Pruned between the two reads, it is there twice.
    const known = new Map(placed.map((one) => [one.ordinal, one]));
    return [...known.values()]
      .sort((a, b) => b.ordinal - a.ordinal)
      .slice(0, limit)
      .map(({ card }) => card);
  }

  /**
   * What a conversation's items come to when a context is built of them: cards become blocks, or nothing, as their jobs stand now; every
   * other item passes as it is.
   * @throws OffstageError `session.not_found`, `input.invalid`
   */
  async expand<Item>(sessionId: string, items: readonly (Item | ContextItem)[]): Promise<readonly (Item | ContextBlock)[]> {
    await this.#sessions.get(checkId('sessionId', sessionId));
    const sources = new Set<string>();
    const expanded: (Item | ContextBlock)[] = [];
    for (const item of readArray('items', items) as readonly (Item | ContextItem)[]) {
      const jobId = jobIdIn(item);
      if (jobId === null) {
        expanded.push(item as Item);
        continue;
      }
      const card = (await this.#findByJob(jobId))?.card ?? (item as ContextItem);
      const block = blockOf(card);
      if (block === null || (block.status === 'completed' && sources.has(block.source))) continue;
      if (block.status === 'completed') sources.add(block.source);
      expanded.push(block);
    }
    return expanded;
  }

  async #find(cardId: string): Promise<Placed | null> {
    const jobId = jobIdOfCard(cardId);
    return jobId === null || jobId === '' ? null : this.#findByJob(jobId);
  }

  async #findByJob(jobId: string): Promise<Placed | null> {
    const { rows, store } = this.#core;
    const live = this.#live(jobId);
    if (live !== null) return live;
    const stored = await rows.find(jobId);
    // Accepted while the store was asked.
    const born = this.#live(jobId);
    if (born !== null) return born;
    if (stored === null) return null;
    return stored === 'expired' ? readKeptCard(await store.get(KEYS.card(jobId))) : placedOf(stored);
  }

  #live(jobId: string): Placed | null {
    const job = this.#core.committedJob(jobId);
    return job === undefined ? null : { ordinal: job.base.ordinal, card: cardOf(job.view()) };
  }

  async #ordinalOf(cardId: string): Promise<number> {
    const placed = await this.#find(checkId('before', cardId));
    if (placed === null) throw offstageError('card.not_found', { cardId });
    return placed.ordinal;
  }
}

const callerOf = (base: { readonly sessionId: string; readonly callerSessionId: string | null }): string =>
  base.callerSessionId ?? base.sessionId;

const placedOf = ({ base, snapshot, revision }: StoredJob): Placed => ({
  ordinal: base.ordinal,
  card: cardOf(toRecord(base, snapshot, revision)),
});

/** The job of an item that is a card; null for every other item. Total: items are the host's. */
function jobIdIn(item: unknown): string | null {
  try {
    if (typeof item !== 'object' || item === null) return null;
    const { function: name, attach } = item as Partial<ContextItem>;
    return name === 'attach' && isId(attach?.job_id) ? attach.job_id : null;
  } catch {
    return null;
  }
}

/** CDS2. Null: it is left out. */
function blockOf(card: ContextItem): ContextBlock | null {
  const { attach, content } = card;
  const { status, job_id: jobId, session_id: sessionId, head_id: headId, source_commit_id: sourceCommitId, label } = attach;
  if (status === 'running') return null;
  const text = status === 'completed' ? content : (content.split('\n').at(-1) ?? '');
  const source = `${sessionId}/${sourceCommitId ?? headId ?? jobId}`;
  return { type: 'attach', status, source, jobId, sessionId, headId, sourceCommitId, label, text };
}
