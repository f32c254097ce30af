/**
 * G3: after `cancel` returns, terminal within the grace.
 *
 * GRC1  The grace counts from the first thing that is seen of the request (it is stored, told or answered, or the signal fires); later ones move
 *       nothing. What stood still meanwhile may be added, and while the store refuses nobody can see an end.
 * GRC2  A queued job has ended when its cancel is answered; its body is never called. A running one is told to end when that is stored, not before.
 * GRC3  Under a cancelled job nothing goes on, and nothing is born, from the very batch of its cancel on.
 */
import { isTerminal, type JobView } from '../../../model/records.ts';
import type { CancelManyResult } from '../../../model/requests.ts';
import { type Check, type Checker, type Violate, violating } from '../checker.ts';
import type { Fact, FactOf } from '../facts.ts';
import type { Known, StoredJob } from '../known.ts';
import { isWell, StoreTrouble } from './store-trouble.ts';
import { isExpired, stepsOf } from './stored-jobs.ts';

const violate: Violate = violating('G3');

/** By when a job must have ended. */
interface Deadline {
  readonly since: number;
  dueAt: number;
  /** What had stood still when it began. */
  readonly stoodStillMs: number;
  /** How often the store had refused by then; null: it did so just then. */
  readonly troubles: number | null;
  /** When its end was stored; null: not yet. */
  endedAt: number | null;
}

class Graces {
  readonly #trouble = new StoreTrouble();
  readonly #deadlines = new Map<string, Deadline>();
  #closingAt: number | null = null;

  judge(fact: Fact, known: Known): void {
    this.#trouble.learn(fact, known);
    switch (fact.type) {
      case 'opened':
      case 'crashed':
      case 'closed':
        this.#deadlines.clear();
        this.#closingAt = null;
        break;
      case 'closing':
        this.#closingAt = fact.at;
        for (const deadline of this.#deadlines.values())
          deadline.dueAt = Math.min(deadline.dueAt, fact.at + known.settings.shutdownGraceMs);
        break;
      case 'wrote':
        if (known.isOpen && fact.outcome !== 'failed') this.#judgeWrote(fact, known);
        break;
      case 'told':
        if (fact.observer !== 0 || fact.event.type !== 'job.status') break;
        if (fact.event.status === 'running' && fact.event.cancelRequestedAt !== null)
          this.#begin(fact.event.jobId, fact.at, known);
        break;
      case 'body.called':
        this.#judgeCalled(fact, known);
        break;
      case 'body.told':
        this.#judgeSignal(fact, known);
        break;
      case 'answered':
        if (fact.verb === 'cancel') this.#judgeCancel(fact.value as JobView, fact, known);
        if (fact.verb === 'cancelMany' || fact.verb === 'plan.cancel') this.#judgeMany(fact, known);
        break;
      case 'rested':
        this.#judgeRest(fact, known);
        break;
      default:
    }
  }

  #begin(jobId: string, at: number, known: Known): void {
    if (this.#deadlines.has(jobId)) return;
    // Told of after its end was stored: without any grace both go in one batch.
    const stored = known.jobs.get(jobId);
    if (stored !== undefined && isTerminal(stored.record.status)) return;
    const { cancelGraceMs, shutdownGraceMs } = known.settings;
    this.#deadlines.set(jobId, {
      since: at,
      dueAt: Math.min(at + cancelGraceMs, this.#closingAt === null ? Number.POSITIVE_INFINITY : at + shutdownGraceMs),
      stoodStillMs: known.stoodStillMs,
      troubles: this.#trouble.isOn ? null : this.#trouble.times,
      endedAt: null,
    });
  }

  #judgeWrote({ at }: FactOf<'wrote'>, known: Known): void {
    const { gone, born, changed } = stepsOf(known.changes);
    for (const { record } of gone) this.#deadlines.delete(record.jobId);
    for (const { record, state } of [...born, ...changed.map(({ after }) => after)]) {
      const { jobId } = record;
      if (state === 'ending' && record.cancelRequestedAt !== null) this.#begin(jobId, at, known);
      const deadline = this.#deadlines.get(jobId);
      if (isTerminal(record.status) && deadline !== undefined) deadline.endedAt ??= at;
    }
    judgeLineage(known);
  }

  #judgeCalled({ jobId, run }: FactOf<'body.called'>, known: Known): void {
    const stored = known.jobs.get(jobId);
    if (stored === undefined) return;
    if (stored.state === 'ending' || isTerminal(stored.record.status))
      violate(`run ${run}: the body of ${jobId} was called, and its job is ${stored.state}`);
    if (this.#deadlines.has(jobId)) violate(`run ${run}: the body of ${jobId} was called, and its job had been asked to end`);
  }

  #judgeSignal({ jobId, run, code, at }: FactOf<'body.told'>, known: Known): void {
    if (code !== 'job.cancelled') return;
    const record = known.jobs.get(jobId)?.record;
    if (record !== undefined && record.cancelRequestedAt === null && !this.#trouble.isOn)
      violate(`run ${run}: the signal of ${jobId} fired, and no request to cancel it is stored`);
    this.#begin(jobId, at, known);
  }

  #judgeCancel(view: JobView, { call, at }: FactOf<'answered'>, known: Known): void {
    const { jobId, status, cancelRequestedAt, durable } = view;
    if (isTerminal(status)) return;
    const wrong: Violate = (what) => violate(`call ${call}: the cancel of ${jobId} was answered as ${status}, and ${what}`);
    if (status !== 'running') wrong('it was not at work');
    if (cancelRequestedAt !== null) this.#begin(jobId, at, known);
    if (durable === false) return;
    const stored = known.jobs.get(jobId);
    if (stored !== undefined && stored.state !== 'ending' && !isTerminal(stored.record.status))
      wrong(`stored is ${stored.state}`);
    this.#judgeToldToEnd(jobId, wrong, known);
  }

  /** Its body knows of it by the time the caller does. */
  #judgeToldToEnd(jobId: string, wrong: Violate, known: Known): void {
    for (const { called, told, settled } of known.bodies.values()) {
      if (called.jobId === jobId && told === null && settled === null) wrong(`run ${called.run} of its body was not told to end`);
    }
  }

  #judgeMany(fact: FactOf<'answered'>, known: Known): void {
    const { cancelled, cancelling, alreadyTerminal, notFound, durable } = fact.value as CancelManyResult;
    const wrong: Violate = (what) => violate(`call ${fact.call}, ${fact.verb}: ${what}`);
    for (const jobId of cancelling) {
      const stored = known.jobs.get(jobId);
      if (stored === undefined) continue;
      // What ends for another reason keeps that one, and its own time.
      if (stored.record.cancelRequestedAt !== null) this.#begin(jobId, fact.at, known);
      if (durable === false) continue;
      if (stored.state !== 'ending' && !isTerminal(stored.record.status))
        wrong(`${jobId} is said to be ending, and is ${stored.state}`);
      this.#judgeToldToEnd(jobId, wrong, known);
    }
    for (const jobId of durable === false ? [] : [...cancelled, ...alreadyTerminal]) {
      const stored = known.jobs.get(jobId);
      if (stored !== undefined && !isTerminal(stored.record.status))
        wrong(`${jobId} is said to have ended, and is ${stored.state}`);
    }
    const { ids, status } = (known.calls.get(fact.call)?.asked.args[0] ?? {}) as { ids?: readonly string[]; status?: unknown };
    if (fact.verb !== 'cancelMany' || ids === undefined || status !== undefined) return;
    const answered = [...cancelled, ...cancelling, ...alreadyTerminal, ...notFound].sort();
    if (answered.join('\n') !== [...ids].sort().join('\n'))
      wrong(`it was asked for ${ids.join(', ')}, and answers ${answered.join(', ')}`);
  }

  #judgeRest({ at, view }: FactOf<'rested'>, known: Known): void {
    for (const [jobId, deadline] of this.#deadlines) {
      const { since, dueAt, stoodStillMs, troubles, endedAt } = deadline;
      const latest = dueAt + known.stoodStillMs - stoodStillMs;
      const about = `${jobId} was asked to end at ${since}, had to have ended by ${latest}, and`;
      if (endedAt !== null) {
        // Its end may have been decided in time, and stored when the store was well again.
        if (endedAt > latest && troubles === this.#trouble.times && !this.#trouble.isOn) violate(`${about} ended at ${endedAt}`);
        this.#deadlines.delete(jobId);
        continue;
      }
      const stored = known.jobs.get(jobId);
      if (stored === undefined ? isExpired(known, jobId) : isTerminal(stored.record.status)) this.#deadlines.delete(jobId);
      else if (isWell(view) && at > latest) violate(`${about} is ${stored?.state ?? 'not stored'} at ${at}`);
    }
  }
}

/** GRC3, for all that the last batch changed. */
function judgeLineage(known: Known): void {
  const { born, changed } = stepsOf(known.changes);
  const isAsked = ({ record }: StoredJob): boolean => record.cancelRequestedAt !== null;
  const asked = changed.filter(({ before, after }) => !isAsked(before) && isAsked(after)).map(({ jobId }) => jobId);
  // A cancel concerns whoever lies below; a birth, only itself.
  const touched = asked.length > 0 ? [...known.jobs.values()] : born;
  for (const { record, state } of touched) {
    if (state === 'ending' || isTerminal(record.status)) continue;
    const seen = new Set([record.jobId]);
    for (let id = record.parentJobId; id !== null && !seen.has(id); ) {
      seen.add(id);
      const above = known.jobs.get(id);
      if (above === undefined) break;
      if (isAsked(above)) violate(`${record.jobId} is ${state}, and ${id} above it, now ${above.state}, was asked to end`);
      id = above.record.parentJobId;
    }
  }
}

export const cancelInTime: Checker = {
  guarantee: 'G3',
  promise: 'after `cancel` returns, terminal within the grace',
  begin(): Check {
    const graces = new Graces();
    return (fact, known) => graces.judge(fact, known);
  },
};
