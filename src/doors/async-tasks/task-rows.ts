/**
 * How the entry of a task changes: pure, every change a new frozen entry.
 *
 * TRW1  `queued`, `running`, then one of the final four; never back.
 * TRW2  `result` is there only with `success`, `error` only with `error` and `timeout`, and then always.
 * TRW3  `updatedAt` is later with every change of the status, also where the clock stands still or goes back.
 * TRW4  What was asked for, and `createdAt`, stay as they were, whatever an executor says.
 */
import type { AsyncTask, AsyncTaskStartOptions, AsyncTaskStatus } from './contract.ts';
import { frozenCopy } from './plain-copy.ts';

const RANKS: Readonly<Record<AsyncTaskStatus, number>> = {
  queued: 0,
  running: 1,
  success: 2,
  error: 2,
  cancelled: 2,
  timeout: 2,
};

/** What an end leaves. */
export interface Ending {
  readonly result?: unknown;
  readonly error?: string;
}

export const isFinal = (status: AsyncTaskStatus): boolean => RANKS[status] === RANKS.success;

const iso = (ms: number): string => new Date(ms).toISOString();

/** Epoch milliseconds of the newest change. */
const changedAt = (task: AsyncTask): number => Date.parse(task.updatedAt ?? task.createdAt);

/** The first entry of a task. */
export function seededTask(taskId: string, options: AsyncTaskStartOptions, now: number): AsyncTask {
  const { type, threadId, input, agentName, jobType, timeoutMs } = options;
  return Object.freeze({
    taskId,
    type,
    threadId,
    status: 'queued',
    input: frozenCopy(input ?? {}),
    createdAt: iso(now),
    ...(agentName == null ? {} : { agentName }),
    ...(jobType == null ? {} : { jobType }),
    ...(timeoutMs == null ? {} : { timeoutMs }),
  });
}

/** The task in another status. */
export function movedTask(task: AsyncTask, status: AsyncTaskStatus, now: number, ending: Ending = {}): AsyncTask {
  return withEnding({ ...task, status, updatedAt: iso(Math.max(now, changedAt(task) + 1)) }, ending);
}

/** Fields that no executor sets. */
const FIXED: ReadonlySet<string> = new Set([
  ...['taskId', 'type', 'threadId', 'input', 'createdAt', 'timeoutMs'],
  ...['status', 'updatedAt', 'checkedAt', 'result', 'error'],
]);

/** The task with what `checkStatus` answered; anything but an object counts as an empty answer. */
export function checkedTask(task: AsyncTask, answer: unknown, now: number): AsyncTask {
  const told = (typeof answer === 'object' && answer !== null ? frozenCopy(answer) : {}) as Record<string, unknown>;
  const status = laterStatus(task.status, told.status);
  const base = status === task.status ? task : movedTask(task, status, now);
  const fields = Object.entries(told).filter(([name, value]) => !FIXED.has(name) && value !== undefined);
  const checkedAt = iso(Math.max(now, changedAt(base)));
  const error = typeof told.error === 'string' ? { error: told.error } : {};
  return withEnding({ ...base, ...Object.fromEntries(fields), checkedAt }, { result: told.result, ...error });
}

/** The told status where there is such a one and it is a step forward. */
function laterStatus(status: AsyncTaskStatus, told: unknown): AsyncTaskStatus {
  if (typeof told !== 'string' || !Object.hasOwn(RANKS, told)) return status;
  return RANKS[told as AsyncTaskStatus] > RANKS[status] ? (told as AsyncTaskStatus) : status;
}

function withEnding(task: AsyncTask, { result, error }: Ending): AsyncTask {
  const { result: _, error: _before, ...rest } = task;
  if (task.status === 'success')
    return Object.freeze(result === undefined ? rest : { ...rest, result: frozenCopy(result) }) as AsyncTask;
  if (task.status !== 'error' && task.status !== 'timeout') return Object.freeze(rest);
  return Object.freeze({ ...rest, error: error || `The executor says no more than "${task.status}".` });
}
