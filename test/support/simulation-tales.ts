/** What a sound engine leaves of jobs, as tales: no checker may find anything wrong with one of these. */
import { type Card, cardOf } from '../../src/model/cards.ts';
import { keptCardOperations } from '../../src/persistence/card-rows.ts';
import { sessionOperations } from '../../src/persistence/session-rows.ts';
import type { RestView } from '../../src/testing/simulation/facts.ts';
import { FORCED, Tale, type Tales } from './simulation-tale.ts';

export const tale = (): Tale => new Tale();
export const running = (): Tale => tale().spawn('a').start('a');
export const done = (): Tale => running().end('a');
export const ending = (): Tale => running().cancel('a');
/** Ended while its body was at work. */
export const detached = (): Tale =>
  ending()
    .pass(1_000)
    .write([['a', 'cancelled', FORCED]]);
export const keep = (card: Card) => keptCardOperations({ ordinal: 1, card });
/** The row of the session that all of them are in. */
export const SESSION = sessionOperations({
  ...({ sessionId: 'default', taskId: 'default', agentId: null, state: 'created', interrupted: false, pending: null } as const),
  ...{ createdAt: 0, updatedAt: 0, revision: 1 },
});
export const cardsOf = (...cards: readonly Card[]): Partial<RestView> => ({ cards: new Map([['default', cards]]) });
/** An acceptance that is written, and told to have failed. */
export const denied = (): Tale =>
  tale()
    .spawn('b')
    .job('a')
    .write([['a', 'queued']], { outcome: 'denied' });
/** The store has refused something, and was not asked again yet. */
const degraded = (told: Tale): Partial<RestView> => {
  const { health } = told.look();
  return { health: { ...health, store: { ...health.store, lastError: 'no' } } };
};

export const SOUND: Tales = [
  ['a whole life', () => done().rest().last()],
  [
    'a job that is cancelled before it runs',
    () =>
      tale()
        .spawn('a')
        .write([['a', 'cancelled']])
        .last(),
  ],
  ['a cancel of a running job', () => ending().pass(10).end('a', 'cancelled').last()],
  ['a body that is left behind, and settles later', () => detached().rest().settle('a').last()],
  ['a failure', () => running().end('a', 'errored').last()],
  ['a crash, and what recovery makes of it', () => running().crash().recover().last()],
  ['a job that is pruned', () => done().prune('a').last()],
  [
    'an acceptance that is denied and taken back',
    () =>
      tale()
        .job('a')
        .write([['a', 'queued']], { outcome: 'denied' })
        .retract('a')
        .rest(),
  ],
  [
    'start and end in one batch',
    () =>
      tale()
        .spawn('a')
        .call('a')
        .settle('a')
        .write([['a', 'active']])
        .write([['a', 'completed']])
        .last(),
  ],
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
      return told.rows(SESSION).prune('a', keep(card)).rest(cardsOf(card));
    },
  ],
  ['a job that is removed with its session', () => done().prune('a').rest()],
  [
    'a denied acceptance, taken back',
    () => {
      const told = denied();
      return told.rest({
        ...degraded(told),
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
        .rest({ ...before, ...degraded(told), cards: new Map() })
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
      const told = running().settle('a');
      return told.answer(told.ask('wait', ['a']), { ...told.view('a'), status: 'completed', revision: 9, durable: false });
    },
  ],
  [
    'a crash, and what recovery makes of it, and what comes later',
    () => running().spawn('b').crash().recover().rest().spawn('c').start('c').end('c').last(),
  ],
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
  [
    'jobs one after the other',
    () => queue(['a', 'b', 'c']).start('a').start('b').rest().end('a').start('c').end('b').end('c').last(),
  ],
  [
    'a job that a body waits for, and that goes before others',
    () => {
      const told = new Tale({ workers: 1 }).spawn('a').start('a').spawn('b').spawn('c');
      const call = told.wait('a', 'c');
      told.start('c').end('c').answer(call, told.view('c')).goOn('a', call);
      return told.end('a').start('b').end('b').last();
    },
  ],
  [
    'a session that is full, and another that is not',
    () => {
      const told = new Tale({ workers: 4, perSessionLimit: 1 })
        .spawn('a')
        .start('a')
        .spawn('b')
        .spawn('c', { sessionId: 'other' });
      return told.start('c').rest().end('a').start('b').end('b').end('c').last();
    },
  ],
  [
    'a job that is overtaken on its way out',
    () => {
      const told = queue(['a', 'b']);
      return told
        .start('b')
        .write([['a', 'cancelled']])
        .rest();
    },
  ],
  [
    'a cascade',
    () => {
      const told = running().spawn('b', { parentJobId: 'a' });
      return told
        .write([
          ['b', 'cancelled'],
          ['a', 'ending'],
        ])
        .signal('a')
        .pass(900)
        .end('a', 'cancelled')
        .last();
    },
  ],
  ['an end that is late because everything stood still', () => ending().stand(5_000).end('a', 'cancelled').rest()],
  [
    'an end that is late because the store refuses',
    () =>
      ending().note({ type: 'wrote', operations: [], sync: true, outcome: 'failed' }).pass(5_000).end('a', 'cancelled').rest(),
  ],
  [
    'a wait for the end',
    () =>
      answeredBy(
        (told) => told.ask('wait', ['a']),
        (told) => told.view('a'),
      ),
  ],
  [
    'a wait that times out',
    () => {
      const told = running();
      const call = told.ask('wait', ['a', { timeoutMs: 5 }]);
      return told
        .pass(5)
        .answer(call, { ...told.view('a'), timedOut: true })
        .rest();
    },
  ],
  [
    'a wait for any of several',
    () =>
      answeredBy(
        (told) => told.ask('waitMany', [['x', 'a'], { mode: 'any' }]),
        (told) => [missing('x'), told.view('a')],
      ),
  ],
  [
    'a wait for all, one of them twice',
    () =>
      answeredBy(
        (told) => told.ask('waitMany', [['a', 'x', 'a']]),
        (told) => [told.view('a'), missing('x'), told.view('a')],
      ),
  ],
  [
    'a plan',
    () =>
      answeredBy(
        (told) => told.ask('plan.run', [[{ description: 'a' }]]),
        (told) => [told.view('a')],
      ),
  ],
  [
    'a wait that is given up',
    () => {
      const told = running();
      const call = told.ask('wait', ['a', { timeoutMs: null }]);
      return told.note({ type: 'gave-up', call }).refuse(call, 'none').rest();
    },
  ],
];

const queue = (jobIds: readonly string[]): Tale => {
  const told = tale();
  for (const jobId of jobIds) told.spawn(jobId);
  return told;
};

/** Asked while `a` is at work, and answered when it has ended. */
const answeredBy = (ask: (told: Tale) => number, answer: (told: Tale) => unknown): Tale => {
  const told = running();
  const call = ask(told);
  told.end('a');
  return told.answer(call, answer(told)).last();
};

const missing = (jobId: string) => ({ jobId, error: { code: 'job.not_found' } });
