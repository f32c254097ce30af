/** What the command line exits with (spec 15). */
import { isOffstageError } from '../../model/errors.ts';
import type { JobView } from '../../model/records.ts';

export const EXIT = { done: 0, failed: 1, usage: 2, timedOut: 3, store: 4, cancelled: 130 } as const;

/** For `run` and `jobs wait`: how the job ended. */
export function exitCodeOfJob(job: Pick<JobView, 'status' | 'reasonCode' | 'timedOut'>): number {
  if (job.status === 'completed') return EXIT.done;
  if (job.status === 'cancelled') return EXIT.cancelled;
  if (job.status !== 'errored') return EXIT.timedOut;
  return job.reasonCode === 'timed_out' || job.reasonCode === 'idle_timed_out' ? EXIT.timedOut : EXIT.failed;
}

const STORE_CODES: readonly string[] = ['store.locked', 'store.corrupt', 'control.unavailable'];
const USAGE = /^(?:input\.invalid|config\.invalid|executor\.unknown|agent\.unknown|\w+\.not_found|\w+\.expired)$/;

export function exitCodeOfError(error: unknown): number {
  if (!isOffstageError(error)) return EXIT.failed;
  if (STORE_CODES.includes(error.code)) return EXIT.store;
  return USAGE.test(error.code) ? EXIT.usage : EXIT.failed;
}
