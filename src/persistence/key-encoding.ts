/**
 * Ids and ordinals as parts of a key. Whatever an id contains, it can neither reach another id's rows nor name a file.
 *
 * KEY1  `encodeId` is injective; its result is never empty and holds only A-Z a-z 0-9 _ - and %, so no '/', no control character.
 * KEY2  An encoded id followed by '/' is the beginning of no other encoded id followed by '/'.
 * KEY3  Encoded ordinals all have the same length and sort, as text and as bytes, like the numbers.
 */
import { offstageError } from '../model/errors.ts';

const PLAIN = /^[A-Za-z0-9_-]+$/;
const ENCODED = /^(?:[A-Za-z0-9_-]|%[0-9A-F]{2})+$/;
/** What encodeURIComponent leaves alone beyond the plain characters. */
const LEFT_ALONE = /[.!~*'()]/g;
/** An empty part would end a key at its separator, where an open-ended range over the parts begins and would miss it. */
const EMPTY = '%';

const ORDINAL_DIGITS = 16;
const ORDINAL = /^[0-9]{16}$/;
const ZEROS = '0'.repeat(ORDINAL_DIGITS);

const percent = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

/**
 * The id as one part of a key. The common id, plain ASCII letters and digits, is its own encoding.
 * @throws OffstageError `input.invalid` when the id is not well-formed Unicode
 */
export function encodeId(id: string): string {
  if (PLAIN.test(id)) return id;
  if (id === '') return EMPTY;
  try {
    return encodeURIComponent(id).replace(LEFT_ALONE, percent);
  } catch (error) {
    const message = 'it is not well-formed Unicode';
    throw offstageError('input.invalid', { argument: 'The id', message }, { cause: error });
  }
}

/** @throws OffstageError `input.invalid` when `part` is nothing that `encodeId` makes */
export function decodeId(part: string): string {
  if (PLAIN.test(part)) return part;
  if (part === EMPTY) return '';
  if (ENCODED.test(part)) {
    try {
      const id = decodeURIComponent(part);
      if (encodeId(id) === part) return id;
    } catch {
      // Not UTF-8: falls through to the refusal.
    }
  }
  throw offstageError('input.invalid', { argument: 'The key part', message: `${JSON.stringify(part)} encodes no id` });
}

/**
 * A non-negative safe integer as text that sorts like the number.
 * @throws OffstageError `input.invalid` for anything else
 */
export function encodeOrdinal(ordinal: number): string {
  if (!Number.isSafeInteger(ordinal) || ordinal < 0) {
    throw offstageError('input.invalid', { argument: 'The ordinal', message: `${ordinal} is not a non-negative safe integer` });
  }
  // Faster than padStart, and this runs for every key of every job.
  return (ZEROS + ordinal).slice(-ORDINAL_DIGITS);
}

/** @throws OffstageError `input.invalid` when `part` is nothing that `encodeOrdinal` makes */
export function decodeOrdinal(part: string): number {
  const ordinal = ORDINAL.test(part) ? Number(part) : Number.NaN;
  if (Number.isSafeInteger(ordinal)) return ordinal;
  throw offstageError('input.invalid', { argument: 'The key part', message: `${JSON.stringify(part)} encodes no ordinal` });
}
