/**
 * What a server may send to the client: real answers, snapshots and events, spoilt or in the wrong order. Every question settles, with an answer or
 * with a code; the rows stay rows; the client can be closed, and a connection made afterwards is used as if nothing had been.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Follower } from '../../src/doors/client/follower.ts';
import { LiveRows } from '../../src/doors/client/live-rows.ts';
import { type WebSocketLike, webSocketWire } from '../../src/doors/client/web-socket-wire.ts';
import { WireClient } from '../../src/doors/client/wire-client.ts';
import type { WireConnection } from '../../src/doors/client/wire-connection.ts';
import { failureToWire } from '../../src/doors/wire/wire-errors.ts';
import { EVENT_TYPES } from '../../src/doors/wire/wire-events.ts';
import { isOffstageError, offstageError } from '../../src/model/errors.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { strayErrors } from '../../test/support/hostile.ts';
import { LIMIT_MS, times } from '../support/how-often.ts';
import { mutatedJson } from '../support/mutated.ts';

const JOB = {
  job_id: 'j1',
  kind: 'echo',
  status: 'running',
  revision: 2,
  created_at: 1,
  task_id: 't1',
  parent_session_id: 's1',
  progress: null,
};
const SESSION = { session_id: 's1', task_id: 't1', state: 'running', revision: 1, session_seq: 1, pending: null, turn: null };
const TASK = { task_id: 't1', title: 'one', state: 'open', revision: 1, task_seq: 1, sessions: 1, running_jobs: 1 };
const COUNTS = { pending: 0, queued: 0, running: 1 };
const snapshot = {
  type: 'snapshot',
  request_id: 1,
  epoch: 'e1',
  seq: 5,
  tasks: [TASK],
  sessions: [SESSION],
  jobs: [JOB],
  counts: COUNTS,
};
const page = (rows: object) => ({ type: 'result', ...rows, next_before: null });
const stopFailed = offstageError('stop.failed', {
  id: 's1',
  message: 'x',
  failed: [{ kind: 'job', id: 'j1', sessionId: 's1', name: 'j', detail: 'x' }] as never,
});

const id = fc.constantFrom<unknown>(1, 2, 3, 4, 5, 99, null, 'x');
const frame: fc.Arbitrary<object> = fc.oneof(
  id.map((request_id) => ({ ...snapshot, request_id })),
  fc
    .tuple(
      id,
      fc.constantFrom(page({ tasks: [JOB] }), page({ sessions: [SESSION] }), page({ tasks: [TASK] }), { type: 'result', ...JOB }),
    )
    .map(([request_id, answer]) => ({ ...answer, request_id })),
  id.map((request_id) => ({ type: 'part', request_id, offset: 0, text: 'x' })),
  fc
    .tuple(id, fc.constantFrom(stopFailed, offstageError('job.not_found', { jobId: 'j1' })))
    .map(([request_id, error]) => ({ type: 'error', request_id, ...failureToWire(error) })),
  fc.tuple(fc.constantFrom(...Object.values(EVENT_TYPES), 'heartbeat', 'running_task'), fc.nat(12)).map(([type, seq]) => ({
    ...{
      type,
      seq,
      epoch: 'e1',
      at: 1,
      ...JOB,
      ...SESSION,
      ...TASK,
      session_id: 's1',
      old_state: 'running',
      new_state: 'failed',
    },
  })),
);
const texts = fc.array(mutatedJson(frame), { minLength: 1, maxLength: 15 });

/** Also one that only a newer server knows, or `control.failed` where it gave none. @throws what has no code */
function codeOf(error: unknown): string {
  if (isOffstageError(error)) return error.code;
  throw error;
}

/** A socket under the hand of a test. */
class Plug implements WebSocketLike {
  readyState = 1;
  isClosed = false;
  readonly #listeners = new Map<string, ((event: never) => void)[]>();

  send(): void {}
  close(): void {
    this.isClosed = true;
    this.readyState = 3;
  }
  addEventListener(type: string, listener: (event: never) => void): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
  }
  tell(type: 'open' | 'message' | 'close', event: object = {}): void {
    for (const listener of this.#listeners.get(type) ?? []) listener(event as never);
  }
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
};

/** The connection over a plug, and whatever it ended with. */
function plugged() {
  const plug = new Plug();
  const ends: unknown[] = [];
  const { connection, opened } = webSocketWire(plug, { url: 'ws://x', onFrame: () => {}, onEnd: (error) => ends.push(error) });
  plug.tell('open');
  return { plug, connection, opened, ends };
}

function following(connection: WireConnection, rows: LiveRows): Follower {
  const client = new WireClient({ send: () => {}, close: () => {} });
  const nothing = (): void => {};
  return new Follower({
    connection,
    verbs: client,
    rows,
    clock: virtualClock() as never,
    types: null,
    onEvent: nothing,
    onSnapshot: nothing,
    onChange: nothing,
    onRefused: nothing,
  } as never);
}

it(
  'whatever comes: every question settles, rows stay rows, and the next connection is as good as ever',
  async () => {
    using stray = strayErrors();
    await fc.assert(
      fc.asyncProperty(texts, async (sent) => {
        const { plug, connection, opened, ends } = plugged();
        await opened;
        const rows = new LiveRows(100);
        const follower = following(connection, rows);
        const asked = [1, 2, 3].map(() =>
          connection.request('get_job', { job_id: 'j1' }, () => {}).then(() => 'answered', codeOf),
        );
        for (const data of sent) {
          plug.tell('message', { data });
          await turns(6);
        }
        plug.tell('close', { code: 1006, reason: '' });
        for (const end of await Promise.all(asked)) expect(typeof end).toBe('string');
        expect(ends).toHaveLength(1);
        codeOf(ends[0]);
        expect(await connection.request('whoami').catch(codeOf)).toBe(codeOf(ends[0]));
        follower.end();
        for (const table of [rows.tasks, rows.sessions, rows.jobs])
          for (const row of table.rows.values()) expect(typeof row).toBe('object');
        // What was sent over one connection is of no account for the next: the rows are those of its snapshot.
        const again = plugged();
        const last = new LiveRows(100);
        const next = following(again.connection, last);
        again.plug.tell('message', { data: JSON.stringify(snapshot) });
        await turns(10);
        expect([...last.jobs.rows.keys(), ...last.tasks.rows.keys(), ...last.sessions.rows.keys()]).toEqual(['j1', 't1', 's1']);
        next.end();
        again.connection.close();
      }),
      times(300),
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect(stray.errors).toEqual([]);
  },
  LIMIT_MS,
);
