/**
 * The fields of a request, read with the type that is expected (B55).
 *
 * FLD1  A field of another type is `input.invalid`, named as the caller named it; null is the same as absent.
 * FLD2  A field that the action has not asked for is refused by name: a misspelt one is never ignored.
 */
import { type OffstageError, offstageError } from '../../model/errors.ts';
import type { JsonValue } from '../../model/json.ts';
import type { WireFields } from '../wire/rename.ts';

export const invalidField = (name: string, message: string): OffstageError =>
  offstageError('input.invalid', { argument: name, message });

export class RequestFields {
  readonly #fields: WireFields;
  /** What the action has asked for; these two belong to every request. */
  readonly #asked = new Set(['action', 'request_id']);

  constructor(fields: WireFields) {
    this.#fields = fields;
  }

  /** To be called when all fields were asked for, and before anything is done. @throws OffstageError `input.invalid` */
  refuseRest(): void {
    const unknown = Object.keys(this.#fields).find((name) => !this.#asked.has(name));
    if (unknown !== undefined) throw invalidField(unknown, 'this action has no such field');
  }

  get(name: string): JsonValue | undefined {
    this.#asked.add(name);
    return Object.hasOwn(this.#fields, name) ? (this.#fields[name] ?? undefined) : undefined;
  }

  isNull(name: string): boolean {
    this.#asked.add(name);
    return Object.hasOwn(this.#fields, name) && this.#fields[name] === null;
  }

  text(name: string): string | undefined {
    const value = this.get(name);
    if (value === undefined || typeof value === 'string') return value;
    throw invalidField(name, 'it must be a string');
  }

  requiredText(name: string): string {
    const value = this.text(name);
    if (value === undefined) throw invalidField(name, 'it is missing');
    return value;
  }

  number(name: string): number | undefined {
    const value = this.get(name);
    if (value === undefined || typeof value === 'number') return value;
    throw invalidField(name, 'it must be a number');
  }

  flag(name: string): boolean | undefined {
    const value = this.get(name);
    if (value === undefined || typeof value === 'boolean') return value;
    throw invalidField(name, 'it must be true or false');
  }

  oneOf<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const value = this.text(name);
    if (value === undefined || choices.includes(value as Choice)) return value as Choice | undefined;
    throw invalidField(name, `it must be one of ${choices.join(', ')}`);
  }

  texts(name: string): readonly string[] | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value as readonly string[];
    throw invalidField(name, 'it must be an array of strings');
  }

  /** One string or several. */
  textOrTexts(name: string): string | readonly string[] | undefined {
    const value = this.get(name);
    return typeof value === 'string' ? value : this.texts(name);
  }

  /** Leaves out what is absent, so that optional properties stay optional. */
  static present<Fields extends Readonly<Record<string, unknown>>>(
    fields: Fields,
  ): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
    return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
  }
}
