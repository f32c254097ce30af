/** RCS1, RCS2 (and ROC3): what leads to a session fits its row again; what is lost of it is never used for another. */
import { describe, expect, it } from 'vitest';
import type { SessionRow, SessionState } from '../../src/model/records.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { checkRows, type RowCheck } from '../../src/persistence/row-check.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { sessionIdsOfTask, sessionOperations, ticketOperation } from '../../src/persistence/session-rows.ts';
import type { Store, StoreOperation } from '../../src/persistence/store.ts';
import { echo } from '../support/executors.ts';
import { keptStore } from '../support/kept-store.ts';
import { contentOf } from '../support/store-content.ts';
import { testEngine } from '../support/test-engine.ts';

const AT = 5_000_000_000_000;
const STATES: Readonly<Record<string, SessionState>> = { 's/run': 'running', 's/ask': 'waiting_for_input', 's/idle': 'idle' };

/** What an engine that died leaves: sessions in all kinds of states, jobs of two of them, a prompt that waits. */
async function storeOf(): Promise<Store> {
  const store = memoryStore();
  const engine = await testEngine({ store: keptStore(store).open(), executors: { echo } });
  const { offstage } = engine;
  for (const taskId of ['t1', 't/2']) await offstage.tasks.create({ taskId });
  for (const sessionId of Object.keys(STATES)) await offstage.sessions.create({ sessionId, taskId: 't/2' });
  await offstage.sessions.create({ sessionId: 'hosting', taskId: 't1' });
  await offstage.wait((await offstage.spawn({ kind: 'echo', jobId: 'j1', sessionId: 'hosting' })).jobId);
  await engine[Symbol.asyncDispose]();
  for (const [sessionId, state] of Object.entries(STATES)) {
    const row = JSON.parse((await store.get(KEYS.session(sessionId))) as string) as SessionRow;
    const pending = sessionId === 's/ask' ? ({ kind: 'clarification', requestId: 'r', options: [] } as const) : null;
    await store.batch(sessionOperations({ ...row, state, pending, revision: 2 }), { sync: false });
  }
  const ticket = { ticketId: 'q1', promptId: 'p1', sessionId: 's/run', origin: 'human', createdAt: 1 } as const;
  await store.batch([ticketOperation(ticket)], { sync: false });
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

const put = (store: Store, rows: Readonly<Record<string, string>>): Promise<void> =>
  store.batch(
    Object.entries(rows).map(([key, value]): StoreOperation => ({ type: 'put', key, value })),
    { sync: false },
  );
const drop = (store: Store, ...keys: readonly string[]): Promise<void> =>
  store.batch(
    keys.map((key): StoreOperation => ({ type: 'del', key })),
    { sync: false },
  );

describe('RCS2: what leads to a session', () => {
  it('an undamaged store is found to be so', async () => {
    expect(await look(await storeOf())).toMatchObject({ findings: [], eventGaps: 0 });
  });

  it('its listing and its mark come back', async () => {
    const store = await storeOf();
    const before = await contentOf(store);
    await drop(store, KEYS.taskSession('t/2', 's/idle'), KEYS.openSession('s/run'));
    await drop(store, KEYS.taskSession('t/2', 's/ask'), KEYS.openSession('s/ask'));
    expect(await mended(store)).toEqual({ session_index_lost: ['s/ask', 's/idle', 's/run'] });
    const { [KEYS.head]: head, ...after } = await contentOf(store);
    expect({ ...after, [KEYS.head]: before[KEYS.head] }).toEqual(before);
    expect(head).toBeDefined();
  });

  it('a listing in a foreign task goes, and so does the mark of a session that has nothing open', async () => {
    const store = await storeOf();
    await put(store, { [KEYS.taskSession('t1', 's/idle')]: '', [KEYS.openSession('s/idle')]: '' });
    expect(await mended(store)).toEqual({ left_over: [KEYS.taskSession('t1', 's/idle'), KEYS.openSession('s/idle')] });
    expect(await sessionIdsOfTask(store, 't1')).toEqual(['hosting']);
  });

  it('keys that name no session go', async () => {
    const store = await storeOf();
    const keys = ['m/%zz/a', 'm/t1', 'm/t1/%zz', 'm/t1/a/b', 'a/%zz'];
    await put(store, Object.fromEntries(keys.map((key) => [key, ''])));
    expect(await mended(store)).toEqual({ unreadable: keys });
  });
});

describe('RCS1: what is lost', () => {
  it('a session that cannot be read is removed, with all that led to it', async () => {
    const store = await storeOf();
    await put(store, { [KEYS.session('s/run')]: '{"sessionId":"s/run","taskId":"t/2"}' });
    expect(await mended(store)).toEqual({
      unreadable: [KEYS.session('s/run')],
      left_over: [KEYS.taskSession('t/2', 's/run'), KEYS.openSession('s/run')],
    });
    expect(await store.get(KEYS.session('s/run'))).toBe(JSON.stringify({ removed: AT }));
  });

  it.each([
    ['only a listing', [KEYS.session('s/run'), KEYS.openSession('s/run')]],
    ['only a mark', [KEYS.session('s/run'), KEYS.taskSession('t/2', 's/run')]],
    ['both', [KEYS.session('s/run')]],
  ])('a session of which %s is left counts as removed: its id is never used again', async (_, keys) => {
    const store = await storeOf();
    await drop(store, ...keys);
    expect(Object.keys(await mended(store))).toEqual(['left_over']);
    await using engine = await testEngine({ store: keptStore(store).open() });
    await expect(engine.offstage.sessions.create({ sessionId: 's/run' })).rejects.toMatchObject({ code: 'session.expired' });
    expect(engine.recovery.sessions).toEqual([]);
  });

  it('a session that has jobs is made again, and listed', async () => {
    for (const listing of [[], [KEYS.taskSession('t1', 'hosting')]]) {
      const store = await storeOf();
      await drop(store, KEYS.session('hosting'), ...listing);
      expect(await mended(store)).toEqual({ session_lost: ['hosting'] });
      expect(await sessionIdsOfTask(store, 't1')).toEqual(['hosting']);
      await using engine = await testEngine({ store: keptStore(store).open() });
      expect(await engine.offstage.sessions.get('hosting')).toMatchObject({ taskId: 't1', state: 'created' });
    }
  });

  it('a row under a foreign key is nothing that was ever written there', async () => {
    const store = await storeOf();
    const [row, task, ticket] = await store.getMany([KEYS.session('s/idle'), KEYS.task('t1'), KEYS.ticket('q1')]);
    await put(store, {
      [KEYS.session('other')]: row as string,
      [KEYS.task('other')]: task as string,
      [KEYS.ticket('other')]: ticket as string,
      [KEYS.ticket('odd')]: '{"ticketId":"odd"}',
    });
    expect(await mended(store)).toEqual({
      unreadable: [KEYS.session('other'), KEYS.task('other'), KEYS.ticket('odd'), KEYS.ticket('other')],
    });
    expect(Object.keys(await contentOf(store)).filter((key) => key.startsWith('q/'))).toEqual([KEYS.ticket('q1')]);
    expect(await store.get(KEYS.session('other'))).toBe(JSON.stringify({ removed: AT }));
  });
});

describe('ROC3', () => {
  it('rows at random, gone or spoilt: after mending nothing is found, and an engine opens', async () => {
    const content = await contentOf(await storeOf());
    const keys = Object.keys(content).filter((key) => /^[nomaqx]\//.test(key));
    let state = 11;
    const random = (below: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    for (let round = 0; round < 200; round++) {
      const store = memoryStore();
      await put(store, content);
      for (let count = 1 + random(6); count > 0; count--) {
        const key = keys[random(keys.length)] as string;
        if (random(2) === 0) await drop(store, key);
        else await put(store, { [key]: (content[key] as string).slice(0, random(100)) });
      }
      await checkRows(store, { isMending: true, at: AT });
      expect(await look(store), `round ${round}`).toMatchObject({ findings: [] });
      await using engine = await testEngine({ store: keptStore(store).open() });
      const sessions = await engine.offstage.sessions.list();
      expect(
        sessions.filter((row) => row.state === 'running' || row.pending !== null),
        `round ${round}`,
      ).toEqual([]);
      for (const { taskId, sessionId } of sessions) {
        expect(await sessionIdsOfTask(store, taskId), `round ${round}`).toContain(sessionId);
      }
    }
  });
});
