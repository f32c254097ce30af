/**
 * Callers that wait for a job to end (spec 5). No polling, no listeners that pile up: a Set per job, emptied by its end.
 *
 * WAI1  Every waiter settles exactly once: by the end, its time-out, its signal, the engine's close, or the refusal of the job (G14).
 * WAI2  A waiter's own end changes nothing on the job, and leaves nothing behind.
 */
import type { TimerService } from '../actors/timer-service.ts';
import type { StopTimer } from '../model/clock.ts';
import { type OffstageError, offstageError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import type { JobView } from '../model/records.ts';
import { isFinished } from '../persistence/job-codec.ts';
import type { LiveJob } from './live-job.ts';
import { onAbortOf } from './signal-fan.ts';

export interface Waiter {
  settle(view: JobView): void;
  /** The acceptance of the job was refused: there is none. */
  refuse(): void;
}

export interface WaitLimits {
  /** Infinity: none. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

export class Waiters {
  readonly #timers: TimerService;
  #count = 0;

  constructor(timers: TimerService) {
    this.#timers = timers;
  }

  /** Waiting callers. */
  get size(): number {
    return this.#count;
  }

  /** Resolves with the record at its end, or, on time-out, with the current one, marked. Rejects with the signal's reason. */
  wait(job: LiveJob, limits: WaitLimits): Promise<JobView> {
    if (job.actedEnd !== null) return Promise.resolve(job.actedEnd);
    // It may have ended while the caller looked for others.
    if (job.committed !== null && isFinished(job.committed.state)) return Promise.resolve(job.view());
    if (limits.signal?.aborted === true) return Promise.reject(limits.signal.reason);
    // A peek: the answer is there already.
    if (limits.timeoutMs === 0)
      return job.committed === null ? Promise.reject(notFound(job)) : Promise.resolve({ ...job.view(), timedOut: true });
    if (this.#count >= LIMITS.waiters) return Promise.reject(offstageError('limit.waiters', { limit: LIMITS.waiters }));
    return new Promise((resolve, reject) => {
      let stopTimer: StopTimer | null = null;
      let stopListening: (() => void) | null = null;
      const leave = (): void => {
        job.waiters?.delete(waiter);
        this.#count -= 1;
        stopTimer?.();
        stopListening?.();
      };
      const waiter: Waiter = {
        settle(view) {
          leave();
          resolve(view);
        },
        refuse() {
          leave();
          reject(notFound(job));
        },
      };
      const onAbort = (): void => {
        leave();
        reject(limits.signal?.reason);
      };
      const onTimeout = (): void => {
        // What is not durable yet is shown to nobody.
        if (job.committed === null) waiter.refuse();
        else waiter.settle({ ...job.view(), timedOut: true });
      };
      job.waiters ??= new Set();
      job.waiters.add(waiter);
      this.#count += 1;
      if (limits.timeoutMs !== Number.POSITIVE_INFINITY) {
        stopTimer = this.#timers.after(limits.timeoutMs, onTimeout);
      }
      if (limits.signal !== undefined) stopListening = onAbortOf(limits.signal, onAbort);
    });
  }

  /** The job has ended: everybody waiting for it gets the same record. */
  settleAll(job: LiveJob): void {
    if (job.waiters === null) return;
    const view = job.actedEnd ?? job.view();
    for (const waiter of taken(job)) waiter.settle(view);
  }

  /** The acceptance of the job was refused. */
  refuseAll(job: LiveJob): void {
    for (const waiter of taken(job)) waiter.refuse();
  }
}

function taken(job: LiveJob): Iterable<Waiter> {
  const { waiters } = job;
  job.waiters = null;
  return waiters ?? [];
}

const notFound = (job: LiveJob): OffstageError => offstageError('job.not_found', { jobId: job.base.jobId });
