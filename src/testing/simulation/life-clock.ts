/**
 * The clock of one life: elapsed time stands still until the simulation moves it, the wall clock may jump.
 *
 * LCK1  Timers fire in the order of their times, then of their making, and only when `fireNext` is called.
 * LCK2  A turn of the loop is one of the things that are due (HOP1).
 */
import type { Clock, StopTimer } from '../../model/clock.ts';
import { MinHeap } from '../../model/min-heap.ts';
import type { Hops } from './hops.ts';

interface Timer {
  readonly dueAt: number;
  readonly order: number;
  readonly callback: () => void;
  isStopped: boolean;
}

/** What all lives of one world share. */
export interface WorldTime {
  /** Milliseconds since the beginning of the world. */
  elapsedMs: number;
  /** Epoch milliseconds of that beginning, and all jumps since. */
  wallOffset: number;
}

export class LifeClock implements Clock {
  readonly #time: WorldTime;
  readonly #hops: Hops;
  readonly #timers = new MinHeap<Timer>((a, b) => a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order));
  #order = 0;

  constructor(time: WorldTime, hops: Hops) {
    this.#time = time;
    this.#hops = hops;
  }

  now(): number {
    return Math.floor(this.#time.wallOffset + this.#time.elapsedMs);
  }

  monotonic(): number {
    return this.#time.elapsedMs;
  }

  schedule(delayMs: number, callback: () => void): StopTimer {
    // Whole milliseconds, as on any machine; and sums of them are exact.
    const timer = {
      dueAt: this.#time.elapsedMs + Math.ceil(Math.max(0, delayMs)),
      order: this.#order++,
      callback,
      isStopped: false,
    };
    this.#timers.push(timer);
    return () => {
      timer.isStopped = true;
    };
  }

  nextTurn(callback: () => void): void {
    this.#hops.add('turn', callback);
  }

  /** When the next timer is due, in elapsed milliseconds; null: none is set. */
  get nextDueAt(): number | null {
    for (let timer = this.#timers.peek(); timer !== undefined; timer = this.#timers.peek()) {
      if (!timer.isStopped) return timer.dueAt;
      this.#timers.pop();
    }
    return null;
  }

  /** Fires the first timer that is due by now; false when there is none. */
  fireNext(): boolean {
    const dueAt = this.nextDueAt;
    if (dueAt === null || dueAt > this.#time.elapsedMs) return false;
    this.#timers.pop()?.callback();
    return true;
  }
}
