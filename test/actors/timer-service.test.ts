/** What timers keep the process alive for; when they fire is property-tests/timer-service.test.ts. */
import { expect, it } from 'vitest';
import { TimerService } from '../../src/actors/timer-service.ts';
import type { Clock } from '../../src/model/clock.ts';

/** Remembers how the one timer of the machine was set last; null: it is not. */
function machine() {
  const set: { background: boolean | null } = { background: null };
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    schedule: (_delayMs, _callback, options) => {
      set.background = options?.background === true;
      return () => {
        set.background = null;
      };
    },
    nextTurn: () => {},
  };
  return { set, timers: new TimerService(clock, () => {}) };
}

it('TIM4: the process stays for a timer, and for none that was stopped, whatever waits in the background', () => {
  const { set, timers } = machine();
  timers.after(1_000, () => {}, { background: true });
  expect(set.background).toBe(true);
  const stops = [timers.after(500, () => {}), timers.after(2_000, () => {})];
  expect(set.background).toBe(false);
  for (const stop of stops) {
    expect(set.background).toBe(false);
    stop();
    // Once more stops nothing more.
    stop();
  }
  expect(set.background).toBe(true);
});
