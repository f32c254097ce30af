/**
 * The arguments of one call, as a model wrote them.
 *
 * TAR1  Anything may be handed in. What is wrong is thrown as a `BadArgument`, whose message is a sentence for the model.
 * TAR2  Optional arguments may be missing, null or, where a text is meant, empty: models write all three.
 */
import { LIMITS } from '../../model/limits.ts';
import type { ToolParameters } from './tool.ts';

export class BadArgument extends Error {}

export class ToolArguments {
  readonly #given: Readonly<Record<string, unknown>>;

  constructor(given: unknown, { properties }: ToolParameters) {
    this.#given = plainObject(given);
    const unknown = Object.keys(this.#given).find((name) => !Object.hasOwn(properties, name));
    if (unknown !== undefined) throw new BadArgument(`there is no argument ${JSON.stringify(unknown)}`);
  }

  text(name: string): string {
    const text = this.optionalText(name);
    if (text === null) throw new BadArgument(`${name} required`);
    return text;
  }

  optionalText(name: string): string | null {
    const value = this.#given[name];
    if (value === undefined || value === null || value === '') return null;
    if (typeof value !== 'string') throw new BadArgument(`${name} must be a string`);
    return value;
  }

  texts(name: string): readonly string[] {
    const value = this.#given[name];
    if (value === undefined || value === null) throw new BadArgument(`${name} required`);
    if (Array.isArray(value) && value.length > LIMITS.idsPerCall) throw new BadArgument(`${name}: at most ${LIMITS.idsPerCall}`);
    if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
    throw new BadArgument(`${name} must be a list of strings`);
  }

  flag(name: string, otherwise: boolean): boolean {
    const value = this.#given[name] ?? otherwise;
    if (typeof value !== 'boolean') throw new BadArgument(`${name} must be true or false`);
    return value;
  }

  /** The first word is the default. */
  oneOf<Word extends string>(name: string, words: readonly [Word, ...Word[]]): Word {
    const value = this.#given[name] ?? words[0];
    const word = words.find((known) => known === value);
    if (word === undefined) throw new BadArgument(`${name} must be one of ${words.join(', ')}`);
    return word;
  }

  /** Milliseconds, at most `longestMs`. */
  milliseconds(name: string, otherwise: number, longestMs: number): number {
    const value = this.#given[name] ?? otherwise;
    if (typeof value !== 'number' || !(value >= 0)) throw new BadArgument(`${name} must be a number of milliseconds, 0 or more`);
    return Math.min(value, longestMs);
  }
}

/** Each property read once. */
function plainObject(given: unknown): Readonly<Record<string, unknown>> {
  if (given === undefined || given === null) return {};
  try {
    if (typeof given === 'object' && !Array.isArray(given)) return { ...given };
  } catch {
    throw new BadArgument('the arguments cannot be read');
  }
  throw new BadArgument('the arguments must be an object');
}
