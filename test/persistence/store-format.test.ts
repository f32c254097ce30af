/** FMT1, FMT2: a store of an earlier release becomes one of this, whenever the migration is cut off. */
import { describe, expect, it } from 'vitest';
import type { SessionRow } from '../../src/model/records.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { checkRows } from '../../src/persistence/row-check.ts';
import { KEYS, SENTINELS } from '../../src/persistence/row-keys.ts';
import { sessionIdsOfTask } from '../../src/persistence/session-rows.ts';
import type { Store, StoreOperation } from '../../src/persistence/store.ts';
import { prepareStore, STORE_FORMAT } from '../../src/persistence/store-format.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { keptStore } from '../support/kept-store.ts';
import { contentOf } from '../support/store-content.ts';
import { testEngine } from '../support/test-engine.ts';

const SESSIONS = 600;

/** As the first format was written: rows of sessions and tasks, and nothing that leads from one to the other. */
async function firstFormat(): Promise<Store> {
  const store = memoryStore();
  const operations: StoreOperation[] = SENTINELS.map((key) => ({ type: 'put', key, value: '' }));
  operations.push({ type: 'put', key: KEYS.format, value: '1' });
  for (const taskId of ['t1', 't/2']) {
    const row = { taskId, title: '', state: 'open', createdAt: 1, revision: 1 };
    operations.push({ type: 'put', key: KEYS.task(taskId), value: JSON.stringify(row) });
  }
  for (let index = 0; index < SESSIONS; index++) {
    const row: SessionRow = {
      sessionId: `s/${index}`,
      taskId: index % 3 === 0 ? 't/2' : 't1',
      agentId: null,
      state: index === 7 ? 'running' : 'created',
      interrupted: false,
      pending: null,
      createdAt: index,
      updatedAt: index,
      revision: 1,
    };
    operations.push({ type: 'put', key: KEYS.session(row.sessionId), value: JSON.stringify(row) });
  }
  operations.push({ type: 'put', key: KEYS.session('gone'), value: '{"removed":1}' });
  operations.push({ type: 'put', key: KEYS.session('spoilt'), value: '{"sess' });
  await store.batch(operations, { sync: true });
  return store;
}

describe('FMT1', () => {
  it('a new store has the format of this release, and is written once', async () => {
    const store = controlledStore(memoryStore());
    await prepareStore(store);
    expect(await contentOf(store)).toEqual({
      [KEYS.format]: String(STORE_FORMAT),
      ...Object.fromEntries(SENTINELS.map((key) => [key, ''])),
    });
    await prepareStore(store);
    expect(store.writes).toHaveLength(1);
    expect(store.writes[0]).toMatchObject({ sync: true });
  });

  it('the sessions of the first format are found in their tasks, and marked where they have to be', async () => {
    const store = await firstFormat();
    await prepareStore(store);
    expect(await store.get(KEYS.format)).toBe(String(STORE_FORMAT));
    const numbers = Array.from({ length: SESSIONS }, (_, index) => index);
    for (const [taskId, isIn] of [
      ['t/2', (index: number) => index % 3 === 0],
      ['t1', (index: number) => index % 3 !== 0],
    ] as const) {
      const expected = numbers.filter(isIn).map((index) => `s/${index}`);
      expect([...(await sessionIdsOfTask(store, taskId))].sort()).toEqual(expected.sort());
    }
    const marks = Object.keys(await contentOf(store)).filter((key) => key.startsWith('a/'));
    expect(marks).toEqual([KEYS.openSession('s/7')]);
    // What could not be read is still what there is to mend.
    const { findings } = await checkRows(store, { isMending: false, at: 1 });
    expect(findings).toEqual([{ kind: 'unreadable', count: 1, examples: [KEYS.session('spoilt')] }]);
  });

  it('cut off at any write, in any way, it is finished by the next start', async () => {
    const undisturbed = controlledStore(await firstFormat());
    await prepareStore(undisturbed);
    const expected = await contentOf(undisturbed);
    expect(undisturbed.writes.length).toBeGreaterThan(3);
    for (let nth = 1; nth <= undisturbed.writes.length; nth++) {
      for (const when of ['before', 'after'] as const) {
        const store = controlledStore(await firstFormat());
        store.failNext({ when, nth });
        await expect(prepareStore(store)).rejects.toMatchObject({ code: 'store.failed' });
        for (const found of [await store.tear(0), await store.tear()]) {
          await prepareStore(found);
          expect(await contentOf(found), `${when} ${nth}`).toEqual(expected);
        }
      }
    }
  });

  it('an engine opens it, and settles what it finds', async () => {
    const store = await firstFormat();
    await store.batch([{ type: 'del', key: KEYS.session('spoilt') }], { sync: true });
    await using engine = await testEngine({ store: keptStore(store).open() });
    expect(engine.recovery.sessions).toEqual(['s/7']);
    expect(await engine.offstage.sessions.get('s/7')).toMatchObject({ state: 'waiting_for_input', interrupted: true });
    expect(await engine.offstage.sessions.get('s/8')).toMatchObject({ state: 'created', revision: 1 });
  });

  it('before it is opened, no index row is missed', async () => {
    const store = await firstFormat();
    for (const isMending of [false, true]) {
      const { findings } = await checkRows(store, { isMending, at: 1 });
      expect(findings.map(({ kind }) => kind)).toEqual(['unreadable']);
    }
    expect(await store.get(KEYS.format)).toBe('1');
    await prepareStore(store);
    expect(await checkRows(store, { isMending: false, at: 1 })).toMatchObject({ findings: [] });
  });

  it('a store that has lost its format keeps what it holds', async () => {
    const store = await firstFormat();
    await store.batch([{ type: 'del', key: KEYS.format }], { sync: true });
    await prepareStore(store);
    expect(await sessionIdsOfTask(store, 't/2')).toHaveLength(SESSIONS / 3);
  });
});

describe('FMT2', () => {
  it('a newer format is refused, and nothing is written', async () => {
    const store = controlledStore(await firstFormat());
    await store.batch([{ type: 'put', key: KEYS.format, value: String(STORE_FORMAT + 1) }], { sync: true });
    await expect(testEngine({ store })).rejects.toMatchObject({
      code: 'store.failed',
      message: expect.stringContaining('newer release'),
    });
    expect(store.writes).toHaveLength(1);
  });
});

describe('a format that cannot be read', () => {
  it.each(['', 'x', '0', '1.5', '1e999', '-3'])(
    '%j is one that was lost: doctor finds it, and all that hangs on it is looked at',
    async (format) => {
      const store = memoryStore();
      await prepareStore(store);
      await store.batch(
        [
          { type: 'put', key: KEYS.format, value: format },
          { type: 'put', key: 'a/', value: '' },
          { type: 'put', key: KEYS.ticket('k'), value: '{' },
        ],
        { sync: false },
      );
      const { findings } = await checkRows(store, { isMending: true, at: 1 });
      expect(findings.map(({ kind, count }) => [kind, count])).toEqual([
        ['unreadable', 2],
        ['frame', 1],
      ]);
      expect(await store.get(KEYS.format)).toBe(String(STORE_FORMAT));
      expect((await checkRows(store, { isMending: false, at: 1 })).findings).toEqual([]);
    },
  );
});
