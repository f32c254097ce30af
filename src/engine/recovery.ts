/**
 * What a new process does with what the last one left (spec 6, 13; sessions: recover-sessions.ts).
 *
 * RCV1  Only unfinished rows are read; what is finished costs nothing.
 * RCV2  Processes that are provably ours are ended before their jobs are, and before the sessions whose agents they were are settled;
 *       others are reported and left alone.
 * RCV3  Every unfinished job is errored, once; nothing is run again. A second start changes nothing.
 * RCV4  It is written in batches, and each of them leaves less to do: a start that was cut off is finished by the next one.
 * RCV5  How far the numbers have come is read before anything is written: a store that is refused stays as it was.
 */
import { crashedContext } from '../actors/job-actor.ts';
import { offstageError } from '../model/errors.ts';
import type { UnnumberedEvent } from '../model/events.ts';
import { LIMITS } from '../model/limits.ts';
import type { ProcessRecord } from '../model/records.ts';
import { newestSeq, segmentOperation } from '../persistence/event-log.ts';
import type { JobSnapshot, StoredJob } from '../persistence/job-codec.ts';
import { JobRows, stateOperations } from '../persistence/job-rows.ts';
import { readNotices, type StoredNotice } from '../persistence/notice-rows.ts';
import { removeProcess } from '../persistence/process-row.ts';
import { KEYS } from '../persistence/row-keys.ts';
import { isCount, readHead } from '../persistence/row-shape.ts';
import type { Store, StoreOperation } from '../persistence/store.ts';
import { assertKnownFormat, prepareStore } from '../persistence/store-format.ts';
import { cardEvent, jobEvent } from './job-event.ts';
import { LiveJob } from './live-job.ts';
import { PoolPlace } from './pool.ts';
import { readProcessRecords } from './process-records.ts';
import { type LostTicket, loseTickets, type RecoveryStep, settleOpenSessions } from './recover-sessions.ts';
import type { Settings } from './settings.ts';
import type { Change, CommitHook } from './transaction.ts';

/** What became of a process of the dead host. */
export interface ReapVerdict {
  /** `unverified`: it may still be at work, and nobody could prove whose it is. */
  readonly verdict: 'gone' | 'killed' | 'not_ours' | 'unverified';
  readonly detail: string;
}

/** `isForced`: it is not asked to end, but killed at once. */
export type ProcessReaper = (record: ProcessRecord, options?: { readonly isForced: boolean }) => Promise<ReapVerdict>;

/** What recovery found and did. */
export interface RecoveryReport {
  /** Jobs that the last process left unfinished, now errored. */
  readonly abandoned: readonly string[];
  /** Sessions whose turn, or launch, the end of the last process cut off; they wait for input now. */
  readonly sessions: readonly string[];
  /** Prompts that waited for their turn in the last process; they are not served. */
  readonly lostTickets: readonly LostTicket[];
  readonly processes: readonly (ReapVerdict & {
    readonly jobId: string | null;
    readonly sessionId: string | null;
    readonly executionId: string;
    readonly pid: number | null;
    /** Epoch milliseconds at which the last process had decided to end it, and not seen it end; null: it was wanted. */
    readonly teardownAt: number | null;
  })[];
}

export interface Recovered {
  readonly report: RecoveryReport;
  /** That agents have not taken, those of the jobs that were abandoned just now included. */
  readonly notices: readonly StoredNotice[];
  readonly seq: number;
  readonly ordinal: number;
  /** Of processes that are not proven to be gone. */
  readonly leftovers: readonly ProcessRecord[];
}

export async function recover(
  store: Store,
  settings: Settings,
  reap: ProcessReaper,
  hooks: readonly CommitHook[],
): Promise<Recovered> {
  const { log, clock } = settings;
  const rows = new JobRows(store, log);
  const { seq, ordinal } = await lastNumbers(store, rows);
  await prepareStore(store);
  const reaped = await reapAll(store, settings, reap);
  const processes = reaped.map(({ process }) => process);
  const low = Number((await store.get(KEYS.low)) ?? 0);
  // It only saves reading.
  const unfinished = await rows.listLive(isCount(low) ? low : 0);
  const sessions = await settleOpenSessions(store, log, () => clock.now());
  const tickets = await loseTickets(store, log);
  const survivors = new Map(
    processes.flatMap(({ verdict, jobId, detail }) =>
      verdict === 'unverified' && jobId !== null ? [[jobId, detail] as const] : [],
    ),
  );
  const steps: readonly RecoveryStep[] = [
    ...processes.filter(({ verdict }) => verdict !== 'unverified').map(({ executionId }) => forget(executionId)),
    ...sessions.steps,
    ...tickets.steps,
    ...unfinished.map(
      (job): RecoveryStep =>
        () => {
          const change = abandon(job, survivors.get(job.base.jobId) ?? null, clock.now());
          const revision = job.revision + 1;
          const operations = stateOperations(job.base, change.after, revision);
          for (const hook of hooks) operations.push(...hook(change.before, change));
          return {
            operations,
            events: [jobEvent('job.status', job.base, change.after, revision), cardEvent(job.base, change.after)],
          };
        },
    ),
  ];
  const report: RecoveryReport = {
    abandoned: unfinished.map(({ base }) => base.jobId),
    sessions: sessions.told,
    lostTickets: tickets.told,
    processes,
  };
  const sync = settings.durability === 'full';
  const lastSeq = await writeAll(store, steps, { seq, ordinal, sync });
  const { notices, unreadable } = await readNotices(store);
  for (const key of unreadable) log('error', 'row.unreadable', { key, error: 'it is no notice' });
  const leftovers = reaped.flatMap(({ process, record }) => (process.verdict === 'unverified' ? [record] : []));
  return { report, notices, leftovers, seq: lastSeq, ordinal };
}

/** RCV5. @throws OffstageError `store.corrupt`, `store.failed` (also for a store of a newer release) */
async function lastNumbers(store: Store, rows: JobRows): Promise<{ readonly seq: number; readonly ordinal: number }> {
  assertKnownFormat(await store.get(KEYS.format));
  const head = readHead(await store.get(KEYS.head));
  if (head === null)
    throw offstageError('store.corrupt', { folder: 'the store', message: 'the last numbers given are not readable' });
  // The head is written with every batch; the ranges are asked as well, so that a repaired store cannot make numbers come twice.
  return { seq: Math.max(head.seq, await newestSeq(store)), ordinal: Math.max(head.ordinal, await rows.highestOrdinal()) };
}

interface Reaped {
  readonly record: ProcessRecord;
  readonly process: RecoveryReport['processes'][number];
}

async function reapAll(store: Store, { log }: Pick<Settings, 'log'>, reap: ProcessReaper): Promise<readonly Reaped[]> {
  const records = await readProcessRecords(store, (key) =>
    log('error', 'row.unreadable', { key, error: 'it is no record of a process' }),
  );
  return Promise.all(
    records.map(async (record) => {
      const { jobId, sessionId, executionId, pid, teardownAt } = record;
      const process = { jobId, sessionId, executionId, pid, teardownAt };
      try {
        return { record, process: { ...(await reap(record)), ...process } };
      } catch (error) {
        return { record, process: { verdict: 'unverified' as const, detail: String((error as Error).message), ...process } };
      }
    }),
  );
}

const forget =
  (executionId: string): RecoveryStep =>
  () => ({ operations: [removeProcess(executionId)] });

/** Writes the steps in batches like the commit loop's. Answers the last sequence number. */
async function writeAll(
  store: Store,
  steps: readonly RecoveryStep[],
  start: { readonly seq: number; readonly ordinal: number; readonly sync: boolean },
): Promise<number> {
  let { seq } = start;
  for (let from = 0; from < steps.length; from += LIMITS.changesPerBatch) {
    const operations: StoreOperation[] = [];
    const events: UnnumberedEvent[] = [];
    for (const step of steps.slice(from, from + LIMITS.changesPerBatch)) {
      const one = step();
      operations.push(...one.operations);
      if (one.events !== undefined) events.push(...one.events);
    }
    if (events.length > 0) operations.push(segmentOperation(seq + 1, events));
    seq += events.length;
    operations.push({ type: 'put', key: KEYS.head, value: JSON.stringify([seq, start.ordinal]) });
    await store.batch(operations, { sync: start.sync });
  }
  return seq;
}

function abandon(stored: StoredJob, survivors: string | null, now: number): Change {
  const { base, snapshot: before } = stored;
  const { context } = before;
  const at = Math.max(now, base.createdAt, context.queuedAt ?? 0, context.startedAt ?? 0, context.cancelRequestedAt ?? 0);
  const after: JobSnapshot = { ...before, state: 'errored', context: crashedContext(context, at, survivors) };
  const job = new LiveJob(base, after, new PoolPlace(base.ordinal, base.sessionId, () => {}));
  return { job, before, after, announce: ['job.status'] };
}
