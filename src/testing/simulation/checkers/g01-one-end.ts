/**
 * G1: exactly one terminal state per accepted job; nothing of a terminal record changes.
 *
 * ONE1  Judged by what lies in the store, batch by batch, by what is told and by what is answered: an end is stored once, told once to each
 *       observer, answered as it is stored, and its record stays as it is. What comes later is history, and no part of the record.
 * ONE2  A job goes from the store when it has ended and is pruned or removed; before, only when its acceptance was never acknowledged.
 * ONE3  When everything has been let go, every job that is stored has ended.
 */
import { isDeepStrictEqual } from 'node:util';
import { isTerminal, type JobView } from '../../../model/records.ts';
import { decodeId } from '../../../persistence/key-encoding.ts';
import { EXPIRED } from '../../../persistence/row-keys.ts';
import { type Check, type Checker, type Violate, violating } from '../checker.ts';
import type { Fact, FactOf } from '../facts.ts';
import type { Known } from '../known.ts';
import { jobViewsOf } from './job-answers.ts';
import { isWell } from './store-trouble.ts';
import { isExpired, stepsOf } from './stored-jobs.ts';

const violate: Violate = violating('G1');

class Ends {
  /** By job: its end as it was told to observer 0. */
  readonly #told = new Map<string, string>();
  /** By job: its end as it was answered before it could be stored. */
  readonly #acted = new Map<string, string>();
  /** Jobs that were told of, or answered as accepted. */
  readonly #acknowledged = new Set<string>();
  /** By observer: jobs whose end it was told. */
  readonly #toldTo = new Map<number, Set<string>>();

  judge(fact: Fact, known: Known): void {
    switch (fact.type) {
      case 'opened':
        this.#toldTo.clear();
        this.#acted.clear();
        break;
      case 'attached':
        this.#toldTo.delete(fact.observer);
        break;
      case 'crashed':
        // What a power loss took whole was never there, and its id may come again.
        for (const jobId of new Set([...this.#told.keys(), ...this.#acknowledged])) {
          if (known.jobs.has(jobId) || isExpired(known, jobId)) continue;
          this.#told.delete(jobId);
          this.#acknowledged.delete(jobId);
        }
        // One that it made unfinished again is ended by recovery.
        for (const { jobId, after } of known.changes) {
          if (after !== null && !isTerminal(after.record.status)) this.#told.delete(jobId);
        }
        break;
      case 'wrote':
        if (fact.outcome === 'failed') break;
        this.#judgeStored(known);
        judgeSpent(fact, known);
        break;
      case 'told':
        if (fact.event.type === 'job.created') this.#acknowledged.add(fact.event.jobId);
        if (fact.event.type === 'job.status') this.#judgeTold(fact.observer, fact.event.jobId, fact.event.status);
        break;
      case 'answered':
        for (const view of jobViewsOf(fact)) this.#judgeAnswered(view, fact.verb, known);
        break;
      case 'rested':
        if (!fact.view.isLast) break;
        for (const { jobId, status } of fact.view.jobs) {
          if (fact.view.canStore && !isTerminal(status)) violate(`${jobId} is ${status}, and nothing is left that could end it`);
        }
        for (const [jobId, { record }] of isWell(fact.view) ? known.jobs : []) {
          if (!isTerminal(record.status))
            violate(`${jobId} is stored as ${record.status}, and nothing is left that could end it`);
        }
        break;
      default:
    }
  }

  #judgeStored(known: Known): void {
    const { gone, changed } = stepsOf(known.changes);
    for (const { jobId, before, after } of changed) {
      if (isTerminal(before.record.status) && !isDeepStrictEqual(before.record, after.record))
        violate(`${jobId} had ended ${before.record.status} (revision ${before.record.revision}), and was stored again, changed`);
      const acted = this.#acted.get(jobId);
      const { status } = after.record;
      if (acted !== undefined && isTerminal(status) && acted !== status && known.isOpen)
        violate(`${jobId} was answered as ${acted}, and is stored as ${status}`);
    }
    for (const { record } of gone) {
      const { jobId, status } = record;
      const isSpent = isExpired(known, jobId);
      if (isSpent && !isTerminal(status)) violate(`${jobId} was ${status} when it was pruned`);
      if (!isSpent && this.#acknowledged.has(jobId)) violate(`${jobId} was acknowledged, and has left the store without a trace`);
    }
  }

  #judgeTold(observer: number, jobId: string, status: JobView['status']): void {
    const ended = this.#toldTo.get(observer) ?? new Set();
    this.#toldTo.set(observer, ended);
    if (ended.has(jobId)) violate(`observer ${observer} was told that ${jobId} is ${status}, and knew that it had ended`);
    if (!isTerminal(status)) return;
    ended.add(jobId);
    if (observer !== 0) return;
    const before = this.#told.get(jobId);
    if (before !== undefined) violate(`${jobId} was told to be ${status}, and had been told to be ${before}`);
    this.#told.set(jobId, status);
  }

  #judgeAnswered({ jobId, status, durable }: JobView, verb: string, known: Known): void {
    if (durable !== false) {
      this.#acknowledged.add(jobId);
      return;
    }
    const before = this.#acted.get(jobId);
    if (before !== undefined && before !== status) violate(`${jobId} is ${status} for ${verb}, and was answered as ${before}`);
    if (!isTerminal(status)) return;
    this.#acted.set(jobId, status);
    const stored = known.jobs.get(jobId)?.record.status;
    if (stored !== undefined && isTerminal(stored) && stored !== status)
      violate(`${jobId} is ${status} for ${verb}, and stored as ${stored}`);
  }
}

/** An id is spent with its job, not before. */
function judgeSpent({ operations }: FactOf<'wrote'>, known: Known): void {
  for (const operation of operations) {
    if (operation.type !== 'put' || operation.value !== EXPIRED || !operation.key.startsWith('i/')) continue;
    const job = known.jobs.get(decodeId(operation.key.slice(2)));
    if (job !== undefined) violate(`${job.record.jobId} was pruned, and is stored as ${job.state}`);
  }
}

export const oneEnd: Checker = {
  guarantee: 'G1',
  promise: 'exactly one terminal state per accepted job; nothing of a terminal record changes',
  begin(): Check {
    const ends = new Ends();
    return (fact, known) => ends.judge(fact, known);
  },
};
