/** What a process that died leaves of its sessions: rows as its commits would have written them. */
import type { PendingRequest, ProcessRecord, SessionRow, SessionState } from '../../src/model/records.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { sessionOperations, taskOperations, ticketOperation } from '../../src/persistence/session-rows.ts';
import type { Store, StoreOperation } from '../../src/persistence/store.ts';
import { prepareStore } from '../../src/persistence/store-format.ts';

/** When the next process starts. */
export const NOW = Date.UTC(2026, 0, 1);
export const PERMISSION: PendingRequest = { kind: 'permission', requestId: 'r1', options: [{ id: 'yes' }] };

export const session = (sessionId: string, state: SessionState, more: Partial<SessionRow> = {}): SessionRow => ({
  sessionId,
  taskId: 't',
  agentId: null,
  state,
  interrupted: false,
  pending: null,
  createdAt: NOW - 2_000,
  updatedAt: NOW - 1_000,
  revision: 3,
  ...more,
});

/** The process of a session's agent. */
export const agentProcess = (executionId: string, sessionId: string): ProcessRecord => ({
  executionId,
  jobId: null,
  sessionId,
  pid: 4_000_000,
  startTime: '7',
  bootId: 'then',
  at: NOW - 500,
  teardownAt: null,
});

export interface Left {
  readonly sessions?: readonly SessionRow[];
  readonly processes?: readonly ProcessRecord[];
  /** Session of each waiting prompt; the prompts are p1, p2, …, their tickets q1, q2, … */
  readonly tickets?: readonly string[];
}

/** Writes what a dead process left. */
export async function leave(store: Store, { sessions = [], processes = [], tickets = [] }: Left): Promise<void> {
  await prepareStore(store);
  const operations: StoreOperation[] = taskOperations({ taskId: 't', title: '', state: 'open', createdAt: NOW, revision: 1 });
  for (const row of sessions) {
    for (const one of [{ ...row, revision: 1 }, row]) operations.push(...sessionOperations(one));
  }
  for (const record of processes) {
    operations.push({ type: 'put', key: KEYS.process(record.executionId), value: JSON.stringify(record) });
  }
  for (const [index, sessionId] of tickets.entries()) {
    const [ticketId, promptId] = [`q${index + 1}`, `p${index + 1}`];
    operations.push(ticketOperation({ ticketId, promptId, sessionId, origin: 'human', createdAt: NOW }));
  }
  await store.batch(operations, { sync: true });
}

export async function storeWith(left: Left): Promise<Store> {
  const store = memoryStore();
  await leave(store, left);
  return store;
}

export const rowOf = async (store: Store, sessionId: string): Promise<SessionRow> =>
  JSON.parse((await store.get(KEYS.session(sessionId))) as string) as SessionRow;

export async function keysUnder(store: Store, range: { readonly gte: string; readonly lt: string }): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const { key } of store.range(range)) keys.push(key);
  return keys;
}
