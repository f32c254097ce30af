/**
 * Validation by any Standard Schema (spec 18): one call for input and result alike.
 *
 * SSC1  A schema that breaks its own contract refuses, whatever it does: nothing passes unvalidated.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { type OffstageError, offstageError } from '../model/errors.ts';
import { errorMessage } from './outcome.ts';

/** What is validated: what a caller gives, or what a body returned. */
type Subject = 'input' | 'result';

/** The validated value. @throws OffstageError `input.invalid` or `job.result_invalid`, naming the first issue and its path */
export function validateWith<Output>(
  schema: StandardSchemaV1<unknown, Output>,
  value: unknown,
  subject: Subject,
): Output | Promise<Output> {
  let answer: unknown;
  let isLate: boolean;
  try {
    answer = schema['~standard'].validate(value);
    // Any thenable is an answer to come, not only a Promise made here.
    isLate = isThenable(answer);
  } catch (error) {
    throw broken(error, subject);
  }
  if (!isLate) return unwrap(answer, subject);
  return Promise.resolve(answer).then(
    (late) => unwrap<Output>(late, subject),
    (error) => {
      throw broken(error, subject);
    },
  );
}

const isThenable = (value: unknown): boolean =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
  typeof (value as { readonly then?: unknown }).then === 'function';

function unwrap<Output>(answer: unknown, subject: Subject): Output {
  let found: { readonly value: unknown } | { readonly path: string; readonly message: string };
  try {
    found = read(answer);
  } catch (error) {
    throw broken(error, subject);
  }
  if ('value' in found) return found.value as Output;
  throw refused(subject, found.path, found.message);
}

/** The answer by its contract: issues, or a value. */
function read(answer: unknown): { readonly value: unknown } | { readonly path: string; readonly message: string } {
  const { issues, value } = Object(answer) as StandardSchemaV1.SuccessResult<unknown> & { readonly issues?: unknown };
  if (issues === undefined && !('value' in Object(answer))) return { path: '', message: 'its schema gave no answer' };
  if (issues === undefined) return { value };
  const [issue] = issues as readonly StandardSchemaV1.Issue[];
  const path = (issue?.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
  return { path, message: String(issue?.message || 'it was refused') };
}

/** A schema is to answer with issues; one that throws refuses all the same. */
const broken = (error: unknown, subject: Subject): OffstageError => refused(subject, '', errorMessage(error), error);

function refused(subject: Subject, path: string, message: string, cause?: unknown): OffstageError {
  const argument = path === '' ? subject : `${subject}.${path}`;
  const more = cause === undefined ? undefined : { cause };
  return subject === 'input'
    ? offstageError('input.invalid', { argument, message }, more)
    : offstageError('job.result_invalid', { argument, message }, more);
}
