/** COD1, COD3: a job's rows read back give exactly what was written, whatever strings and values it is made of. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type JsonValue, toJson } from '../src/model/json.ts';
import type { HistoryEntry } from '../src/model/records.ts';
import {
  decodeJobRow,
  encodeJobRow,
  encodeLargePart,
  historyOf,
  type JobBase,
  type JobSnapshot,
  type JobState,
  needsLargePart,
  parseRow,
  toRecord,
} from '../src/persistence/job-codec.ts';
import { times } from './support/how-often.ts';

const odd = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('', '\u2028', '\0', '"\\', '__proto__', '\ud83d\ude00', '\r\n', '[', '💥'.repeat(50)),
);
const orNull = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: null });
const time = fc.integer({ min: 0, max: 8_640_000_000_000_000 });
const json = fc.jsonValue({ stringUnit: 'binary' }).map((value) => toJson(value)) as fc.Arbitrary<JsonValue>;
const limit = orNull(fc.oneof(fc.nat(), fc.constant(0.5), fc.constant(2 ** 40)));
const cancelCode = fc.constantFrom('cancel.user', 'cancel.parent', 'cancel.caller_gone', 'cancel.stop');

const base = fc.record(
  {
    ordinal: fc.maxSafeNat(),
    jobId: odd,
    kind: odd,
    subject: odd,
    description: odd,
    agentId: orNull(odd),
    input: json,
    createdAt: time,
    sessionId: odd,
    callerSessionId: orNull(odd),
    taskId: odd,
    parentJobId: orNull(odd),
    parentMessageId: orNull(odd),
    contextMode: fc.constantFrom('inherit', 'clean'),
    wait: fc.boolean(),
    timeoutMs: limit,
    idleTimeoutMs: limit,
    notifies: fc.boolean(),
    depth: fc.nat(64),
    isLarge: fc.boolean(),
  },
  { noNullPrototype: true },
) as fc.Arbitrary<JobBase>;

const note = fc.record(
  {
    at: time,
    type: fc.constantFrom('cancel_requested', 'ending', 'late_result_dropped', 'detached_settled', 'process_launched', 'note'),
    detail: odd,
  },
  { requiredKeys: ['at', 'type'], noNullPrototype: true },
) as fc.Arbitrary<HistoryEntry>;

const snapshot = fc.record(
  {
    state: fc.constantFrom<JobState>('pending', 'queued', 'active', 'ending', 'completed', 'cancelled', 'errored'),
    lastActivityAt: orNull(time),
    notes: fc.array(note, { maxLength: 5 }),
    context: fc.record(
      {
        queuedAt: orNull(time),
        startedAt: orNull(time),
        completedAt: orNull(time),
        cause: orNull(fc.constantFrom('cancel', 'timeout', 'idle_timeout', 'shutdown')),
        causeMessage: orNull(odd),
        cancelRequestedAt: orNull(time),
        cancelReason: orNull(odd),
        cancelCode: orNull(cancelCode),
        reasonCode: orNull(fc.constantFrom('completed', 'failed', 'timed_out', 'cancel.user', 'abandoned.crash', 'worker_died')),
        error: orNull(fc.record({ code: odd, message: odd }, { noNullPrototype: true })),
        resultText: orNull(odd),
        result: json,
        headId: orNull(odd),
        sourceCommitId: orNull(odd),
        detached: fc.boolean(),
      },
      { noNullPrototype: true },
    ),
  },
  { noNullPrototype: true },
) as fc.Arbitrary<JobSnapshot>;

it('COD1: base, snapshot, revision, record and history come back as they were', () => {
  fc.assert(
    fc.property(base, snapshot, fc.nat(), (job, state, revision) => {
      const row = parseRow(encodeJobRow(job, state, revision));
      expect(needsLargePart(row)).toBe(job.isLarge);
      const read = decodeJobRow(row, job.isLarge ? encodeLargePart(job) : undefined);
      expect(read).toStrictEqual({ base: job, snapshot: state, revision });
      expect(toRecord(read.base, read.snapshot, read.revision)).toStrictEqual(toRecord(job, state, revision));
      expect(historyOf(read.base, read.snapshot)).toStrictEqual(historyOf(job, state));
    }),
    times(700),
  );
});

it('COD3: the row of a job with a large input does not hold the input', () => {
  fc.assert(
    fc.property(base, snapshot, (job, state) => {
      const large = { ...job, isLarge: true };
      const marked = { ...large, input: 'MARK-input', description: 'MARK-description' };
      expect(encodeJobRow(marked, { ...state, notes: [] }, 1)).not.toContain('MARK-');
      expect(encodeJobRow(marked, state, 1)).toBe(encodeJobRow({ ...marked, input: null, description: '' }, state, 1));
    }),
    times(200),
  );
});
