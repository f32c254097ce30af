/**
 * G1: exactly one terminal state per accepted job; nothing of a terminal record changes.
 *
 * ONE1  Judged by what lies in the store, batch by batch, and by what is told: an end is stored once, told once, and its record stays as it is.
 * ONE2  When everything has been let go, every job that is stored has ended.
 */
import { isDeepStrictEqual } from 'node:util';
import { isTerminal } from '../../../model/records.ts';
import { type Check, type Checker, violating } from '../checker.ts';

const violate = violating('G1');

export const oneEnd: Checker = {
  guarantee: 'G1',
  promise: 'exactly one terminal state per accepted job; nothing of a terminal record changes',
  begin(): Check {
    const ended = new Map<string, string>();
    return (fact, known) => {
      if (fact.type === 'wrote') {
        for (const { jobId, before, after } of known.changes) {
          if (before === null || !isTerminal(before.record.status) || after === null) continue;
          // The note of a body that settled late is history, not record: it may be added.
          const { revision: _, ...was } = before.record;
          const { revision: __, ...is } = after.record;
          if (!isDeepStrictEqual(was, is)) violate(`${jobId} had ended ${was.status}, and was stored again as ${is.status}`);
        }
      } else if (fact.type === 'told' && fact.observer === 0 && fact.event.type === 'job.status') {
        const { jobId, status } = fact.event;
        if (!isTerminal(status)) return;
        const before = ended.get(jobId);
        if (before !== undefined) violate(`${jobId} was told to be ${status}, and had been told to be ${before}`);
        ended.set(jobId, status);
      } else if (fact.type === 'rested' && fact.view.isLast && fact.view.canStore) {
        for (const { jobId, status } of fact.view.jobs)
          if (!isTerminal(status)) violate(`${jobId} is ${status}, and nothing is left that could end it`);
      }
    };
  },
};
