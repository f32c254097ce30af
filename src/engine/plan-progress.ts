/**
 * Tells whoever runs a plan how it goes on.
 *
 * PPR1  Told is how all jobs of the plan stand, in its order: once when the plan is accepted, then whenever one of them stands elsewhere.
 * PPR2  It listens before the first job is accepted: some may have ended before the last one is.
 * PPR3  Whoever is told may throw or reject, now or later: it is logged, and harms nobody (G16).
 */
import type { JobView } from '../model/records.ts';
import type { PlanStatus } from '../model/requests.ts';
import type { Core } from './core.ts';
import { errorMessage } from './outcome.ts';

export class PlanProgress {
  readonly #core: Core;
  readonly #parentMessageId: string;
  readonly #tell: (status: PlanStatus) => unknown;
  /** The newest of each job that was heard of; until the plan is accepted nobody knows which jobs are its own. */
  readonly #views = new Map<string, JobView>();
  #jobIds: ReadonlySet<string> | null = null;
  /** Nothing is heard any more. */
  readonly stop: () => void;

  constructor(core: Core, parentMessageId: string, tell: (status: PlanStatus) => unknown) {
    this.#core = core;
    this.#parentMessageId = parentMessageId;
    this.#tell = tell;
    this.stop = core.bus.subscribe((event) => {
      if (event.type === 'job.status') this.#heard(event.jobId);
    });
  }

  accepted(jobs: readonly JobView[]): void {
    for (const job of jobs) if (!this.#views.has(job.jobId)) this.#views.set(job.jobId, job);
    this.#jobIds = new Set(jobs.map(({ jobId }) => jobId));
    this.#told(this.#jobIds);
  }

  #heard(jobId: string): void {
    const job = this.#core.committedJob(jobId);
    if (job === undefined || this.#jobIds?.has(jobId) === false) return;
    const view = job.view();
    // Of two steps that were stored together both events are heard.
    if (this.#views.get(jobId)?.revision === view.revision) return;
    this.#views.set(jobId, view);
    if (this.#jobIds !== null) this.#told(this.#jobIds);
  }

  #told(jobIds: ReadonlySet<string>): void {
    const jobs = [...jobIds].flatMap((jobId) => this.#views.get(jobId) ?? []);
    const failed = (error: unknown): void =>
      this.#core.settings.log('error', 'plan.observer_failed', {
        parentMessageId: this.#parentMessageId,
        error: errorMessage(error),
      });
    try {
      Promise.resolve(this.#tell(planStatus(this.#parentMessageId, jobs))).catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}

/** How the plan stands whose jobs, in its order, stand so. */
export function planStatus(parentMessageId: string, jobs: readonly JobView[]): PlanStatus {
  const counts = { queued: 0, running: 0, completed: 0, cancelled: 0, errored: 0 };
  for (const { status } of jobs) counts[status === 'pending' ? 'queued' : status] += 1;
  const ended = counts.completed + counts.cancelled + counts.errored;
  return { parentMessageId, total: jobs.length, ended, counts, jobs };
}
