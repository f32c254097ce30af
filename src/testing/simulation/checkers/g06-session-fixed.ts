/**
 * G6: `sessionId` never changes.
 *
 * FIX1  Wherever a job is seen (in the store, in events, in answers, by its body, in its card) it is of the one session that it was first seen in,
 *       and of the one that its caller has named.
 */
import { isVolatileEvent } from '../../../model/events.ts';
import { type Check, type Checker, type Violate, violating } from '../checker.ts';
import type { Fact } from '../facts.ts';
import type { Known } from '../known.ts';
import { jobViewsOf } from './job-answers.ts';
import { isExpired, stepsOf } from './stored-jobs.ts';

const violate: Violate = violating('G6');

class Homes {
  readonly #homes = new Map<string, string>();

  judge(fact: Fact, known: Known): void {
    switch (fact.type) {
      case 'crashed':
        for (const jobId of this.#homes.keys()) if (!known.jobs.has(jobId)) this.#forgetUnlessSpent(jobId, known);
        for (const { record } of known.jobs.values()) this.#see(record, 'the store after a crash');
        break;
      case 'wrote': {
        const { gone, born, changed } = stepsOf(known.changes);
        for (const { record } of gone) this.#forgetUnlessSpent(record.jobId, known);
        for (const { record } of [...born, ...changed.map(({ after }) => after)]) this.#see(record, 'the store');
        break;
      }
      case 'told':
        if (fact.event.type === 'job.created' || fact.event.type === 'job.status')
          this.#see(fact.event, `event ${fact.event.seq}`);
        else if (isVolatileEvent(fact.event) && 'jobId' in fact.event) this.#see(fact.event, fact.event.type);
        break;
      case 'answered': {
        const views = jobViewsOf(fact);
        for (const view of views) this.#see(view, `the answer to call ${fact.call}, ${fact.verb}`);
        const asked = known.calls.get(fact.call)?.asked.args[0] as { readonly sessionId?: string } | undefined;
        const wanted = fact.verb === 'spawn' || fact.verb === 'run' ? asked?.sessionId : undefined;
        for (const { jobId, sessionId } of views) {
          if (typeof wanted === 'string' && wanted !== sessionId)
            violate(`${jobId} was asked for in ${wanted}, and is in ${sessionId}`);
        }
        break;
      }
      case 'body.called':
        this.#see(fact, `run ${fact.run} of its body`);
        break;
      case 'rested':
        for (const job of fact.view.jobs) this.#see(job, 'a list');
        for (const cards of fact.view.cards.values()) {
          for (const { attach } of cards) this.#see({ jobId: attach.job_id, sessionId: attach.session_id }, 'its card');
        }
        break;
      default:
    }
  }

  #see({ jobId, sessionId }: { readonly jobId: string; readonly sessionId: string }, where: string): void {
    const home = this.#homes.get(jobId);
    if (home !== undefined && home !== sessionId) violate(`${jobId} is of session ${home}, and of ${sessionId} in ${where}`);
    this.#homes.set(jobId, sessionId);
  }

  /** An id that was taken back, or lost with the power, may come again elsewhere. */
  #forgetUnlessSpent(jobId: string, known: Known): void {
    if (!isExpired(known, jobId)) this.#homes.delete(jobId);
  }
}

export const sessionFixed: Checker = {
  guarantee: 'G6',
  promise: '`sessionId` never changes',
  begin(): Check {
    const homes = new Homes();
    return (fact, known) => homes.judge(fact, known);
  },
};
