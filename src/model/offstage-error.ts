/**
 * The error that everything of Offstage raises: apart from the table of codes and sentences, which clients in browsers need not load.
 */
import type { ErrorCode } from './errors.ts';

/**
 * Every error that Offstage itself raises. `code` is one of the headings of docs/errors.md.
 * @example
 * if (error instanceof OffstageError && error.retryable) await later();
 */
export class OffstageError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;
  /** The same call may succeed later without any change by the caller. */
  readonly retryable: boolean;

  constructor(
    code: ErrorCode,
    message: string,
    details: Readonly<Record<string, unknown>>,
    { retryable = false, ...options }: { cause?: unknown; retryable?: boolean } = {},
  ) {
    super(message, options);
    // AbortError by name lets code written for AbortSignal treat a cancelled job like any other abort.
    this.name = code === 'job.cancelled' ? 'AbortError' : 'OffstageError';
    this.code = code;
    this.details = details;
    this.retryable = retryable;
  }
}

/**
 * Whether it is an error of Offstage, and of this code where one is given. Total: `value` is anything that was thrown, also a Proxy that
 * throws when it is looked at.
 * @example
 * const job = await offstage.get(id).catch((error) => {
 *   if (isOffstageError(error, 'job.not_found')) return null;
 *   throw error;
 * });
 */
export function isOffstageError(value: unknown, code?: ErrorCode): value is OffstageError {
  try {
    return value instanceof OffstageError && (code === undefined || value.code === code);
  } catch {
    return false;
  }
}
