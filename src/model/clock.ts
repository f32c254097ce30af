/**
 * The only source of time in Offstage. Hosts may pass their own; tests pass `virtualClock()` of offstage/testing.
 *
 * CKP1  `monotonic` never goes back and does not follow the wall clock; all deadlines run on it.
 */

/** Stops a timer; safe to call twice and after it fired. */
export type StopTimer = () => void;

/** Time, for everything that waits or stamps. `virtualClock()` of offstage/testing is one that moves only when told. */
export interface Clock {
  /** Wall clock, epoch milliseconds: for timestamps people read. */
  now(): number;
  /** Elapsed milliseconds since an arbitrary point: for deadlines. */
  monotonic(): number;
  /** Calls back once after `delayMs` (any finite delay ≥ 0, also above 2^31-1). Does not keep the process alive by itself when `background`. */
  schedule(delayMs: number, callback: () => void, options?: { readonly background?: boolean }): StopTimer;
  /** Calls back in the next turn of the event loop, after pending I/O. */
  nextTurn(callback: () => void): void;
}

/** Where ids come from. Ids are unguessable. */
export interface IdSource {
  /** `ordinal` is the job's number in its store; ids sort by it, as text. */
  jobId(ordinal: number): string;
  id(prefix: string): string;
}
