/**
 * G5: a crash at any instant loses no acknowledged job, revives none, runs none twice.
 *
 * SVV1  What was acknowledged as accepted, or as ended, is there after a crash of the process; after one of the power under `full` too. Under `process`
 *       power may take the end of the log, and never a part of it: what is left has no gap.
 * SVV2  What a life left unfinished has ended by the time the next one is at rest: errored, by the crash. What it had finished is as it was.
 * SVV3  A body is called once for a job, over all lives, and never for one of an earlier life. A spent id makes no job any more.
 */
import { isDeepStrictEqual } from 'node:util';
import { isTerminal, type JobRecord, type JobView, type TerminalStatus } from '../../../model/records.ts';
import { type Check, type Checker, type Violate, violating } from '../checker.ts';
import type { Fact, FactOf } from '../facts.ts';
import type { Known } from '../known.ts';
import { jobViewsOf } from './job-answers.ts';
import { isWell } from './store-trouble.ts';
import { isExpired, stepsOf } from './stored-jobs.ts';

const violate: Violate = violating('G5');

const CRASH_MESSAGE = 'worker died before completion';

class Survival {
  /** Acknowledged as accepted, and not pruned since; true: by a life that promised it to survive the loss of power. */
  readonly #accepted = new Map<string, boolean>();
  /** Acknowledged as ended. */
  readonly #ended = new Map<string, { readonly status: TerminalStatus; readonly isSynced: boolean }>();
  /** The last number that was told, and the last one told by a life under `full`. */
  #toldSeq = 0;
  #syncedSeq = 0;
  /** Whose body was called, over all lives. */
  readonly #called = new Map<string, FactOf<'body.called'>>();
  /** Jobs that an earlier life has left. */
  readonly #ofEarlierLives = new Set<string>();
  /** Left unfinished by the life before, until this one is at rest. */
  #unfinished = new Map<string, JobRecord>();
  /** Left finished by it. */
  #finished = new Map<string, JobRecord>();
  readonly #spent = new Set<string>();

  judge(fact: Fact, known: Known): void {
    switch (fact.type) {
      case 'crashed':
        this.#judgeCrash(fact, known);
        this.#leave(known);
        break;
      case 'closed':
        this.#leave(known);
        break;
      case 'opened':
        this.#judgeOpened(known);
        break;
      case 'wrote':
        this.#judgeWrote(known);
        break;
      case 'answered':
        for (const view of jobViewsOf(fact)) this.#acknowledge(view, known);
        break;
      case 'told':
        if (fact.event.type === 'job.created' || fact.event.type === 'job.status') this.#acknowledge(fact.event, known);
        if (fact.observer !== 0) break;
        this.#toldSeq = fact.event.seq;
        if (known.settings.durability === 'full') this.#syncedSeq = fact.event.seq;
        break;
      case 'body.called':
        this.#judgeCalled(fact);
        break;
      case 'rested':
        this.#judgeRecovered(fact.view.canStore, known);
        if (isWell(fact.view)) this.#unfinished.clear();
        break;
      default:
    }
  }

  #acknowledge({ jobId, status, durable }: Pick<JobView, 'jobId' | 'status' | 'durable'>, known: Known): void {
    if (durable === false || this.#spent.has(jobId)) return;
    // Of a job of an earlier life nothing is written, and so nothing is synced, because somebody looks at it.
    const isSynced = known.settings.durability === 'full' && !this.#ofEarlierLives.has(jobId);
    this.#accepted.set(jobId, isSynced || this.#accepted.get(jobId) === true);
    if (isTerminal(status)) this.#ended.set(jobId, { status, isSynced: isSynced || this.#ended.get(jobId)?.isSynced === true });
  }

  #judgeCrash({ kind }: FactOf<'crashed'>, known: Known): void {
    const mayLose = (isSynced: boolean): boolean => kind === 'power' && !isSynced;
    const promisedSeq = kind === 'power' ? this.#syncedSeq : this.#toldSeq;
    if (known.seq < promisedSeq) violate(`event ${promisedSeq} had been told, and the log ends at ${known.seq} after the crash`);
    this.#toldSeq = Math.min(this.#toldSeq, known.seq);
    let before: number | null = null;
    for (const seq of [...known.events.keys()].sort((a, b) => a - b)) {
      if (before !== null && seq !== before + 1) violate(`after the crash the log goes from ${before} to ${seq}`);
      before = seq;
    }
    const isLost = (jobId: string): boolean => !known.jobs.has(jobId) && !isExpired(known, jobId);
    for (const jobId of this.#spent) if (!isExpired(known, jobId)) this.#spent.delete(jobId);
    for (const [jobId, { status, isSynced }] of this.#ended) {
      const left = known.jobs.get(jobId)?.record.status;
      if (left === status || (left === undefined && !isLost(jobId))) continue;
      if (!mayLose(isSynced)) violate(`${jobId} had been acknowledged as ${status}, and is ${left ?? 'lost'} after the crash`);
      this.#ended.delete(jobId);
    }
    for (const [jobId, isSynced] of this.#accepted) {
      if (!isLost(jobId)) continue;
      if (!mayLose(isSynced)) violate(`${jobId} had been acknowledged, and is lost by the crash`);
      this.#accepted.delete(jobId);
    }
    for (const [jobId, called] of this.#called) {
      if (!isLost(jobId)) continue;
      if (kind === 'process') violate(`${jobId} had been at work, by run ${called.run}, and is lost by the crash`);
      // It was never there: its id may come again.
      this.#called.delete(jobId);
      this.#ofEarlierLives.delete(jobId);
    }
  }

  /** What the next life finds. */
  #leave(known: Known): void {
    this.#unfinished = new Map();
    this.#finished = new Map();
    for (const [jobId, { record }] of known.jobs) {
      this.#ofEarlierLives.add(jobId);
      (isTerminal(record.status) ? this.#finished : this.#unfinished).set(jobId, record);
    }
  }

  #judgeOpened(known: Known): void {
    this.#judgeRecovered(true, known);
    for (const [jobId, before] of this.#finished) {
      const after = known.jobs.get(jobId)?.record;
      if (after === undefined || !isDeepStrictEqual(before, after))
        violate(`${jobId} had ended ${before.status} in an earlier life, and is ${after?.status ?? 'gone'} after the start`);
    }
    this.#finished.clear();
  }

  #judgeRecovered(canStore: boolean, known: Known): void {
    if (!canStore) return;
    for (const [jobId, before] of this.#unfinished) {
      const after = known.jobs.get(jobId)?.record;
      if (after === undefined) {
        if (isExpired(known, jobId)) continue;
        violate(`${jobId} was ${before.status} at the end of an earlier life, and is gone`);
      }
      const { status, reasonCode, error } = after;
      const isAbandoned =
        status === 'errored' && reasonCode === 'abandoned.crash' && error?.message.startsWith(CRASH_MESSAGE) === true;
      if (!isAbandoned)
        violate(
          `${jobId} was ${before.status} at the end of an earlier life, and is now ${status} (${reasonCode}, ${error?.message})`,
        );
    }
  }

  #judgeWrote(known: Known): void {
    const { gone, born } = stepsOf(known.changes);
    for (const { record } of gone) {
      if (!isExpired(known, record.jobId)) continue;
      this.#spent.add(record.jobId);
      this.#accepted.delete(record.jobId);
      this.#ended.delete(record.jobId);
    }
    for (const { record } of born) {
      if (this.#spent.has(record.jobId)) violate(`${record.jobId} was pruned, and is there again as ${record.status}`);
      if (!known.isOpen) violate(`${record.jobId} was accepted by an engine that is not open`);
    }
  }

  #judgeCalled(fact: FactOf<'body.called'>): void {
    const { jobId, run } = fact;
    const before = this.#called.get(jobId);
    if (before !== undefined) violate(`run ${run} is of ${jobId}, and so was run ${before.run}, in life ${before.life}`);
    if (this.#ofEarlierLives.has(jobId)) violate(`run ${run} is of ${jobId}, which an earlier life has left`);
    if (this.#spent.has(jobId)) violate(`run ${run} is of ${jobId}, which was pruned`);
    this.#called.set(jobId, fact);
  }
}

export const crash: Checker = {
  guarantee: 'G5',
  promise: 'a crash at any instant loses no acknowledged job, revives none, runs none twice',
  begin(): Check {
    const survival = new Survival();
    return (fact, known) => survival.judge(fact, known);
  },
};
