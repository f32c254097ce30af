/** G7, G9: their checkers see what they are there to see. */
import { describe, expect, it } from 'vitest';
import { durableFirst } from '../../../src/testing/simulation/checkers/g07-durable-first.ts';
import { oneOrder } from '../../../src/testing/simulation/checkers/g09-one-order.ts';
import { judging, Tale, type Tales } from '../../support/simulation-tale.ts';
import { denied, running, tale } from '../../support/simulation-tales.ts';

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
