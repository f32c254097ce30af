/**
 * Sessions, tasks and tickets as rows: which writes a change needs, and how they are read back.
 *
 * SRW1  A session that a restart would have to settle (starting, running, or with a pending request) is marked, in the batch of its row; no
 *       other is. A start reads the marked ones and no more.
 * SRW2  A session is listed under its task from its first revision on, until it is removed.
 * SRW3  Of what is removed a marker stays in place of its row: its id is never used again.
 * SRW4  Fields that an older release did not write are read as their defaults.
 */
import { SESSION_STATES } from '../machines/session.ts';
import type { PromptOrigin } from '../model/agent.ts';
import { offstageError } from '../model/errors.ts';
import {
  type PendingRequest,
  type SessionRow,
  type SessionState,
  TASK_STATES,
  type TaskRow,
  type TaskState,
} from '../model/records.ts';
import { decodeId } from './key-encoding.ts';
import { KEYS, RANGES } from './row-keys.ts';
import { isIdText, isNumber, isObject } from './row-shape.ts';
import type { Store, StoreOperation } from './store.ts';

/** In place of a removed row (SRW3). */
export interface RemovedRow {
  /** Epoch milliseconds. */
  readonly removed: number;
}

export const isRemoved = (row: object): row is RemovedRow => 'removed' in row;

/** A prompt that waits, as far as it is stored: enough to say after a crash that it is lost. */
export interface StoredTicket {
  readonly ticketId: string;
  readonly promptId: string;
  readonly sessionId: string;
  readonly origin: PromptOrigin;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

/** Whether a restart would have to settle it (SRW1). */
export const isOpenSession = ({ state, pending }: SessionRow): boolean =>
  state === 'starting' || state === 'running' || pending !== null;

/** The writes of one revision of a session. */
export function sessionOperations(row: SessionRow): StoreOperation[] {
  return [
    { type: 'put', key: KEYS.session(row.sessionId), value: JSON.stringify(row) },
    markOperation(row),
    ...(row.revision === 1 ? [listingOperation(row)] : []),
  ];
}

/** All that leads to a session, whatever its revision. */
export const sessionIndexOperations = (row: SessionRow): StoreOperation[] => [listingOperation(row), markOperation(row)];

const listingOperation = ({ taskId, sessionId }: SessionRow): StoreOperation => ({
  type: 'put',
  key: KEYS.taskSession(taskId, sessionId),
  value: '',
});

function markOperation(row: SessionRow): StoreOperation {
  const key = KEYS.openSession(row.sessionId);
  return isOpenSession(row) ? { type: 'put', key, value: '' } : { type: 'del', key };
}

/** Its jobs, and the prompts that wait, have to be removed with it. `at` in epoch milliseconds. */
export function removeSessionOperations({ sessionId, taskId }: SessionRow, at: number): StoreOperation[] {
  return [
    { type: 'put', key: KEYS.session(sessionId), value: removedValue(at) },
    { type: 'del', key: KEYS.openSession(sessionId) },
    { type: 'del', key: KEYS.taskSession(taskId, sessionId) },
    { type: 'del', key: KEYS.conversation(sessionId) },
  ];
}

/** The writes of one revision of a task. */
export const taskOperations = (row: TaskRow): StoreOperation[] => [
  { type: 'put', key: KEYS.task(row.taskId), value: JSON.stringify(row) },
];

/** Its sessions have to be removed with it. `at` in epoch milliseconds. */
export const removeTaskOperations = (taskId: string, at: number): StoreOperation[] => [
  { type: 'put', key: KEYS.task(taskId), value: removedValue(at) },
];

export const ticketOperation = (ticket: StoredTicket): StoreOperation => ({
  type: 'put',
  key: KEYS.ticket(ticket.ticketId),
  value: JSON.stringify(ticket),
});

export const removeTicketOperation = (ticketId: string): StoreOperation => ({ type: 'del', key: KEYS.ticket(ticketId) });

/** Takes away the prompts that wait for one of the sessions. @throws OffstageError `store.failed`, `store.closed` */
export async function removeTicketsOf(store: Store, sessionIds: ReadonlySet<string>): Promise<StoreOperation[]> {
  const operations: StoreOperation[] = [];
  for await (const { key, value } of store.range(RANGES.tickets)) {
    const sessionId = sessionOfTicket(value);
    if (sessionId !== null && sessionIds.has(sessionId)) operations.push({ type: 'del', key });
  }
  return operations;
}

/** One that cannot be read belongs to nobody; `doctor` finds it. */
function sessionOfTicket(value: string): string | null {
  try {
    return readTicket(value).sessionId;
  } catch {
    return null;
  }
}

/** The value of a removed session or task (SRW3). */
export const removedValue = (at: number): string => JSON.stringify({ removed: at } satisfies RemovedRow);

/**
 * The ids of a task's sessions, ordered by their keys; ids whose creation was refused may be among them, their rows are not there.
 * @throws OffstageError `store.failed`, `store.closed`
 */
export async function sessionIdsOfTask(store: Store, taskId: string): Promise<readonly string[]> {
  const range = RANGES.taskSessions(taskId);
  const ids: string[] = [];
  for await (const { key } of store.range(range)) {
    const id = decodedId(key.slice(range.gte.length));
    if (id !== null) ids.push(id);
  }
  return ids;
}

/** What lies under `n/`; null where nothing does. @throws OffstageError `store.corrupt` */
export function readSessionRow(value: string | undefined): SessionRow | RemovedRow | null {
  if (value === undefined) return null;
  const row = fieldsOf(value, 'session');
  if (isNumber(row.removed)) return { removed: row.removed };
  const { sessionId, taskId, agentId = null, state, createdAt, updatedAt } = row;
  if (!isIdText(sessionId) || !isIdText(taskId) || !isNumber(createdAt) || !isSessionState(state)) {
    throw corrupt('session');
  }
  return {
    sessionId,
    taskId,
    agentId: typeof agentId === 'string' ? agentId : null,
    state,
    interrupted: row.interrupted === true,
    pending: pendingOf(row.pending),
    createdAt,
    updatedAt: isNumber(updatedAt) ? updatedAt : createdAt,
    revision: revisionOf(row.revision),
  };
}

/** What lies under `o/`; null where nothing does. @throws OffstageError `store.corrupt` */
export function readTaskRow(value: string | undefined): TaskRow | RemovedRow | null {
  if (value === undefined) return null;
  const row = fieldsOf(value, 'task');
  if (isNumber(row.removed)) return { removed: row.removed };
  const { taskId, title = '', state = 'open', createdAt } = row;
  if (!isIdText(taskId) || !isNumber(createdAt) || !isTaskState(state)) throw corrupt('task');
  return { taskId, title: typeof title === 'string' ? title : '', state, createdAt, revision: revisionOf(row.revision) };
}

/** @throws OffstageError `store.corrupt` */
export function readTicket(value: string): StoredTicket {
  const { ticketId, promptId, sessionId, origin, createdAt } = fieldsOf(value, 'ticket');
  if (!isIdText(ticketId) || !isIdText(promptId) || !isIdText(sessionId)) throw corrupt('ticket');
  return {
    ticketId,
    promptId,
    sessionId,
    origin: origin === 'synthetic' ? 'synthetic' : 'human',
    createdAt: isNumber(createdAt) ? createdAt : 0,
  };
}

const isSessionState = (state: unknown): state is SessionState =>
  typeof state === 'string' && Object.hasOwn(SESSION_STATES, state);
const isTaskState = (state: unknown): state is TaskState => TASK_STATES.includes(state as TaskState);
const revisionOf = (value: unknown): number => (Number.isSafeInteger(value) ? (value as number) : 1);

function pendingOf(value: unknown): PendingRequest | null {
  if (typeof value !== 'object' || value === null) return null;
  const { kind, requestId, title, options } = value as Partial<PendingRequest>;
  if ((kind !== 'permission' && kind !== 'clarification') || typeof requestId !== 'string') return null;
  return { kind, requestId, ...(typeof title === 'string' ? { title } : {}), options: Array.isArray(options) ? options : [] };
}

function fieldsOf(value: string, what: string): Readonly<Record<string, unknown>> {
  let row: unknown;
  try {
    row = JSON.parse(value);
  } catch (error) {
    throw corrupt(what, error);
  }
  if (!isObject(row)) throw corrupt(what);
  return row;
}

const corrupt = (what: string, cause?: unknown) =>
  offstageError(
    'store.corrupt',
    { folder: 'the store', message: `the row of a ${what} is not readable` },
    cause === undefined ? undefined : { cause },
  );

function decodedId(part: string): string | null {
  try {
    return decodeId(part);
  } catch {
    return null;
  }
}
