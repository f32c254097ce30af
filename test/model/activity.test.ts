/** Tier, and the aggregates of a task: one pure function for page loads and events (liveness 2, 7, 10). */
import { describe, expect, it } from 'vitest';
import {
  type Activity,
  type ActivityValue,
  aggregateActivity,
  aggregatePending,
  isInputCapable,
  isSameActivity,
  NO_ACTIVITY,
  tierOf,
} from '../../src/model/activity.ts';
import type { PendingRequest, SessionState } from '../../src/model/records.ts';

const value = (foregroundActivity: Activity, activeSubagentCount = 0): ActivityValue => ({
  foregroundActivity,
  activeSubagentCount,
});
const asks = (kind: PendingRequest['kind']): PendingRequest => ({ kind, requestId: 'r', options: [] });
const session = (state: SessionState, activity: Activity = null, pending: PendingRequest | null = null) => ({
  state,
  pending,
  ...value(activity),
});

describe('ACV1: the tier', () => {
  it.each([
    [false, false, 'generating'],
    [false, true, 'generating'],
    [true, true, 'background'],
    [true, false, null],
  ] as const)('idle %s, work %s -> %s', (isForegroundIdle, hasWork, tier) => {
    expect(tierOf(isForegroundIdle, hasWork)).toBe(tier);
  });
});

describe('ACV2: the aggregate of a task', () => {
  it.each([
    ['nothing', [], value(null)],
    ['one that rests', [value(null)], value(null)],
    ['background over none', [value(null), value('background')], value('background')],
    ['generating over background', [value('background'), value('generating')], value('generating')],
    ['generating over background, in the other order', [value('generating'), value('background')], value('generating')],
    [
      'counts are summed, also of the less active',
      [value('generating', 1), value('background', 2), value(null)],
      value('generating', 3),
    ],
    ['counts of a session without a tier', [value(null, 4), value('background', 1)], value('background', 5)],
  ])('%s', (_, values, expected) => {
    expect(aggregateActivity(values)).toEqual(expected);
    expect(aggregateActivity(values.toReversed())).toEqual(expected);
  });

  it('takes any iterable, once', () => {
    expect(aggregateActivity(new Map([['a', value('background', 1)]]).values())).toEqual(value('background', 1));
  });

  it('changes none of what it is given', () => {
    const values = [Object.freeze(value('background', 1)), NO_ACTIVITY];
    aggregateActivity(values);
    expect(NO_ACTIVITY).toEqual(value(null));
  });
});

describe('two values', () => {
  it('are the same only when tier and count are', () => {
    expect(isSameActivity(value('background', 1), value('background', 1))).toBe(true);
    expect(isSameActivity(value('background', 1), value('background', 2))).toBe(false);
    expect(isSameActivity(value('background', 1), value('generating', 1))).toBe(false);
    expect(isSameActivity(value(null), value('background'))).toBe(false);
  });
});

describe('what a task waits for', () => {
  it.each([
    ['nothing', [], null],
    ['nothing, when all rest', [session('waiting_for_input'), session('completed')], null],
    ['work', [session('running', 'generating')], 'work'],
    ['work in the background, also of a session that has ended its turn', [session('waiting_for_input', 'background')], 'work'],
    [
      'a clarification over work',
      [session('running', 'generating', asks('clarification')), session('running', 'generating')],
      'clarification',
    ],
    [
      'a permission over a clarification',
      [session('running', 'generating', asks('clarification')), session('running', 'generating', asks('permission'))],
      'permission',
    ],
    ['a permission while waiting for input', [session('waiting_for_input', null, asks('permission'))], 'permission'],
    ['no request where nobody could answer', [session('starting', 'generating', asks('permission'))], 'work'],
    [
      'no request of what has ended',
      [session('failed', null, asks('permission')), session('idle', null, asks('clarification'))],
      null,
    ],
  ] as const)('%s', (_, sessions, expected) => {
    expect(aggregatePending(sessions)).toBe(expected);
    expect(aggregatePending(sessions.toReversed())).toBe(expected);
  });

  it('can be answered in running and waiting_for_input only', () => {
    const states = ['created', 'starting', 'running', 'waiting_for_input', 'idle', 'completed', 'failed', 'cancelled'] as const;
    expect(states.filter(isInputCapable)).toEqual(['running', 'waiting_for_input']);
  });
});
