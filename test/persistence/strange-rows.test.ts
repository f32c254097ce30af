/** COD2, COD5, LOG2, RSH1: what was never written is refused by each reader, and no record is made up of it. */
import { describe, expect, it } from 'vitest';
import { decodeSegment, readEvents, trimOperations } from '../../src/persistence/event-log.ts';
import { decodeJobRow, encodeJobRow, type JobBase, NEW_SNAPSHOT, parseRow, type Row } from '../../src/persistence/job-codec.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { readProcessRecord } from '../../src/persistence/process-row.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { readSessionRow, readTaskRow } from '../../src/persistence/session-rows.ts';
import type { Store } from '../../src/persistence/store.ts';

const corrupt = expect.objectContaining({ code: 'store.corrupt' });
const BASE = { ordinal: 1, jobId: 'j', kind: 'k', subject: 's', description: '', agentId: null, input: null, createdAt: 1 };
const PLACE = { sessionId: 's', callerSessionId: null, taskId: 't', parentJobId: null, parentMessageId: null };
const REST = {
  contextMode: 'inherit',
  wait: false,
  timeoutMs: null,
  idleTimeoutMs: null,
  notifies: false,
  depth: 0,
  isLarge: false,
};
const whole = parseRow(encodeJobRow({ ...BASE, ...PLACE, ...REST } as JobBase, NEW_SNAPSHOT, 1));
const withColumn = (column: number, value: unknown): Row => whole.with(column, value);

describe('rows of jobs', () => {
  it.each(['constructor', '__proto__', 'toString', '1', null, [1]])('COD2: the version %j is that of no release', (version) => {
    expect(() => decodeJobRow(withColumn(0, version), undefined)).toThrow(corrupt);
  });

  it.each([
    ['a row that is cut off', whole.slice(0, 30)],
    ['an ordinal that is a text', withColumn(1, '1')],
    ['an id that no key can have', withColumn(2, '\ud800')],
    ['a time that is infinite', withColumn(8, Number.POSITIVE_INFINITY)],
    ['a flag that is a text', withColumn(15, 'yes')],
    ['a state that there is not', withColumn(22, 7)],
    ['an error without a message', withColumn(33, { code: 'x' })],
    ['notes that are none', withColumn(39, [null])],
  ])('COD5: %s', (_, row) => {
    expect(decodeJobRow(whole, undefined).base.jobId).toBe('j');
    expect(() => decodeJobRow(row, undefined)).toThrow(corrupt);
  });

  it.each(['[]', '["only a description"]', '[5,null]'])('COD5: the large part %s', (part) => {
    expect(() => decodeJobRow(withColumn(20, 1), part)).toThrow(corrupt);
  });
});

async function logOf(segments: Readonly<Record<string, string>>): Promise<Store> {
  const store = memoryStore();
  await store.batch(
    Object.entries(segments).map(([key, value]) => ({ type: 'put' as const, key, value })),
    { sync: false },
  );
  return store;
}
const segment = (at: number, count: number): string =>
  JSON.stringify([
    1,
    ...Array.from({ length: count }, () => ({ type: 'task.created', at, taskId: 't', title: '', state: 'open' })),
  ]);

describe('segments of events', () => {
  it.each(['[1,null]', '[1,{}]', '[1,{"type":"job.status","at":1}]', '[1,[0,1,"j"]]', '[1,{"type":"task.created","at":1e999}]'])(
    'LOG2: %s',
    (value) => {
      expect(() => decodeSegment(KEYS.events(1), value, 'e')).toThrow(corrupt);
    },
  );

  it('a key that has no number', () => {
    expect(() => decodeSegment('e/x', segment(1, 1), 'e')).toThrow(corrupt);
  });

  it('that overlap are read with numbers that grow', async () => {
    const store = await logOf({ [KEYS.events(1)]: segment(1, 3), [KEYS.events(2)]: segment(1, 3) });
    const seqs: number[] = [];
    for await (const { seq } of readEvents(store, 0, 'e')) seqs.push(seq);
    expect(seqs).toEqual([1, 2, 3, 4]);
  });

  it('RET3: one that cannot be read goes with the readable one behind it, and holds nothing up', async () => {
    const store = await logOf({
      [KEYS.events(1)]: '[1,',
      [KEYS.events(3)]: segment(1, 2),
      [KEYS.events(5)]: '',
      [KEYS.events(7)]: segment(9, 1),
    });
    const keys = (await trimOperations(store, { fromSeq: 0, fromAt: 5 }, 10)).map(({ key }) => key);
    expect(keys).toEqual([KEYS.events(1), KEYS.events(3)]);
  });
});

describe('other rows', () => {
  const process = {
    executionId: 'x',
    jobId: 'j',
    sessionId: null,
    pid: 7,
    startTime: null,
    bootId: null,
    at: 1,
    teardownAt: null,
  };
  it.each([{ pid: -1 }, { pid: 0 }, { pid: '7' }, { startTime: 5 }, { at: 'x' }, { executionId: '\ud800' }])(
    'a process with %j is none: its number could mean a group of processes',
    (change) => {
      expect(readProcessRecord(JSON.stringify(process))).toEqual(process);
      expect(readProcessRecord(JSON.stringify({ ...process, ...change }))).toBeNull();
    },
  );

  it('sessions and tasks with a time that is infinite, or an id that no key can have', () => {
    expect(() => readSessionRow('{"sessionId":"s","taskId":"t","state":"created","createdAt":1e999}')).toThrow(corrupt);
    expect(() => readSessionRow('{"sessionId":"\\ud800","taskId":"t","state":"created","createdAt":1}')).toThrow(corrupt);
    expect(() => readTaskRow('{"taskId":"t","removed":1e999}')).toThrow(corrupt);
  });
});
