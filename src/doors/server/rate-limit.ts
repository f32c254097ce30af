/**
 * How often somebody may ask: a bucket of tokens for each caller.
 *
 * RTL1  A burst is allowed, then a steady rate; whoever is refused is told when the next request is accepted.
 */
import { performance } from 'node:perf_hooks';
import { BoundedMap } from '../../model/bounded-map.ts';
import { LIMITS } from '../../model/limits.ts';

interface Bucket {
  level: number;
  at: number;
}

export class RateLimit {
  readonly #buckets = new BoundedMap<string, Bucket>(LIMITS.ratedCallers);
  readonly #burst: number;
  readonly #perSecond: number;
  readonly #now: () => number;

  /** @param now milliseconds that never go back */
  constructor(burst: number, perSecond: number, now: () => number = () => performance.now()) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#now = now;
  }

  /** Null: go on. Else the milliseconds after which one more is accepted. */
  take(caller: string): number | null {
    const now = this.#now();
    const bucket = this.#buckets.get(caller) ?? { level: this.#burst, at: now };
    bucket.level = Math.min(this.#burst, bucket.level + ((now - bucket.at) / 1_000) * this.#perSecond);
    bucket.at = now;
    this.#buckets.set(caller, bucket);
    if (bucket.level < 1) return Math.max(1, Math.ceil(((1 - bucket.level) / this.#perSecond) * 1_000));
    bucket.level -= 1;
    return null;
  }
}
