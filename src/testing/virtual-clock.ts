/**
 * A clock that stands still until it is told to go on, for tests and simulations.
 *
 * VCL1  Time moves only by `advance` and `jumpWall`; timers fire in the order of their times, then of their making.
 * VCL2  Between two timers everything that is ready settles: promises, I/O, whatever they start.
 * VCL3  The wall clock may jump without any effect on the monotonic one.
 */
import type { Clock, StopTimer } from '../model/clock.ts';

interface Timer {
  readonly dueAt: number;
  readonly order: number;
  readonly callback: () => void;
}

export interface VirtualClock extends Clock, AsyncDisposable {
  /** Moves time on by `ms`, firing what becomes due; resolves when everything has settled. */
  advance(ms: number): Promise<void>;
  /** Lets everything that is ready settle, without moving time. */
  settle(): Promise<void>;
  /** Makes the wall clock jump, forwards or backwards. */
  jumpWall(ms: number): void;
  /** Timers that are waiting. */
  readonly pending: number;
}

// Enough turns for a commit (turn, write, turn) to cause another one several times over.
const TURNS_TO_SETTLE = 24;

/**
 * Time that moves only when told.
 * @example
 * const clock = virtualClock();
 * const offstage = await open({ store: memoryStore(), clock, executors });
 * await clock.advance(30_000);
 */
export function virtualClock(startAt = Date.UTC(2026, 0, 1)): VirtualClock {
  const timers = new Set<Timer>();
  let elapsed = 0;
  let wallOffset = startAt;
  let order = 0;

  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const settle = async (): Promise<void> => {
    for (let index = 0; index < TURNS_TO_SETTLE; index++) await turn();
  };
  const nextDue = (until: number): Timer | null => {
    let next: Timer | null = null;
    for (const timer of timers) {
      if (timer.dueAt > until) continue;
      if (next === null || timer.dueAt < next.dueAt || (timer.dueAt === next.dueAt && timer.order < next.order)) next = timer;
    }
    return next;
  };

  return {
    now: () => Math.floor(wallOffset + elapsed),
    monotonic: () => elapsed,
    nextTurn: (callback) => {
      setImmediate(callback);
    },
    schedule(delayMs, callback): StopTimer {
      const timer: Timer = { dueAt: elapsed + Math.max(0, delayMs), order: order++, callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    get pending() {
      return timers.size;
    },
    jumpWall(ms) {
      wallOffset += ms;
    },
    settle,
    async advance(ms) {
      const until = elapsed + ms;
      await settle();
      for (let next = nextDue(until); next !== null; next = nextDue(until)) {
        timers.delete(next);
        elapsed = Math.max(elapsed, next.dueAt);
        next.callback();
        await settle();
      }
      elapsed = until;
      await settle();
    },
    async [Symbol.asyncDispose]() {
      timers.clear();
    },
  };
}
