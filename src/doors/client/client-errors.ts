/** Errors that a client itself raises. The table of all sentences stays with the engine: it would be a fifth of what a browser loads. */
import type { ErrorCode } from '../../model/errors.ts';
import { OffstageError } from '../../model/offstage-error.ts';

export const lostError = (url: string, why: string, cause?: unknown): OffstageError =>
  new OffstageError(
    'control.lost',
    `There is no connection to ${url}: ${why}.`,
    { url },
    { retryable: true, ...(cause === undefined ? {} : { cause }) },
  );

/** The server does not let it in. @param said its own words, if it has said any */
export const refusedError = (
  url: string,
  status: number,
  said?: { readonly code: string; readonly message: string },
): OffstageError =>
  new OffstageError(
    (said?.code ?? (status === 401 ? 'access.unauthorized' : 'access.forbidden')) as ErrorCode,
    said?.message ?? `${url} does not let this token in (${status}).`,
    { url },
  );

export const invalidError = (code: 'input.invalid' | 'config.invalid', name: string, message: string): OffstageError =>
  code === 'input.invalid'
    ? new OffstageError(code, `${name} is not valid: ${message}.`, { argument: name, message })
    : new OffstageError(code, `The option ${name} is not valid: ${message}.`, { option: name, message });
