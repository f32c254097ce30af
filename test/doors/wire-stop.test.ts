/** WST1, WER1: reports, warnings and errors with details on the wire, there and back. */
import { describe, expect, it } from 'vitest';
import { failureFromWire, failureToWire } from '../../src/doors/wire/wire-errors.ts';
import { confirmedFromWire, confirmedToWire, stopReportFromWire, stopReportToWire } from '../../src/doors/wire/wire-stop.ts';
import { OffstageError, offstageError } from '../../src/model/errors.ts';
import type { ConfirmedAnswer, StopReport } from '../../src/model/stop.ts';

const ERROR = { code: 'execution.unknown', message: 'nobody can say' };
const REPORT: StopReport = {
  stopped: [
    { sessionId: 's', executionId: 'exec_1' },
    { sessionId: 's', jobId: 'job_1' },
  ],
  recovered: [{ sessionId: 'over', executionId: 'exec_2' }],
  alreadyStopping: [{ sessionId: 'u', executionId: 'exec_3' }],
  detached: [{ sessionId: 's', executionId: 'exec_4', jobId: 'job_2', error: { code: 'x', message: 'pid 7 lives' } }],
  absent: [{ sessionId: 'quiet' }],
  failed: [{ sessionId: 'v', executionId: 'exec_5', error: ERROR }],
  loadErrors: [{ sessionId: 'w', error: { code: 'store.failed', message: 'no' } }],
  sourceError: { code: 'store.failed', message: 'no list' },
  durable: true,
};
const EMPTY: StopReport = {
  stopped: [],
  recovered: [],
  alreadyStopping: [],
  detached: [],
  absent: [],
  failed: [],
  loadErrors: [],
  sourceError: null,
  durable: false,
};

const throughText = (wire: object) => JSON.parse(JSON.stringify(wire));

describe('reports of a stop', () => {
  it.each([
    ['a full one', REPORT],
    ['an empty one', EMPTY],
  ])('%s comes back as it was', (_, report) => {
    expect(stopReportFromWire(throughText(stopReportToWire(report)))).toEqual(report);
  });

  it('WST1: has the names of the wire, and every list', () => {
    expect(throughText(stopReportToWire(REPORT))).toEqual({
      stopped: [
        { session_id: 's', execution_id: 'exec_1' },
        { session_id: 's', job_id: 'job_1' },
      ],
      recovered: [{ session_id: 'over', execution_id: 'exec_2' }],
      already_stopping: [{ session_id: 'u', execution_id: 'exec_3' }],
      detached: [{ session_id: 's', execution_id: 'exec_4', job_id: 'job_2', error: 'pid 7 lives', error_code: 'x' }],
      absent: [{ session_id: 'quiet' }],
      failed: [{ session_id: 'v', execution_id: 'exec_5', error: ERROR.message, error_code: ERROR.code }],
      load_errors: [{ session_id: 'w', error: 'no', error_code: 'store.failed' }],
      source_error: { error: 'no list', error_code: 'store.failed' },
      durable: true,
    });
    expect(Object.keys(stopReportToWire(EMPTY))).toHaveLength(9);
  });

  it('a result is more than a report: its promise stays where it is', () => {
    const result = { ...EMPTY, settled: Promise.resolve(EMPTY) };
    expect(stopReportToWire(result)).toEqual(stopReportToWire(EMPTY));
  });
});

describe('what has to be confirmed', () => {
  const WARNED: ConfirmedAnswer = { done: false, warning: { generating: 2, background: 1, activeSubagentCount: 0, jobs: 3 } };
  it.each([
    ['done', { done: true } as const, { done: true }],
    ['a warning', WARNED, { done: false, warning: { generating: 2, background: 1, active_subagent_count: 0, jobs: 3 } }],
  ])('%s', (_, answer, wire) => {
    expect(throughText(confirmedToWire(answer))).toEqual(wire);
    expect(confirmedFromWire(wire)).toEqual(answer);
  });
});

describe('errors on the wire', () => {
  it.each([
    offstageError('job.not_found', { jobId: 'j' }),
    offstageError('limit.input_bytes', { bytes: 7, limit: 5 }),
    offstageError('session.stalled', { sessionId: 's', stallFailMs: 9 }),
    offstageError('store.locked', { folder: '/f', pid: null }),
    offstageError('stop.nothing_running', { id: 't', detached: REPORT.detached }),
    offstageError('stop.failed', { id: 't', message: 'all failed', failed: REPORT.failed, loadErrors: REPORT.loadErrors }),
    offstageError('engine.closing', undefined),
  ])('WER1: $code comes back with its sentence and its details', (error) => {
    const wire = throughText(failureToWire(error));
    const back = failureFromWire(wire);
    expect(back).toBeInstanceOf(OffstageError);
    expect([back.code, back.message, back.details, back.retryable]).toEqual([
      error.code,
      error.message,
      error.details,
      error.retryable,
    ]);
    expect(Object.keys({ ...wire.details }).filter((name) => /[A-Z]/.test(name))).toEqual([]);
  });

  it('has no details where there are none', () => {
    expect(failureToWire(offstageError('engine.closing', undefined))).not.toHaveProperty('details');
  });

  it('an owner that tells none, or anything else under that name, does no harm', () => {
    for (const details of [undefined, null, 7, 'x', [1]]) {
      const wire = { error: 'no', error_code: 'job.not_found', ...(details === undefined ? {} : { details }) };
      expect(failureFromWire(wire)).toMatchObject({ code: 'job.not_found', message: 'no', details: {} });
    }
  });

  it('a code that only the other side knows stays what it is; what is no code is control.failed', () => {
    const newer = { error: 'no', error_code: 'new.code', retryable: true };
    expect(failureFromWire(newer)).toMatchObject({ code: 'new.code', message: 'no', retryable: true });
    for (const error_code of [null, 7, '', 'no code', '__proto__']) {
      expect(failureFromWire({ error: 'no', error_code })).toMatchObject({
        code: 'control.failed',
        message: 'no',
        retryable: false,
      });
    }
  });
});
