/** Notices about ended jobs, for callers whose agents have not taken them yet (spec 9): the outbox. */
import type { JobStatus } from '../model/records.ts';
import type { JobBase } from './job-codec.ts';
import { decodeId, decodeOrdinal } from './key-encoding.ts';
import { KEYS } from './row-keys.ts';
import type { StoreEntry, StoreOperation } from './store.ts';

export interface StoredNotice {
  /** Whose agent is told: the caller's. */
  readonly sessionId: string;
  /** Of its job. */
  readonly ordinal: number;
  readonly jobId: string;
  readonly status: JobStatus;
  readonly subject: string;
}

export const callerOf = ({ callerSessionId, sessionId }: Pick<JobBase, 'callerSessionId' | 'sessionId'>): string =>
  callerSessionId ?? sessionId;

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
    const [, session = '', ordinal = ''] = key.split('/');
    const [jobId, status, subject] = JSON.parse(value) as [unknown, unknown, unknown];
    if (typeof jobId !== 'string' || typeof status !== 'string' || typeof subject !== 'string') return null;
    return { sessionId: decodeId(session), ordinal: decodeOrdinal(ordinal), jobId, status: status as JobStatus, subject };
  } catch {
    return null;
  }
}
