/**
 * What a value read from the store may be: rows are plain JSON, and whatever is not of its type was not written by us.
 *
 * RSH1  Total: no value throws.
 */
import { offstageError } from '../model/errors.ts';
import { decodeOrdinal } from './key-encoding.ts';

type Shape = (value: unknown) => boolean;

export const isText = (value: unknown): value is string => typeof value === 'string';
/** Ids are parts of keys, and no other text can be one. */
export const isIdText = (value: unknown): value is string => typeof value === 'string' && value.isWellFormed();
/** JSON has numbers that are read as infinite. */
export const isNumber = (value: unknown): value is number => Number.isFinite(value);
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
export const isBit: Shape = (value) => value === 0 || value === 1;
export const orNull =
  (shape: Shape): Shape =>
  (value) =>
    value === null || shape(value);

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a tuple has the columns it should; those behind the last shape are not looked at. */
export const hasColumns = (row: readonly unknown[], shapes: readonly Shape[]): boolean =>
  shapes.every((shape, column) => shape(row[column]));

/** The ordinal at the end of a stored key. @throws OffstageError `store.corrupt` when there is none */
export function ordinalAt(key: string, from: number): number {
  try {
    return decodeOrdinal(key.slice(from));
  } catch (cause) {
    throw offstageError(
      'store.corrupt',
      { folder: 'the store', message: `the key ${JSON.stringify(key)} is not one of ours` },
      { cause },
    );
  }
}

/** The last numbers given of events and of jobs; those of a new store where nothing is stored yet, null for what cannot be read. */
export function readHead(value: string | undefined): { readonly seq: number; readonly ordinal: number } | null {
  if (value === undefined) return { seq: 0, ordinal: 0 };
  try {
    const [seq, ordinal, ...rest] = JSON.parse(value) as unknown[];
    return isCount(seq) && isCount(ordinal) && rest.length === 0 ? { seq, ordinal } : null;
  } catch {
    return null;
  }
}
