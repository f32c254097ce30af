/**
 * Links that open a browser's session once.
 *
 * OTC1  A code works once, for ten minutes, in the process that made it.
 */
import { createHash, randomBytes } from 'node:crypto';
import { BoundedMap } from '../../model/bounded-map.ts';
import { LIMITS } from '../../model/limits.ts';

const CODE_BYTES = 24;

export class OneTimeCodes {
  /** By hash: what is looked up is not what is kept. */
  readonly #codes = new BoundedMap<string, { readonly until: number }>(LIMITS.oneTimeCodes);
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  make(): string {
    const code = randomBytes(CODE_BYTES).toString('base64url');
    this.#codes.set(hashOf(code), { until: this.#now() + LIMITS.oneTimeCodeMs });
    return code;
  }

  /** Whether it was good; it is not any more. */
  use(code: string): boolean {
    const hash = hashOf(code);
    const known = this.#codes.get(hash);
    this.#codes.delete(hash);
    return known !== undefined && this.#now() < known.until;
  }
}

const hashOf = (code: string): string => createHash('sha256').update(code).digest('base64url');
