/**
 * All deadlines of one engine behind a single timer (spec 2; XState's `after` costs every stop a walk over all delayed events).
 *
 * TIM1  A timer fires once, never before its time on the monotonic clock, and never after it was stopped.
 * TIM2  Timers due at the same instant fire in the order they were set.
 * TIM3  A callback that throws harms no other timer.
 */
import type { Clock, StopTimer } from '../model/clock.ts';
import { MinHeap } from '../model/min-heap.ts';

interface Entry {
  readonly dueAt: number;
  readonly order: number;
  callback: (() => void) | null;
}

const isBefore = (a: Entry, b: Entry): boolean => a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order);

export class TimerService {
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  // Stopped entries stay until they surface, or until they are the majority.
  readonly #heap = new MinHeap<Entry>(isBefore);
  #stopped = 0;
  #order = 0;
  #armedFor = Number.POSITIVE_INFINITY;
  #disarm: StopTimer | null = null;

  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#clock = clock;
    this.#onError = onError;
  }

  /** Live timers. */
  get size(): number {
    return this.#heap.size - this.#stopped;
  }

  /** Calls back once, `delayMs` from now; Infinity never fires. */
  after(delayMs: number, callback: () => void): StopTimer {
    if (delayMs === Number.POSITIVE_INFINITY) return () => {};
    const entry: Entry = { dueAt: this.#clock.monotonic() + Math.max(0, delayMs), order: this.#order++, callback };
    this.#heap.push(entry);
    this.#arm();
    return () => {
      if (entry.callback === null) return;
      entry.callback = null;
      this.#stopped += 1;
      if (this.#stopped > 64 && this.#stopped > this.#heap.size / 2) this.#compact();
      this.#arm();
    };
  }

  /** Drops every timer unfired. */
  clear(): void {
    for (const entry of this.#heap.clear()) entry.callback = null;
    this.#stopped = 0;
    this.#arm();
  }

  #arm(): void {
    while (this.#heap.peek()?.callback === null) {
      this.#heap.pop();
      this.#stopped -= 1;
    }
    const next = this.#heap.peek();
    const dueAt = next?.dueAt ?? Number.POSITIVE_INFINITY;
    if (dueAt === this.#armedFor) return;
    this.#disarm?.();
    this.#disarm = null;
    this.#armedFor = dueAt;
    if (next === undefined) return;
    this.#disarm = this.#clock.schedule(Math.max(0, dueAt - this.#clock.monotonic()), () => this.#fire());
  }

  #fire(): void {
    this.#armedFor = Number.POSITIVE_INFINITY;
    this.#disarm = null;
    const now = this.#clock.monotonic();
    // What a callback sets for "at once" waits for the next round: it must not keep this one from ending.
    const until = this.#order;
    const isDue = (entry: Entry): boolean => entry.callback === null || (entry.dueAt <= now && entry.order < until);
    for (let next = this.#heap.peek(); next !== undefined && isDue(next); next = this.#heap.peek()) {
      this.#heap.pop();
      const callback = next.callback;
      if (callback === null) {
        this.#stopped -= 1;
        continue;
      }
      next.callback = null;
      try {
        callback();
      } catch (error) {
        this.#onError(error);
      }
    }
    this.#arm();
  }

  #compact(): void {
    this.#heap.keep((entry) => entry.callback !== null);
    this.#stopped = 0;
  }
}
