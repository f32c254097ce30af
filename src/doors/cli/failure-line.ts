/** How a verb says on stderr that it has failed: a sentence for people, or with `--json` one line for programs. */
import { isOffstageError, type OffstageError } from '../../model/errors.ts';

/** The failure as data, with what a program needs besides the sentence. */
export const failureDocument = ({ code, message, details }: Failure) => ({
  error: { code, message, ...(Object.keys(details).length === 0 ? {} : { details }) },
});

type Failure = Pick<OffstageError, 'code' | 'message' | 'details'>;

/** Without its line end. */
export function failureLine(error: unknown, isJson: boolean): string {
  if (isOffstageError(error)) return isJson ? failureRecord(error) : `offstage: ${error.message}`;
  const message = error instanceof Error ? error.message : String(error);
  // Nobody has foreseen this one: where it comes from helps whoever reports it.
  const trace = error instanceof Error ? (error.stack ?? message) : message;
  return isJson ? failureRecord({ code: 'control.failed', message, details: {} }) : `offstage: ${trace}`;
}

export const failureRecord = (failure: Failure): string => JSON.stringify(failureDocument(failure));
