/** What the commit loop needs of its engine, and whom it tells what. */
import type { TimerService } from '../actors/timer-service.ts';
import type { Clock } from '../model/clock.ts';
import type { OffstageEvent } from '../model/events.ts';
import type { Store } from '../persistence/store.ts';
import type { LiveJob } from './live-job.ts';
import type { Change, CommitHook } from './transaction.ts';

export interface CommitLoopHost {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: TimerService;
  readonly epoch: string;
  readonly isSynced: boolean;
  readonly keepsHistory: boolean;
  readonly hooks: readonly CommitHook[];
  /** Whether anybody looks at events. */
  hasObservers(): boolean;
  publish(event: OffstageEvent): void;
  /** Read models: the changes of one batch, before their events. */
  committed(changes: readonly Change[], seq: number): void;
  /** The record events of a batch have been published. */
  published(): void;
  /** A job's end is stored, or acted upon without being stored. */
  ended(change: Change, durable: boolean): void;
  dropped(job: LiveJob): void;
  /** New jobs may be submitted again. */
  roomForCreations(): void;
  /** A refused job whose rows may lie in the store until they are taken back: whoever reads may come upon them. */
  mayBeStored(job: LiveJob): void;
  storeFailed(error: unknown): void;
  storeRecovered(): void;
  effectFailed(error: unknown): void;
}
