/**
 * What a body's end means: a result that can be stored, or an error a person can read (spec 2).
 *
 * OUC1  Any throw is a normal end with a non-empty message, whatever was thrown.
 * OUC2  A result that JSON cannot hold, or that is too large, is an error, never a silent loss.
 */
import type { BodyResult, JobEvent } from '../machines/job.ts';
import { ERRORS, isOffstageError, type OffstageError, offstageError } from '../model/errors.ts';
import { isOutcome } from '../model/executor.ts';
import { toJson } from '../model/json.ts';
import { LIMITS } from '../model/limits.ts';
import type { JobError } from '../model/records.ts';

export const NO_RESULT: BodyResult = { text: null, value: null, headId: null, sourceCommitId: null };

type Settled = Extract<JobEvent, { type: 'body.returned' | 'body.threw' }>;

/** Keeps the end of a text within `limit` bytes and says what was cut. */
export function capText(text: string, limit: number = LIMITS.resultTextBytes): string {
  if (text.length * 3 <= limit || Buffer.byteLength(text) <= limit) return text;
  const bytes = Buffer.from(text);
  let start = bytes.length - limit;
  while (start < bytes.length && ((bytes[start] as number) & 0xc0) === 0x80) start += 1;
  return `[… ${start} bytes cut]\n${bytes.toString('utf8', start)}`;
}

/** The event for a body that returned `value`; `partial` is kept when it returned no text and did not complete. */
export function returned(value: unknown, partial: string | null, at: number): Settled {
  try {
    return { type: 'body.returned', at, result: resultOf(value) };
  } catch (error) {
    const known = isOffstageError(error)
      ? error
      : offstageError('job.result_not_serializable', { message: errorMessage(error) }, { cause: error });
    return {
      type: 'body.threw',
      at,
      reasonCode: 'failed',
      error: { code: known.code, message: known.message },
      result: { ...NO_RESULT, text: partial },
    };
  }
}

/** The event for a body that threw `thrown`. */
export function threw(thrown: unknown, partial: string | null, at: number): Settled {
  const isDeath = isOffstageError(thrown, 'job.worker_died');
  return {
    type: 'body.threw',
    at,
    reasonCode: isDeath ? 'worker_died' : 'failed',
    error: errorOf(thrown),
    result: { ...NO_RESULT, text: partial === null ? null : capText(partial), value: exitOf(thrown) },
  };
}

function resultOf(value: unknown): BodyResult {
  if (typeof value === 'string') return { ...NO_RESULT, text: capText(value) };
  if (value === undefined || value === null) return NO_RESULT;
  if (isOutcome(value)) {
    return {
      text: value.text === undefined ? null : capText(String(value.text)),
      value: value.value === undefined ? null : checkedJson(value.value),
      headId: opaqueId('headId', value.headId),
      sourceCommitId: opaqueId('sourceCommitId', value.sourceCommitId),
    };
  }
  return { ...NO_RESULT, value: checkedJson(value) };
}

/** Ids of the host are stored as they are, so they must be text. */
function opaqueId(name: string, value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw new TypeError(`${name} must be a string`);
  return capText(value, LIMITS.textBytes);
}

function checkedJson(value: unknown) {
  const json = toJson(value);
  const bytes = Buffer.byteLength(JSON.stringify(json));
  if (bytes > LIMITS.resultBytes) throw offstageError('job.result_too_large', { bytes, limit: LIMITS.resultBytes });
  return json;
}

/** A command that failed still tells how: exit code and signal become the record's `result`. */
function exitOf(thrown: unknown) {
  if (!isOffstageError(thrown) || (thrown.code !== 'command.failed' && thrown.code !== 'command.killed')) return null;
  try {
    return toJson({ exitCode: thrown.details.exitCode ?? null, signal: thrown.details.signal ?? null });
  } catch {
    return null;
  }
}

/** Code and sentence of whatever was thrown. */
export function errorOf(thrown: unknown): JobError {
  // Code and message are as open to the thrower as everything else it throws.
  const isOurs = isOffstageError(thrown) && Object.hasOwn(ERRORS, thrown.code) && typeof thrown.message === 'string';
  if (isOurs) return { code: thrown.code, message: capText(thrown.message || thrown.code, LIMITS.textBytes) };
  return { code: 'job.failed', message: capText(errorMessage(thrown), LIMITS.textBytes) };
}

/** What reading the store has thrown: as it is, or as `store.failed`. */
export const storeErrorOf = (thrown: unknown): OffstageError =>
  isOffstageError(thrown) ? thrown : offstageError('store.failed', { message: errorMessage(thrown) }, { cause: thrown });

/** `Type: message` for whatever was thrown; never empty, never throws. */
export function errorMessage(thrown: unknown): string {
  try {
    if (thrown instanceof Error) {
      // A subclass that sets no name is still better told by its own name than as "Error".
      const type =
        typeof thrown.name === 'string' && thrown.name !== '' && thrown.name !== 'Error'
          ? thrown.name
          : thrown.constructor.name || 'Error';
      const nested = thrown instanceof AggregateError ? thrown.errors.map((error) => errorMessage(error)).join('; ') : '';
      return `${type}: ${[String(thrown.message), nested].filter((part) => part !== '').join(' ') || '(no message)'}`;
    }
    if (typeof thrown === 'string') return `Thrown: ${thrown === '' ? '(empty string)' : thrown}`;
    if (typeof thrown === 'object' && thrown !== null) {
      const own = Object.hasOwn(thrown, 'toString') ? String(thrown) : JSON.stringify(thrown);
      return `Thrown: ${own === '{}' || own === undefined || own === '' ? 'an object without a message' : own}`;
    }
    return `Thrown: ${String(thrown)}`;
  } catch {
    return 'Thrown: a value that cannot be shown';
  }
}
