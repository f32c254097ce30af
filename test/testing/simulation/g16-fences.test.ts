/** G16: the checker of fences sees what it is there to see, and nothing else. */
import { describe, expect, it } from 'vitest';
import { fences } from '../../../src/testing/simulation/checkers/g16-fences.ts';
import {
  activity,
  answered,
  asked,
  called,
  endTold,
  judging,
  opened,
  refused,
  rested,
  restedAtLast,
  session,
  started,
  type Told,
  told,
} from '../../support/simulation-facts-sessions.ts';

const judge = judging(fences);
type Story = readonly (Told | readonly Told[])[];

const attached = (observer: number, how: 'onEvent' | 'events$' | 'events' = 'onEvent'): Told => ({
  type: 'attached',
  observer,
  how,
});
const detached = (observer: number): Told => ({ type: 'detached', observer, how: 'onEvent' });
const A = activity(1, 'generating');
const B = activity(2, null);
const STORE = { durability: 'full', pendingWrites: 0, lastError: null } as const;
const POOL = { workers: 4, running: 0, waiting: 0, queued: 0, detached: 0 };
const WAIT = asked(1, 'wait', 'j');
const PENDING = { type: 'gave-up', call: 1 } as const;

describe('fences', () => {
  it.each<[string, Story]>([
    [
      'observers that are told the same',
      [opened(), told(A), attached(1), attached(2, 'events$'), told(B), told(B, 1), told(B, 2), rested()],
    ],
    ['one that is told first', [opened(), attached(1), told(A, 1), told(A), rested()]],
    ['one that has left', [opened(), attached(1), detached(1), told(A), rested()]],
    ['a reader that catches up by itself', [opened(), attached(1, 'events'), told(A), rested()]],
    ['a call that is answered', [opened(), WAIT, answered(1, 'wait', {}), restedAtLast()]],
    ['a reader that goes on', [opened(), asked(1, 'events'), restedAtLast(), { type: 'closing' }, { type: 'closed' }]],
    [
      'a call of a process that has died',
      [opened(), WAIT, { type: 'crashed', kind: 'process', left: [], taken: 0 }, opened({}, 'second'), restedAtLast()],
    ],
    ['the reason of whoever gave up', [opened(), WAIT, PENDING, refused(1, 'wait', 'whatever')]],
    ['a refusal of the table', [opened(), WAIT, refused(1, 'wait', 'job.not_found')]],
    ['a body that is still at work at last', [opened(), called(1, 'j'), restedAtLast({ pool: { ...POOL, running: 1 } })]],
    ['an engine that is unwell before the end', [opened(), WAIT, rested({ canStore: false, isLast: true })]],
    ['an agent that lives', [opened(), session(), started(1), restedAtLast({ agents: { live: 1, ending: 0, detached: 0 } })]],
  ])('finds nothing wrong with %s', (_, facts) => {
    expect(judge(facts)).not.toThrow();
  });

  it.each<[string, RegExp, Story]>([
    ['what nobody catches', /nobody caught/, [opened(), { type: 'escaped', message: 'TypeError' }]],
    ['an engine that never rests', /never comes to rest/, [opened(), { type: 'never-rests', pending: ['a timer'] }]],
    ['an observer that is told nothing', /was not told/, [opened(), attached(1), told(A), rested()]],
    ['an observer that is told less', /was not told/, [opened(), attached(1), told(A), told(A, 1), told(B), rested()]],
    ['an observer that is told more', /and observer 0 was not/, [opened(), attached(1), told(A, 1), rested()]],
    ['an observer that is told something else', /where observer 0/, [opened(), attached(1), told(A), told(B, 1)]],
    ['an observer that is told in another order', /where observer 0/, [opened(), attached(1), told(A), told(B), told(B, 1)]],
    ['an observer that is told something else, and first', /where observer 0/, [opened(), attached(1), told(B, 1), told(A)]],
    ['an event that is told twice', /and observer 0 was not/, [opened(), attached(1), told(A), told(A, 1), told(A, 1), rested()]],
    ['a call that nobody answers', /is not answered/, [opened(), WAIT, restedAtLast()]],
    ['a call that a close leaves alone', /the engine has closed/, [opened(), WAIT, { type: 'closing' }, { type: 'closed' }]],
    ['a close that never comes', /and never did/, [opened(), { type: 'closing' }, opened({}, 'second')]],
    ['a code that is none', /no code of the table/, [opened(), WAIT, refused(1, 'wait', 'unknown')]],
    ['a code that the name of a method is', /no code of the table/, [opened(), WAIT, refused(1, 'wait', 'toString')]],
    ['a code of somewhere else', /nothing here can be/, [opened(), WAIT, refused(1, 'wait', 'access.forbidden')]],
    ['a row that cannot be read', /nothing here can be/, [opened(), WAIT, refused(1, 'wait', 'store.corrupt')]],
    ['an engine that stays unwell', /is degraded/, [opened(), restedAtLast({ status: 'degraded' })]],
    ['slots that nobody gives back', /the pool counts/, [opened(), restedAtLast({ pool: { ...POOL, detached: 1 } })]],
    ['changes that are never stored', /are not stored/, [opened(), restedAtLast({ store: { ...STORE, pendingWrites: 2 } })]],
    ['an agent that is said to end', /are ending/, [opened(), restedAtLast({ agents: { live: 0, ending: 1, detached: 0 } })]],
    ['an agent that is forgotten', /are said to live/, [opened(), started(1), restedAtLast()]],
    [
      'an agent that was told to end and is said to live',
      /are said to live/,
      [opened(), started(1), endTold(1), restedAtLast({ agents: { live: 1, ending: 0, detached: 0 } })],
    ],
  ])('G16 is broken by %s', (_, message, facts) => {
    expect(judge(facts)).toThrow(/^G16/);
    expect(judge(facts)).toThrow(message);
  });
});
