/**
 * Rows of the store that are not as they were written: each reader answers a record that could have been written, or `store.corrupt` (null where
 * it says so), and never anything else: no other error, no record with holes, no end of its own.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NEW_JOB } from '../../src/machines/job.ts';
import { cardIdOf } from '../../src/model/cards.ts';
import { JOB_STATUSES, type SessionRow, type TaskRow } from '../../src/model/records.ts';
import { keptCardOperations, readKeptCard } from '../../src/persistence/card-rows.ts';
import { decodeSegment, segmentOperation } from '../../src/persistence/event-log.ts';
import {
  decodeJobRow,
  encodeJobRow,
  encodeLargePart,
  historyOf,
  type JobBase,
  NEW_SNAPSHOT,
  needsLargePart,
  parseRow,
  toRecord,
} from '../../src/persistence/job-codec.ts';
import { decodeId, decodeOrdinal, encodeId, encodeOrdinal } from '../../src/persistence/key-encoding.ts';
import { noticeOperation, readNotice } from '../../src/persistence/notice-rows.ts';
import { putProcess, readProcessRecord } from '../../src/persistence/process-row.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { isRemoved, readSessionRow, readTaskRow, readTicket } from '../../src/persistence/session-rows.ts';
import type { StoreOperation } from '../../src/persistence/store.ts';
import { times } from '../support/how-often.ts';
import { mutatedJson, readOrCode } from '../support/mutated.ts';

const valueIn = (operation: StoreOperation | undefined): unknown => JSON.parse((operation as { value: string }).value);

const base: JobBase = {
  ordinal: 7,
  jobId: 'job-7',
  kind: 'echo',
  subject: 'say it',
  description: 'all of it',
  agentId: null,
  input: { deep: [1, 'two'] },
  createdAt: 1_000,
  sessionId: 'default',
  callerSessionId: 's1',
  taskId: 'default',
  parentJobId: null,
  parentMessageId: 'm1',
  contextMode: 'inherit',
  wait: false,
  timeoutMs: 5_000,
  idleTimeoutMs: null,
  notifies: true,
  depth: 0,
  isLarge: false,
};
const ENDED = {
  state: 'errored',
  lastActivityAt: 1_500,
  notes: [
    { at: 1_200, type: 'note', detail: 'something' },
    { at: 1_300, type: 'ending' },
  ],
  context: {
    ...NEW_JOB,
    queuedAt: 1_001,
    startedAt: 1_100,
    completedAt: 2_000,
    reasonCode: 'failed',
    error: { code: 'job.failed', message: 'it broke' },
  },
} as const;
const isTime = (value: unknown): boolean => Number.isFinite(value);

const ROWS = [
  encodeJobRow(base, NEW_SNAPSHOT, 1),
  encodeJobRow(base, ENDED, 4),
  encodeJobRow({ ...base, isLarge: true }, { ...ENDED, state: 'completed' }, 5),
];

/** The type of each field of a record, by an example that has one there. */
function hasTypesOf(given: object, example: object, optional: readonly string[] = []): void {
  expect(Object.keys(given).sort()).toEqual(Object.keys(example).sort());
  for (const [name, value] of Object.entries(example)) {
    const found = (given as Record<string, unknown>)[name];
    if (optional.includes(name) && found === null) continue;
    expect([name, typeof found]).toEqual([name, typeof value]);
    if (typeof found === 'number') expect([name, isTime(found)]).toEqual([name, true]);
  }
}

const FULL_RECORD = {
  ...toRecord({ ...base, agentId: 'a', parentJobId: 'p', idleTimeoutMs: 1 }, ENDED, 4),
  ...{ lastActivityAt: 1, cancelRequestedAt: 1, cancelReason: 'x', headId: 'x', sourceCommitId: 'x', resultText: 'x' },
};
const NULLABLE = [
  ...['agentId', 'queuedAt', 'startedAt', 'completedAt', 'lastActivityAt', 'callerSessionId', 'parentJobId', 'parentMessageId'],
  ...['headId', 'sourceCommitId', 'resultText', 'error', 'reasonCode', 'cancelRequestedAt', 'cancelReason', 'timeoutMs'],
  'idleTimeoutMs',
];

describe('rows of jobs', () => {
  const rows = mutatedJson(fc.constantFrom(...ROWS).map((text) => JSON.parse(text) as unknown));
  const parts = fc.option(mutatedJson(fc.constant(JSON.parse(encodeLargePart(base)))), { nil: undefined });

  it('a spoilt row is the record of its columns, or store.corrupt; what is read is written as it was', () => {
    fc.assert(
      fc.property(rows, parts, (text, part) => {
        const answer = readOrCode(() => decodeJobRow(parseRow(text), part));
        if ('code' in answer) return void expect(answer.code).toBe('store.corrupt');
        const { base: job, snapshot, revision } = answer.value;
        const { input: _, result: __, ...record } = toRecord(job, snapshot, revision);
        const { input: ___, result: ____, ...example } = FULL_RECORD;
        hasTypesOf(record, example, NULLABLE);
        expect(job.input).toBeDefined();
        expect(snapshot.context.result).toBeDefined();
        expect(JOB_STATUSES).toContain(record.status);
        for (const entry of historyOf(job, snapshot)) expect([typeof entry.at, typeof entry.type]).toEqual(['number', 'string']);
        const again = encodeJobRow(job, snapshot, revision);
        expect(needsLargePart(parseRow(again))).toBe(job.isLarge);
        const read = decodeJobRow(parseRow(again), job.isLarge ? encodeLargePart(job) : undefined);
        expect(encodeJobRow(read.base, read.snapshot, read.revision)).toBe(again);
      }),
      times(3_000),
    );
  });

  it('a row of a version that nobody knows is store.corrupt, whatever stands for the version', () => {
    const version = fc.oneof(fc.jsonValue(), fc.constantFrom('constructor', '__proto__', 'toString', 'valueOf', '1', 0, 2, [1]));
    fc.assert(
      fc.property(version, (odd) => {
        const row = [odd, ...(JSON.parse(ROWS[1] as string) as unknown[]).slice(1)];
        if (odd === 1) return;
        expect(readOrCode(() => decodeJobRow(row, undefined))).toEqual({ code: 'store.corrupt' });
      }),
      times(300),
    );
  });
});

describe('segments of the event log', () => {
  const segment = valueIn(
    segmentOperation(5, [
      { type: 'job.created', at: 1, ...idsOfJob(), ...statusOf('queued') },
      { type: 'job.status', at: 2, ...idsOfJob(), ...statusOf('errored') },
      { type: 'session.state_changed', at: 3, sessionId: 's1', taskId: 'default', oldState: 'created', newState: 'running' },
      { type: 'task.created', at: 4, taskId: 't1', title: 'one', state: 'open' },
    ]),
  );
  const keys = fc.oneof(
    { weight: 9, arbitrary: fc.constant(KEYS.events(5)) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('e/', 'e/5', 'e/x', `e/${'9'.repeat(16)}`, 'e/000000000000000x', 'e/-00000000000001'),
    },
  );

  it('a spoilt segment holds whole events, numbered from its key on, or is store.corrupt', () => {
    fc.assert(
      fc.property(keys, mutatedJson(fc.constant(segment)), (key, text) => {
        const answer = readOrCode(() => decodeSegment(key, text, 'epoch_1'));
        if ('code' in answer) return void expect(answer.code).toBe('store.corrupt');
        const { firstSeq, events } = answer.value;
        expect(KEYS.events(firstSeq)).toBe(key);
        for (const [index, event] of events.entries()) {
          expect(event).toMatchObject({
            seq: firstSeq + index,
            epoch: 'epoch_1',
            type: expect.stringMatching(/^[a-z]+\.[a-z_]+$/),
          });
          expect(isTime(event.at)).toBe(true);
          if (!event.type.startsWith('job.')) continue;
          expect(JOB_STATUSES).toContain((event as { status: unknown }).status);
          for (const name of ['jobId', 'sessionId', 'taskId']) expect(typeof (event as never)[name]).toBe('string');
        }
      }),
      times(2_000),
    );
  });
});

function idsOfJob() {
  return { jobId: 'j1', sessionId: 's1', callerSessionId: null, taskId: 'default', parentJobId: null } as const;
}
function statusOf(status: 'queued' | 'errored') {
  const reasonCode = status === 'errored' ? ('failed' as const) : null;
  return { status, reasonCode, cancelRequestedAt: null, completedAt: null, detached: false, revision: 2 };
}

describe('rows of sessions, tasks and what hangs on them', () => {
  const SESSION: SessionRow = {
    sessionId: 's1',
    taskId: 't1',
    agentId: 'a',
    state: 'running',
    interrupted: false,
    pending: { kind: 'permission', requestId: 'r1', options: [{ id: 'yes' }] },
    createdAt: 1,
    updatedAt: 2,
    revision: 3,
  };
  const TASK: TaskRow = { taskId: 't1', title: 'one', state: 'open', createdAt: 1, revision: 2 };
  const TICKET = { ticketId: 'k1', promptId: 'p1', sessionId: 's1', origin: 'human', createdAt: 1 } as const;

  it('a spoilt session or task is a whole row, a removed one, or store.corrupt', () => {
    const cases = fc.oneof(
      mutatedJson(fc.constantFrom<unknown>(SESSION, { removed: 5 })).map((text) => ['session', text] as const),
      mutatedJson(fc.constantFrom<unknown>(TASK, { removed: 5 })).map((text) => ['task', text] as const),
    );
    fc.assert(
      fc.property(cases, ([what, text]) => {
        const answer = readOrCode(() => (what === 'session' ? readSessionRow(text) : readTaskRow(text)));
        if ('code' in answer) return void expect(answer.code).toBe('store.corrupt');
        const row = answer.value as SessionRow | TaskRow | { removed: number };
        if (isRemoved(row)) return void expect(isTime(row.removed)).toBe(true);
        hasTypesOf(row, what === 'session' ? SESSION : TASK, ['agentId', 'pending']);
        expect(Number.isSafeInteger(row.revision)).toBe(true);
        // Written and read once more it is the same: nothing of it depends on what was spoilt.
        const again = JSON.stringify(row);
        expect(JSON.stringify(what === 'session' ? readSessionRow(again) : readTaskRow(again))).toBe(again);
      }),
      times(2_000),
    );
  });

  it('a spoilt ticket, notice, card or process is whole, or none', () => {
    const PROCESS = valueIn(
      putProcess(
        { executionId: 'x1', jobId: 'j1', sessionId: 's1', at: 1, teardownAt: null },
        { pid: 4_321, startTime: '1', bootId: 'b' },
      ),
    ) as object;
    const CARD = valueIn(
      keptCardOperations({
        ordinal: 3,
        card: { cardId: cardIdOf('j1'), sessionId: 's1', function: 'attach', content: 'one', attach: attachOf() },
      })[0],
    );
    const NOTICE = valueIn(noticeOperation({ sessionId: 's1', ordinal: 3, jobId: 'j1', status: 'completed', subject: 'x' }));
    fc.assert(
      fc.property(mutatedJson(fc.constant(TICKET)), (text) => {
        const answer = readOrCode(() => readTicket(text));
        if ('code' in answer) return void expect(answer.code).toBe('store.corrupt');
        hasTypesOf(answer.value, TICKET);
      }),
      times(500),
    );
    fc.assert(
      fc.property(mutatedJson(fc.constant(PROCESS)), (text) => {
        const record = readProcessRecord(text);
        if (record === null) return;
        hasTypesOf(record, { ...PROCESS, teardownAt: 1 }, ['jobId', 'sessionId', 'pid', 'startTime', 'bootId', 'teardownAt']);
        // A number that is no process would name groups of them, or all.
        if (record.pid !== null) expect(Number.isSafeInteger(record.pid) && record.pid > 0).toBe(true);
      }),
      times(1_000),
    );
    fc.assert(
      fc.property(mutatedJson(fc.constant(CARD)), (text) => {
        const kept = readKeptCard(text);
        if (kept === null) return;
        expect(Number.isSafeInteger(kept.ordinal)).toBe(true);
        // What can be read can be written again.
        const operations = keptCardOperations(kept);
        const again = readKeptCard((operations[0] as { value: string }).value);
        expect(again === null ? null : keptCardOperations(again)).toEqual(operations);
      }),
      times(1_000),
    );
    const noticeKey = fc.constantFrom(KEYS.notice('s1', 3), 'u/s1/x', 'u/s1', 'u/%/0000000000000003', 'u/%zz/0000000000000003');
    fc.assert(
      fc.property(noticeKey, mutatedJson(fc.constant(NOTICE)), (key, value) => {
        const notice = readNotice({ key, value });
        if (notice !== null) expect(noticeOperation(notice)).toMatchObject({ key });
      }),
      times(1_000),
    );
  });
});

function attachOf() {
  return { session_id: 's1', job_id: 'j1', status: 'completed', head_id: null, source_commit_id: null, label: 'one' } as const;
}

describe('parts of keys', () => {
  it('whatever is no encoding is refused; whatever is, is the only one of what it says', () => {
    const part = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', '%', '2', 'F', 'f', '0', '_', '/', '~', 'é', '\ud800'), maxLength: 9 }),
      fc.string({ unit: 'grapheme', maxLength: 5 }).map((id) => encodeURIComponent(id)),
    );
    fc.assert(
      fc.property(part, (text) => {
        const id = readOrCode(() => decodeId(text));
        if ('value' in id) expect(encodeId(id.value)).toBe(text);
        else expect(id.code).toBe('input.invalid');
        const ordinal = readOrCode(() => decodeOrdinal(text.padStart(16, '0')));
        if ('value' in ordinal) expect(encodeOrdinal(ordinal.value)).toBe(text.padStart(16, '0'));
      }),
      times(2_000),
    );
  });
});
