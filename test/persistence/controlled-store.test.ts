/** CTL1–CTL3: the store under the hand of a test does what tests rely on. */
import { describe, expect, it, test } from 'vitest';
import { isOffstageError } from '../../src/model/errors.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import type { Store, StoreOperation } from '../../src/persistence/store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { storeConformance } from '../../src/testing/store-conformance.ts';
import { readAll } from './store-lab.ts';

const put = (key: string): StoreOperation[] => [{ type: 'put', key, value: key }];
const fast = { sync: false } as const;
const safe = { sync: true } as const;
const keysIn = async (store: Store): Promise<string> => Object.keys(await readAll(store)).join('');
/** Whether a promise has settled after all that can happen by itself has happened. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const state = { settled: false };
  promise.then(
    () => (state.settled = true),
    () => (state.settled = true),
  );
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
  return state.settled;
}

describe('is a store like any other as long as nobody interferes', () => {
  storeConformance({ test, manifest: { durable: false }, create: async () => ({ store: controlledStore(memoryStore()) }) });
});

describe('hold and release', () => {
  it('batches wait, and go in the order of the calls; reads do not wait', async () => {
    const store = controlledStore(memoryStore());
    store.hold();
    const reached = store.whenInFlight(2);
    const first = store.batch([{ type: 'put', key: 'a', value: '1' }], fast);
    expect(await isSettled(reached)).toBe(false);
    const second = store.batch([{ type: 'put', key: 'a', value: '2' }], fast);
    await reached;
    expect(store.inFlight).toBe(2);
    expect(await store.get('a')).toBeUndefined();
    store.release();
    const third = store.batch([{ type: 'put', key: 'a', value: '3' }], fast);
    await Promise.all([first, second, third]);
    expect(await store.get('a')).toBe('3');
    expect([store.inFlight, store.writes.map(({ outcome }) => outcome).join()]).toEqual([0, 'written,written,written']);
  });

  it('close waits for what is held', async () => {
    const store = controlledStore(memoryStore());
    store.hold();
    const held = store.batch(put('a'), fast);
    const closing = store.close();
    expect(await isSettled(closing)).toBe(false);
    await expect(store.batch(put('b'), fast)).rejects.toSatisfy((error) => isOffstageError(error, 'store.closed'));
    store.release();
    await Promise.all([held, closing]);
  });
});

describe('B43: failures', () => {
  it('before the second and after the third write', async () => {
    const store = controlledStore(memoryStore());
    store.failNext({ when: 'before', nth: 2 });
    store.failNext({ when: 'after', nth: 3, error: new Error('mine') });
    const results = await Promise.allSettled(['a', 'b', 'c', 'd'].map((key) => store.batch(put(key), fast)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    expect(results[1]?.status === 'rejected' && isOffstageError(results[1].reason, 'store.failed')).toBe(true);
    expect(results[2]?.status === 'rejected' && results[2].reason).toEqual(new Error('mine'));
    expect(await keysIn(store)).toBe('acd');
    expect(store.writes.map(({ outcome }) => outcome)).toEqual(['written', 'failed', 'denied', 'written']);
  });

  it('all writes fail until the switch is off; reads go on', async () => {
    const store = controlledStore(memoryStore());
    await store.batch(put('a'), fast);
    const full = new Error('no space left');
    store.failAll(full);
    await expect(store.batch(put('b'), fast)).rejects.toBe(full);
    await expect(store.batch(put('c'), safe)).rejects.toBe(full);
    expect(await keysIn(store)).toBe('a');
    store.failAll(null);
    await store.batch(put('d'), fast);
    expect(await keysIn(store)).toBe('ad');
  });
});

describe('CTL2: what survives', () => {
  async function written(): Promise<ReturnType<typeof controlledStore>> {
    const inner = memoryStore();
    await inner.batch([...put('0'), ...put('x')], safe);
    const store = controlledStore(inner);
    await store.batch(put('a'), fast);
    await store.batch([...put('b'), { type: 'del', key: 'x' }], safe);
    await store.batch(put('c'), fast);
    await store.batch([...put('d'), { type: 'del', key: 'a' }], fast);
    return store;
  }

  it('a dead process loses nothing that resolved; a power loss takes an end of what was not synced', async () => {
    const store = await written();
    expect(store.unsynced).toBe(2);
    expect(await keysIn(await store.tear())).toBe('0bcd');
    expect(await keysIn(await store.tear(0))).toBe('0ab');
    expect(await keysIn(await store.tear(1))).toBe('0abc');
    expect(await keysIn(store)).toBe('0bcd');
    await store.batch([], safe);
    expect(await keysIn(await store.tear(0))).toBe('0bcd');
  });

  it('a batch in flight may have reached the disk, or not', async () => {
    const store = await written();
    store.hold();
    void store.batch(put('e'), safe);
    void store.batch(put('f'), safe);
    expect(await keysIn(await store.tear())).toBe('0bcd');
    expect(await keysIn(await store.tear(3))).toBe('0bcde');
    expect(await keysIn(await store.tear(4))).toBe('0bcdef');
  });

  it('a batch whose caller was told that it failed survives all the same', async () => {
    const store = await written();
    store.failNext({ when: 'after' });
    await store.batch(put('e'), safe).catch(() => {});
    expect(await keysIn(await store.tear(0))).toBe('0bcde');
  });

  it('CTL3: after a crash the old owner changes nothing and hears nothing', async () => {
    const store = await written();
    store.hold();
    const held = store.batch(put('e'), fast);
    const found = await store.crash();
    store.release();
    const late = [held, store.batch(put('f'), fast), store.get('a'), store.getMany(['a']), store.close(), readAll(store)];
    for (const promise of late) expect(await isSettled(promise)).toBe(false);
    await found.batch(put('z'), safe);
    expect(await keysIn(found)).toBe('0bcdz');
  });
});
