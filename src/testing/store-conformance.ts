/**
 * What every store must do (STO1–STO4 of persistence/store.ts), as tests for any test runner. The manifest says what a store supports.
 *
 * CNF1  Nothing here knows how a store is made; a store that passes may be given to `open({ store })`.
 */
import assert from 'node:assert/strict';
import { isOffstageError } from '../model/errors.ts';
import type { RangeOptions, Store, StoreEntry, StoreOperation } from '../persistence/store.ts';

export interface StoreManifest {
  /** What was written is there again after close and reopen. */
  readonly durable: boolean;
}

export interface StoreUnderTest {
  /** Fresh and empty. */
  readonly store: Store;
  /** Opens the same data again, after `close`; needed when durable. */
  readonly reopen?: () => Promise<Store>;
  /** Removes what `create` made; called after the store is closed. */
  readonly dispose?: () => Promise<void>;
}

/** The runner, the store, and what the store promises. */
export interface StoreConformanceOptions {
  /** Registers one test: `test` of vitest, of node:test, or of any runner with this shape. */
  readonly test: (name: string, body: () => Promise<void>) => void;
  readonly create: () => Promise<StoreUnderTest>;
  readonly manifest: StoreManifest;
}

/**
 * Registers the tests.
 * @example
 * storeConformance({ test, manifest: { durable: false }, create: async () => ({ store: memoryStore() }) });
 */
export function storeConformance({ test, create, manifest }: StoreConformanceOptions): void {
  for (const [name, check] of Object.entries(CHECKS)) {
    test(name, async () => {
      const made = await create();
      try {
        await check(made.store);
      } finally {
        await made.store.close();
        await made.dispose?.();
      }
    });
  }
  if (!manifest.durable) return;
  for (const [name, check] of Object.entries(DURABLE_CHECKS)) {
    test(name, async () => {
      const made = await create();
      const { reopen } = made;
      assert.ok(reopen !== undefined, 'a durable store needs `reopen`');
      const opened = [made.store];
      try {
        await check(made.store, async () => {
          const store = await reopen();
          opened.push(store);
          return store;
        });
      } finally {
        for (const store of opened) await store.close();
        await made.dispose?.();
      }
    });
  }
}

const put = (key: string, value: string): StoreOperation => ({ type: 'put', key, value });
const del = (key: string): StoreOperation => ({ type: 'del', key });
const fast = { sync: false } as const;
const safe = { sync: true } as const;

async function collect(range: AsyncIterable<StoreEntry>): Promise<StoreEntry[]> {
  const entries: StoreEntry[] = [];
  for await (const entry of range) entries.push(entry);
  return entries;
}
const keysOf = async (range: AsyncIterable<StoreEntry>): Promise<string[]> => (await collect(range)).map(({ key }) => key);
const byBytes = (left: string, right: string): number => Buffer.compare(Buffer.from(left), Buffer.from(right));
const numbered = (number: number): string => `row/${String(number).padStart(6, '0')}`;
const rows = (count: number): StoreOperation[] =>
  Array.from({ length: count }, (_, number) => put(numbered(number), `v${number}`));

const MIB = 1024 * 1024;
/** Keys and values that text handling likes to spoil. In no particular order. */
const ODD_TEXTS: readonly string[] = [
  ...['../../x', '/etc/x', 'a/../../b', '..', '.', '%2e%2e', '\0', 'a\0b', '__proto__', 'constructor', 'toString'],
  ...['\u2028', '\u2029', '\ufeffbom', '\r\n', '\t', ' ', '\u007f', '\uffff', '\ue000', '\ufffd'],
  ...[
    'é',
    'e\u0301',
    '日本語',
    '😀',
    '👩‍💻',
    '𐀀',
    '\u{10ffff}',
    '"quoted"',
    '{"json":true}',
    'x'.repeat(512),
    'undefined',
    'null',
  ],
];

async function assertClosed(work: Promise<unknown>): Promise<void> {
  await assert.rejects(work, (error) => isOffstageError(error, 'store.closed'));
}

/** Every way to bound a range over a few keys, against the same filter on an array. */
async function checkBounds(store: Store): Promise<void> {
  const keys = ['a', 'a/b', 'b', 'ba', 'c', '\uffff', '😀'].sort(byBytes);
  await store.batch(
    keys.map((key) => put(key, key)),
    fast,
  );
  const probes = [undefined, '', 'a', 'a/', 'b', 'bb', '\uffff', '\u{10ffff}'];
  for (const low of probes) {
    for (const high of probes) {
      for (const [lower, upper] of [
        ['gt', 'lt'],
        ['gte', 'lte'],
        ['gt', 'lte'],
        ['gte', 'lt'],
      ] as const) {
        for (const reverse of [false, true]) {
          for (const limit of [undefined, 0, 2]) {
            const options: RangeOptions = {
              ...(low === undefined ? {} : { [lower]: low }),
              ...(high === undefined ? {} : { [upper]: high }),
              ...(limit === undefined ? {} : { limit }),
              reverse,
            };
            const above = (key: string): boolean => low === undefined || byBytes(key, low) > (lower === 'gt' ? 0 : -1);
            const below = (key: string): boolean => high === undefined || byBytes(key, high) < (upper === 'lt' ? 0 : 1);
            const inside = keys.filter((key) => above(key) && below(key));
            const expected = (reverse ? inside.reverse() : inside).slice(0, limit);
            assert.deepEqual(await keysOf(store.range(options)), expected, JSON.stringify(options));
          }
        }
      }
    }
  }
  assert.deepEqual(await keysOf(store.range({ gt: 'a', gte: 'b', lt: 'c', lte: 'ba' })), ['b', 'ba'], 'the tighter bound holds');
}

const CHECKS: Readonly<Record<string, (store: Store) => Promise<void>>> = {
  'STO2: what a batch wrote is read back; what is not there is undefined': async (store) => {
    assert.equal(await store.get('a'), undefined);
    await store.batch([put('a', '1'), put('b', '')], fast);
    assert.equal(await store.get('a'), '1');
    assert.equal(await store.get('b'), '');
    await store.batch([put('a', '2'), del('b'), del('never there')], safe);
    assert.deepEqual(await store.getMany(['b', 'a', 'x', 'a']), [undefined, '2', undefined, '2']);
    assert.deepEqual(await store.getMany([]), []);
  },
  'STO1: within a batch the operations apply in order': async (store) => {
    await store.batch([put('a', '1'), del('a'), put('a', '2'), put('b', '1'), del('b')], fast);
    assert.deepEqual(await collect(store.range({})), [{ key: 'a', value: '2' }]);
    await store.batch([], safe);
    assert.deepEqual(await collect(store.range({})), [{ key: 'a', value: '2' }]);
  },
  'STO1: a range never shows part of a batch': async (store) => {
    const writes: Promise<void>[] = [];
    for (let round = 1; round <= 20; round += 1) {
      writes.push(
        store.batch(
          Array.from({ length: 50 }, (_, number) => put(numbered(number), String(round))),
          fast,
        ),
      );
      const values = new Set((await collect(store.range({}))).map(({ value }) => value));
      assert.ok(values.size <= 1, `one range showed rounds ${[...values].join(' and ')}`);
    }
    await Promise.all(writes);
  },
  'STO1: batches apply in the order of the calls': async (store) => {
    const count = 2_000;
    const keyOf = (number: number): string => numbered(Math.floor(number / 4));
    await Promise.all(
      Array.from({ length: count }, (_, number) =>
        store.batch([put(keyOf(number), String(number))], { sync: number % 50 === 0 }),
      ),
    );
    for (const { key, value } of await collect(store.range({}))) {
      assert.equal(Number(value) % 4, 3, `${key} was left with ${value}`);
      assert.equal(key, keyOf(Number(value)));
    }
  },
  'STO3: keys and values are kept byte for byte, and come in the order of their bytes': async (store) => {
    await store.batch(
      ODD_TEXTS.map((text) => put(text, text)),
      fast,
    );
    const expected = [...ODD_TEXTS].sort(byBytes);
    assert.deepEqual(
      await collect(store.range({})),
      expected.map((key) => ({ key, value: key })),
    );
    assert.deepEqual(await keysOf(store.range({ reverse: true })), expected.reverse());
    assert.deepEqual(await store.getMany(ODD_TEXTS), ODD_TEXTS);
    await store.batch(
      ODD_TEXTS.map((text) => del(text)),
      fast,
    );
    assert.deepEqual(await collect(store.range({})), []);
  },
  'STO3: every combination of bounds, direction and limit': checkBounds,
  'values of 1 MiB': async (store) => {
    const large = '\u2028é😀x'.repeat(MIB / 10);
    await store.batch([put('a', large), put('b', 'x'.repeat(MIB)), put('c', '')], safe);
    assert.ok((await store.get('a')) === large);
    assert.deepEqual(
      (await collect(store.range({}))).map(({ value }) => value.length),
      [large.length, MIB, 0],
    );
  },
  'a range of 5,000 entries, both ways': async (store) => {
    await store.batch(rows(5_000), fast);
    const expected = Array.from({ length: 5_000 }, (_, number) => numbered(number));
    assert.deepEqual(await keysOf(store.range({ gte: 'row/', lt: 'row0' })), expected);
    assert.deepEqual(await keysOf(store.range({ gte: 'row/', lt: 'row0', reverse: true })), expected.reverse());
  },
  'a range shows the store as of its call': async (store) => {
    await store.batch(rows(3_000), fast);
    const before = store.range({});
    await store.batch(
      [
        del(numbered(0)),
        put(numbered(1), 'changed'),
        put('row/000001x', 'new'),
        ...rows(3_000)
          .slice(2)
          .map(({ key }) => del(key)),
      ],
      fast,
    );
    const after = store.range({});
    const seen = await collect(before);
    assert.equal(seen.length, 3_000);
    assert.deepEqual(seen[1], { key: numbered(1), value: 'v1' });
    assert.deepEqual(await collect(after), [
      { key: numbered(1), value: 'changed' },
      { key: 'row/000001x', value: 'new' },
    ]);
  },
  'a range may be left early, or never be read': async (store) => {
    await store.batch(rows(2_000), fast);
    for (let round = 0; round < 20; round += 1) {
      for await (const { key } of store.range({})) {
        if (key === numbered(round)) break;
      }
      const unread = store.range({})[Symbol.asyncIterator]();
      await unread.return?.();
      assert.deepEqual(await unread.next(), { done: true, value: undefined });
      store.range({});
    }
    await assert.rejects(
      async () => {
        for await (const { key } of store.range({})) throw new Error(key);
      },
      new Error(numbered(0)),
    );
    assert.equal((await collect(store.range({}))).length, 2_000);
  },
  'STO4: close waits for what has begun, twice is once, and then every verb is refused': async (store) => {
    await store.batch(rows(5_000), fast);
    const range = store.range({});
    const iterator = range[Symbol.asyncIterator]();
    assert.equal((await iterator.next()).done, false);
    const unread = store.range({});
    const begun = [
      store.batch([put('late', '1')], safe),
      store.get(numbered(1)),
      store.getMany([numbered(2)]),
      store.get(numbered(3)),
    ];
    await Promise.all([store.close(), store.close(), Promise.all(begun)]);
    assert.deepEqual(await Promise.all(begun), [undefined, 'v1', ['v2'], 'v3']);
    await assertClosed(iterator.next());
    await assertClosed(collect(unread));
    await assertClosed(collect(store.range({})));
    await assertClosed(store.get('late'));
    await assertClosed(store.getMany(['late']));
    await assertClosed(store.batch([put('later', '1')], fast));
    await store.close();
  },
  'B41: closing with writes and ranges under way settles them all': async (store) => {
    await store.batch(rows(5_000), fast);
    const work: Promise<unknown>[] = [];
    for (let number = 0; number < 100; number += 1) {
      work.push(store.batch([put(`late/${numbered(number)}`, 'x')], { sync: number % 2 === 0 }));
      if (number % 10 === 0) work.push(collect(store.range({ reverse: number % 20 === 0 })));
      work.push(store.get(numbered(number)));
    }
    const closed = store.close();
    for (const result of await Promise.allSettled(work)) {
      if (result.status === 'rejected') assert.ok(isOffstageError(result.reason, 'store.closed'), String(result.reason));
    }
    await closed;
  },
};

const DURABLE_CHECKS: Readonly<Record<string, (store: Store, reopen: () => Promise<Store>) => Promise<void>>> = {
  'STO2: everything is there again after close and reopen, three times': async (store, reopen) => {
    const large = 'x'.repeat(MIB);
    await store.batch(
      [...ODD_TEXTS.map((text) => put(text, text)), put('large', large), put('empty', ''), put('gone', '1')],
      fast,
    );
    await store.batch([del('gone')], safe);
    const expected = await collect(store.range({}));
    let current = store;
    for (let round = 0; round < 3; round += 1) {
      await current.close();
      current = await reopen();
      assert.deepEqual(await collect(current.range({})), expected);
      await current.batch([put('large', large)], fast);
    }
  },
  'STO4: batches begun before close are there after it': async (store, reopen) => {
    const begun = Array.from({ length: 50 }, (_, number) => store.batch([put(numbered(number), 'x')], fast));
    await store.close();
    await Promise.all(begun);
    const again = await reopen();
    assert.equal((await collect(again.range({}))).length, 50);
  },
  'B40: close and reopen 20 times in a row': async (store, reopen) => {
    let current = store;
    for (let round = 0; round < 20; round += 1) {
      await current.batch([put(numbered(round), 'x')], fast);
      const closing = current.close();
      await closing;
      current = await reopen();
      assert.equal((await collect(current.range({}))).length, round + 1);
    }
  },
};
