/**
 * Rows that are spoilt inside a store whose files are sound: an engine opens or says why not, with a code; what is whole is read as it was; nobody
 * else notices. `checkRows` mends whatever it is given, and then nothing is found any more.
 */
import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import type { OffstageEvent } from '../../src/model/events.ts';
import type { JobRecord } from '../../src/model/records.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { putProcess } from '../../src/persistence/process-row.ts';
import { checkRows } from '../../src/persistence/row-check.ts';
import { KEYS, SENTINELS } from '../../src/persistence/row-keys.ts';
import { sessionOperations, ticketOperation } from '../../src/persistence/session-rows.ts';
import type { Store, StoreOperation } from '../../src/persistence/store.ts';
import { echo, gate } from '../../test/support/executors.ts';
import { strayErrors } from '../../test/support/hostile.ts';
import { keptStore } from '../../test/support/kept-store.ts';
import { contentOf } from '../../test/support/store-content.ts';
import { type TestEngine, testEngine } from '../../test/support/test-engine.ts';
import { LIMIT_MS, times } from '../support/how-often.ts';
import { codeOf, mutatedJson, parsed } from '../support/mutated.ts';

const AT = 5_000_000_000_000;
const LARGE = 'x'.repeat(3_000);

/** What a store holds in the middle of a life with a bit of everything. */
let whole: readonly (readonly [string, string])[] = [];
let ended: readonly JobRecord[] = [];
beforeAll(async () => {
  const inner = memoryStore();
  const held = gate();
  const engine = await testEngine({ store: keptStore(inner).open(), executors: { echo, held }, workers: 2 });
  const { offstage } = engine;
  await offstage.tasks.create({ taskId: 't/1', title: 'one' });
  await offstage.sessions.create({ sessionId: 's/1', taskId: 't/1' });
  for (let index = 0; index < 6; index++) {
    const input = index % 2 === 0 ? LARGE : index;
    await offstage.spawn({ kind: 'echo', jobId: `e-${index}`, sessionId: 's/1', input });
    await offstage.wait(`e-${index}`);
  }
  await engine.clock.settle();
  await offstage.prune({ maxJobs: 4 });
  for (const jobId of ['held-1', 'held-2', 'held-3']) await offstage.spawn({ kind: 'held', jobId, input: LARGE });
  await held.started('held-1');
  await engine.clock.settle();
  ended = await offstage.list({ sessionId: 's/1' });
  const s2 = { sessionId: 's2', taskId: 't/1', agentId: null, interrupted: false, createdAt: 1, updatedAt: 1, revision: 1 };
  const pending = { kind: 'permission', requestId: 'r1', options: [] } as const;
  await inner.batch(
    [
      ...sessionOperations({ ...s2, state: 'running', pending }),
      ticketOperation({ ticketId: 'k1', promptId: 'p1', sessionId: 's2', origin: 'human', createdAt: 1 }),
      putProcess({ executionId: 'x1', jobId: 'held-1', sessionId: null, at: 1, teardownAt: null }, null),
      { type: 'put', key: KEYS.notice('s/1', 3), value: '["e-2","completed","x"]' },
    ],
    { sync: false },
  );
  whole = Object.entries(await contentOf(inner)).filter(([key]) => !SENTINELS.includes(key));
  for (const jobId of ['held-1', 'held-2', 'held-3']) await held.release(jobId);
  await engine[Symbol.asyncDispose]();
});

interface Damage {
  readonly at: number;
  readonly what: 'value' | 'remove' | 'key' | 'move' | 'extra';
  readonly text: string;
  readonly other: number;
}

const damage: fc.Arbitrary<Damage> = fc.record({
  at: fc.nat(500),
  what: fc.constantFrom('value', 'value', 'value', 'remove', 'key', 'move', 'extra'),
  text: fc.constantFrom(
    '',
    'x',
    '-',
    '1',
    '[]',
    '{}',
    'null',
    '[1e999,0]',
    '[0,1e999]',
    '[-1,2]',
    '{"removed":"x"}',
    '9',
    '1.5',
    '[1,2,3]',
  ),
  other: fc.nat(500),
});

const FRAME = [KEYS.head, KEYS.low, KEYS.format];
const PREFIXES = ['l/', 'f/', 'b/', 'y/', 'i/', 't/', 's/', 'e/', 'n/', 'o/', 'c/', 'x/', 'm/', 'a/', 'q/', 'k/', 'w/', 'u/'];
const SUFFIXES = ['', 'x', '%', '%zz', 's1', '0000000000000001', 's%2F1/x', 's%2F1/0000000000000002', '9007199254740993', '-1'];

/** The store with these damages; values come from `spoilt`, one for each. */
async function spoiltStore(
  damages: readonly Damage[],
  spoilt: readonly number[],
): Promise<{ store: Store; touched: Set<string> }> {
  const rows = new Map(whole);
  const touched = new Set<string>();
  const keys = [...rows.keys()];
  for (const [index, { at, what, text, other }] of damages.entries()) {
    // The few rows that everything hangs on come as often as all the others.
    const key = at % 4 === 0 ? (FRAME[other % FRAME.length] as string) : (keys[at % keys.length] as string);
    const second = keys[other % keys.length] as string;
    const value = rows.get(key) ?? '';
    touched.add(key);
    if (what === 'remove') rows.delete(key);
    else if (what === 'key') {
      rows.delete(key);
      rows.set(`${key.slice(0, 2)}${SUFFIXES[other % SUFFIXES.length]}`, value);
    } else if (what === 'move') {
      rows.set(second, value);
      touched.add(second);
    } else if (what === 'extra') {
      const extra = `${PREFIXES[at % PREFIXES.length]}${SUFFIXES[other % SUFFIXES.length]}`;
      rows.set(extra, text);
      touched.add(extra);
    } else if (other % 4 === 0 || parsed(value) === undefined) rows.set(key, text);
    else rows.set(key, spoiltText(value, spoilt[index] ?? 0));
  }
  const store = memoryStore();
  const put = (key: string, value: string): StoreOperation => ({ type: 'put', key, value });
  await store.batch([...[...rows].map(([key, value]) => put(key, value)), ...SENTINELS.map((key) => put(key, ''))], {
    sync: false,
  });
  return { store, touched };
}

const spoiltText = (value: string, seed: number): string =>
  fc.sample(mutatedJson(fc.constant(parsed(value)), { most: 2 }), { numRuns: 1, seed })[0] as string;

/** Everything that an engine is asked of such a store has an answer or a code. */
async function askAll({ offstage }: TestEngine): Promise<void> {
  const asked: readonly (() => Promise<unknown>)[] = [
    () => offstage.list(),
    () => offstage.list({ sessionId: 's/1', limit: 2 }),
    () => offstage.list({ status: 'errored' }),
    () => offstage.snapshot(),
    () => offstage.sessions.list(),
    () => offstage.tasks.list(),
    ...['e-0', 'e-1', 'e-4', 'e-5', 'held-1'].flatMap((id) => [
      () => offstage.get(id),
      () => offstage.history(id),
      () => offstage.output(id),
      () => offstage.cards.get(`card_${id}`),
    ]),
    ...['s/1', 's2', 'default'].flatMap((id) => [
      () => offstage.sessions.get(id),
      () => offstage.cards.list({ sessionId: id }),
      () => offstage.workloads.list(id),
    ]),
    ...['t/1', 'default'].map((id) => () => offstage.tasks.get(id)),
    () => replayed(offstage),
    () => offstage.cancel('held-2'),
    () => offstage.prune({ maxJobs: 2 }),
    () => offstage.sessions.remove('s/1', { confirm: true }),
    () => offstage.tasks.remove('t/1', { confirm: true }),
  ];
  for (const ask of asked) await ask().catch(codeOf);
}

async function replayed(offstage: TestEngine['offstage']): Promise<void> {
  const leaving = new AbortController();
  const events = offstage.events({ after: 0, signal: leaving.signal });
  const { seq } = await offstage.snapshot();
  let last = 0;
  for await (const event of events as AsyncIterable<OffstageEvent>) {
    expect(event.seq).toBeGreaterThanOrEqual(last);
    last = event.seq;
    if (last >= seq) break;
  }
}

type Content = Readonly<Record<string, string>>;
const changedIn = (before: Content, after: Content): readonly string[] =>
  Object.keys({ ...before, ...after }).filter((key) => before[key] !== after[key]);

const input = fc.tuple(fc.array(damage, { minLength: 1, maxLength: 4 }), fc.array(fc.nat(), { minLength: 4, maxLength: 4 }));
/** Rows that a job is found by, or that every start relies on. */
const isOfJobs = (key: string): boolean => /^[lfbystie!]/.test(key);

it(
  'an engine opens and serves, or says why not; what is whole is as it was',
  async () => {
    using stray = strayErrors();
    let opened = 0;
    await fc.assert(
      fc.asyncProperty(input, async ([damages, spoilt]) => {
        const { store, touched } = await spoiltStore(damages, spoilt);
        const before = await contentOf(store);
        let engine: TestEngine;
        try {
          engine = await testEngine({ store: keptStore(store).open(), executors: { echo }, confirmArchive: false });
        } catch (error) {
          expect(['store.corrupt', 'store.failed']).toContain(codeOf(error));
          // Refused is refused before anything was changed.
          if (changedIn(before, await contentOf(store)).length > 0) throw error;
          return;
        }
        opened += 1;
        if (![...touched].some(isOfJobs)) for (const job of ended) expect(await engine.offstage.get(job.jobId)).toEqual(job);
        // On a session of its own: one whose row is spoilt takes nothing.
        await engine.offstage.tasks.create({ taskId: 'fresh' });
        await engine.offstage.sessions.create({ sessionId: 'fresh', taskId: 'fresh' });
        await engine.offstage.spawn({ kind: 'echo', jobId: 'after', sessionId: 'fresh', input: 1 });
        expect(await engine.offstage.wait('after')).toMatchObject({ status: 'completed', result: 1 });
        await askAll(engine);
        await engine.offstage.spawn({ kind: 'echo', jobId: 'last', sessionId: 'fresh', input: 2 });
        expect(await engine.offstage.wait('last')).toMatchObject({ status: 'completed', result: 2 });
        await engine[Symbol.asyncDispose]();
      }),
      times(50),
    );
    expect(opened).toBeGreaterThan(0);
    expect(stray.errors).toEqual([]);
  },
  LIMIT_MS,
);

it(
  'what is mended is found to be sound, and an engine opens on it',
  async () => {
    await fc.assert(
      fc.asyncProperty(input, async ([damages, spoilt]) => {
        const { store } = await spoiltStore(damages, spoilt);
        const before = await contentOf(store);
        const options = { at: AT, isMending: false };
        const found = await checkRows(store, options).catch(codeOf);
        expect(changedIn(before, await contentOf(store))).toEqual([]);
        if (typeof found === 'string') return void expect(found).toBe('store.failed');
        await checkRows(store, { ...options, isMending: true });
        const again = await checkRows(store, { ...options, isMending: true });
        // The task of a session that is lost itself is found to be missing only after the session is there.
        for (const { kind } of again.findings) expect(kind).toBe('session_lost');
        expect(await checkRows(store, options)).toMatchObject({ findings: [] });
        await using engine = await testEngine({ store: keptStore(store).open(), executors: { echo } });
        for (const { jobId } of await engine.offstage.list({ limit: 100 })) await engine.offstage.get(jobId);
        expect(engine.log.filter(({ event }) => event === 'row.unreadable')).toEqual([]);
        await engine.offstage.spawn({ kind: 'echo', jobId: 'after', input: 1 });
        expect(await engine.offstage.wait('after')).toMatchObject({ status: 'completed', result: 1 });
      }),
      times(50),
    );
  },
  LIMIT_MS,
);
