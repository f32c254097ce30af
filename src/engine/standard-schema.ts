/** Validation by any Standard Schema (spec 18): one call for input and result alike. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { offstageError } from '../model/errors.ts';

/** The validated value. @throws OffstageError `input.invalid`, naming the first issue and its path */
export function validateWith<Output>(
  schema: StandardSchemaV1<unknown, Output>,
  value: unknown,
  argument: string,
): Output | Promise<Output> {
  const answer = schema['~standard'].validate(value);
  return answer instanceof Promise ? answer.then((result) => unwrap(result, argument)) : unwrap(answer, argument);
}

function unwrap<Output>(result: StandardSchemaV1.Result<Output>, argument: string): Output {
  if (result.issues === undefined) return result.value;
  const [issue] = result.issues;
  const path = (issue?.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
  throw offstageError('input.invalid', {
    argument: path === '' ? argument : `${argument}.${path}`,
    message: issue?.message ?? 'it was refused',
  });
}
