/**
 * Where ids come from: unguessable, and sortable where creation order matters.
 *
 * IDS1  A jobId tells its ordinal, and so sorts, as text, by creation, whatever the clocks do; a store finds the job without an index.
 * IDS2  The random part has 80 bits or more; knowing one id tells nothing of another.
 */
import { randomFillSync } from 'node:crypto';
import type { IdSource } from '../model/clock.ts';

// Crockford's base 32: sorts in ASCII order, has no look-alikes.
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const ORDINAL_CHARACTERS = 10;
const RANDOM_CHARACTERS = 16;
const ID_CHARACTERS = 26;
const JOB_ID = /^job_([0-9A-HJKMNP-TV-Z]{10})[0-9A-HJKMNP-TV-Z]{16}$/;

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

/** Ids in the form `job_<ordinal><random>`, and `<prefix>_<random>` for everything else. */
export const idSource: IdSource = {
  jobId: (ordinal) => `job_${base32(ordinal, ORDINAL_CHARACTERS)}${random(RANDOM_CHARACTERS)}`,
  id: (prefix) => `${prefix}_${random(ID_CHARACTERS)}`,
};

/** The ordinal that an id of this form tells; null for any other id. It is a hint: a host may give ids that look alike. */
export function ordinalHint(jobId: string): number | null {
  const match = JOB_ID.exec(jobId);
  if (match === null) return null;
  let ordinal = 0;
  for (const character of match[1] as string) ordinal = ordinal * 32 + ALPHABET.indexOf(character);
  return Number.isSafeInteger(ordinal) ? ordinal : null;
}
