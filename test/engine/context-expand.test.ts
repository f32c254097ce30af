/** CDS2, CDS3, CRD3: what the cards of a conversation come to when a context is built of its items (spec 9; J111, J112, J114). */
import { describe, expect, it } from 'vitest';
import type { ContextItem } from '../../src/model/cards.ts';
import { outcome } from '../../src/model/executor.ts';
import type { ContextBlock } from '../../src/model/requests.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { echo, gate, throwing } from '../support/executors.ts';
import { thorny } from '../support/hostile.ts';
import { type TestEngine, testEngine } from '../support/test-engine.ts';

/** An executor whose jobs answer with what their input says. */
const branch = (job: { readonly input: unknown }): unknown => outcome(job.input as Parameters<typeof outcome>[0]);

const start = (more: Parameters<typeof testEngine>[0] = {}): Promise<TestEngine> =>
  testEngine({ ...more, executors: { branch, echo, failing: throwing(new Error('one\ntwo')), ...more.executors } });

async function cardOf({ offstage }: TestEngine, jobId: string): Promise<ContextItem> {
  const { function: name, content, attach } = await offstage.cards.get(`card_${jobId}`);
  return { function: name, content, attach };
}

/** A job on `default` that has ended, and its card as a host keeps it. */
async function ended(engine: TestEngine, jobId: string, kind: string, input: object | null = null): Promise<ContextItem> {
  const { offstage } = engine;
  await offstage.spawn({ kind, jobId, input, subject: `label of ${jobId}` });
  await offstage.wait(jobId);
  return cardOf(engine, jobId);
}

const block = (jobId: string, status: ContextBlock['status'], text: string, more: Partial<ContextBlock> = {}): ContextBlock => ({
  type: 'attach',
  status,
  source: expect.any(String),
  jobId,
  sessionId: 'default',
  headId: null,
  sourceCommitId: null,
  label: `label of ${jobId}`,
  text,
  ...more,
});

describe('cards', () => {
  it('J114: a running card, When context is built, Then 0 items; once its job has ended, its block', async () => {
    const held = gate();
    await using engine = await start({ executors: { held }, workers: 1 });
    const { offstage } = engine;
    for (const jobId of ['running', 'queued']) await offstage.spawn({ kind: 'held', jobId, subject: `label of ${jobId}` });
    await held.started('running');
    const items = [await cardOf(engine, 'running'), await cardOf(engine, 'queued')];
    expect(await offstage.context.expand('default', items)).toEqual([]);
    await held.release('running', 'done');
    await offstage.wait('running');
    // The host has kept the card as it was; what counts is how the job stands.
    expect(items[0]?.attach.status).toBe('running');
    expect(await offstage.context.expand('default', items)).toEqual([block('running', 'completed', 'done')]);
    await held.release('queued');
  });

  it('J111: a second card of the same source, Then 0 new items', async () => {
    await using engine = await start();
    const one = await ended(engine, 'one', 'branch', { text: 'T', headId: 'h', sourceCommitId: 'c' });
    const same = await ended(engine, 'same', 'branch', { text: 'T again', headId: 'other', sourceCommitId: 'c' });
    const { context } = engine.offstage;
    const first = block('one', 'completed', 'T', { headId: 'h', sourceCommitId: 'c' });
    expect(await context.expand('default', [one, same, one])).toEqual([first]);
    expect(await context.expand('default', [same, one])).toMatchObject([{ jobId: 'same', text: 'T again' }]);
    const heads = [await ended(engine, 'h1', 'branch', { headId: 'g' }), await ended(engine, 'h2', 'branch', { headId: 'g' })];
    expect(await context.expand('default', heads)).toMatchObject([{ jobId: 'h1' }]);
  });

  it('J112: two sources, Then two blocks, in the order of the items', async () => {
    await using engine = await start();
    const { offstage } = engine;
    await offstage.sessions.create({ sessionId: 'default/c' });
    const cards = [
      await ended(engine, 'commit', 'branch', { text: '1', headId: 'h', sourceCommitId: 'c' }),
      await ended(engine, 'another', 'branch', { text: '2', headId: 'h', sourceCommitId: 'd' }),
      await ended(engine, 'head', 'branch', { text: '3', headId: 'h' }),
      await ended(engine, 'text', 'branch', { text: '4' }),
      await ended(engine, 'more text', 'branch', { text: '4' }),
    ];
    const expand = (items: readonly ContextItem[]) => offstage.context.expand('default', items);
    expect((await expand(cards)).map((one) => (one as ContextBlock).text)).toEqual(['1', '2', '3', '4', '4']);
    expect((await expand(cards.toReversed())).map((one) => (one as ContextBlock).text)).toEqual(['4', '4', '3', '2', '1']);
  });

  it('ids that look alike when they are joined are different sources', async () => {
    await using engine = await start();
    const { offstage } = engine;
    for (const sessionId of ['a', 'a/b']) await offstage.sessions.create({ sessionId });
    for (const [jobId, sessionId, sourceCommitId] of [
      ['one', 'a', 'b/c'],
      ['two', 'a/b', 'c'],
    ] as const) {
      await offstage.spawn({ kind: 'branch', jobId, sessionId, input: { sourceCommitId } });
      await offstage.wait(jobId);
    }
    const items = [await cardOf(engine, 'one'), await cardOf(engine, 'two')];
    expect(await offstage.context.expand('a', items)).toHaveLength(2);
  });

  it('of cancelled and errored ones stands only the mark, each time', async () => {
    const held = gate();
    await using engine = await start({ executors: { held } });
    const { offstage } = engine;
    await offstage.spawn({ kind: 'held', jobId: 'cancelled', subject: 'label of cancelled' });
    (await held.started('cancelled')).context.partial('half\nof it');
    await offstage.cancel('cancelled');
    await offstage.wait('cancelled');
    const cancelled = await cardOf(engine, 'cancelled');
    expect(cancelled.content).toBe('half\nof it\n[cancelled at 2026-01-01T00:00:00.000Z]');
    const errored = await ended(engine, 'errored', 'failing');
    const expected = [
      block('cancelled', 'cancelled', '[cancelled at 2026-01-01T00:00:00.000Z]'),
      // The message may have more than one line; the mark is all of it.
      block('errored', 'errored', '[task error] Error: one\ntwo'),
    ];
    expect(await offstage.context.expand('default', [cancelled, errored])).toEqual(expected);
    expect(await offstage.context.expand('default', [cancelled, errored, cancelled])).toEqual([...expected, expected[0]]);
  });

  it('of pruned jobs are read where they are kept, unknown ones as the host has kept them', async () => {
    await using engine = await start();
    const { offstage, clock } = engine;
    const kept = await ended(engine, 'kept', 'branch', { text: 'T', headId: 'h' });
    await clock.settle();
    await offstage.prune({ maxJobs: 0 });
    const old: ContextItem = {
      function: 'attach',
      content: 'of another store',
      attach: { ...kept.attach, session_id: 'elsewhere', job_id: 'nobody knows', head_id: null, label: 'L' },
    };
    const running: ContextItem = { ...old, content: '(running)', attach: { ...old.attach, status: 'running' } };
    const spoilt = { ...kept, content: 'what the host made of it' };
    expect(await offstage.context.expand('default', [spoilt, running, old])).toEqual([
      block('kept', 'completed', 'T', { headId: 'h' }),
      block('nobody knows', 'completed', 'of another store', { sessionId: 'elsewhere', label: 'L' }),
    ]);
  });

  it('one whose job cannot be read is taken as the host has kept it, and holds up no other', async () => {
    await using engine = await start();
    const { offstage, store, clock } = engine;
    const [spoilt, sound] = [await ended(engine, 'spoilt', 'echo', { a: 1 }), await ended(engine, 'sound', 'echo')];
    await clock.settle();
    const ordinal = Number.parseInt((await store.get(KEYS.id('spoilt'))) as string, 10);
    await store.batch([{ type: 'put', key: KEYS.finished(ordinal), value: '[1,' }], { sync: false });
    expect(await offstage.context.expand('default', [spoilt, sound])).toEqual([
      block('spoilt', 'completed', '{"a":1}'),
      block('sound', 'completed', ''),
    ]);
  });
});

describe('every other item', () => {
  it('passes as it is, in its place', async () => {
    await using engine = await start();
    const card = await ended(engine, 'a', 'echo');
    const message = Object.freeze({ role: 'user', content: 'hi' });
    const ordinary = { function: 'attach', content: 'no job', attach: { session_id: 's', head_id: 'h', status: 'completed' } };
    const other = { function: 'call', attach: { job_id: 'a' } };
    const list = ['an', 'array'];
    const items = [message, 'text', card, null, undefined, 5, ordinary, other, list, Promise.resolve(1)];
    const expanded = await engine.offstage.context.expand('default', items);
    const expected: unknown[] = [...items];
    expected.splice(2, 1, block('a', 'completed', ''));
    expect(expanded).toEqual(expected);
    for (const [index, item] of expanded.entries()) if (index !== 2) expect(item).toBe(items[index]);
  });

  it('hostile ones too: they pass untouched, and harm nobody', async () => {
    await using engine = await start();
    const card = await ended(engine, 'a', 'echo');
    const attach = { ...card.attach, job_id: 'nobody' };
    let reads = 0;
    const hostile = [
      thorny(),
      thorny(true),
      { function: 'attach', attach: thorny() },
      { function: 'attach', attach: { job_id: 5 } },
      { function: 'attach', attach: { job_id: 'x'.repeat(600) } },
      { function: 'attach', attach: { job_id: '\ud800' } },
      { function: 'attach', attach: null },
      { function: 'attach', content: 'no label', attach: { ...attach, label: undefined } },
      { function: 'attach', content: 5, attach },
      { function: 'attach', content: 'x', attach: { ...attach, status: 'toString' } },
      { function: 'attach', content: 'x', attach: { ...attach, status: 'queued' } },
      { function: 'attach', content: 'x', attach: { ...attach, head_id: 7 } },
      {
        function: 'attach',
        attach,
        get content() {
          reads += 1;
          throw new Error('do not look at me');
        },
      },
    ];
    const expanded = await engine.offstage.context.expand('default', [...hostile, card]);
    expect(expanded.length).toBe(hostile.length + 1);
    for (const [index, item] of hostile.entries()) expect(expanded[index] === item, String(index)).toBe(true);
    expect(expanded.at(-1)).toEqual(block('a', 'completed', ''));
    expect(reads).toBe(1);
  });

  it('unknown sessions and items that are no list are refused', async () => {
    await using engine = await start();
    const { context, sessions } = engine.offstage;
    await sessions.create({ sessionId: 's' });
    expect(await context.expand('s', [])).toEqual([]);
    await expect(context.expand('nobody', [])).rejects.toMatchObject({ code: 'session.not_found' });
    for (const items of [undefined, null, 'text', {}, 5])
      await expect(context.expand('s', items as never)).rejects.toMatchObject({ code: 'input.invalid' });
    await expect(context.expand(5 as never, [])).rejects.toMatchObject({ code: 'input.invalid' });
  });
});
