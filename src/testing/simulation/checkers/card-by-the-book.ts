/**
 * The card of a job as spec 9 words it, written a second time: a mapping that is judged by itself is never wrong.
 *
 * CBB1  Nothing here is shared with `model/cards.ts`, which is what it judges.
 */
import type { Card } from '../../../model/cards.ts';
import type { JobRecord } from '../../../model/records.ts';

const utc = (ms: number | null): string => new Date(ms ?? 0).toISOString();

function content(job: JobRecord): string {
  if (job.status === 'completed') return job.resultText ?? (job.result === null ? '' : JSON.stringify(job.result));
  if (job.status === 'errored') return `[task error] ${job.error?.message}`;
  if (job.status !== 'cancelled') return '(running)';
  const partial = job.resultText ?? '';
  return [...(partial === '' ? [] : [partial]), `[cancelled at ${utc(job.completedAt)}]`].join('\n');
}

/** The card that its record calls for. */
export const cardByTheBook = (job: JobRecord): Card => ({
  cardId: `card_${job.jobId}`,
  sessionId: job.callerSessionId === null ? job.sessionId : job.callerSessionId,
  function: 'attach',
  content: content(job),
  attach: {
    session_id: job.sessionId,
    job_id: job.jobId,
    status: ['completed', 'cancelled', 'errored'].includes(job.status) ? (job.status as Card['attach']['status']) : 'running',
    head_id: job.headId,
    source_commit_id: job.sourceCommitId,
    label: job.subject,
  },
});
