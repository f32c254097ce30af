/** RCC1, RCC2 (and ROC3): kept cards are found again, notices are of jobs that there are; what makes no sense goes, and nothing else. */
import { beforeAll, describe, expect, it } from 'vitest';
import { mockAgent } from '../../src/adapters/mock-agent.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { checkRows, type RowCheck } from '../../src/persistence/row-check.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import type { Store, StoreOperation } from '../../src/persistence/store.ts';
import { STORE_FORMAT } from '../../src/persistence/store-format.ts';
import { echo } from '../support/executors.ts';
import { keptStore } from '../support/kept-store.ts';
import { contentOf } from '../support/store-content.ts';
import { testEngine } from '../support/test-engine.ts';

const AT = 5_000_000_000_000;
type Content = Readonly<Record<string, string>>;

const put = (store: Store, rows: Content): Promise<void> =>
  store.batch(
    Object.entries(rows).map(([key, value]): StoreOperation => ({ type: 'put', key, value })),
    { sync: false },
  );
const drop = (store: Store, ...keys: readonly string[]): Promise<void> =>
  store.batch(
    keys.map((key): StoreOperation => ({ type: 'del', key })),
    { sync: false },
  );

/** Jobs 1 and 2 of the session were pruned, 3 has ended; of 2 and 3 the agent, which cannot be started, has not been told. */
let whole: Content;

beforeAll(async () => {
  const store = memoryStore();
  const { factory } = mockAgent({ failStart: new Error('not today') });
  const options = { store: keptStore(store).open(), executors: { echo }, agents: { special: factory } };
  const engine = await testEngine(options);
  const { offstage, clock } = engine;
  await offstage.sessions.create({ sessionId: 's/1', agentId: 'special' });
  for (const [jobId, wait] of [
    ['j/1', true],
    ['j/2', false],
    ['j/3', false],
  ] as const) {
    await offstage.spawn({ kind: 'echo', jobId, sessionId: 's/1', input: jobId, wait });
    await offstage.wait(jobId);
    await clock.settle();
    if (jobId === 'j/2') await offstage.prune({ maxJobs: 0 });
  }
  await engine[Symbol.asyncDispose]();
  whole = await contentOf(store);
});

async function storeOf(): Promise<Store> {
  const store = memoryStore();
  await put(store, whole);
  return store;
}

const look = (store: Store): Promise<RowCheck> => checkRows(store, { isMending: false, at: AT });

/** Looks, mends, and looks again: the first two find the same, the last nothing. */
async function mended(store: Store): Promise<Readonly<Record<string, readonly string[]>>> {
  const before = await contentOf(store);
  const seen = await look(store);
  expect(await contentOf(store)).toEqual(before);
  expect(await checkRows(store, { isMending: true, at: AT })).toEqual(seen);
  expect(await look(store)).toMatchObject({ findings: [] });
  return Object.fromEntries(seen.findings.map(({ kind, examples }) => [kind, examples]));
}

/** The rows that a repair has changed, but for the numbers that it gives anew. */
async function changedIn(store: Store): Promise<readonly string[]> {
  const after = await contentOf(store);
  const keys = new Set([...Object.keys(whole), ...Object.keys(after)]);
  return [...keys].filter((key) => key !== KEYS.head && whole[key] !== after[key]).sort();
}

it('an undamaged store is found to be so', async () => {
  const kinds = Object.keys(whole).filter((key) => /^[kuw]\/[^~]/.test(key));
  expect(kinds).toEqual([
    KEYS.card('j/1'),
    KEYS.card('j/2'),
    KEYS.notice('s/1', 2),
    KEYS.notice('s/1', 3),
    KEYS.sessionCard('s/1', 1),
    KEYS.sessionCard('s/1', 2),
  ]);
  expect(await look(await storeOf())).toMatchObject({ jobs: 1, findings: [], eventGaps: 0 });
});

describe('RCC1: kept cards', () => {
  it('a card that lies in no conversation is found there again', async () => {
    const store = await storeOf();
    await drop(store, KEYS.sessionCard('s/1', 1));
    await put(store, { [KEYS.sessionCard('s/1', 2)]: 'j/1' });
    expect(await mended(store)).toMatchObject({ card_index_lost: ['card_j/1', 'card_j/2'] });
    expect(await changedIn(store)).toEqual([]);
    await using engine = await testEngine({ store: keptStore(store).open() });
    const cards = await engine.offstage.cards.list({ sessionId: 's/1' });
    expect(cards.map(({ cardId }) => cardId)).toEqual(['card_j/3', 'card_j/2', 'card_j/1']);
  });

  it('a place without a card goes', async () => {
    const store = await storeOf();
    await drop(store, KEYS.card('j/1'));
    await put(store, { [KEYS.sessionCard('other', 2)]: 'j/2', [KEYS.sessionCard('s/1', 9)]: 'j/2' });
    const places = [KEYS.sessionCard('other', 2), KEYS.sessionCard('s/1', 1), KEYS.sessionCard('s/1', 9)];
    expect(await mended(store)).toEqual({ left_over: places, frame: [KEYS.head] });
    expect(await changedIn(store)).toEqual([KEYS.card('j/1'), KEYS.sessionCard('s/1', 1)]);
  });

  it.each([
    ['half a row', '[1,{"card'],
    ['no card', '[1,{"cardId":"card_j/1"}]'],
    ['no number', '["x"]'],
    ['the card of another', 'j/2'],
    ['no id', '\\ud800'],
  ])('one that cannot be read goes with its place: %s', async (_, value) => {
    const store = await storeOf();
    const another = (whole[KEYS.card('j/1')] as string).replaceAll('j/1', value);
    await put(store, { [KEYS.card('j/1')]: value.startsWith('[') ? value : another });
    expect(await mended(store)).toEqual({ unreadable: [KEYS.card('j/1')], left_over: [KEYS.sessionCard('s/1', 1)] });
    expect(await changedIn(store)).toEqual([KEYS.card('j/1'), KEYS.sessionCard('s/1', 1)]);
  });

  it('keys that name nothing go', async () => {
    const store = await storeOf();
    const keys = ['k/%zz', 'w/%zz/0000000000000001', 'w/s/x'];
    await put(store, Object.fromEntries(keys.map((key) => [key, 'j/2'])));
    expect(await mended(store)).toEqual({ unreadable: keys });
    expect(await changedIn(store)).toEqual([]);
  });

  it('the place of an older card of an id that was used again is no damage', async () => {
    const store = await storeOf();
    const newer = (whole[KEYS.card('j/1')] as string).replace('[1,', '[7,');
    await put(store, { [KEYS.card('j/1')]: newer, [KEYS.sessionCard('s/1', 7)]: 'j/1', [KEYS.head]: '[1000,1000]' });
    expect(await look(store)).toMatchObject({ findings: [] });
  });

  it('numbers of cards are not given again', async () => {
    const store = await storeOf();
    const [[, seq]] = [/^\[(\d+),/.exec(whole[KEYS.head] as string) as RegExpExecArray];
    await put(store, { [KEYS.head]: `[${seq},2]` });
    await drop(store, KEYS.finished(3), KEYS.id('j/3'), KEYS.sessionJob('s/1', 3), KEYS.notice('s/1', 3));
    await put(store, {
      [KEYS.card('x')]: (whole[KEYS.card('j/1')] as string).replace('[1,', '[40,').replaceAll('j/1', 'x'),
    });
    expect(await mended(store)).toMatchObject({ card_index_lost: ['card_x'], frame: [KEYS.head] });
    expect(JSON.parse((await store.get(KEYS.head)) as string)[1]).toBeGreaterThanOrEqual(40);
  });
});

describe('RCC2: notices', () => {
  it('of a job that is gone they go; of one that was pruned they stay', async () => {
    const store = await storeOf();
    await drop(store, KEYS.finished(3));
    expect(await mended(store)).toMatchObject({ lost: ['j/3'], left_over: expect.arrayContaining([KEYS.notice('s/1', 3)]) });
    expect(await store.get(KEYS.notice('s/1', 2))).toBe(whole[KEYS.notice('s/1', 2)]);
    await drop(store, KEYS.card('j/2'));
    expect(await mended(store)).toEqual({ left_over: [KEYS.sessionCard('s/1', 2), KEYS.notice('s/1', 2)] });
  });

  it('of another job than its number says, or of one that had been removed and came back, they go', async () => {
    const store = await storeOf();
    await put(store, { [KEYS.notice('s/1', 3)]: '["j/9","completed","x"]' });
    expect(await mended(store)).toEqual({ left_over: [KEYS.notice('s/1', 3)] });
    const again = await storeOf();
    // Its tombstone says that it was pruned, and its card is lost.
    await put(again, { [KEYS.tombstone(3)]: JSON.stringify(['j/3', AT]) });
    expect(await mended(again)).toEqual({ came_back: ['j/3'], left_over: [KEYS.notice('s/1', 3)] });
  });

  it.each([
    ['half a row', KEYS.notice('s/1', 3), '["j/3","comp'],
    ['a job that has not ended', KEYS.notice('s/1', 3), '["j/3","running","x"]'],
    ['a status that there is not', KEYS.notice('s/1', 3), '["j/3","done","x"]'],
    ['nobody to tell', 'u/%zz/0000000000000003', '["j/3","completed","x"]'],
    ['no id', KEYS.notice('s/1', 3), '["\\ud800","completed","x"]'],
    ['no number', 'u/s/x', '["j/3","completed","x"]'],
    ['too much', 'u/s/0000000000000003/x', '["j/3","completed","x"]'],
  ])('that cannot be read go: %s', async (_, key, value) => {
    const store = await storeOf();
    await put(store, { [key]: value });
    expect(await mended(store)).toEqual({ unreadable: [key] });
    expect(await changedIn(store)).toEqual(key in whole ? [key] : []);
  });

  it('those that are left are told by the next start', async () => {
    const store = await storeOf();
    await put(store, { 'u/s/x': 'spoilt' });
    await mended(store);
    const mock = mockAgent();
    await using engine = await testEngine({ store: keptStore(store).open(), agents: { special: mock.factory } });
    await engine.clock.settle();
    expect(mock.prompts.map(({ content }) => content)).toEqual([
      '[task j/2 completed] job\nj/2\n\n[task j/3 completed] job\nj/3',
    ]);
  });
});

it('a store of an older format is not said to lack what came later', async () => {
  const store = await storeOf();
  await drop(store, 'w/~', ...Object.keys(whole).filter((key) => /^[kuw]\/[^~]/.test(key)));
  await put(store, { [KEYS.format]: '2' });
  expect(await look(store)).toMatchObject({ findings: [] });
  await using engine = await testEngine({ store: keptStore(store).open() });
  expect(await store.get(KEYS.format)).toBe(String(STORE_FORMAT));
  expect(await store.get('w/~')).toBe('');
  await engine.clock.settle();
  expect(await look(store)).toMatchObject({ findings: [] });
});
