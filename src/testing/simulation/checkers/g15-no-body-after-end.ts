/**
 * G15: no body runs after its terminal event unless the record says `detached`.
 *
 * BDY1  When an end without `detached` is stored, told or answered, the body of the job has settled, or was never called; it is not called later.
 * BDY2  `detached` is said only of a body that had not settled when the end was decided.
 * BDY3  At rest `bodyLive` is true of exactly the jobs whose body is at work.
 * BDY4  What a body was handed is dead when the body has settled: a verb of it that is asked for then does nothing.
 */
import { isTerminal } from '../../../model/records.ts';
import { type Check, type Checker, type Violate, violating } from '../checker.ts';
import type { Fact, FactOf } from '../facts.ts';
import type { Known, KnownBody, StoredJob } from '../known.ts';
import { jobViewsOf } from './job-answers.ts';
import { StoreTrouble } from './store-trouble.ts';
import { stepsOf } from './stored-jobs.ts';

const violate: Violate = violating('G15');

/** What a body is handed. */
const OF_A_BODY: ReadonlySet<string> = new Set(['spawn', 'run', 'wait', 'waitMany']);

class Bodies {
  readonly #trouble = new StoreTrouble();
  /** Jobs whose end was stored, told or answered. */
  readonly #ended = new Set<string>();
  /** Calls of bodies that had settled (BDY4). */
  readonly #late = new Set<number>();
  /** By job: its latest body. */
  readonly #bodies = new Map<string, number>();
  /** By run: what had stood still when it settled, and how often the store had refused; null: it did so just then. */
  readonly #settled = new Map<number, { readonly stoodStillMs: number; readonly troubles: number | null }>();

  judge(fact: Fact, known: Known): void {
    this.#trouble.learn(fact, known);
    switch (fact.type) {
      case 'crashed':
      case 'closed':
        this.#bodies.clear();
        this.#settled.clear();
        this.#ended.clear();
        this.#late.clear();
        break;
      case 'asked':
        if (fact.by.who === 'body' && OF_A_BODY.has(fact.verb) && this.#bodyOf(fact.by.jobId, known)?.settled != null)
          this.#late.add(fact.call);
        break;
      case 'body.called':
        this.#judgeCalled(fact, known);
        break;
      case 'body.settled':
        this.#settled.set(fact.run, {
          stoodStillMs: known.stoodStillMs,
          troubles: this.#trouble.isOn ? null : this.#trouble.times,
        });
        break;
      case 'wrote':
        if (known.isOpen && fact.outcome !== 'failed') this.#judgeWrote(fact, known);
        break;
      case 'told':
        if (fact.event.type !== 'job.status' || !isTerminal(fact.event.status)) break;
        this.#judgeEnd(fact.event, `observer ${fact.observer} was told its end`, known);
        break;
      case 'answered':
        if (this.#late.has(fact.call)) violate(`call ${fact.call}, ${fact.verb} by a body that had settled, is answered`);
        for (const view of jobViewsOf(fact)) {
          if (isTerminal(view.status)) this.#judgeEnd(view, `call ${fact.call}, ${fact.verb}, was answered with its end`, known);
        }
        break;
      case 'rested':
        this.#judgeRest(fact, known);
        break;
      default:
    }
  }

  #bodyOf(jobId: string, known: Known): KnownBody | undefined {
    const run = this.#bodies.get(jobId);
    return run === undefined ? undefined : known.bodies.get(run);
  }

  #judgeCalled({ jobId, run }: FactOf<'body.called'>, known: Known): void {
    const stored = known.jobs.get(jobId)?.record;
    if (this.#ended.has(jobId) || (stored !== undefined && isTerminal(stored.status)))
      violate(`run ${run}: the body of ${jobId} was called after its end`);
    this.#bodies.set(jobId, run);
  }

  #judgeEnd({ jobId, detached }: { readonly jobId: string; readonly detached: boolean }, what: string, known: Known): void {
    this.#ended.add(jobId);
    const body = this.#bodyOf(jobId, known);
    if (body === undefined || body.settled !== null || detached) return;
    violate(`${jobId}: ${what}, and run ${body.called.run} of its body is at work; it is not said to be detached`);
  }

  #judgeWrote({ at }: FactOf<'wrote'>, known: Known): void {
    const { gone, born, changed } = stepsOf(known.changes);
    for (const { record } of gone) this.#ended.delete(record.jobId);
    const ends = changed.filter(({ before, after }) => !isTerminal(before.record.status) && isTerminal(after.record.status));
    for (const job of [...born, ...ends.map(({ after }) => after)]) {
      if (!isTerminal(job.record.status)) continue;
      this.#judgeEnd(job.record, 'its end was stored', known);
      if (job.record.detached) this.#judgeDetached(job, at, known);
    }
  }

  /** BDY2: had the body settled a while ago, the engine would have known when the end was decided. */
  #judgeDetached({ record }: StoredJob, at: number, known: Known): void {
    if (this.#trouble.isOn) return;
    const body = this.#bodyOf(record.jobId, known);
    if (body === undefined) violate(`${record.jobId} ended detached, and its body was never called`);
    const settled = this.#settled.get(body.called.run);
    if (body.settled === null || settled === undefined || settled.troubles !== this.#trouble.times) return;
    if (at > body.settled.at + known.stoodStillMs - settled.stoodStillMs)
      violate(
        `${record.jobId} ended detached at ${at}, and run ${body.called.run} of its body had settled at ${body.settled.at}`,
      );
  }

  #judgeRest({ view }: FactOf<'rested'>, known: Known): void {
    for (const { jobId, bodyLive } of view.jobs) {
      const body = this.#bodyOf(jobId, known);
      const isAtWork = body !== undefined && body.settled === null;
      if (bodyLive !== isAtWork)
        violate(`${jobId} is shown with bodyLive ${bodyLive}, and its body is ${isAtWork ? '' : 'not '}at work`);
    }
    if (!view.isLast) return;
    for (const { called, settled } of known.bodies.values()) {
      if (settled === null) violate(`run ${called.run} of ${called.jobId} is at work, and everything was let go`);
    }
  }
}

export const noBodyAfterEnd: Checker = {
  guarantee: 'G15',
  promise: 'no body runs after its terminal event unless the record says `detached`',
  begin(): Check {
    const bodies = new Bodies();
    return (fact, known) => bodies.judge(fact, known);
  },
};
