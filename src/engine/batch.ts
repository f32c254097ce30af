/**
 * One batch of the commit loop: what the transactions of a turn come to as writes and as numbered events.
 *
 * BAT1  Within a batch only a job's last step writes its row; every step has its revision and its events.
 * BAT2  A step is written only on top of the very state it was decided on.
 * BAT3  Building a batch changes nothing: a refused one is built anew, with what is left of it.
 */
import type { UnnumberedEvent } from '../model/events.ts';
import { segmentOperation } from '../persistence/event-log.ts';
import { isFinished } from '../persistence/job-codec.ts';
import { acceptOperations, retractOperations, stateOperations } from '../persistence/job-rows.ts';
import type { StoreOperation } from '../persistence/store.ts';
import { cardEvent, changesCard, jobEvent } from './job-event.ts';
import type { LiveJob } from './live-job.ts';
import type { Change, CommitHook, Transaction } from './transaction.ts';

/** A change with the revision it gets. */
export interface Step {
  readonly change: Change;
  readonly revision: number;
}

export interface Batch<T extends Transaction = Transaction> {
  readonly transactions: readonly T[];
  readonly operations: StoreOperation[];
  /** The first one gets the number `firstSeq`. */
  readonly events: readonly UnnumberedEvent[];
  readonly steps: readonly Step[];
  /** Under `durability: 'full'`, to be fsynced. */
  readonly mustSync: boolean;
}

export interface BatchOptions {
  readonly hooks: readonly CommitHook[];
  readonly firstSeq: number;
  /** Whether events and finished jobs are stored; without, a job's end takes back its rows. */
  readonly keepsHistory: boolean;
}

/** @throws Error when a step breaks BAT2, or what a hook throws */
export function buildBatch<T extends Transaction>(transactions: readonly T[], options: BatchOptions): Batch<T> {
  const operations: StoreOperation[] = [];
  const events: UnnumberedEvent[] = [];
  const steps: Step[] = [];
  const last = new Map<LiveJob, Step>();
  let mustSync = false;
  for (const transaction of transactions) {
    if (transaction.mustSync === true) mustSync = true;
    for (const change of transaction.changes) {
      const { job } = change;
      if (job.isDropped) continue;
      const before = last.get(job);
      if (change.before !== (before === undefined ? job.committed : before.change.after)) {
        throw new Error(`a change of job ${job.base.jobId} was decided on a state that is not the stored one`);
      }
      // A note about an ended job changes no field of its record, so its revision stays.
      const isNote = change.announce.length === 0 && change.before !== null && isFinished(change.before.state);
      const step: Step = { change, revision: (before?.revision ?? job.revision) + (isNote ? 0 : 1) };
      steps.push(step);
      last.set(job, step);
      if (change.before === null) for (const operation of acceptOperations(job.base)) operations.push(operation);
      for (const type of change.announce) events.push(jobEvent(type, job.base, change.after, step.revision));
      if (changesCard(change.before, change.after)) events.push(cardEvent(job.base, change.after));
      if (change.rows !== undefined) for (const operation of change.rows) operations.push(operation);
      for (const hook of options.hooks) for (const operation of hook(change.before, change)) operations.push(operation);
    }
    if (transaction.rows !== undefined) for (const operation of transaction.rows) operations.push(operation);
    if (transaction.events !== undefined) for (const event of transaction.events) events.push(event);
  }
  for (const { change, revision } of last.values()) {
    const { base } = change.job;
    const isGone = !options.keepsHistory && isFinished(change.after.state);
    for (const operation of isGone ? retractOperations(base) : stateOperations(base, change.after, revision))
      operations.push(operation);
  }
  if (events.length > 0 && options.keepsHistory) operations.push(segmentOperation(options.firstSeq, events));
  return { transactions, operations, events, steps, mustSync: mustSync || events.length > 0 };
}
