/** How a verb says on stderr that it has failed: a sentence for people, or with `--json` one line for programs. */
import { type ErrorCode, isOffstageError } from '../../model/errors.ts';

/** Without its line end. */
export function failureLine(error: unknown, isJson: boolean): string {
  if (isOffstageError(error)) return isJson ? failureRecord(error.code, error.message) : `offstage: ${error.message}`;
  const message = error instanceof Error ? error.message : String(error);
  // Nobody has foreseen this one: where it comes from helps whoever reports it.
  const trace = error instanceof Error ? (error.stack ?? message) : message;
  return isJson ? failureRecord('control.failed', message) : `offstage: ${trace}`;
}

export const failureRecord = (code: ErrorCode, message: string): string => JSON.stringify({ error: { code, message } });
