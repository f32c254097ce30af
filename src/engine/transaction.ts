/**
 * What the rooms hand to the commit loop: steps of jobs, and what has to be stored with them in one piece.
 *
 * TRX1  A transaction is stored whole or not at all; what waits for it learns which.
 */
import type { OffstageError } from '../model/errors.ts';
import type { UnnumberedEvent } from '../model/events.ts';
import type { JobSnapshot } from '../persistence/job-codec.ts';
import type { StoreOperation } from '../persistence/store.ts';
import type { LiveJob } from './live-job.ts';

/** One decided step of one job. */
export interface Change {
  readonly job: LiveJob;
  readonly before: JobSnapshot | null;
  readonly after: JobSnapshot;
  /** Events to publish for it, in order; empty for a mere note. */
  readonly announce: readonly ('job.created' | 'job.status')[];
  /** Further rows of the same batch. */
  readonly rows?: readonly StoreOperation[];
}

/** What is decided together and must be stored together. */
export interface Transaction {
  readonly changes: readonly Change[];
  /** Further rows of the same batch. */
  readonly rows?: readonly StoreOperation[];
  /** Events of sessions and tasks. */
  readonly events?: readonly UnnumberedEvent[];
  /** Under `full`, fsync even without an event. */
  readonly mustSync?: boolean;
  /** When it is stored, late or not, before anything of it is shown: what reads answer from then on. */
  committed?(): void;
  /** Once it is stored; or, with `durable: false`, once it is clear that it could not be stored for now. */
  acknowledge?(durable: boolean): void;
  /** A transaction that the store refused for good; only for those that create something (`isCreation`). */
  refuse?(error: OffstageError): void;
  /** Refused instead of retried when the store fails. */
  readonly isCreation?: boolean;
  /** Takes the rows of a refused creation back, should they have been written all the same. */
  readonly retract?: readonly StoreOperation[];
  /** What the engine does after the commit, in order; `durable: false` when the store refused and it acts on the decision. */
  effects?(durable: boolean): void;
}

/** Adds rows to a change, in the same batch; pure (G4). */
export type CommitHook = (before: JobSnapshot | null, change: Change) => readonly StoreOperation[];
