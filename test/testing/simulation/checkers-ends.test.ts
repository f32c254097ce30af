/** G1, G2, G6, G15: their checkers see what they are there to see. */
import { describe, expect, it } from 'vitest';
import type { Card } from '../../../src/model/cards.ts';
import { oneEnd } from '../../../src/testing/simulation/checkers/g01-one-end.ts';
import { forwardOnly } from '../../../src/testing/simulation/checkers/g02-forward-only.ts';
import { sessionFixed } from '../../../src/testing/simulation/checkers/g06-session-fixed.ts';
import { noBodyAfterEnd } from '../../../src/testing/simulation/checkers/g15-no-body-after-end.ts';
import { FORCED, judging, type Tales } from '../../support/simulation-tale.ts';
import { detached, done, ending, running, tale } from '../../support/simulation-tales.ts';

describe('G1 is broken by', () => {
  it.each<Tales[number]>([
    ['another end', () => done().write([['a', 'errored']])],
    ['another field of an ended record', () => done().write([['a', 'completed', { resultText: 'more' }]])],
    [
      'an end that is told twice',
      () => {
        const told = done();
        return told.told(told.event(-2));
      },
    ],
    [
      'an end that is told twice to another observer',
      () => {
        const told = done();
        return told.told(told.event(-2), 1).told(told.event(-2), 1);
      },
    ],
    [
      'what is told after the end',
      () => {
        const told = done();
        return told.told({ ...told.event(-2), status: 'running' });
      },
    ],
    ['a job that leaves the store without a trace', () => done().retract('a')],
    ['a job that is pruned before it has ended', () => running().prune('a')],
    [
      'an end that nobody could store, and another that is stored',
      () => {
        const told = running();
        const call = told.ask('wait', ['a']);
        return told.answer(call, { ...told.view('a'), status: 'completed', durable: false }).end('a', 'errored');
      },
    ],
    [
      'two ends that nobody could store',
      () => {
        const told = running();
        const [one, other] = [told.ask('wait', ['a']), told.ask('wait', ['a'])];
        return told
          .answer(one, { ...told.view('a'), status: 'completed', durable: false })
          .answer(other, { ...told.view('a'), status: 'errored', durable: false });
      },
    ],
    ['a job that has not ended at last', () => running().last()],
    ['a job that has not ended at last, and is not listed', () => running().last({ jobs: [] })],
  ])('%s', (_, tell) => {
    expect(judging(oneEnd)(tell())).toThrow(/^G1: /);
  });
});

describe('G2 is broken by', () => {
  it.each<Tales[number]>([
    ['a way back', () => running().write([['a', 'queued', { startedAt: null }]])],
    ['an end that becomes another', () => done().write([['a', 'cancelled']])],
    ['a body that goes on after it was told to end', () => ending().write([['a', 'active']])],
    [
      'a first batch in which it runs',
      () =>
        tale()
          .job('a')
          .write([['a', 'active', { queuedAt: 0 }]]),
    ],
    [
      'an end without a start',
      () =>
        tale()
          .spawn('a')
          .write([['a', 'completed']]),
    ],
    [
      'a failure without a start',
      () =>
        tale()
          .spawn('a')
          .write([['a', 'errored']]),
    ],
    [
      'a start before it was queued',
      () =>
        tale()
          .pass(5)
          .spawn('a')
          .call('a')
          .write([['a', 'active', { startedAt: 1 }]]),
    ],
    ['an end before its start', () => tale().pass(5).spawn('a').start('a').end('a', 'completed', { completedAt: 4 })],
    ['a start that moves', () => running().write([['a', 'ending', { startedAt: 1, cancelRequestedAt: 1 }]])],
    [
      'a request that moves',
      () =>
        ending()
          .pass(5)
          .write([['a', 'ending', { cancelRequestedAt: 5 }]]),
    ],
    ['a request to cancel that completes', () => ending().end('a', 'completed')],
    ['a reason of another end', () => running().end('a', 'completed', { reasonCode: 'failed' })],
    ['an error without words', () => running().end('a', 'errored', { error: { code: 'x', message: '' } })],
    ['a result before the end', () => running().write([['a', 'ending', { resultText: 'x' }]])],
    ['a detached end that nobody forced', () => running().end('a', 'completed', { detached: true })],
    ['a forced end that is not detached', () => ending().end('a', 'cancelled', { reasonCode: 'cancel.timed_out' })],
    [
      'a job that is announced twice',
      () => {
        const told = running();
        return told.told(told.event(1));
      },
    ],
    [
      'an end that is told without a start',
      () => {
        const told = tale().spawn('a');
        return told.told({ ...told.event(2), status: 'completed', completedAt: 0, reasonCode: 'completed', revision: 2 });
      },
    ],
    [
      'a way back that is told',
      () => {
        const told = running();
        return told.told(told.event(2));
      },
    ],
    [
      'running told twice without a request',
      () => {
        const told = running();
        return told.told({ ...told.event(-1), revision: 9 });
      },
    ],
    [
      'an end that is told without its time',
      () => {
        const told = running();
        return told.told({ ...told.event(-1), status: 'completed', revision: 3 });
      },
    ],
    [
      'an older revision that is told',
      () => {
        const told = ending();
        return told.told({ ...told.event(-1), status: 'cancelled', completedAt: 0, reasonCode: 'cancel.user', revision: 1 });
      },
    ],
  ])('%s', (_, tell) => {
    expect(judging(forwardOnly)(tell())).toThrow(/^G2: /);
  });
});

describe('G6 is broken by another session', () => {
  const elsewhere = { sessionId: 'elsewhere' };
  it.each<Tales[number]>([
    [
      'in the store',
      () => {
        const told = running();
        Object.assign(told.base('a'), elsewhere);
        return told.write([['a', 'ending']], { isTold: false });
      },
    ],
    [
      'in an event',
      () => {
        const told = running();
        return told.told({ ...told.event(-1), ...elsewhere });
      },
    ],
    [
      'in a volatile event',
      () => running().told({ type: 'job.progress', seq: 6, at: 0, jobId: 'a', progress: null, ...elsewhere }),
    ],
    [
      'in an answer',
      () => {
        const told = running();
        return told.answer(told.ask('get', ['a']), { ...told.view('a'), ...elsewhere });
      },
    ],
    [
      'than was asked for',
      () => {
        const told = running();
        return told.answer(told.ask('spawn', [elsewhere]), told.view('a'));
      },
    ],
    [
      'of its body',
      () =>
        running().note({
          type: 'body.called',
          run: 9,
          jobId: 'a',
          kind: 'plain',
          isWaited: false,
          isObedient: true,
          ...elsewhere,
        }),
    ],
    [
      'in a list',
      () => {
        const told = running();
        return told.rest({ jobs: [{ ...told.view('a'), ...elsewhere }] });
      },
    ],
    [
      'in its card',
      () => {
        const told = running();
        const [card] = told.look().cards.get('default') as readonly Card[];
        const moved = { ...card, attach: { ...card?.attach, session_id: 'elsewhere' } } as Card;
        return told.rest({ cards: new Map([['default', [moved]]]) });
      },
    ],
    [
      'after a crash',
      () => {
        const told = running();
        const left = told.left().map(({ key, value }) => ({
          key,
          value: value.replace('"plain","a"', '"plain","a"').replace('0,"default"', '0,"elsewhere"'),
        }));
        return told.crash('process', left);
      },
    ],
  ])('%s', (_, tell) => {
    expect(judging(sessionFixed)(tell())).toThrow(/^G6: /);
  });
});

describe('G15 is broken by', () => {
  it.each<Tales[number]>([
    ['an end that is stored while the body is at work', () => running().write([['a', 'completed']])],
    [
      'an end that is answered while the body is at work',
      () => {
        const told = running();
        return told.answer(told.ask('wait', ['a']), { ...told.view('a'), status: 'cancelled', durable: false });
      },
    ],
    [
      'an end that is told while the body is at work',
      () => {
        const told = running();
        return told.told({ ...told.event(-1), status: 'completed' });
      },
    ],
    ['a body that is called after the end', () => done().call('a')],
    [
      'a body that is called after the end was answered',
      () => {
        const told = tale().spawn('a');
        return told.answer(told.ask('wait', ['a']), { ...told.view('a'), status: 'cancelled', durable: false }).call('a');
      },
    ],
    [
      '`detached` of a body that had settled long ago',
      () =>
        ending()
          .settle('a')
          .pass(10)
          .write([['a', 'cancelled', FORCED]]),
    ],
    [
      '`detached` of a body that was never called',
      () =>
        tale()
          .spawn('a')
          .write([['a', 'active']])
          .write([['a', 'ending']])
          .write([['a', 'cancelled', FORCED]]),
    ],
    [
      'bodyLive of a body that has settled',
      () => {
        const told = done();
        return told.rest({ jobs: [{ ...told.view('a'), bodyLive: true }] });
      },
    ],
    [
      'no bodyLive of a body that is at work',
      () => {
        const told = running();
        return told.rest({ jobs: [{ ...told.view('a'), bodyLive: false }] });
      },
    ],
    ['a body at work at last', () => detached().last()],
  ])('%s', (_, tell) => {
    expect(judging(noBodyAfterEnd)(tell())).toThrow(/^G15: /);
  });

  it('not by `detached` of a body that settles while its end is on its way', () => {
    expect(
      judging(noBodyAfterEnd)(
        ending()
          .pass(1_000)
          .settle('a')
          .write([['a', 'cancelled', FORCED]]),
      ),
    ).not.toThrow();
  });
});
