/**
 * The real clock: the one place where the machine's time and timers are touched.
 *
 * CLK1  `monotonic` never goes back and does not follow the wall clock.
 * CLK2  A delay above 2^31-1 ms is waited out in pieces; Node would fire it at once.
 */
import type { Clock, StopTimer } from '../model/clock.ts';

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  nextTurn: (callback) => {
    setImmediate(callback);
  },
  schedule(delayMs, callback, options): StopTimer {
    const dueAt = performance.now() + delayMs;
    let timer: NodeJS.Timeout;
    const arm = (): void => {
      const restMs = Math.max(0, dueAt - performance.now());
      timer = setTimeout(() => (dueAt > performance.now() ? arm() : callback()), Math.min(restMs, LONGEST_TIMER_MS));
      if (options?.background === true) timer.unref();
    };
    arm();
    return () => clearTimeout(timer);
  },
};
