/** G10: the checker of prompts sees what it is there to see, and nothing else. */
import { describe, expect, it } from 'vitest';
import { onePrompt } from '../../../src/testing/simulation/checkers/g10-one-prompt.ts';
import {
  able,
  accepted,
  answered,
  ask,
  asked,
  busy,
  ended,
  endTold,
  gone,
  judging,
  opened,
  over,
  prompted,
  refused,
  rested,
  said,
  session,
  sessionView,
  speaks,
  started,
  type Told,
  ticket,
  waiting,
} from '../../support/simulation-facts-sessions.ts';

const judge = judging(onePrompt);
type Story = readonly (Told | readonly Told[])[];

const OPEN = [opened(), session(), started(1), able(1)];
const FIRST = [ask(1, 'a'), prompted(1, 1, 'a'), accepted(1, 1)];
const OVER = [over(1, 1), ended(1)];
const idle = (generation: number): Told => said(1, 'foreground.idle', generation);
const QUIET = rested({ sessions: [sessionView()] });
const GENERATING = sessionView({
  foregroundActivity: 'generating',
  turn: { generation: 1, origin: 'prompt', startedAt: 0, quiet: false },
});
const QUEUED = { ticketId: 'k1', promptId: 'p', queued: true, position: 1 };
const LINE = [
  ask(2, 'b', { whenBusy: 'queue', promptId: 'p' }),
  ticket('k1', 'p', 'queued'),
  answered(2, 'sessions.prompt', QUEUED),
];
const SERVED = [prompted(1, 2, 'b'), ticket('k1', 'p', 'accepted', 2)];
const SECOND = [
  ask(3, 'c', { whenBusy: 'queue', promptId: 'q' }),
  ticket('k2', 'q', 'queued'),
  answered(3, 'sessions.prompt', { ...QUEUED, ticketId: 'k2', promptId: 'q' }),
];

describe('onePrompt', () => {
  it.each<[string, Story]>([
    ['one prompt after the other', [...OPEN, FIRST, OVER, ask(2, 'b'), prompted(1, 2, 'b'), accepted(2, 2)]],
    ['one of two that is refused', [...OPEN, ask(1, 'a'), ask(2, 'b'), prompted(1, 1, 'a'), busy(2), accepted(1, 1)]],
    ['a hand-off to a person', [...OPEN, FIRST, idle(1), ask(2, 'b'), prompted(1, 2, 'b'), accepted(2, 2), ended(1), over(1, 1)]],
    [
      'a frame that ends the turn before its answer',
      [...OPEN, FIRST, said(1, 'turn.ended', 1), ended(1), ask(2, 'b'), prompted(1, 2, 'b')],
    ],
    [
      'a third one beside a first that was handed off long ago',
      [
        ...[...OPEN, FIRST, idle(1), ask(2, 'b'), prompted(1, 2, 'b'), ended(1), speaks(1, 1), over(1, 2), ended(2)],
        ...[rested(), ask(3, 'c'), prompted(1, 3, 'c')],
      ],
    ],
    [
      'a second agent when the first was told to end',
      [...[...OPEN, FIRST, asked(2, 'sessions.stop', 's'), ended(1), endTold(1), started(2), ask(3, 'b'), prompted(2, 2, 'b')]],
    ],
    ['one that is interrupted and closed alone', [...OPEN, FIRST, asked(2, 'sessions.interrupt', 's'), ended(1)]],
    ['a turn that takes too long', [opened({ turnTimeoutMs: 1_000 }), session(), started(1), FIRST, { ...ended(1), at: 1_000 }]],
    [
      'an agent that has failed for its silence',
      [opened({ stallFailMs: 1_000 }), session(), started(1), FIRST, { ...ended(1), at: 1_000 }],
    ],
    [
      'the same promptId and the same answer',
      [
        ...OPEN,
        ask(1, 'a', { promptId: 'p' }),
        prompted(1, 1, 'a'),
        accepted(1, 1, 'p'),
        ask(2, 'a', { promptId: 'p' }),
        accepted(2, 1, 'p'),
      ],
    ],
    [
      'a refused promptId that is tried again',
      [
        ...OPEN,
        ask(1, 'a', { promptId: 'p' }),
        prompted(1, 1, 'a'),
        over(1, 1, 'threw'),
        refused(1, 'sessions.prompt', 'agent.failed'),
        ask(2, 'a', { promptId: 'p' }),
        prompted(1, 2, 'a'),
        accepted(2, 2, 'p'),
      ],
    ],
    ['a ticket that is served', [...OPEN, FIRST, LINE, OVER, SERVED]],
    [
      'tickets in their order',
      [...OPEN, FIRST, LINE, SECOND, OVER, SERVED, over(1, 2), ended(2), prompted(1, 3, 'c'), ticket('k2', 'q', 'accepted', 3)],
    ],
    [
      'a ticket that waits, and one on its way',
      [...OPEN, FIRST, LINE, SECOND, rested({ sessions: [GENERATING], tickets: new Map([['s', [waiting('k2', 'q')]]]) })],
    ],
    ['a ticket of an earlier process that is lost', [opened(), ticket('k9', 'p', 'failed')]],
    ['a notice of a job', [...OPEN, prompted(1, 1, '[task j completed] j\nok', { origin: 'synthetic' })]],
    [
      'a busy session of which another one has taken hold',
      [...OPEN, QUIET, ask(1, 'a'), ask(2, 'b'), busy(1), prompted(1, 1, 'b')],
    ],
    ['a busy session whose agent has spoken', [...OPEN, QUIET, speaks(1, 0), ask(1, 'a'), busy(1)]],
    [
      'a new process that counts anew',
      [...OPEN, FIRST, { type: 'closed' }, opened({}, 'second'), started(2), ask(4, 'd'), prompted(2, 1, 'd')],
    ],
    ['generations of an agent of a job', [...OPEN, started(2, 's', 'j'), prompted(2, 1, 'x', { jobId: 'j' }), FIRST]],
    [
      'a late frame of an earlier turn',
      [...OPEN, FIRST, OVER, said(1, 'turn.ended', 1), ask(2, 'b'), prompted(1, 2, 'b'), over(1, 2), ended(2)],
    ],
  ])('finds nothing wrong with %s', (_, facts) => {
    expect(judge(facts)).not.toThrow();
  });

  it.each<[string, Story]>([
    ['a generation that is used twice', [...OPEN, FIRST, OVER, ask(2, 'b'), prompted(1, 1, 'b')]],
    [
      'a generation that falls',
      [...OPEN, ask(1, 'a'), prompted(1, 2, 'a'), over(1, 2), ended(2), ask(2, 'b'), prompted(1, 1, 'b')],
    ],
    ['no generation', [...OPEN, ask(1, 'a'), prompted(1, 0, 'a')]],
    ['a generation whose end was told', [...OPEN, ended(3), ask(1, 'a'), prompted(1, 3, 'a')]],
    ['two prompts at once', [...OPEN, FIRST, ask(2, 'b'), prompted(1, 2, 'b')]],
    ['two prompts at once after a yield of another generation', [...OPEN, FIRST, idle(7), ask(2, 'b'), prompted(1, 2, 'b')]],
    [
      'a hand-off of an agent that hands nothing off',
      [opened(), session(), started(1), FIRST, idle(1), ask(2, 'b'), prompted(1, 2, 'b')],
    ],
    ['a hand-off that was taken back', [...OPEN, FIRST, idle(1), speaks(1, 1), rested(), ask(2, 'b'), prompted(1, 2, 'b')]],
    [
      'a hand-off to a program',
      [...OPEN, FIRST, idle(1), ask(2, 'b', { origin: 'synthetic' }), prompted(1, 2, 'b', { origin: 'synthetic' })],
    ],
    [
      'a hand-off where none is allowed',
      [opened({ admission: 'conservative' }), session(), started(1), able(1), FIRST, idle(1), ask(2, 'b'), prompted(1, 2, 'b')],
    ],
    [
      'the same by the agent that allows none',
      [
        opened(),
        session('s', 't', 'created', 'conservative'),
        started(1),
        able(1),
        FIRST,
        said(1, 'turn.ended', 1),
        ended(1),
        ask(2, 'b'),
        prompted(1, 2, 'b'),
      ],
    ],
    ['an agent that was told to end', [...OPEN, asked(9, 'sessions.stop', 's'), endTold(1), ask(1, 'a'), prompted(1, 1, 'a')]],
    ['two agents', [...OPEN, started(2), ask(1, 'a'), prompted(2, 1, 'a')]],
    ['an agent of another session', [...OPEN, started(2, 'other'), gone(1), ask(1, 'a'), prompted(2, 1, 'a')]],
    ['a prompt that was refused and reaches its agent', [...OPEN, ask(1, 'a'), busy(1), prompted(1, 1, 'a')]],
    ['a prompt that has reached its agent and is refused', [...OPEN, ask(1, 'a'), prompted(1, 1, 'a'), busy(1)]],
    ['a prompt that reaches it twice', [...OPEN, FIRST, OVER, prompted(1, 2, 'a')]],
    [
      'a prompt that reaches it twice before it is answered',
      [...OPEN, ask(1, 'a'), prompted(1, 1, 'a'), over(1, 1), prompted(1, 2, 'a')],
    ],
    [
      'a prompt that was given up and reaches its agent',
      [...OPEN, ask(1, 'a'), refused(1, 'sessions.prompt', 'session.stopped'), prompted(1, 1, 'a')],
    ],
    [
      'a ticket that was stopped and reaches its agent',
      [...OPEN, FIRST, LINE, ticket('k1', 'p', 'stopped'), OVER, prompted(1, 2, 'b')],
    ],
    ['a prompt that nobody wanted', [...OPEN, prompted(1, 1, 'a')]],
    ['a prompt of somebody else', [...OPEN, ask(1, 'a'), prompted(1, 1, 'a', { origin: 'synthetic' })]],
    [
      'a notice that nobody wants',
      [opened({ notices: false }), session(), started(1), prompted(1, 1, '[task j completed] j', { origin: 'synthetic' })],
    ],
    ['an accepted prompt that reaches no agent', [...OPEN, ask(1, 'a'), accepted(1, 1)]],
    ['an accepted prompt with the generation of another', [...OPEN, FIRST, ask(2, 'b'), accepted(2, 1)]],
    ['another promptId', [...OPEN, ask(1, 'a', { promptId: 'p' }), prompted(1, 1, 'a'), accepted(1, 1, 'q')]],
    [
      'the same promptId and another answer',
      [
        ...OPEN,
        ask(1, 'a', { promptId: 'p' }),
        prompted(1, 1, 'a'),
        accepted(1, 1, 'p'),
        ask(2, 'a', { promptId: 'p' }),
        busy(2),
      ],
    ],
    [
      'a ticket for one that does not wait',
      [...OPEN, FIRST, ask(2, 'b', { promptId: 'p' }), ticket('k1', 'p', 'queued'), answered(2, 'sessions.prompt', QUEUED)],
    ],
    [
      'a ticket of which nothing is told',
      [...OPEN, FIRST, ask(2, 'b', { whenBusy: 'queue', promptId: 'p' }), answered(2, 'sessions.prompt', QUEUED)],
    ],
    ['a ticket that is served twice', [...OPEN, FIRST, LINE, OVER, SERVED, ticket('k1', 'p', 'accepted', 2)]],
    ['a ticket that is served after its end', [...OPEN, FIRST, LINE, ticket('k1', 'p', 'cancelled'), OVER, SERVED]],
    ['a ticket that never was queued', [...OPEN, ask(2, 'b', { whenBusy: 'queue', promptId: 'p' }), SERVED]],
    ['a ticket that is served without its agent', [...OPEN, FIRST, LINE, OVER, ticket('k1', 'p', 'accepted', 2)]],
    [
      'tickets out of order',
      [
        ...OPEN,
        FIRST,
        LINE,
        SECOND,
        OVER,
        prompted(1, 2, 'c'),
        ticket('k2', 'q', 'accepted', 2),
        over(1, 2),
        ended(2),
        prompted(1, 3, 'b'),
        ticket('k1', 'p', 'accepted', 3),
      ],
    ],
    [
      'a ticket that was cancelled and is not over',
      [...OPEN, FIRST, LINE, asked(5, 'sessions.cancelTicket', 'k1'), answered(5, 'sessions.cancelTicket', { changed: true })],
    ],
    ['tickets that are lost', [...OPEN, FIRST, LINE, SECOND, rested({ sessions: [GENERATING] })]],
    [
      'a ticket that waits for ever',
      [...OPEN, FIRST, LINE, OVER, rested({ isLast: true, tickets: new Map([['s', [waiting('k1', 'p')]]]) })],
    ],
    [
      'a ticket that is over and listed',
      [...OPEN, FIRST, LINE, ticket('k1', 'p', 'cancelled'), rested({ tickets: new Map([['s', [waiting('k1', 'p')]]]) })],
    ],
    ['a turn that ends twice', [...OPEN, FIRST, OVER, ended(1)]],
    ['a turn that ends in another session', [...OPEN, FIRST, over(1, 1), ended(1, 'other')]],
    ['a turn that ends without a reason', [...OPEN, FIRST, ended(1)]],
    [
      'a turn that the end of another one ends',
      [...OPEN, FIRST, OVER, ask(2, 'b'), prompted(1, 2, 'b'), said(1, 'turn.ended', 1), ended(2)],
    ],
    ['a turn that another agent ends', [...OPEN, FIRST, started(2, 'other'), said(2, 'turn.ended', 1), ended(1)]],
    ['a turn that ends for the stop of another', [...OPEN, session('other', 'u'), FIRST, asked(2, 'tasks.stop', 'u'), ended(1)]],
    ['an answered turn whose end is not told', [...OPEN, FIRST, over(1, 1), rested()]],
    ['a busy session in which nothing goes on', [...OPEN, QUIET, ask(1, 'a'), busy(1)]],
  ])('G10 is broken by %s', (_, facts) => {
    expect(judge(facts)).toThrow(/^G10/);
  });
});
