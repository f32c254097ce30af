/** CRD1, CRD2, CDS1, CRW1, CRW2; G4: a card is what its job is, at every instant (spec 9). */
import { describe, expect, it } from 'vitest';
import { CARD_BADGES, type Card, cardOf } from '../../src/model/cards.ts';
import type { OffstageEvent } from '../../src/model/events.ts';
import { outcome } from '../../src/model/executor.ts';
import type { JobView } from '../../src/model/records.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { echo, gate, stubborn } from '../support/executors.ts';
import { keptStore } from '../support/kept-store.ts';
import { slowReads } from '../support/slow-reads.ts';
import { contentOf } from '../support/store-content.ts';
import { type TestEngine, testEngine } from '../support/test-engine.ts';

const cardOfJob = ({ offstage }: TestEngine, jobId: string): Promise<Card> => offstage.cards.get(`card_${jobId}`);
const notFound = expect.objectContaining({ code: 'card.not_found' });

/** A card of a job on `default`, with what differs. */
const card = (jobId: string, content: string, attach: Partial<Card['attach']>, sessionId = 'default'): Card => ({
  cardId: `card_${jobId}`,
  sessionId,
  function: 'attach',
  content,
  attach: {
    session_id: 'default',
    job_id: jobId,
    status: 'running',
    head_id: null,
    source_commit_id: null,
    label: 'a label',
    ...attach,
  },
});

describe('the content and the status of a card', () => {
  it('is (running) until the job has ended, whatever it has reported', async () => {
    const held = gate();
    const store = controlledStore(memoryStore());
    await using engine = await testEngine({ executors: { held }, workers: 1, store });
    const { offstage, clock } = engine;
    for (const jobId of ['first', 'second']) {
      const { cardId } = await offstage.spawn({ kind: 'held', jobId, subject: 'a label' });
      expect(cardId).toBe(`card_${jobId}`);
    }
    const { context } = await held.started('first');
    context.partial('so far');
    await clock.settle();
    expect((await offstage.get('first')).status).toBe('running');
    expect((await offstage.get('second')).status).toBe('queued');
    for (const jobId of ['first', 'second']) expect(await cardOfJob(engine, jobId)).toEqual(card(jobId, '(running)', {}));
    await held.release('first');
    await held.release('second');
  });

  it('is running as well while the job is ending', async () => {
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { stuck } });
    await engine.offstage.spawn({ kind: 'stuck', jobId: 'a' });
    await stuck.started('a');
    expect(await engine.offstage.cancel('a')).toMatchObject({ status: 'running', cancelRequestedAt: expect.any(Number) });
    expect(await cardOfJob(engine, 'a')).toMatchObject({ content: '(running)', attach: { status: 'running' } });
    await stuck.release('a');
  });

  it.each<[string, unknown, string, Partial<Card['attach']>]>([
    ['a text', 'the text', 'the text', {}],
    ['several lines', 'one\ntwo\n', 'one\ntwo\n', {}],
    ['no text', '', '', {}],
    ['nothing', undefined, '', {}],
    ['a value', { found: [1, 'two'] }, '{"found":[1,"two"]}', {}],
    ['a number', 0, '0', {}],
    [
      'text, head and commit',
      outcome({ text: 'T', headId: 'h', sourceCommitId: 'c' }),
      'T',
      { head_id: 'h', source_commit_id: 'c' },
    ],
    ['a text beside a value', outcome({ text: 'T', value: { a: 1 } }), 'T', {}],
    ['a head alone', outcome({ headId: 'h' }), '', { head_id: 'h' }],
  ])('completed with %s', async (_, result, content, more) => {
    await using engine = await testEngine({ executors: { body: () => result } });
    await engine.offstage.spawn({ kind: 'body', jobId: 'a', subject: 'a label' });
    await engine.offstage.wait('a');
    expect(await cardOfJob(engine, 'a')).toEqual(card('a', content, { status: 'completed', ...more }));
  });

  it.each([
    ['an error', new TypeError('no way'), '[task error] TypeError: no way'],
    ['an error of several lines', new Error('one\ntwo'), '[task error] Error: one\ntwo'],
  ])('errored with %s', async (_, error, content) => {
    const body = (): never => {
      throw error;
    };
    await using engine = await testEngine({ executors: { body } });
    await engine.offstage.spawn({ kind: 'body', jobId: 'a', subject: 'a label' });
    await engine.offstage.wait('a');
    expect(await cardOfJob(engine, 'a')).toEqual(card('a', content, { status: 'errored' }));
  });

  it('errored without a message', () => {
    const job = { jobId: 'a', sessionId: 'default', callerSessionId: null, subject: 'a label', status: 'errored', error: null };
    const rest = { resultText: 'lost', result: null, completedAt: 1, headId: null, sourceCommitId: null };
    expect(cardOf({ ...job, ...rest } as JobView)).toEqual(card('a', '[task error] unknown error', { status: 'errored' }));
  });

  it.each([
    ['before it ran', null, ''],
    ['without a word', '', ''],
    ['with what it had reported', 'half of\nit', 'half of\nit\n'],
  ])('cancelled %s', async (_, partial, before) => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 1 });
    const { offstage, clock } = engine;
    if (partial === null) await offstage.spawn({ kind: 'held', jobId: 'other' });
    await offstage.spawn({ kind: 'held', jobId: 'a', subject: 'a label' });
    if (partial !== null) (await held.started('a')).context.partial(partial);
    clock.jumpWall(1_234);
    await offstage.cancel('a');
    const { completedAt } = await offstage.wait('a');
    // The virtual clock begins with the year.
    expect(completedAt).toBe(Date.UTC(2026, 0, 1, 0, 0, 1, 234));
    const content = `${before}[cancelled at 2026-01-01T00:00:01.234Z]`;
    expect(await cardOfJob(engine, 'a')).toEqual(card('a', content, { status: 'cancelled' }));
    if (partial === null) await held.release('other');
  });

  it('has its words for a badge', () => {
    expect(CARD_BADGES).toEqual({ running: 'running', completed: 'done', cancelled: 'cancelled', errored: 'error' });
  });
});

describe('where a card stands', () => {
  it('in the conversation of the caller, naming the one that the job runs on; labelled with the subject', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    await offstage.tasks.create({ taskId: 't' });
    for (const sessionId of ['caller', 'target']) await offstage.sessions.create({ sessionId, taskId: 't' });
    await offstage.spawn({ kind: 'echo', jobId: 'a', sessionId: 'target', callerSessionId: 'caller', description: 'do it' });
    await offstage.wait('a');
    const expected = card('a', '', { session_id: 'target', status: 'completed', label: 'do it' }, 'caller');
    expect(await cardOfJob(engine, 'a')).toEqual(expected);
    expect(await offstage.cards.list({ sessionId: 'caller' })).toEqual([expected]);
    expect(await offstage.cards.list({ sessionId: 'target' })).toEqual([]);
  });

  it('a refused spawn leaves none', async () => {
    const store = controlledStore(memoryStore());
    await using engine = await testEngine({ executors: { echo }, store });
    const { offstage, clock } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    await expect(offstage.spawn({ kind: 'nobody', jobId: 'a', sessionId: 's' })).rejects.toMatchObject({
      code: 'executor.unknown',
    });
    for (const when of ['before', 'after'] as const) {
      store.failNext({ when });
      await expect(offstage.spawn({ kind: 'echo', jobId: when, sessionId: 's' })).rejects.toMatchObject({ code: 'store.failed' });
      await expect(cardOfJob(engine, when)).rejects.toEqual(notFound);
      expect(await offstage.cards.list({ sessionId: 's' })).toEqual([]);
      await clock.advance(60_000);
    }
    for (const jobId of ['a', 'before', 'after']) await expect(cardOfJob(engine, jobId)).rejects.toEqual(notFound);
    expect(await offstage.cards.list({ sessionId: 's' })).toEqual([]);
    expect(engine.events.filter(({ type }) => type === 'card.updated')).toEqual([]);
  });

  it('is nowhere while its job is being accepted', async () => {
    const store = controlledStore(memoryStore());
    await using engine = await testEngine({ executors: { echo }, store });
    const { offstage, clock } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    store.hold();
    const spawned = offstage.spawn({ kind: 'echo', jobId: 'a', sessionId: 's' });
    await clock.settle();
    await expect(cardOfJob(engine, 'a')).rejects.toEqual(notFound);
    expect(await offstage.cards.list({ sessionId: 's' })).toEqual([]);
    store.release();
    await spawned;
    expect(await offstage.cards.list({ sessionId: 's' })).toHaveLength(1);
  });
});

describe('cards.get', () => {
  it('finds a card whose job was accepted while the store was asked', async () => {
    const store = controlledStore(memoryStore());
    const held = gate();
    await using engine = await testEngine({ executors: { held }, store: slowReads(store, 20) });
    const { offstage, clock } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    store.hold();
    const spawned = offstage.spawn({ kind: 'held', jobId: 'a', sessionId: 's' });
    for (let times = 0; times < 3; times++) await clock.settle();
    const asked = cardOfJob(engine, 'a');
    store.release();
    expect(await asked).toMatchObject({ cardId: 'card_a' });
    await spawned;
    await held.release('a');
  });

  it('card.not_found for what is no card of a job', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    await offstage.spawn({ kind: 'echo', jobId: 'a' });
    for (const cardId of ['a', 'card_', 'card_b', 'Card_a', '', 'card_\ud800', `card_${'x'.repeat(600)}`]) {
      await expect(offstage.cards.get(cardId)).rejects.toMatchObject({ code: 'card.not_found', details: { cardId } });
    }
    for (const cardId of [5, null, undefined, {}]) {
      await expect(offstage.cards.get(cardId as never)).rejects.toMatchObject({ code: 'input.invalid' });
    }
  });

  it('finds the card of a job whose id is as long as an id may be', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    const jobId = 'é'.repeat(256);
    const { cardId } = await offstage.spawn({ kind: 'echo', jobId });
    await offstage.wait(jobId);
    expect((await offstage.cards.get(cardId)).attach).toMatchObject({ job_id: jobId, status: 'completed' });
    const later = await offstage.spawn({ kind: 'echo' });
    const before = await offstage.cards.list({ sessionId: 'default', before: later.cardId });
    expect(before.map((one) => one.cardId)).toEqual([cardId]);
    expect(await offstage.cards.list({ sessionId: 'default', before: cardId })).toEqual([]);
  });
});

describe('cards.list', () => {
  /** Six jobs of one conversation: two pruned, two ended, two alive; and one of another. */
  async function six(store = memoryStore()): Promise<{ readonly engine: TestEngine; readonly held: ReturnType<typeof gate> }> {
    const held = gate();
    const engine = await testEngine({ executors: { echo, held }, workers: null, store });
    const { offstage, clock } = engine;
    for (const sessionId of ['s', 'other']) await offstage.sessions.create({ sessionId });
    const finish = async (jobId: string): Promise<void> => {
      await offstage.spawn({ kind: 'echo', jobId, sessionId: 's' });
      await offstage.wait(jobId);
    };
    await finish('pruned-1');
    await finish('pruned-2');
    await offstage.spawn({ kind: 'held', jobId: 'live-1', sessionId: 's' });
    await clock.settle();
    await offstage.prune({ maxJobs: 0 });
    await finish('ended-1');
    await offstage.spawn({ kind: 'held', jobId: 'elsewhere', sessionId: 'other' });
    await finish('ended-2');
    await offstage.spawn({ kind: 'held', jobId: 'live-2', sessionId: 's' });
    await clock.settle();
    return { engine, held };
  }
  const jobsOf = (cards: readonly Card[]): readonly string[] => cards.map(({ attach }) => attach.job_id);
  const ALL = ['live-2', 'ended-2', 'ended-1', 'live-1', 'pruned-2', 'pruned-1'];

  it('is newest first, over live, finished and pruned jobs alike', async () => {
    const { engine, held } = await six();
    await using _ = engine;
    const { cards } = engine.offstage;
    expect(jobsOf(await cards.list({ sessionId: 's' }))).toEqual(ALL);
    expect(jobsOf(await cards.list({ sessionId: 'other' }))).toEqual(['elsewhere']);
    for (let limit = 1; limit <= 7; limit++)
      expect(jobsOf(await cards.list({ sessionId: 's', limit })), String(limit)).toEqual(ALL.slice(0, limit));
    for (const [index, jobId] of ALL.entries()) {
      const before = `card_${jobId}`;
      expect(jobsOf(await cards.list({ sessionId: 's', before })), before).toEqual(ALL.slice(index + 1));
      expect(jobsOf(await cards.list({ sessionId: 's', before, limit: 2 })), before).toEqual(ALL.slice(index + 1, index + 3));
    }
    // Any card tells a place, also one of another conversation.
    expect(jobsOf(await cards.list({ sessionId: 's', before: 'card_elsewhere' }))).toEqual(ALL.slice(2));
    for (const one of await cards.list({ sessionId: 's' })) expect(await cards.get(one.cardId)).toEqual(one);
    for (const jobId of ['live-1', 'live-2', 'elsewhere']) await held.release(jobId);
  });

  it('refuses what makes no sense', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { cards, sessions } = engine.offstage;
    await sessions.create({ sessionId: 's' });
    expect(await cards.list({ sessionId: 's' })).toEqual([]);
    await expect(cards.list({ sessionId: 'nobody' })).rejects.toMatchObject({ code: 'session.not_found' });
    await expect(cards.list({ sessionId: 's', before: 'card_nobody' })).rejects.toEqual(notFound);
    const wrong = [
      undefined,
      null,
      {},
      { sessionId: 's', limit: 0 },
      { sessionId: 's', before: 5 },
      { sessionId: 's', status: 'x' },
    ];
    for (const query of wrong) await expect(cards.list(query as never)).rejects.toMatchObject({ code: 'input.invalid' });
  });

  it('CRW2: a kept card that cannot be read hides no other', async () => {
    const { engine, held } = await six();
    await using _ = engine;
    const { offstage, store } = engine;
    await store.batch([{ type: 'put', key: KEYS.card('pruned-2'), value: '[5,{"cardId":"card_pruned-2"}]' }], { sync: false });
    const rest = ALL.filter((jobId) => jobId !== 'pruned-2');
    expect(jobsOf(await offstage.cards.list({ sessionId: 's' }))).toEqual(rest);
    expect(jobsOf(await offstage.cards.list({ sessionId: 's', before: 'card_live-1', limit: 1 }))).toEqual(['pruned-1']);
    await expect(cardOfJob(engine, 'pruned-2')).rejects.toEqual(notFound);
    for (const jobId of ['live-1', 'live-2', 'elsewhere']) await held.release(jobId);
  });

  it('shows each once while jobs end and are pruned', async () => {
    for (let turns = 0; turns < 12; turns++) {
      const { engine, held } = await six(slowReads(memoryStore(), 3));
      await using _ = engine;
      const { offstage } = engine;
      const listing = offstage.cards.list({ sessionId: 's' });
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      const pruned = offstage.prune({ maxJobs: 0 });
      for (const jobId of ['live-1', 'live-2', 'elsewhere']) await held.release(jobId);
      expect(jobsOf(await listing), String(turns)).toEqual(ALL);
      await pruned;
      expect(jobsOf(await offstage.cards.list({ sessionId: 's' })), String(turns)).toEqual(ALL);
    }
  });
});

describe('CRW1: cards outlive the pruning of their jobs', () => {
  it('as they were, and across restarts, also when the mark of the pruned job is gone', async () => {
    const store = memoryStore();
    const kept = keptStore(store);
    const first = await testEngine({ executors: { echo }, store: kept.open() });
    const { offstage, clock } = first;
    await offstage.spawn({ kind: 'echo', jobId: 'a', input: 'the text', subject: 'a label' });
    await offstage.wait('a');
    await clock.settle();
    const before = await cardOfJob(first, 'a');
    expect(await offstage.prune({ maxJobs: 0 })).toMatchObject({ jobs: 1 });
    await expect(offstage.get('a')).rejects.toMatchObject({ code: 'job.expired' });
    expect(await cardOfJob(first, 'a')).toEqual(before);
    expect(await offstage.cards.list({ sessionId: 'default' })).toEqual([before]);
    await clock.advance(366 * 24 * 60 * 60 * 1_000);
    await offstage.prune();
    await expect(offstage.get('a')).rejects.toMatchObject({ code: 'job.not_found' });
    expect(await cardOfJob(first, 'a')).toEqual(before);
    await first[Symbol.asyncDispose]();
    await using second = await testEngine({ executors: { echo }, store: kept.open(), clock });
    expect(await cardOfJob(second, 'a')).toEqual(before);
    expect(await second.offstage.cards.list({ sessionId: 'default' })).toEqual([before]);
    // Nobody knows the id any more, so it may be used again; then there is one card of it.
    for (const jobId of ['between', 'a']) {
      await second.offstage.spawn({ kind: 'echo', jobId, input: 'another' });
      await second.offstage.wait(jobId);
    }
    await clock.settle();
    await second.offstage.prune({ maxJobs: 0 });
    const { cards } = second.offstage;
    expect((await cards.list({ sessionId: 'default' })).map(({ content }) => content)).toEqual(['another', 'another']);
    expect(await cards.list({ sessionId: 'default', before: 'card_between' })).toEqual([]);
  });

  it('there is the one or the other whenever the store stops', async () => {
    const store = controlledStore(memoryStore());
    const engine = await testEngine({ executors: { echo }, store });
    const { offstage, clock } = engine;
    const ids = Array.from({ length: 5 }, (_, index) => `j${index}`);
    for (const jobId of ids) await offstage.spawn({ kind: 'echo', jobId, input: jobId });
    await offstage.waitMany(ids);
    await clock.settle();
    const cards = await offstage.cards.list({ sessionId: 'default' });
    await offstage.prune({ maxJobs: 2 });
    await clock.settle();
    for (let keep = 0; keep <= store.unsynced; keep++) {
      await using next = await testEngine({ executors: { echo }, store: keptStore(await store.tear(keep)).open() });
      expect(await next.offstage.cards.list({ sessionId: 'default' })).toEqual(cards);
    }
    await engine[Symbol.asyncDispose]();
  });
});

describe('G4: card and job are one', () => {
  /** What the card must be of what `get` answers. */
  const expectedOf = (job: JobView): Card => cardOf(job);

  it('at every event, for whoever looks from inside of it', async () => {
    const held = gate();
    const stuck = stubborn();
    const failing = (): never => {
      throw new Error('no');
    };
    await using engine = await testEngine({ executors: { echo, held, stuck, failing }, workers: 2, cancelGraceMs: 1_000 });
    const { offstage, clock } = engine;
    const looks: Promise<readonly [OffstageEvent, JobView, Card]>[] = [];
    offstage.onEvent((event) => {
      for (const jobId of ['a', 'b', 'c', 'd', 'e']) {
        const pair = Promise.all([offstage.get(jobId), offstage.cards.get(`card_${jobId}`)]);
        if (!('jobId' in event) || event.jobId !== jobId) pair.catch(() => {});
        else looks.push(pair.then(([job, one]) => [event, job, one] as const));
      }
    });
    await offstage.spawn({ kind: 'echo', jobId: 'a', input: 'x' });
    await offstage.spawn({ kind: 'held', jobId: 'b' });
    await offstage.spawn({ kind: 'stuck', jobId: 'c' });
    await offstage.spawn({ kind: 'failing', jobId: 'd' });
    await offstage.spawn({ kind: 'held', jobId: 'e' });
    (await held.started('b')).context.partial('part');
    await offstage.cancel('e');
    await offstage.cancel('b');
    await stuck.started('c');
    await offstage.cancel('c');
    await clock.advance(1_000);
    await stuck.release('c');
    await clock.settle();
    const seen = await Promise.all(looks);
    expect(seen.length).toBeGreaterThan(25);
    for (const [event, job, one] of seen) {
      expect(one, event.type).toEqual(expectedOf(job));
      if (event.type === 'card.updated' && event.status !== 'running') expect(one.attach.status).toBe(event.status);
    }
    const told = engine.events.flatMap((event) => (event.type === 'card.updated' ? [[event.jobId, event.status]] : []));
    expect(told.filter(([jobId]) => jobId === 'e')).toEqual([
      ['e', 'running'],
      ['e', 'cancelled'],
    ]);
    expect(told).toHaveLength(10);
  });

  it('the event names the card and its conversation', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage, clock } = engine;
    await offstage.tasks.create({ taskId: 't' });
    for (const sessionId of ['caller', 'target']) await offstage.sessions.create({ sessionId, taskId: 't' });
    const { seq } = await offstage.snapshot();
    await offstage.spawn({ kind: 'echo', jobId: 'a', sessionId: 'target', callerSessionId: 'caller' });
    await offstage.wait('a');
    await clock.settle();
    const { epoch } = await offstage.snapshot();
    const told = engine.events.filter(({ type }) => type === 'card.updated');
    const head = { type: 'card.updated', epoch, at: clock.now(), cardId: 'card_a', sessionId: 'caller', jobId: 'a' };
    expect(told).toEqual([
      { ...head, seq: seq + 3, status: 'running' },
      { ...head, seq: expect.any(Number), status: 'completed' },
    ]);
    const { seq: last } = await offstage.snapshot();
    expect(told[1]?.seq).toBe(last);
  });

  it('recovery: the cards of abandoned jobs say so, once', async () => {
    const store = controlledStore(memoryStore());
    const held = gate();
    const engine = await testEngine({ executors: { held }, workers: 1, store });
    for (const jobId of ['run', 'wait']) await engine.offstage.spawn({ kind: 'held', jobId, subject: 'a label' });
    (await held.started('run')).context.partial('lost');
    await engine.clock.settle();
    const left = keptStore(await store.crash());
    await using next = await testEngine({ executors: { held }, store: left.open() });
    const content = '[task error] worker died before completion';
    for (const jobId of ['run', 'wait'])
      expect(await cardOfJob(next, jobId)).toEqual(card(jobId, content, { status: 'errored' }));
    const told: unknown[] = [];
    const { seq } = await next.offstage.snapshot();
    for await (const event of next.offstage.events({ after: 0 })) {
      if (event.type === 'card.updated') told.push([event.jobId, event.status]);
      if (event.seq === seq) break;
    }
    expect(told).toEqual([
      ['run', 'running'],
      ['wait', 'running'],
      ['run', 'errored'],
      ['wait', 'errored'],
    ]);
  });

  it('a store that refuses: the card stays with the record that get answers', async () => {
    const store = controlledStore(memoryStore());
    const held = gate();
    await using engine = await testEngine({ executors: { held }, store });
    const { offstage, clock } = engine;
    await offstage.spawn({ kind: 'held', jobId: 'a', subject: 'a label' });
    await held.started('a');
    await clock.settle();
    store.failAll(new Error('the disk is full'));
    await held.release('a', 'done');
    expect(await offstage.wait('a')).toMatchObject({ status: 'completed', durable: false });
    expect((await offstage.get('a')).status).toBe('running');
    expect(await cardOfJob(engine, 'a')).toEqual(card('a', '(running)', {}));
    expect(await offstage.cards.list({ sessionId: 'default' })).toEqual([card('a', '(running)', {})]);
    store.failAll(null);
    await clock.advance(10_000);
    expect(await cardOfJob(engine, 'a')).toEqual(card('a', 'done', { status: 'completed' }));
    // Nothing is written of cards but what outlives their jobs.
    expect(Object.keys(await contentOf(store)).filter((key) => /^[kw]\/[^~]/.test(key))).toEqual([]);
  });

  it('a store that denies an end it has written: lists stay with the record that get answers, too', async () => {
    const store = controlledStore(memoryStore());
    const held = gate();
    await using engine = await testEngine({ executors: { held }, store });
    const { offstage, clock } = engine;
    await offstage.spawn({ kind: 'held', jobId: 'a', subject: 'a label' });
    await held.started('a');
    await clock.settle();
    store.failNext({ when: 'after' });
    await held.release('a', 'done');
    expect(await offstage.wait('a')).toMatchObject({ status: 'completed', durable: false });
    expect((await offstage.get('a')).status).toBe('running');
    expect(await cardOfJob(engine, 'a')).toEqual(card('a', '(running)', {}));
    expect(await offstage.cards.list({ sessionId: 'default' })).toEqual([card('a', '(running)', {})]);
    await clock.advance(10_000);
    expect(await offstage.cards.list({ sessionId: 'default' })).toEqual([card('a', 'done', { status: 'completed' })]);
  });
});
