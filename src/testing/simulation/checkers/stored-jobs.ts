/**
 * What batches do to the stored jobs, as the checkers of jobs look at it.
 *
 * SJB1  Two jobs that have had the same id, one after the other, are two jobs: their places in the order of creation tell them apart.
 */
import { EXPIRED, KEYS } from '../../../persistence/row-keys.ts';
import type { JobChange, Known, StoredJob } from '../known.ts';

/** One stored job before and after. */
export interface Change {
  readonly jobId: string;
  readonly before: StoredJob;
  readonly after: StoredJob;
}

/** What the last fact did, sorted out (SJB1). */
export interface StoredSteps {
  readonly gone: readonly StoredJob[];
  readonly born: readonly StoredJob[];
  readonly changed: readonly Change[];
}

export function stepsOf(changes: readonly JobChange[]): StoredSteps {
  const gone: StoredJob[] = [];
  const born: StoredJob[] = [];
  const changed: Change[] = [];
  for (const { jobId, before, after } of changes) {
    if (before !== null && after !== null && before.ordinal === after.ordinal) changed.push({ jobId, before, after });
    else {
      if (before !== null) gone.push(before);
      if (after !== null) born.push(after);
    }
  }
  return { gone, born, changed };
}

/** Its job was pruned, or removed with its session. */
export const isExpired = (known: Known, jobId: string): boolean => known.rows.get(KEYS.id(jobId)) === EXPIRED;

/** What a JSON row makes of a value. */
export const asStored = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;
