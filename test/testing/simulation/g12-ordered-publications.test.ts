/** G12: the checker of publications sees what it is there to see, and nothing else. */
import { describe, expect, it } from 'vitest';
import { orderedPublications } from '../../../src/testing/simulation/checkers/g12-ordered-publications.ts';
import {
  activity,
  aggregate,
  judging,
  moved,
  opened,
  removedSession,
  session,
  type Told,
  ticket,
  told,
} from '../../support/simulation-facts-sessions.ts';

const judge = judging(orderedPublications);
type Story = readonly (Told | readonly Told[])[];

const CREATED = told(moved(null, 'created', 1));
const GENERATING = told(activity(2, 'generating'));
const IDLE = told(activity(3, null));
const REMOVED = told({ type: 'session.removed', sessionId: 's', taskId: 't' });
const TASK_REMOVED = told({ type: 'task.removed', taskId: 't', title: 't', state: 'open' });
const attached = (observer: number, how: 'onEvent' | 'events' = 'onEvent'): Told => ({ type: 'attached', observer, how });
const crashed = (left: readonly { readonly key: string; readonly value: string }[] = []): Told => ({
  type: 'crashed',
  kind: 'process',
  left,
  taken: 0,
});
const replayed = {
  foregroundActivity: undefined,
  activeSubagentCount: undefined,
  activityEpoch: undefined,
  sessionSeq: undefined,
};
const second = (event: object): Told => told({ ...event, epoch: 'second' });

describe('orderedPublications', () => {
  it.each<[string, Story]>([
    ['values that change', [opened(), CREATED, GENERATING, IDLE]],
    ['a count that changes', [opened(), CREATED, GENERATING, told(activity(3, 'generating', 1))]],
    [
      'the same again after a state has said something else',
      [opened(), CREATED, GENERATING, told(moved('created', 'starting', 3)), told(activity(4, 'generating'))],
    ],
    [
      'states that follow from each other',
      [opened(), CREATED, told(moved('created', 'starting', 2)), told(moved('starting', 'running', 3))],
    ],
    ['aggregates that change', [opened(), told(aggregate(1, 'generating')), told(aggregate(2, null))]],
    [
      'two sessions, each in its own order',
      [opened(), told(activity(5, 'generating')), told({ ...activity(2, 'generating'), sessionId: 'other' })],
    ],
    [
      'a process that begins anew',
      [
        opened(),
        session('s', 't', 'running'),
        CREATED,
        told(moved('created', 'running', 9)),
        { type: 'closed' },
        opened({}, 'second'),
        second(moved('running', 'waiting_for_input', 1)),
      ],
    ],
    [
      'what a start changes before anybody listens',
      [
        opened(),
        CREATED,
        told(moved('created', 'running', 9)),
        { type: 'closed' },
        session('s', 't', 'waiting_for_input'),
        opened({}, 'second'),
        second(moved('waiting_for_input', 'running', 1)),
      ],
    ],
    ['a removal', [opened(), CREATED, GENERATING, REMOVED, told(aggregate(1, 'generating'))]],
    [
      'a removal that a crash has taken back',
      [opened(), CREATED, REMOVED, crashed(), session(), opened({}, 'second'), second(moved('created', 'starting', 1))],
    ],
    [
      'who begins to look in the middle',
      [opened(), CREATED, GENERATING, attached(1), told(activity(3, null)), told(activity(3, null), 1)],
    ],
    [
      'a reader who was behind',
      [
        opened(),
        attached(1, 'events'),
        told(activity(1, 'generating'), 1),
        told({ type: 'resync' }, 1),
        told(activity(4, 'generating'), 1),
      ],
    ],
    [
      'a replay',
      [
        opened(),
        attached(1, 'events'),
        told({ ...moved(null, 'created', 0), ...replayed }, 1),
        told({ ...moved('created', 'starting', 0), ...replayed }, 1),
        told(activity(3, 'generating'), 1),
      ],
    ],
  ])('finds nothing wrong with %s', (_, facts) => {
    expect(judge(facts)).not.toThrow();
  });

  it.each<[string, RegExp, Story]>([
    ['a number that falls', /is numbered 1 after 2/, [opened(), CREATED, GENERATING, told(activity(1, null))]],
    [
      'a number that is used twice',
      /is numbered 2 after 2/,
      [opened(), CREATED, GENERATING, told(moved('created', 'starting', 2))],
    ],
    [
      'an epoch that falls',
      /activity epoch 1 after 2/,
      [opened(), CREATED, told(activity(2, 'generating', 0, { activityEpoch: 2 })), told(activity(3, null))],
    ],
    ['what was said before', /said before/, [opened(), CREATED, GENERATING, told(activity(3, 'generating'))]],
    ['nothing, at the very beginning', /said before/, [opened(), told(activity(1, null))]],
    [
      'an aggregate that was said before',
      /said before/,
      [opened(), told(aggregate(1, 'generating')), told(aggregate(2, 'generating'))],
    ],
    [
      'an aggregate whose number falls',
      /is numbered 1 after 2/,
      [opened(), told(aggregate(2, 'generating')), told(aggregate(1, null))],
    ],
    [
      'a state without activity',
      /has a number and no activity/,
      [opened(), told({ ...moved(null, 'created', 1), foregroundActivity: undefined })],
    ],
    ['a state that does not follow', /was told to be created/, [opened(), CREATED, told(moved('starting', 'running', 2))]],
    ['a state out of nothing', /never told to be there/, [opened(), told(moved('created', 'starting', 1))]],
    [
      'a state that does not follow from what was stored',
      /was told to be running/,
      [opened(), session('s', 't', 'running'), { type: 'closed' }, opened({}, 'second'), second(moved('created', 'starting', 1))],
    ],
    [
      'a session that goes on after its end',
      /goes on after its end/,
      [opened(), CREATED, told(moved('created', 'cancelled', 2)), told(moved('cancelled', 'starting', 3))],
    ],
    ['activity of a removed session', /session that was removed/, [opened(), CREATED, REMOVED, GENERATING]],
    [
      'the end of a ticket of a removed session',
      /session that was removed/,
      [opened(), CREATED, REMOVED, ticket('k', 'p', 'failed')],
    ],
    [
      'an id that is used again',
      /session that was removed/,
      [opened(), CREATED, removedSession(), REMOVED, { type: 'closed' }, opened({}, 'second'), second(moved(null, 'created', 1))],
    ],
    [
      'activity of a removed task',
      /task that was removed/,
      [opened(), told(aggregate(1, 'generating')), TASK_REMOVED, told(aggregate(2, null))],
    ],
    ['activity of a session of a removed task', /task that was removed/, [opened(), CREATED, TASK_REMOVED, GENERATING]],
    ['another process', /is told by a process that is called first/, [opened(), second(activity(1, 'generating'))]],
    ['an earlier process', /earlier process/, [opened(), CREATED, { type: 'closed' }, opened({}, 'first')]],
    [
      'an observer that is told in another order',
      /where observer 0/,
      [opened(), attached(1), CREATED, GENERATING, told(activity(2, 'generating'), 1)],
    ],
    [
      'a reader that is told in another order',
      /to observer 1: is numbered 2 after 3/,
      [opened(), attached(1, 'events'), told(activity(3, 'generating'), 1), told(activity(2, null), 1)],
    ],
  ])('G12 is broken by %s', (_, message, facts) => {
    expect(judge(facts)).toThrow(/^G12/);
    expect(judge(facts)).toThrow(message);
  });
});
