/** SRW1–SRW4: what is written with a session, a task and a waiting prompt, and how it is read back. */
import { describe, expect, it } from 'vitest';
import type { PendingRequest, SessionRow, SessionState, TaskRow } from '../../src/model/records.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import {
  readSessionRow,
  readTaskRow,
  readTicket,
  removeSessionOperations,
  removeTaskOperations,
  removeTicketOperation,
  type StoredTicket,
  sessionIdsOfTask,
  sessionOperations,
  taskOperations,
  ticketOperation,
} from '../../src/persistence/session-rows.ts';
import { contentOf } from '../support/store-content.ts';

const STATES: readonly SessionState[] = [
  'created',
  'starting',
  'running',
  'waiting_for_input',
  'idle',
  'completed',
  'failed',
  'cancelled',
];
const PENDING: PendingRequest = { kind: 'permission', requestId: 'r1', title: 'May I?', options: ['yes', { id: 'no' }] };

const session = (row: Partial<SessionRow> = {}): SessionRow => ({
  sessionId: 's',
  taskId: 't',
  agentId: null,
  state: 'created',
  interrupted: false,
  pending: null,
  createdAt: 5,
  updatedAt: 6,
  revision: 1,
  ...row,
});
const TASK: TaskRow = { taskId: 't', title: 'Paint it', state: 'in_progress', createdAt: 5, revision: 3 };
const TICKET: StoredTicket = { ticketId: 'q1', promptId: 'p1', sessionId: 's', origin: 'synthetic', createdAt: 7 };

describe('SRW1: the mark', () => {
  it.each(STATES)('%s: is there exactly while a restart would have to settle the session', async (state) => {
    const store = memoryStore();
    for (const [pending, isOpen] of [
      [PENDING, true],
      [null, state === 'starting' || state === 'running'],
    ] as const) {
      await store.batch(sessionOperations(session({ state, pending })), { sync: false });
      expect((await store.get(KEYS.openSession('s'))) !== undefined, String(pending)).toBe(isOpen);
      await store.batch(sessionOperations(session({ state: 'idle', revision: 2 })), { sync: false });
      expect(await store.get(KEYS.openSession('s'))).toBeUndefined();
    }
  });
});

describe('SRW2: the sessions of a task', () => {
  it('are those that were ever stored for it, whatever their ids and whatever the ids of other tasks', async () => {
    const store = memoryStore();
    const ids = ['s', 'a/b', '', '~', 'ü\u2028', 's 2'];
    for (const taskId of ['t', 't/s', 't~', '']) {
      for (const id of ids)
        await store.batch(sessionOperations(session({ taskId, sessionId: `${taskId}:${id}` })), { sync: false });
    }
    for (const taskId of ['t', 't/s', 't~', '']) {
      const found = await sessionIdsOfTask(store, taskId);
      expect([...found].sort()).toEqual(ids.map((id) => `${taskId}:${id}`).sort());
    }
    expect(await sessionIdsOfTask(store, 'other')).toEqual([]);
    await store.batch([{ type: 'put', key: 'm/t/%zz', value: '' }], { sync: false });
    expect(await sessionIdsOfTask(store, 't')).toHaveLength(ids.length);
  });

  it('are written with the first revision only, and end with the session', async () => {
    const store = memoryStore();
    await store.batch(sessionOperations(session()), { sync: false });
    expect(sessionOperations(session({ revision: 2 })).map(({ key }) => key)).not.toContain(KEYS.taskSession('t', 's'));
    await store.batch(sessionOperations(session({ revision: 2, state: 'running' })), { sync: false });
    expect(await sessionIdsOfTask(store, 't')).toEqual(['s']);
    await store.batch(removeSessionOperations(session(), 9), { sync: false });
    expect(await contentOf(store)).toEqual({ [KEYS.session('s')]: '{"removed":9}' });
  });
});

describe('SRW3, SRW4: reading', () => {
  it('gives what was written', async () => {
    const store = memoryStore();
    const row = session({ agentId: 'mock', state: 'running', interrupted: true, pending: PENDING, revision: 12 });
    await store.batch([...sessionOperations(row), ...taskOperations(TASK), ticketOperation(TICKET)], { sync: false });
    expect(readSessionRow(await store.get(KEYS.session('s')))).toEqual(row);
    expect(readTaskRow(await store.get(KEYS.task('t')))).toEqual(TASK);
    expect(readTicket((await store.get(KEYS.ticket('q1'))) as string)).toEqual(TICKET);
    await store.batch([removeTicketOperation('q1'), ...removeTaskOperations('t', 8)], { sync: false });
    expect(await store.get(KEYS.ticket('q1'))).toBeUndefined();
    expect(readTaskRow(await store.get(KEYS.task('t')))).toEqual({ removed: 8 });
    expect([readSessionRow(undefined), readTaskRow(undefined)]).toEqual([null, null]);
    expect(readSessionRow('{"removed":9}')).toEqual({ removed: 9 });
  });

  it('fills in what earlier releases did not write', () => {
    expect(readSessionRow('{"sessionId":"s","taskId":"t","state":"idle","createdAt":5}')).toEqual(
      session({ state: 'idle', updatedAt: 5 }),
    );
    expect(readSessionRow(JSON.stringify({ ...session(), pending: { kind: 'joke' }, interrupted: 1 }))).toEqual(session());
    const asked = { kind: 'permission', requestId: 'r1', options: [] };
    for (const pending of [asked, { ...asked, title: 7 }]) {
      expect(readSessionRow(JSON.stringify({ ...session(), pending }))).toEqual({ ...session(), pending: asked });
    }
    expect(readTaskRow('{"taskId":"t","createdAt":5}')).toEqual({ ...TASK, title: '', state: 'open', revision: 1 });
    expect(readTicket('{"ticketId":"q1","promptId":"p1","sessionId":"s"}')).toMatchObject({ origin: 'human', createdAt: 0 });
  });

  it.each(['', 'x', '[]', 'null', '7', '{}', '{"sessionId":"s","taskId":"t","state":"asleep","createdAt":5}', '{"taskId":7}'])(
    'refuses %j',
    (value) => {
      for (const read of [readSessionRow, readTaskRow, readTicket]) {
        expect(() => read(value)).toThrow(expect.objectContaining({ code: 'store.corrupt' }));
      }
    },
  );
});
