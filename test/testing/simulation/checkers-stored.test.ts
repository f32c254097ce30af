/** G4, G5: their checkers see what they are there to see. */
import { describe, expect, it } from 'vitest';
import { cardOf } from '../../../src/model/cards.ts';
import { segmentOperation } from '../../../src/persistence/event-log.ts';
import { KEYS } from '../../../src/persistence/row-keys.ts';
import { cardIsJob } from '../../../src/testing/simulation/checkers/g04-card-is-job.ts';
import { crash } from '../../../src/testing/simulation/checkers/g05-crash.ts';
import { judging, Tale, type Tales } from '../../support/simulation-tale.ts';
import { cardsOf, done, keep, running, SESSION, tale } from '../../support/simulation-tales.ts';

/** `a` was pruned, and its card kept. */
const pruned = (): Tale => {
  const told = done();
  const card = cardOf(told.view('a'));
  return told.rows(SESSION).prune('a', keep(card));
};

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
    ['a pruned job whose card is not kept', () => done().rows(SESSION).prune('a')],
    [
      'a pruned job of which another card is kept',
      () => {
        const told = done();
        const card = cardOf(told.view('a'));
        return told.rows(SESSION).prune('a', keep({ ...card, content: 'x' }));
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
  /** The crash takes these rows. */
  const without = (told: Tale, kind: 'process' | 'power', prefix: string): Tale =>
    told.crash(
      kind,
      told.left().filter(({ key }) => !key.startsWith(prefix)),
    );
  it.each<Tales[number]>([
    ['an acknowledged job that is lost', () => without(tale().spawn('a'), 'process', 'l/')],
    ['an acknowledged job that is lost with the power', () => without(tale().spawn('a'), 'power', 'l/')],
    [
      'an end that is lost',
      () => {
        const told = running();
        const live = told.left().filter(({ key }) => key.startsWith('l/'));
        told.end('a');
        return told.crash('power', [...told.left().filter(({ key }) => !key.startsWith('f/')), ...live]);
      },
    ],
    ['a job that had ended and is lost', () => without(done(), 'process', 'f/')],
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
