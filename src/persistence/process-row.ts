/** How a process that must be found again after a crash lies in the store. */
import type { ProcessRecord } from '../model/records.ts';
import { KEYS } from './row-keys.ts';
import type { StoreOperation } from './store.ts';

/** As an executor or a factory tells of it; whatever it says is kept as text, or not at all. */
export interface LaunchedProcess {
  readonly pid: number;
  readonly startTime: string | null;
  readonly bootId: string | null;
}

/** `process` is null between the commit of the token and the launch. */
export function putProcess(
  owner: Pick<ProcessRecord, 'executionId' | 'jobId' | 'sessionId' | 'at' | 'teardownAt'>,
  process: LaunchedProcess | null,
): StoreOperation {
  const record: ProcessRecord = {
    executionId: owner.executionId,
    jobId: owner.jobId,
    sessionId: owner.sessionId,
    pid: process?.pid ?? null,
    startTime: process?.startTime == null ? null : String(process.startTime),
    bootId: process?.bootId == null ? null : String(process.bootId),
    at: owner.at,
    teardownAt: owner.teardownAt,
  };
  return { type: 'put', key: KEYS.process(record.executionId), value: JSON.stringify(record) };
}

export const removeProcess = (executionId: string): StoreOperation => ({ type: 'del', key: KEYS.process(executionId) });

/** What lies under `x/`; null when it is no such record. */
export function readProcessRecord(value: string): ProcessRecord | null {
  let row: unknown;
  try {
    row = JSON.parse(value);
  } catch {
    return null;
  }
  if (typeof row !== 'object' || row === null || typeof (row as Partial<ProcessRecord>).executionId !== 'string') return null;
  // Rows of earlier releases belong to jobs, name no session, and were wanted.
  return {
    sessionId: null,
    jobId: null,
    teardownAt: null,
    ...(row as Omit<ProcessRecord, 'sessionId' | 'jobId' | 'teardownAt'>),
  };
}
