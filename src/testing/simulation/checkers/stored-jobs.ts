/**
 * What batches do to the stored jobs, as the checkers of jobs look at it.
 *
 * SJB1  Two jobs that have had the same id, one after the other, are two jobs: their places in the order of creation tell them apart.
 */
import { isDeepStrictEqual } from 'node:util';
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

/**
 * The first field in which two values of plain JSON differ; null: none. What is undefined counts as absent. Most of what checkers do is this, so it
 * copies nothing.
 */
export function differingField(one: object, other: object, ignored: ReadonlySet<string> = NONE): string | null {
  const [a, b] = [one as Fields, other as Fields];
  for (const name in a) if (!isSame(a[name], b[name]) && !ignored.has(name)) return name;
  for (const name in b) if (a[name] === undefined && b[name] !== undefined && !ignored.has(name)) return name;
  return null;
}

type Fields = Readonly<Record<string, unknown>>;
const NONE: ReadonlySet<string> = new Set();

/** As JSON, in which there is no negative zero, and nothing undefined. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object') return false;
  return isDeepStrictEqual(one, other) || isDeepStrictEqual(asStored(one), asStored(other));
}

const asStored = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
