/** G3, G8, G14: their checkers see what they are there to see. */
import { describe, expect, it } from 'vitest';
import { cancelInTime } from '../../../src/testing/simulation/checkers/g03-cancel-in-time.ts';
import { orderAndSlots } from '../../../src/testing/simulation/checkers/g08-order-and-slots.ts';
import { waitersOnce } from '../../../src/testing/simulation/checkers/g14-waiters-once.ts';
import { FORCED, judging, Tale, type Tales } from '../../support/simulation-tale.ts';
import { done, ending, running, tale } from '../../support/simulation-tales.ts';

describe('G3 is broken by', () => {
  const answered = (told: Tale, verb: string, value: unknown, ...args: readonly unknown[]): Tale =>
    told.answer(told.ask(verb, args), value);
  const MANY = { cancelled: [], cancelling: [], alreadyTerminal: [], notFound: [] };
  it.each<Tales[number]>([
    ['a job that is there after the grace', () => ending().pass(1_001).rest()],
    ['an end after the grace', () => ending().pass(1_001).end('a', 'cancelled', FORCED).rest()],
    [
      'a later cancel that moves the deadline',
      () => {
        const told = ending().pass(900);
        return answered(told, 'cancel', told.view('a'), 'a').pass(200).rest();
      },
    ],
    ['a job that is there after the grace of a shutdown', () => ending().note({ type: 'closing' }).pass(501).rest()],
    [
      'a job that was asked to end as one of many',
      () =>
        answered(ending(), 'cancelMany', { ...MANY, cancelling: ['a'] }, { sessionId: 'default' })
          .pass(1_001)
          .rest(),
    ],
    [
      'a queued job that is not ended',
      () => {
        const told = tale().spawn('a');
        return answered(told, 'cancel', told.view('a'), 'a');
      },
    ],
    [
      'a running job that is not asked',
      () => {
        const told = running();
        return answered(told, 'cancel', told.view('a'), 'a');
      },
    ],
    [
      'a body that is not told',
      () => {
        const told = running().write([['a', 'ending']]);
        return answered(told, 'cancel', told.view('a'), 'a');
      },
    ],
    ['a signal before the request is stored', () => running().signal('a')],
    [
      'a body that is called after the cancel',
      () =>
        tale()
          .spawn('a')
          .write([['a', 'cancelled']])
          .call('a'),
    ],
    [
      'a body that is called when it is ending',
      () =>
        tale()
          .spawn('a')
          .write([['a', 'active']])
          .write([['a', 'ending']])
          .call('a'),
    ],
    [
      'a child that goes on',
      () =>
        running()
          .spawn('b', { parentJobId: 'a' })
          .write([['a', 'ending']]),
    ],
    [
      'a grandchild that goes on behind an ended child',
      () =>
        running()
          .spawn('b', { parentJobId: 'a' })
          .spawn('c', { parentJobId: 'b' })
          .start('b')
          .end('b')
          .write([['a', 'ending']]),
    ],
    ['a child that is born', () => ending().spawn('b', { parentJobId: 'a' })],
    ['an id that is said to be ending', () => answered(running(), 'cancelMany', { ...MANY, cancelling: ['a'] }, { ids: ['a'] })],
    ['an id that is said to have ended', () => answered(running(), 'cancelMany', { ...MANY, cancelled: ['a'] }, { ids: ['a'] })],
    [
      'an id that is said to have ended before',
      () => answered(running(), 'plan.cancel', { ...MANY, alreadyTerminal: ['a'] }, 'p'),
    ],
    ['an id that is left out', () => answered(done(), 'cancelMany', { ...MANY, alreadyTerminal: ['a'] }, { ids: ['a', 'b'] })],
    [
      'an id that is named twice',
      () => answered(done(), 'cancelMany', { ...MANY, alreadyTerminal: ['a'], notFound: ['a'] }, { ids: ['a'] }),
    ],
  ])('%s', (_, tell) => {
    expect(judging(cancelInTime)(tell())).toThrow(/^G3: /);
  });
});

describe('G8 is broken by', () => {
  const limited = (perSessionLimit: number | null, workers: number | null = 4): Tale => new Tale({ workers, perSessionLimit });
  const pool = (told: Tale, change: object): Tale => {
    const { health } = told.look();
    return told.rest({ health: { ...health, pool: { ...health.pool, ...change } } });
  };
  it.each<Tales[number]>([
    ['a job that overtakes', () => tale().spawn('a').spawn('b').start('b').start('a')],
    ['a job that overtakes in another session', () => tale().spawn('a').spawn('b', { sessionId: 'other' }).start('b').start('a')],
    [
      'a job that overtakes in its session, which is full',
      () => limited(1).spawn('x').start('x').spawn('a').spawn('b').end('x').start('b').end('b').start('a'),
    ],
    [
      'a job that overtakes one whose session had room',
      () => limited(1).spawn('a').spawn('b', { sessionId: 'other' }).start('b').start('a'),
    ],
    [
      'a foreground job that nobody in the engine waits for',
      () => tale().spawn('a').spawn('b', { wait: true }).start('b').start('a'),
    ],
    ['a start while it closes', () => tale().spawn('a').note({ type: 'closing' }).call('a')],
    ['one slot too many', () => limited(null, 1).spawn('a').spawn('b').start('a').start('b')],
    ['one place too many', () => limited(1).spawn('a').spawn('b').start('a').start('b')],
    ['the slot of a body that is told to end', () => limited(null, 1).spawn('a').spawn('b').start('a').cancel('a').start('b')],
    [
      'the slot of a body that was left behind',
      () =>
        limited(null, 1)
          .spawn('a')
          .spawn('b')
          .start('a')
          .cancel('a')
          .write([['a', 'cancelled', FORCED]])
          .start('b'),
    ],
    [
      'a body that goes on without a slot',
      () => {
        const told = limited(null, 1).spawn('a').spawn('b').start('a');
        const call = told.wait('a', 'b');
        return told.start('b').goOn('a', call);
      },
    ],
    ['a job that is queued beside a free slot', () => tale().spawn('a').rest()],
    [
      'a job that is queued beside a free place',
      () => limited(1).spawn('a').start('a').spawn('b', { sessionId: 'other' }).rest(),
    ],
    ['a count of the running', () => pool(running(), { running: 0 })],
    ['a count of the queued', () => pool(limited(null, 1).spawn('a').start('a').spawn('b'), { queued: 0 })],
    ['a count of the waiting', () => pool(running(), { waiting: 1 })],
    ['a count of the detached', () => pool(done(), { detached: 1 })],
    ['a slot that never comes back', () => pool(done(), { running: 1 })],
    ['another number of workers', () => pool(done(), { workers: 7 })],
    [
      'starvation that is not said',
      () =>
        limited(null, 1)
          .spawn('a')
          .start('a')
          .cancel('a')
          .write([['a', 'cancelled', FORCED]])
          .rest(),
    ],
  ])('%s', (_, tell) => {
    expect(judging(orderAndSlots)(tell())).toThrow(/^G8: /);
  });
});

describe('G14 is broken by', () => {
  /** A wait while `a` is at work. */
  const asked = (
    verb: string,
    args: readonly unknown[],
    then: (told: Tale, call: number) => Tale,
    by?: { who: 'body'; jobId: string },
  ): Tale => {
    const told = running();
    return then(told, told.ask(verb, args, by));
  };
  const FOR_EVER = { timeoutMs: null };
  const missing = (jobId: string, code = 'job.not_found') => ({ jobId, error: { code } });
  it.each<Tales[number]>([
    [
      'two answers',
      () => asked('wait', ['a'], (told, call) => told.end('a').answer(call, told.view('a')).answer(call, told.view('a'))),
    ],
    ['an answer and a refusal', () => asked('get', ['a'], (told, call) => told.answer(call, told.view('a')).refuse(call, 'x'))],
    ['an answer to nobody', () => running().answer(99, null)],
    ['a wait that is open at last', () => asked('wait', ['a', FOR_EVER], (told) => told.last())],
    ['a run that is open at last', () => asked('run', [{}], (told) => told.last())],
    ['a body that waits at last', () => asked('wait', ['b'], (told) => told.last(), { who: 'body', jobId: 'a' })],
    ['a wait that is open after the close', () => asked('wait', ['a', FOR_EVER], (told) => told.note({ type: 'closed' }))],
    ['a verb that nothing holds up', () => asked('cancel', ['a'], (told) => told.rest())],
    ['an answer before the end', () => asked('wait', ['a'], (told, call) => told.answer(call, told.view('a')))],
    ['a run that is answered before the end', () => asked('run', [{}], (told, call) => told.answer(call, told.view('a')))],
    [
      'an end that has timed out',
      () =>
        asked('wait', ['a'], (told, call) =>
          told
            .end('a')
            .pass(30_000)
            .answer(call, { ...told.view('a'), timedOut: true }),
        ),
    ],
    [
      'a time-out that is early',
      () => asked('wait', ['a'], (told, call) => told.pass(29_999).answer(call, { ...told.view('a'), timedOut: true })),
    ],
    [
      'a time-out that is late',
      () =>
        asked('wait', ['a', { timeoutMs: 5 }], (told, call) =>
          told
            .pass(6)
            .answer(call, { ...told.view('a'), timedOut: true })
            .rest(),
        ),
    ],
    [
      'a time-out without a time',
      () => asked('wait', ['a', FOR_EVER], (told, call) => told.pass(60_000).answer(call, { ...told.view('a'), timedOut: true })),
    ],
    ['a wait that is open after its time', () => asked('wait', ['a'], (told) => told.pass(30_001).rest())],
    [
      'a wait whose caller has gone',
      () => asked('wait', ['a', FOR_EVER], (told, call) => told.note({ type: 'gave-up', call }).rest()),
    ],
    [
      'a time that is none',
      () => asked('wait', ['a', { timeoutMs: -1 }], (told, call) => told.end('a').answer(call, told.view('a'))),
    ],
    ['a wait that rests on what has ended', () => asked('wait', ['a'], (told) => told.end('a').rest())],
    [
      'a wait for any that rests on what has ended',
      () => asked('waitMany', [['b', 'a'], { mode: 'any' }], (told) => told.end('a').rest()),
    ],
    ['a wait for all that have ended', () => asked('waitMany', [['a', 'a']], (told) => told.end('a').rest())],
    [
      'an answer long after the end was told',
      () => asked('wait', ['a', FOR_EVER], (told, call) => told.end('a').pass(1).answer(call, told.view('a'))),
    ],
    ['the answer of another job', () => asked('wait', ['b'], (told, call) => told.end('a').answer(call, told.view('a')))],
    ['an entry too few', () => asked('waitMany', [['a', 'a']], (told, call) => told.end('a').answer(call, [told.view('a')]))],
    [
      'another order',
      () => asked('waitMany', [['a', 'x']], (told, call) => told.end('a').answer(call, [missing('x'), told.view('a')])),
    ],
    [
      'all before all have ended',
      () => asked('waitMany', [['a', 'x']], (told, call) => told.answer(call, [told.view('a'), missing('x')])),
    ],
    [
      'any before any has ended',
      () => asked('waitMany', [['a', 'x'], { mode: 'any' }], (told, call) => told.answer(call, [told.view('a'), missing('x')])),
    ],
    [
      'a plan before it has ended',
      () => asked('plan.run', [[{ description: 'a' }]], (told, call) => told.answer(call, [told.view('a')])),
    ],
    [
      'a plan in another order',
      () => asked('plan.run', [[{ description: 'b' }]], (told, call) => told.end('a').answer(call, [told.view('a')])),
    ],
    ['a job that is said not to be there', () => asked('wait', ['a'], (told, call) => told.refuse(call, 'job.not_found'))],
    [
      'an entry that is said not to be there',
      () => asked('waitMany', [['a']], (told, call) => told.answer(call, [missing('a')])),
    ],
    [
      'an entry that is said to be pruned',
      () => asked('waitMany', [['a']], (told, call) => told.answer(call, [missing('a', 'job.expired')])),
    ],
    ['a cancelled job that rejects', () => asked('wait', ['a'], (told, call) => told.refuse(call, 'job.cancelled'))],
    ['a failed job that rejects', () => asked('waitMany', [['a']], (told, call) => told.refuse(call, 'none'))],
    ['a wait for any that rests on one that was asked for before', () => guessed(['spawn', 'wait'])],
    ['the same, where another of its id was refused for its content', () => guessed(['spawn', 'conflict', 'wait'])],
  ])('%s', (_, tell) => {
    expect(judging(waitersOnce)(tell())).toThrow(/^G14: /);
  });
});

/** A job of a given id and a wait for any, in this order; the job ends, and the wait stays open. `refused`: a job of this id that is not accepted. */
function guessed(order: readonly ('spawn' | 'conflict' | 'refused' | 'wait')[]): Tale {
  const told = running();
  const spawn = [{ kind: 'plain', jobId: 'b' }];
  let accepted = 0;
  for (const step of order) {
    if (step === 'wait') told.ask('waitMany', [['x', 'b'], { mode: 'any', timeoutMs: null }]);
    else if (step === 'spawn') accepted = told.ask('spawn', spawn);
    else told.refuse(told.ask('spawn', spawn), step === 'conflict' ? 'job.conflict' : 'engine.degraded');
  }
  return told
    .job('b')
    .write([['b', 'queued']])
    .answer(accepted, told.view('b'))
    .write([['b', 'cancelled']])
    .rest();
}

describe('G14 is not broken by', () => {
  it.each<Tales[number]>([
    ['a wait for any that was asked before the job of this id', () => guessed(['wait', 'spawn'])],
    ['a wait for any between a job that was refused and one of the same id', () => guessed(['refused', 'wait', 'spawn'])],
  ])('%s', (_, tell) => {
    expect(judging(waitersOnce)(tell())).not.toThrow();
  });
});
