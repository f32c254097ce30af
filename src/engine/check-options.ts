/**
 * Options and lists as strangers hand them in, made safe before anything reads them.
 *
 * CHO1  What cannot be read, be it null, a number or a Proxy that throws, is refused with a code, never with a raw TypeError.
 * CHO2  A name that nobody knows is refused by name: a misspelt option is never ignored.
 * CHO3  What is returned is a plain copy: each property was read once, and cannot change or throw any more.
 */

import { isOffstageError, type OffstageError, offstageError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import type { RunOptions } from '../model/requests.ts';

/** Makes the error; `argument` is what the caller calls it. */
export type Refuse = (argument: string, message: string, cause?: unknown) => OffstageError;

/** For arguments of verbs. */
export const invalidInput: Refuse = (argument, message, cause) =>
  offstageError('input.invalid', { argument, message }, cause === undefined ? undefined : { cause });

/** The names of some options, all of them: the compiler asks for those that are missing. */
export const namesOf = <Options>(names: Readonly<Record<keyof Options, true>>): ReadonlySet<string> =>
  new Set(Object.keys(names));

/** A copy of the options that are given. @throws OffstageError `input.invalid`, or what `refuse` makes */
export function readOptions<Options extends object>(
  argument: string,
  given: Options | undefined,
  known: ReadonlySet<string>,
  refuse: Refuse = invalidInput,
): Options {
  if (given === undefined) return {} as Options;
  return readable(
    argument,
    () => {
      checkNames(argument, given, known, refuse);
      const copy: Record<string, unknown> = {};
      for (const name of known) {
        const value = (given as Readonly<Record<string, unknown>>)[name];
        if (value !== undefined) copy[name] = value;
      }
      return copy as Options;
    },
    refuse,
  );
}

/** Nothing but known names, without a copy; for where every allocation counts. May throw whatever a Proxy throws. */
export function checkNames(argument: string, given: object, known: ReadonlySet<string>, refuse: Refuse = invalidInput): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw refuse(argument, 'it must be an object');
  for (const name in given) {
    if (known.has(name) || !Object.hasOwn(given, name)) continue;
    throw refuse(name, `there is no such option, only ${[...known].sort().join(', ')}`);
  }
}

/** A plain copy of an array, its holes as undefined. @throws OffstageError `input.invalid` */
export function readArray(argument: string, given: unknown): readonly unknown[] {
  return readable(argument, () => {
    if (!Array.isArray(given)) throw invalidInput(argument, 'it must be an array');
    // Also one that says so of itself, and is none.
    if (given.length > LIMITS.arrayItems) throw invalidInput(argument, `it has more than ${LIMITS.arrayItems} items`);
    return Array.from(given as readonly unknown[]);
  });
}

/** @throws OffstageError `input.invalid` */
export function checkSignal(argument: string, given: unknown): AbortSignal | undefined {
  if (given === undefined) return undefined;
  return readable(argument, () => {
    // An object that only inherits from AbortSignal throws here.
    if (given instanceof AbortSignal && typeof given.aborted === 'boolean') return given;
    throw invalidInput(argument, 'it must be an AbortSignal');
  });
}

/** Reads what may throw when it is looked at. @throws OffstageError `input.invalid`, or what `refuse` makes */
export function readable<T>(argument: string, read: () => T, refuse: Refuse = invalidInput): T {
  try {
    return read();
  } catch (error) {
    throw isOffstageError(error) ? error : refuse(argument, 'it cannot be read', error);
  }
}

/** True or false; absent is false. @throws OffstageError `input.invalid` */
export function readFlag(argument: string, value: unknown): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true;
  throw invalidInput(argument, 'it must be true or false');
}

const RUN_NAMES = namesOf<RunOptions>({ signal: true, onSpawned: true });

/** @throws OffstageError `input.invalid` */
export function readRun(given: RunOptions | undefined): RunOptions {
  const { signal, onSpawned } = readOptions('options', given, RUN_NAMES);
  if (onSpawned !== undefined && typeof onSpawned !== 'function') throw invalidInput('onSpawned', 'it must be a function');
  const checked = checkSignal('signal', signal);
  return { ...(checked === undefined ? {} : { signal: checked }), ...(onSpawned === undefined ? {} : { onSpawned }) };
}
