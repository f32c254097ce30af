/** G4, G5, G7, G9: their checkers see what they are there to see, and nothing else. */
import { describe, expect, it } from 'vitest';
import { type Card, cardOf } from '../../../src/model/cards.ts';
import { keptCardOperations } from '../../../src/persistence/card-rows.ts';
import { segmentOperation } from '../../../src/persistence/event-log.ts';
import { KEYS } from '../../../src/persistence/row-keys.ts';
import { sessionOperations } from '../../../src/persistence/session-rows.ts';
import { cardIsJob } from '../../../src/testing/simulation/checkers/g04-card-is-job.ts';
import { crash } from '../../../src/testing/simulation/checkers/g05-crash.ts';
import { durableFirst } from '../../../src/testing/simulation/checkers/g07-durable-first.ts';
import { oneOrder } from '../../../src/testing/simulation/checkers/g09-one-order.ts';
import type { RestView } from '../../../src/testing/simulation/facts.ts';
import { judging, Tale, type Tales } from '../../support/simulation-tale.ts';

const tale = (): Tale => new Tale();
const running = (): Tale => tale().spawn('a').start('a');
const done = (): Tale => running().end('a');
const SESSION = {
  ...({ sessionId: 'default', taskId: 'default', agentId: null, state: 'created', interrupted: false, pending: null } as const),
  ...{ createdAt: 0, updatedAt: 0, revision: 1 },
};
const keep = (card: Card) => keptCardOperations({ ordinal: 1, card });
/** `a` was pruned, and its card kept. */
const pruned = (): Tale => {
  const told = done();
  const card = cardOf(told.view('a'));
  return told.rows(sessionOperations(SESSION)).prune('a', keep(card));
};
const cardsOf = (...cards: readonly Card[]): Partial<RestView> => ({ cards: new Map([['default', cards]]) });
/** An acceptance that is written, and told to have failed. */
const denied = (): Tale =>
  tale()
    .spawn('b')
    .job('a')
    .write([['a', 'queued']], { outcome: 'denied' });
const DEGRADED = (told: Tale): Partial<RestView> => {
  const { health } = told.look();
  return { health: { ...health, store: { ...health.store, lastError: 'no' } } };
};

const SOUND: Tales = [
  ['a whole life', () => done().rest().last()],
  [
    'a job that is born cancelled',
    () =>
      tale()
        .job('a')
        .write([
          ['a', 'queued'],
          ['a', 'cancelled'],
        ])
        .last(),
  ],
  [
    'a job that is pruned, whose card stays',
    () => {
      const told = done();
      const card = cardOf(told.view('a'));
      return told.rows(sessionOperations(SESSION)).prune('a', keep(card)).rest(cardsOf(card));
    },
  ],
  ['a job that is removed with its session', () => done().prune('a').rest()],
  [
    'a denied acceptance, taken back',
    () => {
      const told = denied();
      return told.rest({
        ...DEGRADED(told),
        jobs: [told.view('b')],
        seq: 3,
        log: told.look().log.slice(0, 3),
        ...cardsOf(cardOf(told.view('b'))),
      });
    },
  ],
  [
    'an end that is denied, and written again',
    () => {
      const told = running()
        .settle('a')
        .write([['a', 'completed']], { outcome: 'denied' });
      const view = told.look();
      const before = {
        ...view,
        jobs: view.jobs.map((job) => ({ ...job, status: 'running' as const })),
        seq: 4,
        log: view.log.slice(0, 4),
      };
      return told
        .rest({ ...before, ...DEGRADED(told), cards: new Map() })
        .rows([], {})
        .rest();
    },
  ],
  [
    'an answer from before a later commit',
    () => {
      const told = tale().spawn('a');
      const call = told.ask('get', ['a']);
      const view = told.view('a');
      return told.start('a').answer(call, view);
    },
  ],
  [
    'an answer that says it is not durable',
    () => {
      const told = running();
      return told.answer(told.ask('wait', ['a']), { ...told.view('a'), status: 'completed', revision: 9, durable: false });
    },
  ],
  ['a crash, and what recovery makes of it', () => running().spawn('b').crash().recover().rest().spawn('c').last({})],
  ['a second crash before the next start is over', () => running().crash('power').crash('process').recover().rest()],
  [
    'power that takes what was never synced',
    () => {
      const told = new Tale({ durability: 'process' });
      const left = told.left();
      return told
        .job('a')
        .write([['a', 'queued']], { sync: false })
        .crash('power', left);
    },
  ],
  ['a start of a job that a crash has left, of another id', () => done().crash().recover().spawn('b').start('b').rest()],
  [
    'volatile events',
    () => running().told({ type: 'job.progress', seq: 4, at: 0, jobId: 'a', sessionId: 'default', progress: 1 }).rest(),
  ],
];

describe.each([cardIsJob, crash, durableFirst, oneOrder])('$guarantee', (checker) => {
  it.each(SOUND)('finds nothing wrong with %s', (_, tell) => {
    expect(judging(checker)(tell())).not.toThrow();
  });
});

describe('G4 is broken by', () => {
  /** The last batch, with other events. */
  const instead = (told: Tale, change: (events: ReturnType<Tale['event']>[]) => object[]): Tale => {
    const last = told.facts.findLast((fact) => fact.type === 'wrote') as Extract<Tale['facts'][number], { type: 'wrote' }>;
    const key = last.operations.findLast((operation) => operation.key.startsWith('e/'))?.key as string;
    const first = Number.parseInt(key.slice(2), 36) || 1;
    const events = Array.from({ length: told.seq }, (_, index) => told.event(index + 1)).slice(-2);
    const operations = [
      ...last.operations.filter((operation) => !operation.key.startsWith('e/')),
      { ...segmentOperation(first, change(events) as never), key },
    ];
    const facts = told.facts.map((fact) => (fact === last ? { ...last, operations } : fact));
    told.facts.splice(0, told.facts.length, ...facts);
    return told;
  };
  it.each<Tales[number]>([
    ['an end without a card', () => instead(done(), ([end]) => [end as object])],
    ['the card of another status', () => instead(done(), ([end, card]) => [end as object, { ...card, status: 'errored' }])],
    ['the card of another job', () => instead(done(), ([end, card]) => [end as object, { ...card, jobId: 'b' }])],
    ['a card before its end', () => instead(done(), ([end, card]) => [card as object, end as object])],
    ['two cards', () => instead(done(), ([end, card]) => [end as object, card as object, card as object])],
    ['a card in another session', () => instead(done(), ([end, card]) => [end as object, { ...card, sessionId: 'b' }])],
    ['a batch that tells nothing', () => instead(done(), () => [])],
    ['a pruned job whose card is not kept', () => done().rows(sessionOperations(SESSION)).prune('a')],
    [
      'a pruned job of which another card is kept',
      () => {
        const told = done();
        const card = cardOf(told.view('a'));
        return told.rows(sessionOperations(SESSION)).prune('a', keep({ ...card, content: 'x' }));
      },
    ],
    [
      'a card that reads otherwise',
      () => {
        const told = done();
        return told.rest(cardsOf({ ...cardOf(told.view('a')), content: 'x' }));
      },
    ],
    [
      'a card of an earlier state',
      () => {
        const told = running();
        const card = cardOf(told.view('a'));
        return told.end('a').rest(cardsOf(card));
      },
    ],
    ['a card that is not listed', () => done().rest(cardsOf())],
    ['a kept card that is not listed', () => pruned().rest(cardsOf())],
    [
      'cards oldest first',
      () => {
        const told = done().spawn('b');
        return told.rest(cardsOf(cardOf(told.view('a')), cardOf(told.view('b'))));
      },
    ],
    [
      'an answer that no record makes',
      () => {
        const told = done();
        return told.answer(told.ask('cards.get', ['card_a']), { ...cardOf(told.view('a')), content: 'x' });
      },
    ],
    [
      'the answer of another card',
      () => {
        const told = done();
        return told.answer(told.ask('cards.get', ['card_b']), cardOf(told.view('a')));
      },
    ],
  ])('%s', (_, tell) => {
    expect(judging(cardIsJob)(tell())).toThrow(/^G4: /);
  });
});

describe('G5 is broken by', () => {
  it.each<Tales[number]>([
    ['an acknowledged job that is lost', () => tale().spawn('a').crash('process', [])],
    ['an acknowledged job that is lost with the power', () => tale().spawn('a').crash('power', [])],
    [
      'an end that is lost',
      () => {
        const told = running();
        const left = told.left();
        return told.end('a').crash('power', left);
      },
    ],
    [
      'told events that are lost',
      () => {
        const told = tale();
        const left = told.left();
        return told.spawn('a').crash('process', left);
      },
    ],
    [
      'a job that was at work and is lost',
      () => {
        const told = new Tale({ durability: 'process' });
        return told
          .job('a')
          .write([['a', 'queued']], { sync: false, isTold: false })
          .call('a')
          .crash('process', []);
      },
    ],
    [
      'a log with a gap',
      () => {
        const told = tale().spawn('a').spawn('b').start('a');
        return told.crash(
          'process',
          told.left().filter(({ key }) => key !== KEYS.events(4)),
        );
      },
    ],
    ['a job that stays unfinished', () => running().crash().opened().rest()],
    [
      'another reason than the crash',
      () =>
        running()
          .crash()
          .write([['a', 'errored']], { isTold: false })
          .opened(),
    ],
    [
      'an end that recovery changes',
      () =>
        done()
          .crash()
          .write([['a', 'errored']], { isTold: false })
          .opened(),
    ],
    ['an end that recovery drops', () => done().crash().retract('a').opened()],
    ['a job that is dropped by the start', () => running().crash().retract('a').opened()],
    ['a body that is called again', () => running().settle('a').call('a')],
    ['a body of an earlier life', () => tale().spawn('a').crash().recover().call('a')],
    ['a body of a life that was closed', () => done().note({ type: 'closing' }, { type: 'closed' }).opened().call('a')],
    [
      'the body of a pruned job',
      () => {
        const told = done().prune('a');
        return told.note({
          type: 'body.called',
          run: 9,
          jobId: 'a',
          kind: 'plain',
          sessionId: 'default',
          isWaited: false,
          isObedient: true,
        });
      },
    ],
    [
      'a spent id that is used again',
      () =>
        done()
          .prune('a')
          .job('a')
          .write([['a', 'queued']]),
    ],
    [
      'a job that is accepted by a start',
      () =>
        done()
          .crash()
          .job('b')
          .write([['b', 'queued']]),
    ],
  ])('%s', (_, tell) => {
    expect(judging(crash)(tell())).toThrow(/^G5: /);
  });
});

describe('G7 is broken by', () => {
  const answered = (told: Tale, verb: string, value: unknown): Tale => told.answer(told.ask(verb, ['a']), value);
  it.each<Tales[number]>([
    [
      'an event before it is stored',
      () => {
        const told = tale().spawn('a');
        return told.told({ ...told.event(-1), seq: 4 });
      },
    ],
    [
      'an event of a batch that failed',
      () =>
        tale()
          .job('a')
          .note({ type: 'wrote', operations: [], sync: true, outcome: 'failed' })
          .told({ type: 'job.created', seq: 1, jobId: 'a', status: 'pending', revision: 1 }),
    ],
    [
      'an event that reads otherwise',
      () => {
        const told = running();
        return told.told({ ...told.event(-1), status: 'queued' });
      },
    ],
    [
      'an event that lacks something',
      () => {
        const told = running();
        const { status: _, ...event } = told.event(-1) as never as Record<string, unknown>;
        return told.told(event);
      },
    ],
    [
      'progress of a job that is not stored',
      () => tale().told({ type: 'job.progress', seq: 0, at: 0, jobId: 'a', sessionId: 'default', progress: 1 }),
    ],
    [
      'an answer ahead of the store',
      () => {
        const told = running();
        return answered(told, 'get', { ...told.view('a'), revision: 3, status: 'completed' });
      },
    ],
    [
      'a job that is not stored',
      () => {
        const told = tale().job('a');
        return answered(told, 'spawn', told.view('a'));
      },
    ],
    [
      'an answer that reads otherwise',
      () => {
        const told = running();
        return answered(told, 'wait', { ...told.view('a'), status: 'completed' });
      },
    ],
    [
      'an answer that adds something',
      () => {
        const told = running();
        return answered(told, 'get', { ...told.view('a'), secret: 1 });
      },
    ],
    [
      'a list that is older than what was told',
      () => {
        const told = tale().spawn('a');
        const view = told.view('a');
        return answered(told.start('a'), 'list', [view]);
      },
    ],
    [
      'an entry of waitMany ahead of the store',
      () => {
        const told = running();
        return answered(told, 'waitMany', [{ ...told.view('a'), revision: 7 }]);
      },
    ],
    [
      'a snapshot ahead of the store',
      () => {
        const told = running();
        return answered(told, 'snapshot', { seq: 9, jobs: [] });
      },
    ],
    [
      'a snapshot of a job ahead of the store',
      () => {
        const told = running();
        return answered(told, 'snapshot', { seq: 4, jobs: [{ ...told.view('a'), revision: 7 }] });
      },
    ],
    ['a history ahead of the store', () => answered(running(), 'history', [{ at: 0, type: 'transition', to: 'completed' }])],
    ['a body before the acceptance is stored', () => tale().job('a').call('a')],
    [
      'an acceptance that is not synced',
      () =>
        tale()
          .job('a')
          .write([['a', 'queued']], { sync: false }),
    ],
    [
      'an end that is not synced',
      () =>
        running()
          .settle('a')
          .write([['a', 'completed']], { sync: false }),
    ],
    ['a sync that nobody wanted', () => new Tale({ durability: 'process' }).job('a').write([['a', 'queued']])],
    ['a list at rest that lacks a job', () => running().rest({ jobs: [] })],
    [
      'a list at rest that is older',
      () => {
        const told = tale().spawn('a');
        const { jobs } = told.look();
        return told.start('a').rest({ jobs });
      },
    ],
    [
      'a list at rest with what is not stored',
      () => {
        const told = running().job('b');
        return told.rest();
      },
    ],
    [
      'a list in another order',
      () => {
        const told = running().spawn('b');
        return told.rest({ jobs: told.look().jobs.toReversed() });
      },
    ],
    [
      'a refused acceptance that stays',
      () => {
        const told = denied();
        return told.rest();
      },
    ],
  ])('%s', (_, tell) => {
    expect(judging(durableFirst)(tell())).toThrow(/^G7: /);
  });
});

describe('G9 is broken by', () => {
  const PROGRESS = { type: 'job.progress', at: 0, jobId: 'a', sessionId: 'default', progress: 1 };
  const watched = (how: 'onEvent' | 'events$' | 'events' = 'onEvent'): Tale =>
    tale().note({ type: 'attached', observer: 1, how });
  it.each<Tales[number]>([
    [
      'a gap',
      () => {
        const told = tale().spawn('a');
        return told.told({ ...told.event(-1), seq: 5 });
      },
    ],
    [
      'a number that comes again',
      () => {
        const told = tale().spawn('a');
        return told.told(told.event(-1));
      },
    ],
    ['a volatile event of another number', () => running().told({ ...PROGRESS, seq: 3 })],
    [
      'another epoch',
      () => {
        const told = running();
        return told.note({ type: 'told', observer: 0, event: { ...told.event(-1), seq: 5, epoch: 'another' } });
      },
    ],
    ['an epoch that comes again', () => running().opened()],
    ['a resync for who follows', () => running().told({ type: 'resync', seq: 9, at: 0 })],
    ['an observer that is told less', () => watched().spawn('a').rest()],
    [
      'an observer in another order',
      () => {
        const told = watched().spawn('a');
        return told.told(told.event(2), 1);
      },
    ],
    [
      'an observer that is told more',
      () => {
        const told = watched();
        return told.told({ ...PROGRESS, seq: 0 }, 1);
      },
    ],
    [
      'an observer that is told other things',
      () => {
        const told = watched().spawn('a');
        return told.told({ ...told.event(1), at: 7 }, 1);
      },
    ],
    [
      'an observer that has left',
      () => {
        const told = watched().note({ type: 'detached', observer: 1, how: 'onEvent' }).spawn('a');
        return told.told(told.event(1), 1);
      },
    ],
    [
      'a reader with a gap',
      () => {
        const told = watched('events').spawn('a');
        return told.told(told.event(1), 1).told(told.event(3), 1);
      },
    ],
    [
      'a reader that goes back',
      () => {
        const told = watched('events').spawn('a');
        return told.told(told.event(2), 1).told({ type: 'resync', seq: 1, at: 0 }, 1);
      },
    ],
    [
      'a reader that is told other things',
      () => {
        const told = watched('events').spawn('a');
        return told.told({ ...told.event(1), at: 7 }, 1);
      },
    ],
    [
      'a volatile event before what it follows',
      () => {
        const told = watched('events').spawn('a');
        return told.told(told.event(1), 1).told({ ...PROGRESS, seq: 3 }, 1);
      },
    ],
    [
      'a start behind what was told',
      () =>
        running()
          .crash()
          .note({
            type: 'opened',
            epoch: 'x',
            seq: 2,
            settings:
              new Tale().facts[0]?.type === 'opened'
                ? (new Tale().facts[0] as never as { settings: never }).settings
                : (null as never),
          }),
    ],
    [
      'a log with a gap',
      () => {
        const told = running();
        return told.rest({ log: told.look().log.filter(({ seq }) => seq !== 2) });
      },
    ],
    [
      'a log that says so and cannot explain it',
      () => {
        const told = running();
        return told.rest({ log: [{ type: 'resync', seq: 2, at: 0, epoch: 'epoch 1' }, ...told.look().log.slice(2)] });
      },
    ],
    [
      'a log that tells otherwise',
      () => {
        const told = running();
        return told.rest({ log: told.look().log.map((event) => ({ ...event, at: 7 })) });
      },
    ],
    [
      'a log that ends too early',
      () => {
        const told = running();
        return told.rest({ log: told.look().log.slice(0, 2) });
      },
    ],
    ['a snapshot of another number', () => running().rest({ seq: 2 })],
  ])('%s', (_, tell) => {
    expect(judging(oneOrder)(tell())).toThrow(/^G9: /);
  });

  it('not by a reader that was taken back to the log', () => {
    const told = watched('events').spawn('a');
    expect(
      judging(oneOrder)(
        told
          .told(told.event(1), 1)
          .told({ type: 'resync', seq: 3, at: 0 }, 1)
          .told({ ...PROGRESS, seq: 2 }, 1)
          .rest(),
      ),
    ).not.toThrow();
  });
});
