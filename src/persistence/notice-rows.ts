/** Notices about ended jobs, for callers whose agents have not taken them yet (spec 9): the outbox. */
import { callerOf, isTerminal, JOB_STATUSES, type JobStatus } from '../model/records.ts';
import type { JobBase } from './job-codec.ts';
import { decodeId, decodeOrdinal } from './key-encoding.ts';
import { KEYS, RANGES } from './row-keys.ts';
import type { Store, StoreEntry, StoreOperation } from './store.ts';

export interface StoredNotice {
  /** Whose agent is told: the caller's. */
  readonly sessionId: string;
  /** Of its job. */
  readonly ordinal: number;
  readonly jobId: string;
  readonly status: JobStatus;
  readonly subject: string;
}

export const noticeOf = (base: JobBase, status: JobStatus): StoredNotice => ({
  sessionId: callerOf(base),
  ordinal: base.ordinal,
  jobId: base.jobId,
  status,
  subject: base.subject,
});

export const noticeOperation = ({ sessionId, ordinal, jobId, status, subject }: StoredNotice): StoreOperation => ({
  type: 'put',
  key: KEYS.notice(sessionId, ordinal),
  value: JSON.stringify([jobId, status, subject]),
});

export const removeNoticeOperation = ({ sessionId, ordinal }: Pick<StoredNotice, 'sessionId' | 'ordinal'>): StoreOperation => ({
  type: 'del',
  key: KEYS.notice(sessionId, ordinal),
});

/** Null when it is none. */
export function readNotice({ key, value }: StoreEntry): StoredNotice | null {
  try {
    const [, session = '', digits = '', ...rest] = key.split('/');
    const [jobId, status, subject] = JSON.parse(value) as [unknown, unknown, unknown];
    if (rest.length > 0 || typeof subject !== 'string' || !isEnd(status)) return null;
    if (typeof jobId !== 'string' || !jobId.isWellFormed()) return null;
    return { sessionId: decodeId(session), ordinal: decodeOrdinal(digits), jobId, status, subject };
  } catch {
    return null;
  }
}

const isEnd = (status: unknown): status is JobStatus => JOB_STATUSES.some((known) => known === status && isTerminal(known));

/** Readable ones, as they were made, and the keys of the others. @throws OffstageError `store.failed`, `store.closed` */
export async function readNotices(
  store: Store,
): Promise<{ readonly notices: readonly StoredNotice[]; readonly unreadable: readonly string[] }> {
  const notices: StoredNotice[] = [];
  const unreadable: string[] = [];
  for await (const entry of store.range(RANGES.notices)) {
    const notice = readNotice(entry);
    if (notice === null) unreadable.push(entry.key);
    else notices.push(notice);
  }
  return { notices, unreadable };
}

/** What waits for the agent of a session goes with the session. @throws OffstageError `store.failed`, `store.closed` */
export async function removeNoticesOperations(store: Store, sessionId: string): Promise<readonly StoreOperation[]> {
  const operations: StoreOperation[] = [];
  for await (const { key } of store.range(RANGES.sessionNotices(sessionId))) operations.push({ type: 'del', key });
  return operations;
}
