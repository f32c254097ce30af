/** A wait for somebody who may never answer. */
import type { Clock } from '../../model/clock.ts';

/** Resolves when all have settled, or after `ms`; never rejects. */
export function atMost(clock: Clock, ms: number, work: readonly Promise<unknown>[]): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.schedule(ms, resolve);
    void Promise.allSettled(work).then(() => {
      stop();
      resolve();
    });
  });
}
