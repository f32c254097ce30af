/** Jobs as lines for people. */
import { isTerminal, type JobStatus, type JobView } from '../../model/records.ts';
import { blockLines, type Cell, tableLines } from './table.ts';
import { clipped, printable, type Sink, type Style } from './terminal.ts';
import { ageInWords, dateInWords, durationInWords } from './words.ts';

const STATUS_STYLES: Readonly<Record<JobStatus, Style>> = {
  pending: 'dim',
  queued: 'dim',
  running: 'cyan',
  completed: 'green',
  cancelled: 'yellow',
  errored: 'red',
};

/** Spec: subjects in lists are clipped at 80 characters. */
const SUBJECT_CHARACTERS = 80;
const TEXT_CHARACTERS = 400;

export const subjectOf = (job: Pick<JobView, 'subject'>): string => clipped(printable(job.subject), SUBJECT_CHARACTERS);

/** "cancelling" while a cancel is on its way. */
export const statusWord = (job: Pick<JobView, 'status' | 'cancelRequestedAt'>): string =>
  job.status === 'running' && job.cancelRequestedAt !== null ? 'cancelling' : job.status;

function tookOf(job: JobView, now: number): string {
  if (job.startedAt === null) return '-';
  return durationInWords((job.completedAt ?? now) - job.startedAt);
}

const HEAD = ['ID', 'STATUS', 'CREATED', 'TOOK', 'SUBJECT'] as const;

function jobCells(job: JobView, now: number): readonly Cell[] {
  const status = statusWord(job);
  return [
    { text: printable(job.jobId) },
    { text: status, style: STATUS_STYLES[job.status] },
    { text: ageInWords(now - job.createdAt) },
    { text: tookOf(job, now) },
    { text: subjectOf(job) },
  ];
}

export const jobTable = (sink: Sink, jobs: readonly JobView[], now: number): readonly string[] =>
  tableLines(
    sink,
    HEAD,
    jobs.map((job) => jobCells(job, now)),
  );

/** Everything about one job. */
export function jobBlock(sink: Sink, job: JobView, now: number): readonly string[] {
  const pairs: (readonly [string, string])[] = [
    ['job', printable(job.jobId)],
    ['subject', printable(job.subject)],
    ['status', sink.paint(STATUS_STYLES[job.status], statusWord(job)) + (job.reasonCode === null ? '' : ` (${job.reasonCode})`)],
    ['kind', printable(job.kind)],
    ['session', printable(job.sessionId)],
    ['task', printable(job.taskId)],
  ];
  if (job.parentJobId !== null) pairs.push(['parent', printable(job.parentJobId)]);
  pairs.push(['created', `${dateInWords(job.createdAt)} (${ageInWords(now - job.createdAt)})`]);
  if (job.startedAt !== null) pairs.push(['started', dateInWords(job.startedAt)]);
  if (job.startedAt !== null && job.completedAt === null) pairs.push(['running', `for ${tookOf(job, now)}`]);
  if (job.completedAt !== null) {
    pairs.push(['ended', `${dateInWords(job.completedAt)}${job.startedAt === null ? '' : ` after ${tookOf(job, now)}`}`]);
  }
  if (job.cancelReason !== null) pairs.push(['reason', printable(job.cancelReason)]);
  if (job.error !== null) pairs.push(['error', `${printable(job.error.message)} [${job.error.code}]`]);
  if (job.detached) pairs.push(['detached', 'its body was not seen to end']);
  if (job.result !== null) pairs.push(['result', clipped(JSON.stringify(job.result), TEXT_CHARACTERS)]);
  const text = job.resultText ?? job.partialText;
  if (text !== null && text !== '') pairs.push(['text', clipped(printable(text), TEXT_CHARACTERS)]);
  return blockLines(sink, pairs);
}

/** How a job ended, as one sentence; null when all is well. */
export function endSentence(job: JobView): string | null {
  const id = printable(job.jobId);
  if (!isTerminal(job.status)) return `${id} is still ${statusWord(job)}.`;
  if (job.status === 'completed') return null;
  const detached = job.detached ? ' What it had started may still be running.' : '';
  if (job.status === 'cancelled') {
    const forced = job.reasonCode === 'cancel.timed_out' ? ` ${printable(job.error?.message ?? '')}.` : '';
    return `${id} was cancelled.${forced}${detached}`;
  }
  return `${id} failed. ${printable(job.error?.message ?? '')}${detached}`;
}
