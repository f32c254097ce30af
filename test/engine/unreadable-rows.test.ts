/** ROW4: one row that cannot be read is not the end of a list, of pruning, of an open. */
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import type { Store } from '../../src/persistence/store.ts';
import { echo } from '../support/executors.ts';
import { keptStore } from '../support/kept-store.ts';
import { contentOf } from '../support/store-content.ts';
import { type TestEngine, testEngine } from '../support/test-engine.ts';

const corrupt = expect.objectContaining({ code: 'store.corrupt' });
const LARGE = 'x'.repeat(3_000);

/** Jobs a0, a1, … with the ordinals 1, 2, …; inputs lie in rows of their own. */
async function filled(store: Store, count: number): Promise<void> {
  await using engine = await testEngine({ store, executors: { echo } });
  for (let index = 0; index < count; index++) {
    await engine.offstage.spawn({ kind: 'echo', jobId: `a${index}`, input: LARGE });
    await engine.offstage.wait(`a${index}`);
  }
}

const idsOf = async ({ offstage }: TestEngine, query: object = {}): Promise<readonly string[]> =>
  (await offstage.list(query)).map(({ jobId }) => jobId);
const said = ({ log }: TestEngine) => log.filter(({ event }) => event === 'row.unreadable');

describe('ROW4', () => {
  it('a list passes over rows that cannot be read, and says so once; the job itself is store.corrupt', async () => {
    const inner = memoryStore();
    const kept = keptStore(inner);
    await filled(kept.open(), 5);
    await inner.batch(
      [
        { type: 'del', key: KEYS.large(2) },
        { type: 'put', key: KEYS.finished(4), value: '[1,4,"a3"' },
      ],
      { sync: false },
    );
    await using engine = await testEngine({ store: kept.open(), executors: { echo } });
    expect(await idsOf(engine)).toEqual(['a4', 'a2', 'a0']);
    expect(await idsOf(engine, { sessionId: 'default' })).toEqual(['a4', 'a2', 'a0']);
    expect(said(engine).map(({ fields }) => fields.ordinal)).toEqual([4, 2]);
    for (const jobId of ['a1', 'a3']) await expect(engine.offstage.get(jobId)).rejects.toEqual(corrupt);
    expect((await engine.offstage.get('a4')).input).toBe(LARGE);
  });

  it('pruning goes on behind them, also where a whole page is unreadable', async () => {
    const inner = memoryStore();
    const kept = keptStore(inner);
    await filled(kept.open(), 1);
    const row = (await inner.get(KEYS.finished(1))) as string;
    await inner.batch(
      [
        ...Array.from({ length: 600 }, (_, n) => ({ type: 'put' as const, key: KEYS.finished(n + 2), value: row.slice(0, -1) })),
        { type: 'put', key: KEYS.head, value: '[100,700]' },
      ],
      { sync: false },
    );
    await using engine = await testEngine({ store: kept.open(), executors: { echo } });
    await engine.offstage.spawn({ kind: 'echo', jobId: 'last' });
    await engine.offstage.wait('last');
    await engine.clock.settle();
    expect(await engine.offstage.prune({ maxJobs: 0 })).toMatchObject({ jobs: 2 });
    expect(await idsOf(engine)).toEqual([]);
  });

  it('a row of an unfinished job that cannot be read does not keep the engine from opening', async () => {
    const inner = memoryStore();
    const kept = keptStore(inner);
    await filled(kept.open(), 2);
    const row = (await inner.get(KEYS.finished(1))) as string;
    await inner.batch(
      [
        { type: 'del', key: KEYS.finished(1) },
        { type: 'put', key: KEYS.live(1), value: row.replace('[1,', '[99,') },
        { type: 'put', key: KEYS.low, value: '0' },
      ],
      { sync: false },
    );
    await using engine = await testEngine({ store: kept.open(), executors: { echo } });
    expect(engine.recovery.abandoned).toEqual([]);
    expect(said(engine)).toHaveLength(1);
    expect(await idsOf(engine)).toEqual(['a1']);
    await expect(engine.offstage.get('a0')).rejects.toEqual(corrupt);
  });

  it('a key that leads to no job hides none: not from lists, not from pruning, not from the next number', async () => {
    const inner = memoryStore();
    const kept = keptStore(inner);
    await filled(kept.open(), 3);
    const row = (await inner.get(KEYS.finished(1))) as string;
    const strange = ['l/', 'l/x', 'f/', 'f/x', 's/default/', 's/default/x', 'w/default/x', 't/x'];
    await inner.batch(
      strange.map((key) => ({ type: 'put' as const, key, value: row })),
      { sync: false },
    );
    await using engine = await testEngine({ store: kept.open(), executors: { echo } });
    expect(await idsOf(engine)).toEqual(['a2', 'a1', 'a0']);
    expect(await idsOf(engine, { sessionId: 'default' })).toEqual(['a2', 'a1', 'a0']);
    expect(await engine.offstage.cards.list({ sessionId: 'default' })).toHaveLength(3);
    await engine.offstage.spawn({ kind: 'echo', jobId: 'a3' });
    await engine.offstage.wait('a3');
    expect((await inner.get(KEYS.id('a3')))?.split(' ')[0]).toBe('4');
    await engine.clock.settle();
    expect(await engine.offstage.prune({ maxJobs: 0 })).toMatchObject({ jobs: 4 });
  });

  it('RET3: a tombstone that cannot be read does not keep the others for ever', async () => {
    const inner = memoryStore();
    const kept = keptStore(inner);
    await filled(kept.open(), 2);
    await inner.batch([{ type: 'put', key: KEYS.tombstone(0), value: '' }], { sync: false });
    await using engine = await testEngine({ store: kept.open(), executors: { echo } });
    await engine.clock.settle();
    expect(await engine.offstage.prune({ maxJobs: 0 })).toMatchObject({ jobs: 2, tombstones: 0 });
    await engine.clock.advance(366 * 86_400_000);
    await engine.offstage.prune();
    for (const ordinal of [1, 2]) expect(await inner.get(KEYS.tombstone(ordinal))).toBeUndefined();
    expect(await inner.get(KEYS.tombstone(0))).toBe('');
  });

  it('what a job has printed and cannot be read is store.corrupt, and the job itself is there', async () => {
    const inner = memoryStore();
    const kept = keptStore(inner);
    await filled(kept.open(), 1);
    await inner.batch([{ type: 'put', key: KEYS.output(1), value: '{"text":5}' }], { sync: false });
    await using engine = await testEngine({ store: kept.open(), executors: { echo } });
    await expect(engine.offstage.output('a0')).rejects.toEqual(corrupt);
    expect((await engine.offstage.get('a0')).status).toBe('completed');
  });
});

describe('RCV5', () => {
  it.each(['', '[1]', '[1e999,0]', '["1",2]', '{}'])(
    'last numbers that read %j: store.corrupt, and nothing is changed',
    async (head) => {
      const inner = memoryStore();
      const kept = keptStore(inner);
      await filled(kept.open(), 1);
      await inner.batch(
        [
          { type: 'put', key: KEYS.head, value: head },
          { type: 'del', key: KEYS.format },
        ],
        { sync: false },
      );
      const before = await contentOf(inner);
      await expect(testEngine({ store: kept.open(), executors: { echo } })).rejects.toEqual(corrupt);
      expect(await contentOf(inner)).toEqual(before);
    },
  );

  it('a mark of the lowest live job that is none only costs reading', async () => {
    const inner = memoryStore();
    const kept = keptStore(inner);
    await filled(kept.open(), 1);
    await inner.batch([{ type: 'put', key: KEYS.low, value: '1.5' }], { sync: false });
    await using engine = await testEngine({ store: kept.open(), executors: { echo } });
    expect(await idsOf(engine)).toEqual(['a0']);
  });
});
