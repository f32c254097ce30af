/**
 * All deadlines of one engine behind a single timer (spec 2; XState's `after` costs every stop a walk over all delayed events).
 *
 * TIM1  A timer fires once, never before its time on the monotonic clock, and never after it was stopped.
 * TIM2  Timers due at the same instant fire in the order they were set.
 * TIM3  A callback that throws harms no other timer.
 * TIM4  While all that wait are background timers, they do not keep the process alive.
 */
import type { Clock, StopTimer } from '../model/clock.ts';
import { MinHeap } from '../model/min-heap.ts';

interface Entry {
  readonly dueAt: number;
  readonly order: number;
  readonly isBackground: boolean;
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
  /** Live timers that keep the process alive. */
  #foreground = 0;
  #armedFor = Number.POSITIVE_INFINITY;
  #isArmedInBackground = false;
  #disarm: StopTimer | null = null;

  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#clock = clock;
    this.#onError = onError;
  }

  /** Live timers. */
  get size(): number {
    return this.#heap.size - this.#stopped;
  }

  /** Calls back once, `delayMs` from now; Infinity never fires. `background`: TIM4. */
  after(delayMs: number, callback: () => void, { background = false }: { readonly background?: boolean } = {}): StopTimer {
    if (delayMs === Number.POSITIVE_INFINITY) return () => {};
    const dueAt = this.#clock.monotonic() + Math.max(0, delayMs);
    const entry: Entry = { dueAt, order: this.#order++, isBackground: background, callback };
    this.#heap.push(entry);
    if (!background) this.#foreground += 1;
    this.#arm();
    return () => {
      if (entry.callback === null) return;
      this.#take(entry);
      this.#stopped += 1;
      if (this.#stopped > 64 && this.#stopped > this.#heap.size / 2) this.#compact();
      this.#arm();
    };
  }

  /** Drops every timer unfired. */
  clear(): void {
    for (const entry of this.#heap.clear()) entry.callback = null;
    this.#stopped = 0;
    this.#foreground = 0;
    this.#arm();
  }

  #arm(): void {
    while (this.#heap.peek()?.callback === null) {
      this.#heap.pop();
      this.#stopped -= 1;
    }
    const next = this.#heap.peek();
    const dueAt = next?.dueAt ?? Number.POSITIVE_INFINITY;
    const background = this.#foreground === 0;
    if (dueAt === this.#armedFor && background === this.#isArmedInBackground) return;
    this.#disarm?.();
    this.#disarm = null;
    this.#armedFor = dueAt;
    this.#isArmedInBackground = background;
    if (next === undefined) return;
    this.#disarm = this.#clock.schedule(Math.max(0, dueAt - this.#clock.monotonic()), () => this.#fire(), { background });
  }

  /** It will not fire any more. Answers what it was to call. */
  #take(entry: Entry): (() => void) | null {
    const { callback } = entry;
    if (callback !== null && !entry.isBackground) this.#foreground -= 1;
    entry.callback = null;
    return callback;
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
      const callback = this.#take(next);
      if (callback === null) {
        this.#stopped -= 1;
        continue;
      }
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
