/**
 * Where ids come from: unguessable, and sortable where creation order matters.
 *
 * IDS1  A jobId sorts, as text, after every jobId this source gave before, also within one millisecond and when the wall clock jumps back.
 * IDS2  The random part has 80 bits; knowing one id tells nothing of another.
 */
import { randomFillSync } from 'node:crypto';
import type { Clock, IdSource } from '../model/clock.ts';

// Crockford's base 32: sorts in ASCII order, has no look-alikes.
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_CHARACTERS = 10;
const COUNT_CHARACTERS = 3;
const RANDOM_CHARACTERS = 16;
const COUNTS_PER_MS = 32 ** COUNT_CHARACTERS;

const pool = new Uint8Array(4096);
let poolUsed = pool.length;

function random(characters: number): string {
  let text = '';
  for (let index = 0; index < characters; index++) {
    if (poolUsed === pool.length) {
      randomFillSync(pool);
      poolUsed = 0;
    }
    text += ALPHABET[(pool[poolUsed++] as number) & 31];
  }
  return text;
}

function base32(value: number, characters: number): string {
  let rest = value;
  let text = '';
  for (let index = 0; index < characters; index++) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** Ids in the form `job_<time><count><random>`. */
export function idSource(clock: Clock): IdSource {
  let lastMs = 0;
  let count = 0;
  let head = '';
  return {
    jobId() {
      const now = clock.now();
      if (now > lastMs || count + 1 >= COUNTS_PER_MS) {
        lastMs = Math.max(now, lastMs + (now > lastMs ? 0 : 1));
        count = 0;
        head = `job_${base32(lastMs, TIME_CHARACTERS)}`;
      } else {
        count += 1;
      }
      return `${head}${base32(count, COUNT_CHARACTERS)}${random(RANDOM_CHARACTERS)}`;
    },
    id: (prefix) => `${prefix}_${random(26)}`,
  };
}
