/** The end of a job, for those inside the engine who wait for it. */
import type { Core } from './core.ts';
import type { LiveJob } from './live-job.ts';

/** Resolves when the job's end is revealed or acted upon; whoever waits here is one of its waiters. */
export function whenEnded(core: Core, job: LiveJob): Promise<void> {
  return new Promise((resolve) => {
    if (job.actedEnd !== null || !core.jobs.has(job.base.jobId)) return resolve();
    if (job.committed !== null && job.committed === job.decided && job.isDecidedEnd) return resolve();
    job.waiters ??= new Set();
    job.waiters.add({ settle: () => resolve(), refuse: resolve });
  });
}
