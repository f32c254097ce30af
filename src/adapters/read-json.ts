/**
 * Reads what a provider sent, of which nothing is certain but that it was JSON.
 *
 * RDJ1  Total: whatever is not what was asked for is not there (G16).
 */

/** A JSON object of which nothing is known. */
export type Fields = Readonly<Record<string, unknown>>;

const NO_FIELDS: Fields = Object.freeze({});

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Its fields; none for what is no object. */
export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : NO_FIELDS);

/** A string that is not empty. */
export const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The finite numbers among its fields, and nothing else. */
export function numbersOf(value: unknown): Record<string, number> {
  const numbers = Object.entries(fieldsOf(value)).filter((entry): entry is [string, number] => Number.isFinite(entry[1]));
  return Object.fromEntries(numbers);
}
