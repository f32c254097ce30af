/** Validation by any Standard Schema (spec 18): one call for input and result alike. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { type OffstageError, offstageError } from '../model/errors.ts';
import { errorMessage } from './outcome.ts';

/** The validated value. @throws OffstageError `input.invalid`, naming the first issue and its path */
export function validateWith<Output>(
  schema: StandardSchemaV1<unknown, Output>,
  value: unknown,
  argument: string,
): Output | Promise<Output> {
  let answer: StandardSchemaV1.Result<Output> | Promise<StandardSchemaV1.Result<Output>>;
  try {
    answer = schema['~standard'].validate(value);
  } catch (error) {
    throw broken(error, argument);
  }
  if (!(answer instanceof Promise)) return unwrap(answer, argument);
  return answer.then(
    (result) => unwrap(result, argument),
    (error) => {
      throw broken(error, argument);
    },
  );
}

/** A schema is to answer with issues; one that throws refuses all the same. */
const broken = (error: unknown, argument: string): OffstageError =>
  offstageError('input.invalid', { argument, message: errorMessage(error) }, { cause: error });

function unwrap<Output>(result: StandardSchemaV1.Result<Output>, argument: string): Output {
  if (result.issues === undefined) return result.value;
  const [issue] = result.issues;
  const path = (issue?.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
  throw offstageError('input.invalid', {
    argument: path === '' ? argument : `${argument}.${path}`,
    message: issue?.message ?? 'it was refused',
  });
}
