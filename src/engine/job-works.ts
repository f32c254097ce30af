/**
 * The jobs of one session as background work (liveness 5), as far as they are committed. No job costs an object here: a job is its own
 * registration.
 *
 * JWK1  A job is registered once, where it was asked for; where it merely runs it is marked as hosted, and not counted (W1, W6).
 * JWK2  Frames of providers never touch these (W3).
 */
import type { WorkloadKind } from '../model/executor.ts';
import type { LiveJob } from './live-job.ts';

export class JobWorks {
  /** Accepted and not ended; those asked for here. */
  readonly #own = new Set<LiveJob>();
  /** Those that only run here. */
  readonly #hosted = new Set<LiveJob>();
  /** Of the own ones: running, and of kind subagent. */
  readonly #subagents = new Set<LiveJob>();

  get size(): number {
    return this.#own.size + this.#hosted.size;
  }

  get subagentCount(): number {
    return this.#subagents.size;
  }

  get own(): ReadonlySet<LiveJob> {
    return this.#own;
  }

  get hosted(): ReadonlySet<LiveJob> {
    return this.#hosted;
  }

  add(job: LiveJob): void {
    this.#own.add(job);
  }

  addHosted(job: LiveJob): void {
    this.#hosted.add(job);
  }

  started(job: LiveJob, kind: WorkloadKind): void {
    if (kind === 'subagent' && this.#own.has(job)) this.#subagents.add(job);
  }

  retire(job: LiveJob): void {
    this.#own.delete(job);
    this.#hosted.delete(job);
    this.#subagents.delete(job);
  }
}
