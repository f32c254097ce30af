/**
 * G4: card = job under the mapping of spec 9, at every committed instant.
 *
 * CJB1  In every batch a card is told of right behind the acceptance of its job and right behind its end, and at no other time.
 * CJB2  A card that is read is what the record of its job makes; of a pruned job, what its last record made. It stands in its caller's session,
 *       newest first, and none is missing.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Card, cardIdOf, cardStatusOf, jobIdOfCard } from '../../../model/cards.ts';
import type { CardRecordEvent, RecordEvent } from '../../../model/events.ts';
import { callerOf, isTerminal, type JobRecord } from '../../../model/records.ts';
import { readKeptCard } from '../../../persistence/card-rows.ts';
import { KEYS } from '../../../persistence/row-keys.ts';
import { type Check, type Checker, type Violate, violating } from '../checker.ts';
import type { Fact, FactOf, RestView } from '../facts.ts';
import type { Known } from '../known.ts';
import { cardByTheBook } from './card-by-the-book.ts';
import { isWell } from './store-trouble.ts';
import { isExpired, stepsOf } from './stored-jobs.ts';
import { eventsOf, textOf } from './told-events.ts';

const violate: Violate = violating('G4');

/** A list of so many cards, or of a multiple, may have been cut there. */
const LIST_LIMIT = 50;

class Cards {
  /** By job: all of its records that were stored, each of which has made a card. */
  readonly #made = new Map<string, JobRecord[]>();

  judge(fact: Fact, known: Known): void {
    switch (fact.type) {
      case 'crashed':
        for (const jobId of this.#made.keys()) if (!known.jobs.has(jobId) && !isExpired(known, jobId)) this.#made.delete(jobId);
        for (const { record } of known.jobs.values()) this.#make(record);
        break;
      case 'wrote':
        if (fact.outcome !== 'failed') this.#judgeWrote(fact, known);
        break;
      case 'answered':
        this.#judgeAnswered(fact, known);
        break;
      case 'rested':
        this.#judgeRest(fact.view, known);
        break;
      default:
    }
  }

  #make(record: JobRecord): void {
    const made = this.#made.get(record.jobId);
    if (made === undefined) this.#made.set(record.jobId, [record]);
    else if (made.at(-1)?.revision !== record.revision) made.push(record);
  }

  #judgeWrote({ operations }: FactOf<'wrote'>, known: Known): void {
    const events = eventsOf(operations);
    const cards = judgeEvents(events);
    const { gone, born, changed } = stepsOf(known.changes);
    for (const { record } of born) {
      this.#made.delete(record.jobId);
      if (!cards.some(({ jobId, status }) => jobId === record.jobId && status === 'running'))
        violate(`${record.jobId} was accepted in a batch that tells nothing of its card`);
    }
    for (const { record } of [...born, ...changed.map(({ after }) => after)]) this.#make(record);
    const ends = changed.filter(({ before }) => !isTerminal(before.record.status)).map(({ after }) => after);
    for (const { record } of [...born, ...ends]) {
      const last = cards.findLast(({ jobId }) => jobId === record.jobId)?.status ?? 'running';
      if (last !== cardStatusOf(record.status))
        violate(`${record.jobId} became ${record.status} in a batch by which its card is ${last}`);
    }
    for (const { jobId, status, sessionId, cardId } of cards) {
      const record = known.jobs.get(jobId)?.record;
      if (record === undefined) violate(`the card of ${jobId} is told of in a batch that stores no such job`);
      if (cardId !== cardIdOf(jobId) || sessionId !== callerOf(record))
        violate(`the card of ${jobId} is told of as ${cardId} in ${sessionId}, and its caller is ${callerOf(record)}`);
      const isLast = cards.findLast((card) => card.jobId === jobId)?.status === status;
      if (isLast && status !== cardStatusOf(record.status))
        violate(`the card of ${jobId} is told to be ${status}, and it is ${record.status}`);
    }
    for (const { record } of gone) if (isExpired(known, record.jobId)) judgePruned(record, known);
  }

  #judgeAnswered(fact: FactOf<'answered'>, known: Known): void {
    if (fact.verb !== 'cards.get' && fact.verb !== 'cards.list') return;
    const cards = fact.verb === 'cards.get' ? [fact.value as Card] : (fact.value as readonly Card[]);
    const where = `call ${fact.call}, ${fact.verb}`;
    const asked = known.calls.get(fact.call)?.asked.args[0];
    for (const card of cards) {
      const jobId = card.attach.job_id;
      if (
        fact.verb === 'cards.get'
          ? jobIdOfCard(asked as string) !== jobId
          : card.sessionId !== (asked as { sessionId: string }).sessionId
      )
        violate(`${where} was answered with another card than ${textOf(asked)}: ${textOf(card)}`);
      if (this.#made.get(jobId)?.some((record) => isDeepStrictEqual(cardByTheBook(record), card)) !== true)
        violate(`${where} was answered with a card that no stored record of ${jobId} makes: ${textOf(card)}`);
    }
  }

  #judgeRest(view: RestView, known: Known): void {
    const jobs = new Map(view.jobs.map((job) => [job.jobId, job]));
    const listed = new Map<string, Listed>();
    for (const [sessionId, cards] of view.cards) {
      const ordinals: number[] = [];
      for (const card of cards) {
        const jobId = card.attach.job_id;
        const job = jobs.get(jobId);
        if (card.sessionId !== sessionId) violate(`the card of ${jobId} is listed in ${sessionId}, and says ${card.sessionId}`);
        if (job !== undefined && !isDeepStrictEqual(card, cardByTheBook(job)))
          violate(`${jobId} is ${job.status}, and its card reads ${textOf(card)} in place of ${textOf(cardByTheBook(job))}`);
        if (!isWell(view)) continue;
        const stored = known.jobs.get(jobId);
        const kept = readKeptCard(known.rows.get(KEYS.card(jobId)));
        const expected = stored === undefined ? kept?.card : cardByTheBook(stored.record);
        if (expected === undefined || !isDeepStrictEqual(card, expected))
          violate(`the card of ${jobId} reads ${textOf(card)}, and what is stored makes ${textOf(expected)}`);
        ordinals.push(stored?.ordinal ?? kept?.ordinal ?? 0);
      }
      if (ordinals.some((ordinal, index) => ordinal >= (ordinals[index - 1] ?? Number.POSITIVE_INFINITY)))
        violate(`the cards of ${sessionId} are not listed newest first: ${cards.map(({ cardId }) => cardId).join(', ')}`);
      listed.set(sessionId, {
        from: isCut(cards) ? (ordinals.at(-1) ?? 0) : 0,
        jobIds: new Set(cards.map(({ attach }) => attach.job_id)),
      });
    }
    if (isWell(view)) judgeComplete(listed, known);
  }
}

/** CJB1, within one batch. Answers the cards that it tells of. */
function judgeEvents(events: readonly RecordEvent[]): readonly CardRecordEvent[] {
  const cards: CardRecordEvent[] = [];
  for (const [index, event] of events.entries()) {
    const before = events[index - 1];
    if (event.type === 'card.updated') {
      // An accepted job is announced, and queued, before its card is told of.
      const isOfBirth = before?.type === 'job.status' && before.status === 'queued' && events[index - 2]?.type === 'job.created';
      const isOfEnd = before?.type === 'job.status' && isTerminal(before.status);
      const isExplained =
        before?.type === 'job.status' &&
        before.jobId === event.jobId &&
        (isOfBirth || isOfEnd) &&
        cardStatusOf(before.status) === event.status;
      if (!isExplained) violate(`a card is told of that its job does not explain: ${textOf(event)} after ${textOf(before)}`);
      cards.push(event);
    } else if (event.type === 'job.created' || (event.type === 'job.status' && isTerminal(event.status))) {
      const at = index + (event.type === 'job.created' ? 2 : 1);
      const card = events[at];
      if (card?.type !== 'card.updated' || card.jobId !== event.jobId) violate(`no card is told of behind ${textOf(event)}`);
    }
  }
  return cards;
}

/** Its card outlives it, unless the conversation has gone that it stood in. */
function judgePruned(record: JobRecord, known: Known): void {
  if (!known.sessions.has(callerOf(record))) return;
  const kept = readKeptCard(known.rows.get(KEYS.card(record.jobId)))?.card;
  if (kept === undefined || !isDeepStrictEqual(kept, cardByTheBook(record)))
    violate(`${record.jobId} was pruned, and of its card ${textOf(cardByTheBook(record))} is kept ${textOf(kept)}`);
}

/** The cards of one session. */
interface Listed {
  /** Older ones may have been cut off. */
  readonly from: number;
  readonly jobIds: ReadonlySet<string>;
}

const isCut = ({ length }: readonly Card[]): boolean => length >= LIST_LIMIT && length % LIST_LIMIT === 0;

function judgeComplete(listed: ReadonlyMap<string, Listed>, known: Known): void {
  const isMissing = (sessionId: string, jobId: string, ordinal: number): boolean => {
    const list = listed.get(sessionId);
    return list !== undefined && ordinal >= list.from && !list.jobIds.has(jobId);
  };
  for (const { ordinal, record } of known.jobs.values()) {
    const sessionId = callerOf(record);
    if (isMissing(sessionId, record.jobId, ordinal))
      violate(`${record.jobId} is ${record.status}, and its card is not listed in ${sessionId}`);
  }
  for (const [key, value] of known.rows) {
    const kept = key.startsWith('k/') ? readKeptCard(value) : null;
    if (kept !== null && isMissing(kept.card.sessionId, kept.card.attach.job_id, kept.ordinal))
      violate(`the card of ${kept.card.attach.job_id} is kept, and not listed in ${kept.card.sessionId}`);
  }
}

export const cardIsJob: Checker = {
  guarantee: 'G4',
  promise: 'card = job under the mapping of §9, at every committed instant',
  begin(): Check {
    const cards = new Cards();
    return (fact, known) => cards.judge(fact, known);
  },
};
