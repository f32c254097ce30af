/** Time for clients: that of browsers and of Node alike. A virtual clock of `offstage/testing` is one, too. */
import type { Clock } from '../../model/clock.ts';

export type ClientClock = Pick<Clock, 'now' | 'schedule'>;

export const clientClock: ClientClock = {
  now: () => Date.now(),
  schedule(delayMs, callback, options) {
    const timer: unknown = setTimeout(callback, delayMs);
    // Browsers have numbers here.
    if (options?.background === true) (timer as { unref?(): void }).unref?.();
    return () => clearTimeout(timer as NodeJS.Timeout);
  },
};
