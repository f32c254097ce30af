/**
 * All deadlines of one engine behind a single timer (spec 2; XState's `after` costs every stop a walk over all delayed events).
 *
 * TIM1  A timer fires once, never before its time on the monotonic clock, and never after it was stopped.
 * TIM2  Timers due at the same instant fire in the order they were set.
 * TIM3  A callback that throws harms no other timer.
 */
import type { Clock, StopTimer } from '../model/clock.ts';

interface Entry {
  readonly dueAt: number;
  readonly order: number;
  callback: (() => void) | null;
}

const isBefore = (a: Entry, b: Entry): boolean => a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.order < b.order);

export class TimerService {
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  // A binary heap; stopped entries stay until they surface, or until they are the majority.
  #heap: Entry[] = [];
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
    return this.#heap.length - this.#stopped;
  }

  /** Calls back once, `delayMs` from now; Infinity never fires. */
  after(delayMs: number, callback: () => void): StopTimer {
    if (delayMs === Number.POSITIVE_INFINITY) return () => {};
    const entry: Entry = { dueAt: this.#clock.monotonic() + Math.max(0, delayMs), order: this.#order++, callback };
    this.#push(entry);
    this.#arm();
    return () => {
      if (entry.callback === null) return;
      entry.callback = null;
      this.#stopped += 1;
      if (this.#stopped > 64 && this.#stopped > this.#heap.length / 2) this.#compact();
      this.#arm();
    };
  }

  /** Drops every timer unfired. */
  clear(): void {
    for (const entry of this.#heap) entry.callback = null;
    this.#heap = [];
    this.#stopped = 0;
    this.#arm();
  }

  #arm(): void {
    while (this.#heap.length > 0 && this.#heap[0]?.callback === null) {
      this.#pop();
      this.#stopped -= 1;
    }
    const next = this.#heap[0];
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
    for (let next = this.#heap[0]; next !== undefined && (next.callback === null || next.dueAt <= now); next = this.#heap[0]) {
      this.#pop();
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
    const live = this.#heap.filter((entry) => entry.callback !== null);
    this.#heap = [];
    this.#stopped = 0;
    for (const entry of live) this.#push(entry);
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(entry);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent] as Entry;
      if (!isBefore(entry, above)) break;
      heap[index] = above;
      heap[parent] = entry;
      index = parent;
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right !== undefined && isBefore(right, heap[child] as Entry)) child += 1;
      const smaller = heap[child] as Entry;
      if (!isBefore(smaller, last)) break;
      heap[index] = smaller;
      index = child;
    }
    heap[index] = last;
  }
}
