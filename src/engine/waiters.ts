/**
 * Callers that wait for a job to end (spec 5). No polling, no listeners that pile up: a Set per job, emptied by its end.
 *
 * WAI1  Every waiter settles exactly once: by the end, its time-out, its signal, or the engine's close (G14).
 * WAI2  A waiter's own end changes nothing on the job, and leaves nothing behind.
 */
import type { TimerService } from '../actors/timer-service.ts';
import type { StopTimer } from '../model/clock.ts';
import { offstageError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import type { JobView } from '../model/records.ts';
import type { LiveJob } from './live-job.ts';
import { onAbortOf } from './signal-fan.ts';

export interface Waiter {
  settle(view: JobView): void;
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
    if (limits.signal?.aborted === true) return Promise.reject(limits.signal.reason);
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
      };
      const onAbort = (): void => {
        leave();
        reject(limits.signal?.reason);
      };
      job.waiters ??= new Set();
      job.waiters.add(waiter);
      this.#count += 1;
      if (limits.timeoutMs !== Number.POSITIVE_INFINITY) {
        stopTimer = this.#timers.after(limits.timeoutMs, () => waiter.settle({ ...job.view(), timedOut: true }));
      }
      if (limits.signal !== undefined) stopListening = onAbortOf(limits.signal, onAbort);
    });
  }

  /** The job has ended: everybody waiting for it gets the same record. */
  settleAll(job: LiveJob): void {
    const waiters = job.waiters;
    if (waiters === null) return;
    job.waiters = null;
    const view = job.actedEnd ?? job.view();
    for (const waiter of waiters) waiter.settle(view);
  }
}
