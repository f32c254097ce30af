/** `offstage jobs wait`: until they have ended, or the time is over. */
import { performance } from 'node:perf_hooks';
import { OffstageError } from '../../model/errors.ts';
import { isTerminal, type JobView } from '../../model/records.ts';
import type { WaitManyEntry } from '../../model/requests.ts';
import type { Cli } from './cli.ts';
import { EXIT, exitCodeOfJob } from './exit-codes.ts';
import { endSentence } from './job-lines.ts';
import { withJobs } from './job-verbs.ts';
import { ProgressLine } from './progress-line.ts';
import { printable } from './terminal.ts';
import { counted, durationInWords, parseDuration } from './words.ts';

export interface WaitOptions {
  readonly timeout?: string;
}

/** With several jobs, the worst end counts. */
const WORST_FIRST: readonly number[] = [EXIT.timedOut, EXIT.failed, EXIT.cancelled];

export async function jobsWait(cli: Cli, jobIds: readonly string[], options: WaitOptions): Promise<number> {
  const timeoutMs = options.timeout === undefined ? null : parseDuration('--timeout', options.timeout);
  const begunAt = performance.now();
  const progress = new ProgressLine(
    cli.err,
    () => `waiting for ${counted(jobIds.length, 'job')} for ${durationInWords(performance.now() - begunAt)}`,
  );
  let jobs: readonly JobView[];
  try {
    jobs = await withJobs(cli, jobIds[0] as string, async ({ client }) => {
      const restMs = timeoutMs === null ? null : Math.max(0, timeoutMs - (performance.now() - begunAt));
      // First, so that an unknown one is told at once.
      (await client.awaitJobs(jobIds, { timeoutMs: 0 })).map(known);
      return (await client.awaitJobs(jobIds, { mode: 'all', timeoutMs: restMs })).map(known);
    });
  } finally {
    progress.stop();
  }
  if (cli.isJson) {
    await cli.document(jobs.length === 1 ? jobs[0] : jobs);
  } else {
    for (const job of jobs) await cli.out.line(endSentence(job) ?? `${printable(job.jobId)} is completed.`);
  }
  const codes = jobs.map((job) => (isTerminal(job.status) ? exitCodeOfJob(job) : EXIT.timedOut));
  return WORST_FIRST.find((code) => codes.includes(code)) ?? EXIT.done;
}

/** @throws OffstageError `job.not_found`, `job.expired` */
function known(entry: WaitManyEntry): JobView {
  if ('status' in entry) return entry;
  const { jobId, error } = entry;
  const message = error.code === 'job.expired' ? 'ended long ago and its record was pruned' : 'is not known';
  throw new OffstageError(error.code, `The job ${JSON.stringify(jobId)} ${message}.`, {});
}
