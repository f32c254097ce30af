/** How a process that must be found again after a crash lies in the store. */
import type { ProcessRecord } from '../model/records.ts';
import { KEYS } from './row-keys.ts';
import { isCount, isIdText, isNumber, isObject, isText, orNull } from './row-shape.ts';
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
  if (!isObject(row)) return null;
  // Rows of earlier releases belong to jobs, name no session, and were wanted.
  const { executionId, jobId = null, sessionId = null, pid, startTime, bootId, at, teardownAt = null } = row;
  const record = { executionId, jobId, sessionId, pid, startTime, bootId, at, teardownAt };
  return Object.entries(SHAPES).every(([name, shape]) => shape(record[name as keyof typeof SHAPES]))
    ? (record as ProcessRecord)
    : null;
}

const SHAPES: { readonly [Field in keyof ProcessRecord]: (value: unknown) => boolean } = {
  executionId: isIdText,
  jobId: orNull(isIdText),
  sessionId: orNull(isIdText),
  // One that is none would name a group of processes, or all of them.
  pid: orNull((value) => isCount(value) && value > 0),
  startTime: orNull(isText),
  bootId: orNull(isText),
  at: isNumber,
  teardownAt: orNull(isNumber),
};
