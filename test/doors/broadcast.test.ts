/** BRC1–BRC4, BFD1–BFD3, SUB1–SUB4, SUB8: subscriptions that share what was encoded once. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { broadcasterOf } from '../../src/doors/events/broadcaster.ts';
import { subscriptionCounts } from '../../src/doors/events/subscription-counts.ts';
import type { Frame } from '../../src/doors/requests/connection.ts';
import { handle } from '../../src/doors/requests/handler.ts';
import type { WireFields } from '../../src/doors/wire/rename.ts';
import { LIMITS } from '../../src/model/limits.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import type { Store } from '../../src/persistence/store.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { type TestEngine, testEngine } from '../support/test-engine.ts';
import { type BroadcastConnection, broadcastConnection, encoded } from './broadcast-connection.ts';

const start = async () => {
  const gate = controlledExecutor();
  const engine = await testEngine({ executors: { gate, echo: async () => 'done' } });
  return { gate, engine, offstage: engine.offstage };
};

async function subscribed({ offstage }: Pick<TestEngine, 'offstage'>, fields: WireFields = {}) {
  const connection = broadcastConnection();
  await handle(offstage, { ...fields, action: 'subscribe', request_id: 'r' }, connection);
  const snapshot = await connection.frameOf(({ type }) => type === 'snapshot');
  return { connection, snapshot };
}

const isRecord = ({ type, volatile }: Frame): boolean =>
  /^(?:job_created|job_status|card_updated|session\.state_changed|task\.(?:created|updated|removed))$/.test(type) &&
  volatile !== true;
const seqs = (frames: readonly Frame[]): number[] => frames.filter(isRecord).map(({ seq }) => seq as number);
const from = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, index) => first + index);
const cardOf = (jobId: string) => (frame: Frame) =>
  frame.type === 'card_updated' && frame.job_id === jobId && frame.status !== 'running';
const MIB = 1024 * 1024;

describe('SUB1', () => {
  it('a snapshot, then every event once, for each of many; each is encoded once', async () => {
    const { gate, engine, offstage } = await start();
    await using _ = engine;
    await offstage.spawn({ kind: 'gate', jobId: 'g' });
    await engine.eventOf((event) => event.type === 'job.status' && event.status === 'running');
    const many = await Promise.all(from(1, 20).map(() => subscribed(engine)));
    const before = encoded.frames;
    await gate.release('g');
    await offstage.spawn({ kind: 'echo', jobId: 'e' });
    await Promise.all(many.map(({ connection }) => connection.frameOf(cardOf('e'))));
    const { seq } = await offstage.snapshot();
    for (const { connection, snapshot } of many) {
      expect(seqs(connection.frames)).toEqual(from((snapshot.seq as number) + 1, seq));
      expect(connection.frames).toEqual([snapshot, ...(many[0]?.connection.frames.slice(1) ?? [])]);
    }
    expect(encoded.frames - before).toBe((many[0]?.connection.frames.length ?? 0) - 1);
  });

  it('with after: what was missed, then the snapshot, then events', async () => {
    const { engine, offstage } = await start();
    await using _ = engine;
    for (const jobId of ['a', 'b']) {
      await offstage.spawn({ kind: 'echo', jobId });
      await offstage.wait(jobId);
    }
    const { connection, snapshot } = await subscribed(engine, { after: 0 });
    await offstage.spawn({ kind: 'echo', jobId: 'c' });
    await connection.frameOf(cardOf('c'));
    const at = connection.frames.indexOf(snapshot);
    const { seq } = await offstage.snapshot();
    expect(seqs(connection.frames.slice(0, at))).toEqual(from(1, snapshot.seq as number));
    expect(seqs(connection.frames.slice(at))).toEqual(from((snapshot.seq as number) + 1, seq));
  });

  it('what happens while the snapshot is read comes once: in it, or after it', async () => {
    const inner = memoryStore();
    let gate = Promise.resolve();
    const store: Store = {
      get: (key) => inner.get(key),
      getMany: (keys) => inner.getMany(keys),
      async *range(options) {
        await gate;
        yield* inner.range(options);
      },
      batch: (operations, options) => inner.batch(operations, options),
      close: () => inner.close(),
    };
    const engine = await testEngine({ store, executors: { echo: async () => 'done' } });
    await using _ = engine;
    const { offstage } = engine;
    const other = await subscribed(engine);
    let release = (): void => {};
    gate = new Promise((resolve) => {
      release = resolve;
    });
    const joining = subscribed(engine, { after: 0 });
    await offstage.spawn({ kind: 'echo', jobId: 'meanwhile' });
    await engine.eventOf((event) => event.type === 'card.updated' && event.status === 'completed');
    release();
    const { connection, snapshot } = await joining;
    await offstage.spawn({ kind: 'echo', jobId: 'later' });
    await connection.frameOf(cardOf('later'));
    const { seq } = await offstage.snapshot();
    expect(snapshot.seq).toBeGreaterThan(other.snapshot.seq as number);
    expect(seqs(connection.frames)).toEqual(from(1, seq));
  });

  it('of output that comes in large pieces nothing is left out for one who reads', async () => {
    const { gate, engine, offstage } = await start();
    await using _ = engine;
    const { connection } = await subscribed(engine, { types: ['job_output', 'card_updated'] });
    await offstage.spawn({ kind: 'gate', jobId: 'g' });
    const { context } = await gate.started('g');
    for (let number = 0; number < 3; number++) context.output(String(number).repeat(MIB));
    await gate.release('g');
    await connection.frameOf(cardOf('g'));
    const text = connection.frames.map((frame) => frame.text ?? '').join('');
    expect(text).toBe(['0', '1', '2'].map((one) => one.repeat(MIB)).join(''));
  });

  it('a missed log of several batches comes whole', async () => {
    const { engine, offstage } = await start();
    await using _ = engine;
    const ids = from(1, 300).map(String);
    await Promise.all(ids.map((jobId) => offstage.spawn({ kind: 'echo', jobId })));
    await offstage.waitMany(ids);
    const { connection, snapshot } = await subscribed(engine, { after: 3 });
    expect(seqs(connection.frames)).toEqual(from(4, snapshot.seq as number));
  });
});

describe('SUB2', () => {
  it('a cursor from elsewhere gets one resync, and is served all the same', async () => {
    const { engine, offstage } = await start();
    await using _ = engine;
    const { connection } = await subscribed(engine, { after: 1_000_000 });
    await offstage.spawn({ kind: 'echo', jobId: 'a' });
    await connection.frameOf(cardOf('a'));
    expect(connection.frames.slice(0, 2).map(({ type }) => type)).toEqual(['resync', 'snapshot']);
    expect(subscriptionCounts(offstage).resyncs).toBe(1);
  });
});

describe('BFD2: one who has fallen out of the ring', () => {
  const flood = (context: { output(text: string): void }): void => {
    for (let number = 0; number < 20; number++) context.output('y'.repeat(MIB));
  };

  it('SUB3: is sent nothing while he does not read, then every record, and one resync for what is gone', async () => {
    const { gate, engine, offstage } = await start();
    await using _ = engine;
    const slow = await subscribed(engine);
    const quick = await subscribed(engine);
    slow.connection.hold();
    await offstage.spawn({ kind: 'gate', jobId: 'g' });
    const { context } = await gate.started('g');
    flood(context);
    await gate.release('g');
    await offstage.wait('g');
    await quick.connection.frameOf(cardOf('g'));
    expect(broadcasterOf(offstage).bytes).toBeLessThanOrEqual(LIMITS.broadcastBytes);
    expect(slow.connection.writtenWhileHeld).toBe(0);
    slow.connection.resume();
    await slow.connection.frameOf(cardOf('g'));
    await offstage.spawn({ kind: 'echo', jobId: 'e' });
    await slow.connection.frameOf(cardOf('e'));
    await quick.connection.frameOf(cardOf('e'));
    const { seq } = await offstage.snapshot();
    for (const { connection, snapshot } of [slow, quick]) {
      expect(seqs(connection.frames)).toEqual(from((snapshot.seq as number) + 1, seq));
    }
    // `running_task` was among what is gone, and stands nowhere.
    expect(slow.connection.frames.filter(({ type }) => type === 'resync')).toHaveLength(1);
    expect(quick.connection.frames.filter(({ type }) => type === 'resync')).toHaveLength(0);
  });

  it('is told of no resync when all that is gone has offsets', async () => {
    const { gate, engine, offstage } = await start();
    await using _ = engine;
    const { connection } = await subscribed(engine, { types: ['job_output', 'job_status'] });
    connection.hold();
    await offstage.spawn({ kind: 'gate', jobId: 'g' });
    const { context } = await gate.started('g');
    flood(context);
    await gate.release('g');
    await offstage.wait('g');
    connection.resume();
    await connection.frameOf(({ type, status }) => type === 'job_status' && status === 'completed');
    expect(connection.frames.map(({ type }) => type)).not.toContain('resync');
  });
});

describe('SUB4, SUB8, BRC4', () => {
  it('a second subscription takes the place of the first; nobody left: nothing is kept, and nobody listens', async () => {
    const { engine, offstage } = await start();
    await using _ = engine;
    const { connection } = await subscribed(engine, { types: ['job_created'] });
    await handle(offstage, { action: 'subscribe', types: ['job_status'], request_id: 's' }, connection);
    await connection.frameOf(({ request_id: id }) => id === 's');
    expect(subscriptionCounts(offstage).subscribers).toBe(1);
    await offstage.spawn({ kind: 'echo', jobId: 'a' });
    await connection.frameOf(({ status }) => status === 'completed');
    expect(new Set(connection.frames.map(({ type }) => type))).toEqual(new Set(['snapshot', 'job_status']));
    connection.goAway();
    expect(connection.listeners).toBe(0);
    expect([broadcasterOf(offstage).bytes, subscriptionCounts(offstage).subscribers]).toEqual([0, 0]);
    const before = encoded.frames;
    await offstage.spawn({ kind: 'echo', jobId: 'b' });
    await offstage.wait('b');
    expect(encoded.frames).toBe(before);
  });

  it("the seed's names, and running_task", async () => {
    const { gate, engine, offstage } = await start();
    await using _ = engine;
    const { connection } = await subscribed(engine, { names: 'seed', types: ['task_created', 'running_task'] });
    await offstage.spawn({ kind: 'gate', jobId: 'a' });
    await gate.started('a');
    await gate.release('a');
    await connection.frameOf(({ type, running_count: count }) => type === 'running_task' && count === 0);
    expect(connection.frames.map(({ type }) => type)).toEqual(['snapshot', 'task_created', 'running_task', 'running_task']);
  });
});

describe('BFD1, as a property', () => {
  type Step =
    | { readonly what: 'spawn' | 'flood' | 'turn' }
    | { readonly what: 'join'; readonly isBehind: boolean }
    | { readonly what: 'hold' | 'resume' | 'leave'; readonly reader: number };
  const isForReader = (one: Step): one is Extract<Step, { readonly reader: number }> => 'reader' in one;
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 4, arbitrary: fc.constant<Step>({ what: 'spawn' }) },
    { weight: 2, arbitrary: fc.constant<Step>({ what: 'flood' }) },
    { weight: 3, arbitrary: fc.constant<Step>({ what: 'turn' }) },
    { weight: 3, arbitrary: fc.record({ what: fc.constant('join' as const), isBehind: fc.boolean() }) },
    {
      weight: 6,
      arbitrary: fc.record({ what: fc.constantFrom('hold' as const, 'resume' as const, 'leave' as const), reader: fc.nat(5) }),
    },
  );

  it('however readers join, stop and go on: each record once, in order, none missing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const { gate, engine, offstage } = await start();
        await using _ = engine;
        await offstage.spawn({ kind: 'gate', jobId: 'printer' });
        const { context } = await gate.started('printer');
        const readers: { readonly connection: BroadcastConnection; readonly after: number | null; hasLeft: boolean }[] = [];
        let spawned = 0;
        for (const one of steps) {
          if (one.what === 'spawn') await offstage.spawn({ kind: 'echo', jobId: `j${spawned++}` });
          else if (one.what === 'flood') for (let number = 0; number < 9; number++) context.output('z'.repeat(MIB));
          else if (one.what === 'turn') await new Promise((resolve) => setImmediate(resolve));
          else if (one.what === 'join') {
            const connection = broadcastConnection();
            const after = one.isBehind ? 1 : null;
            readers.push({ connection, after, hasLeft: false });
            void handle(offstage, { action: 'subscribe', ...(after === null ? {} : { after }) }, connection);
          } else if (isForReader(one)) {
            const reader = readers[one.reader];
            if (reader === undefined || reader.hasLeft) continue;
            if (one.what === 'hold') reader.connection.hold();
            else if (one.what === 'resume') reader.connection.resume();
            else {
              reader.hasLeft = true;
              reader.connection.goAway();
            }
          }
        }
        await gate.release('printer');
        await offstage.wait('printer');
        for (const { connection } of readers) connection.resume();
        await offstage.spawn({ kind: 'echo', jobId: 'last' });
        const staying = readers.filter(({ hasLeft }) => !hasLeft);
        await Promise.all(staying.map(({ connection }) => connection.frameOf(cardOf('last'))));
        const { seq } = await offstage.snapshot();
        for (const { connection, after } of staying) {
          const snapshot = connection.frames.find(({ type }) => type === 'snapshot') as Frame;
          expect(seqs(connection.frames)).toEqual(from((after ?? (snapshot.seq as number)) + 1, seq));
        }
      }),
      // A reader that hears nothing any more would wait for ever.
      { numRuns: 25, timeout: 30_000 },
    );
  });
});
