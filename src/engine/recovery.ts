/**
 * What a new process does with what the last one left (spec 6, 13).
 *
 * RCV1  Only unfinished rows are read; what is finished costs nothing.
 * RCV2  Processes that are provably ours are ended before their jobs are; others are reported and left alone.
 * RCV3  Every unfinished job is errored, once; nothing is run again. A second start changes nothing.
 */
import { crashedContext } from '../actors/job-actor.ts';
import type { UnnumberedEvent } from '../model/events.ts';
import { LIMITS } from '../model/limits.ts';
import type { ProcessRecord } from '../model/records.ts';
import { newestSeq, segmentOperation } from '../persistence/event-log.ts';
import type { JobSnapshot, StoredJob } from '../persistence/job-codec.ts';
import { JobRows, stateOperations } from '../persistence/job-rows.ts';
import { KEYS, SENTINELS } from '../persistence/row-keys.ts';
import type { Store, StoreOperation } from '../persistence/store.ts';
import { assertKnownFormat, STORE_FORMAT } from '../persistence/store-format.ts';
import { jobEvent } from './job-event.ts';
import { LiveJob } from './live-job.ts';
import { PoolPlace } from './pool.ts';
import { readProcessRecords } from './process-records.ts';
import type { Settings } from './settings.ts';
import type { Change, CommitHook } from './transaction.ts';

/** What became of a process of the dead host. */
export interface ReapVerdict {
  /** `unverified`: it may still be at work, and nobody could prove whose it is. */
  readonly verdict: 'gone' | 'killed' | 'not_ours' | 'unverified';
  readonly detail: string;
}

export type ProcessReaper = (record: ProcessRecord) => Promise<ReapVerdict>;

/** What recovery found and did. */
export interface RecoveryReport {
  /** Jobs that the last process left unfinished, now errored. */
  readonly abandoned: readonly string[];
  readonly processes: readonly (ReapVerdict & {
    readonly jobId: string | null;
    readonly sessionId: string | null;
    readonly executionId: string;
    readonly pid: number | null;
  })[];
}

export interface Recovered {
  readonly report: RecoveryReport;
  readonly seq: number;
  readonly ordinal: number;
}

export async function recover(
  store: Store,
  settings: Settings,
  reap: ProcessReaper,
  hooks: readonly CommitHook[],
): Promise<Recovered> {
  await checkFormat(store);
  const rows = new JobRows(store, settings.log);
  const head = JSON.parse((await store.get(KEYS.head)) ?? '[0,0]') as [number, number];
  // The head is written with every batch; the ranges are asked as well, so that a repaired store cannot make numbers come twice.
  const seq = Math.max(head[0], await newestSeq(store));
  const ordinal = Math.max(head[1], await rows.highestOrdinal());
  const processes = await reapAll(store, reap);
  const low = Number((await store.get(KEYS.low)) ?? 0);
  const unfinished = await rows.listLive(low);
  if (unfinished.length === 0 && processes.every(({ verdict }) => verdict === 'unverified')) {
    return { report: { abandoned: [], processes }, seq, ordinal };
  }
  const survivors = new Map(
    processes.flatMap(({ verdict, jobId, detail }) =>
      verdict === 'unverified' && jobId !== null ? [[jobId, detail] as const] : [],
    ),
  );
  const settled = processes.filter(({ verdict }) => verdict !== 'unverified').map(({ executionId }) => executionId);
  const lastSeq = await abandonAll(store, settings, unfinished, survivors, settled, { seq, ordinal }, hooks);
  return { report: { abandoned: unfinished.map(({ base }) => base.jobId), processes }, seq: lastSeq, ordinal };
}

async function checkFormat(store: Store): Promise<void> {
  const format = await store.get(KEYS.format);
  if (format === undefined) {
    const operations: StoreOperation[] = SENTINELS.map((key) => ({ type: 'put', key, value: '' }));
    await store.batch([...operations, { type: 'put', key: KEYS.format, value: String(STORE_FORMAT) }], { sync: true });
  } else {
    assertKnownFormat(format);
  }
}

async function reapAll(store: Store, reap: ProcessReaper): Promise<RecoveryReport['processes']> {
  return Promise.all(
    (await readProcessRecords(store)).map(async (record) => {
      const { jobId, sessionId, executionId, pid } = record;
      try {
        return { ...(await reap(record)), jobId, sessionId, executionId, pid };
      } catch (error) {
        return { verdict: 'unverified' as const, detail: String((error as Error).message), jobId, sessionId, executionId, pid };
      }
    }),
  );
}

/** Errors the jobs in batches like the commit loop's. Answers the last sequence number. */
async function abandonAll(
  store: Store,
  settings: Settings,
  unfinished: readonly StoredJob[],
  survivors: ReadonlyMap<string, string>,
  settledExecutions: readonly string[],
  start: { readonly seq: number; readonly ordinal: number },
  hooks: readonly CommitHook[],
): Promise<number> {
  let { seq } = start;
  const sync = settings.durability === 'full';
  for (let from = 0; from === 0 || from < unfinished.length; from += LIMITS.changesPerBatch) {
    const operations: StoreOperation[] = [];
    const events: UnnumberedEvent[] = [];
    if (from === 0) for (const executionId of settledExecutions) operations.push({ type: 'del', key: KEYS.process(executionId) });
    for (const job of unfinished.slice(from, from + LIMITS.changesPerBatch)) {
      const change = abandon(job, survivors.get(job.base.jobId) ?? null, settings.clock.now());
      const revision = job.revision + 1;
      operations.push(...stateOperations(job.base, change.after, revision));
      events.push(jobEvent('job.status', job.base, change.after, revision));
      for (const hook of hooks) operations.push(...hook(change.before, change));
    }
    if (events.length > 0) operations.push(segmentOperation(seq + 1, events));
    seq += events.length;
    operations.push({ type: 'put', key: KEYS.head, value: JSON.stringify([seq, start.ordinal]) });
    await store.batch(operations, { sync });
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
