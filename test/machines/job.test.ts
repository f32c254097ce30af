/** The job chart, cell by cell: where each event leads from each state, and which fields it sets. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JobChartContext } from '../../src/machines/job.ts';
import { EVENTS, inner, keysOf, PATHS, reached, truth } from './job-table.ts';

type Fields = Partial<JobChartContext>;
const abandoned = (code: 'abandoned.crash' | 'abandoned.shutdown', message: string, detached: boolean): Fields => ({
  completedAt: 40,
  reasonCode: code,
  error: { code: 'job.abandoned', message },
  detached,
});
const CRASH = abandoned('abandoned.crash', 'worker died before completion', false);
const CRASH_NOT_GONE = abandoned('abandoned.crash', 'worker died before completion; pid 7 may live', true);
const SHUTDOWN = abandoned('abandoned.shutdown', 'worker pool shutdown', false);
const RETURNED: Fields = { completedAt: 40, resultText: 'hello', result: { n: 1 }, headId: 'head-1', sourceCommitId: 'commit-1' };
const THREW: Fields = { completedAt: 40, resultText: 'so far', result: 7 };
const FORCED: Fields = { completedAt: 40, resultText: 'so far', detached: true };
const FORCED_WITH_SURVIVORS: Fields = { completedAt: 40, resultText: null, detached: true };
const CANCELLED_BEFORE_PICKUP: Fields = {
  cancelRequestedAt: 40,
  cancelReason: 'stop it',
  cancelCode: 'cancel.user',
  completedAt: 40,
  reasonCode: 'cancel.user',
  error: { code: 'job.cancelled', message: 'stop it' },
};
const BY_PARENT: Fields = { reasonCode: 'cancel.parent', error: { code: 'job.cancelled', message: 'no need any more' } };
const STUCK: Fields = {
  reasonCode: 'cancel.timed_out',
  error: { code: 'job.cancelled', message: 'cancel timed out, worker may be stuck' },
};
const TIMED_OUT: Fields = { reasonCode: 'timed_out', error: { code: 'job.timed_out', message: 'ran too long' } };
const IDLE_TIMED_OUT: Fields = { reasonCode: 'idle_timed_out', error: { code: 'job.idle_timed_out', message: 'said nothing' } };

/** What an accepted cell changes; everything not named stays as it was. */
const FIELDS: Readonly<Record<string, Fields>> = {
  'pending + queue': { queuedAt: 40 },
  'pending + cancel': CANCELLED_BEFORE_PICKUP,
  'pending + shut down': SHUTDOWN,
  'pending + abandon': CRASH,
  'pending + abandon, not gone': CRASH_NOT_GONE,
  'queued + start': { startedAt: 40 },
  'queued + cancel': CANCELLED_BEFORE_PICKUP,
  'queued + shut down': SHUTDOWN,
  'queued + abandon': CRASH,
  'queued + abandon, not gone': CRASH_NOT_GONE,
  'active + cancel': { cause: 'cancel', cancelRequestedAt: 40, cancelReason: 'stop it', cancelCode: 'cancel.user' },
  'active + time out': { cause: 'timeout', causeMessage: 'too long' },
  'active + idle out': { cause: 'idle_timeout', causeMessage: 'too quiet' },
  'active + shut down': { cause: 'shutdown' },
  'active + abandon': CRASH,
  'active + abandon, not gone': CRASH_NOT_GONE,
  'active + returned': { ...RETURNED, reasonCode: 'completed' },
  'active + threw': { ...THREW, reasonCode: 'failed', error: { code: 'job.failed', message: 'ValueError: x' } },
  'ending by cancel + abandon': CRASH,
  'ending by cancel + abandon, not gone': CRASH_NOT_GONE,
  'ending by cancel + returned': { ...RETURNED, ...BY_PARENT },
  'ending by cancel + threw': { ...THREW, ...BY_PARENT },
  'ending by cancel + grace over': { ...FORCED, ...STUCK },
  'ending by cancel + grace over, survivors': {
    ...FORCED_WITH_SURVIVORS,
    reasonCode: 'cancel.timed_out',
    error: { code: 'job.cancelled', message: 'cancel timed out, worker may be stuck; pid 9 is still alive' },
  },
  'ending by timeout + abandon': CRASH,
  'ending by timeout + abandon, not gone': CRASH_NOT_GONE,
  'ending by timeout + returned': { ...RETURNED, ...TIMED_OUT },
  'ending by timeout + threw': { ...THREW, ...TIMED_OUT },
  'ending by timeout + grace over': { ...FORCED, ...TIMED_OUT },
  'ending by timeout + grace over, survivors': {
    ...FORCED_WITH_SURVIVORS,
    reasonCode: 'timed_out',
    error: { code: 'job.timed_out', message: 'ran too long; pid 9 is still alive' },
  },
  'ending by idle timeout + abandon': CRASH,
  'ending by idle timeout + abandon, not gone': CRASH_NOT_GONE,
  'ending by idle timeout + returned': { ...RETURNED, ...IDLE_TIMED_OUT },
  'ending by idle timeout + threw': { ...THREW, ...IDLE_TIMED_OUT },
  'ending by idle timeout + grace over': { ...FORCED, ...IDLE_TIMED_OUT },
  'ending by idle timeout + grace over, survivors': {
    ...FORCED_WITH_SURVIVORS,
    reasonCode: 'idle_timed_out',
    error: { code: 'job.idle_timed_out', message: 'said nothing; pid 9 is still alive' },
  },
  'ending by shutdown + abandon': CRASH,
  'ending by shutdown + abandon, not gone': CRASH_NOT_GONE,
  'ending by shutdown + returned': { ...RETURNED, reasonCode: 'completed' },
  'ending by shutdown + threw': {
    ...THREW,
    reasonCode: 'abandoned.shutdown',
    error: { code: 'job.abandoned', message: 'worker pool shutdown' },
  },
  'ending by shutdown + grace over': {
    ...FORCED,
    reasonCode: 'abandoned.shutdown',
    error: { code: 'job.abandoned', message: 'worker pool shutdown' },
  },
  'ending by shutdown + grace over, survivors': {
    ...FORCED_WITH_SURVIVORS,
    reasonCode: 'abandoned.shutdown',
    error: { code: 'job.abandoned', message: 'worker pool shutdown; pid 9 is still alive' },
  },
};

// XState's development build warns about every event that a finished actor is sent; here that is the point.
beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue(undefined));
afterEach(() => void vi.restoreAllMocks());

describe('the job chart, cell by cell', () => {
  for (const state of keysOf(PATHS)) {
    for (const asked of keysOf(EVENTS)) {
      const expected = truth(state, asked);
      const cell = `${state} + ${asked}`;
      it(`${cell} -> ${expected}`, () => {
        const actor = reached(state);
        const before = actor.getSnapshot();
        expect(inner(before.value)).toBe(state.split(' ')[0]);
        expect(before.can(EVENTS[asked])).toBe(expected !== '-');
        actor.send(EVENTS[asked]);
        const after = actor.getSnapshot();
        if (expected === '-') {
          expect(inner(after.value)).toBe(inner(before.value));
          expect(after.context).toEqual(before.context);
          return;
        }
        expect(inner(after.value)).toBe(expected);
        expect(FIELDS[cell], `the table says what ${cell} changes`).toBeDefined();
        expect(after.context).toEqual({ ...before.context, ...FIELDS[cell] });
      });
    }
  }

  it('has an expectation of fields for every accepted cell and for no other', () => {
    const accepted = keysOf(PATHS).flatMap((state) =>
      keysOf(EVENTS).flatMap((asked) => (truth(state, asked) === '-' ? [] : [`${state} + ${asked}`])),
    );
    expect(Object.keys(FIELDS).sort()).toEqual(accepted.sort());
  });
});
