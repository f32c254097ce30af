/**
 * A scheduler whose steps are counted: between two of them everything settles that needs nothing but promises. So each of them is one tick,
 * what happens in two of them is earlier and later, and what decides in one tick cannot be overtaken.
 */
import type fc from 'fast-check';
import { turn } from './engine-lab.ts';

export class Ticks {
  readonly #scheduler: fc.Scheduler;
  now = 0;
  /** Nothing waits for its turn: a scene is being set. */
  isFree = true;

  constructor(scheduler: fc.Scheduler) {
    this.#scheduler = scheduler;
  }

  readonly hop = (label: string): Promise<void> =>
    this.isFree ? turn() : this.#scheduler.schedule(Promise.resolve(), label).then(() => {});

  /** One tick after the other until `until` has settled. */
  async pump<T>(until: PromiseLike<T>): Promise<T> {
    let isDone = false;
    const end = (): void => {
      isDone = true;
    };
    until.then(end, end);
    for (let idle = 0; !isDone; idle++) {
      if (await this.#tick()) idle = 0;
      else if (idle > 10_000) throw new Error('nothing is left to do, and somebody still waits');
    }
    return until;
  }

  /** One tick after the other until nothing is left to do. */
  async drain(): Promise<void> {
    for (let idle = 0; idle < 5; idle++) if (await this.#tick()) idle = 0;
  }

  async #tick(): Promise<boolean> {
    const isDue = this.#scheduler.count() > 0;
    if (isDue) {
      this.now += 1;
      await this.#scheduler.waitNext(1);
    }
    await turn();
    return isDue;
  }
}
