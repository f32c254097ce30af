/** A store whose reads hang: whoever waits is told in time, at the latest when the engine closes (G14, G16, WTG5, OCA1). */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { expect, it } from 'vitest';
import { LIMITS } from '../../src/model/limits.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { heldReads } from '../support/held-reads.ts';
import { testEngine } from '../support/test-engine.ts';

/** What becomes of promises, without waiting for them. */
function watch(promises: Readonly<Record<string, Promise<unknown>>>): Record<string, unknown> {
  const told: Record<string, unknown> = {};
  for (const [name, promise] of Object.entries(promises))
    promise.then(
      (value) => (told[name] = value),
      ({ code }: { code: string }) => (told[name] = code),
    );
  return told;
}

async function withEnded() {
  const gate = controlledExecutor();
  const { store, hold } = heldReads();
  const engine = await testEngine({ store, executors: { gate }, shutdownGraceMs: 100 });
  const { offstage } = engine;
  const { jobId: ended } = await offstage.spawn({ kind: 'gate' });
  await gate.release(ended);
  await offstage.wait(ended);
  return { ...engine, gate, hold, ended, close: () => engine[Symbol.asyncDispose]() };
}

it('WTG5: a wait that the store does not answer is refused when a write would be, whatever its limit; a peek is a read too', async () => {
  const { offstage, clock, hold, ended, gate, close } = await withEnded();
  expect(await offstage.wait(ended, { timeoutMs: 0 })).toMatchObject({ status: 'completed' });
  const { jobId: live } = await offstage.spawn({ kind: 'gate' });
  const open = hold();
  const limits = { peek: 0, short: 1_000, long: 3_600_000, none: null };
  const told = watch(
    Object.fromEntries(
      Object.entries(limits).flatMap(([name, timeoutMs]) => [
        [name, offstage.wait(ended, { timeoutMs })],
        [`${name}, many`, offstage.waitMany([live, ended], { timeoutMs })],
      ]),
    ),
  );
  await clock.advance(LIMITS.storeAnswerMs - 1);
  expect(told).toEqual({});
  await clock.advance(1);
  expect(Object.keys(told)).toHaveLength(8);
  expect(new Set(Object.values(told))).toEqual(new Set(['store.failed']));
  open();
  await gate.release(live);
  await close();
});

it('WTG5: the time that a read takes is part of the limit', async () => {
  const { offstage, clock, hold, ended, gate, close } = await withEnded();
  const { jobId: live } = await offstage.spawn({ kind: 'gate' });
  await gate.started(live);
  const open = hold();
  const told = watch({ waits: offstage.waitMany([live, ended], { timeoutMs: 5_000 }) });
  await clock.advance(3_000);
  open();
  await clock.advance(1_999);
  expect(told).toEqual({});
  await clock.advance(1);
  expect(told).toMatchObject({
    waits: [
      { jobId: live, timedOut: true },
      { jobId: ended, status: 'completed' },
    ],
  });
  await gate.release(live);
  await close();
});

it('WTG5: a job whose input is still being validated when the time is over is not there', async () => {
  const never: StandardSchemaV1 = { '~standard': { version: 1, vendor: 'test', validate: () => new Promise(() => {}) } };
  await using engine = await testEngine({ executors: { slow: { run: () => null, input: never } } });
  const { offstage, clock } = engine;
  offstage.spawn({ kind: 'slow', jobId: 'slow' }).catch(() => {});
  const told = watch({ waits: offstage.wait('slow', { timeoutMs: 1_000 }), peeks: offstage.wait('slow', { timeoutMs: 0 }) });
  await clock.advance(999);
  expect(told).toEqual({ peeks: 'job.not_found' });
  await clock.advance(1);
  expect(told).toEqual({ peeks: 'job.not_found', waits: 'job.not_found' });
});

it('OCA1: a close settles what the store does not answer, and is not held up by it', async () => {
  const { offstage, hold, ended, clock } = await withEnded();
  hold();
  const told = watch({
    wait: offstage.wait(ended, { timeoutMs: null }),
    waitMany: offstage.waitMany([ended], { timeoutMs: null }),
    get: offstage.get(ended),
    list: offstage.list(),
    prune: offstage.prune(),
    spawn: offstage.spawn({ kind: 'gate', jobId: 'new' }),
    awaited: offstage.wait('new', { timeoutMs: null }),
    cards: offstage.cards.list({ sessionId: 'default' }),
  });
  await clock.settle();
  expect(told).toEqual({});
  const closing = watch({ close: offstage.close() });
  await clock.advance(1_000);
  expect(closing).toHaveProperty('close');
  expect(new Set(Object.values(told))).toEqual(new Set(['engine.closing']));
  expect(Object.keys(told)).toHaveLength(8);
});

it('OCA1: a wait that a body has left behind is settled by the close as well', async () => {
  const { store, hold } = heldReads();
  const told: unknown[] = [];
  const engine = await testEngine({
    store,
    shutdownGraceMs: 100,
    executors: {
      quick: () => null,
      leaves: ({ input }, context) => {
        context.wait(input as string).catch(({ code }: { code: string }) => told.push(code));
      },
    },
  });
  const { offstage, clock } = engine;
  const { jobId: ended } = await offstage.spawn({ kind: 'quick' });
  await offstage.wait(ended);
  hold();
  const { jobId } = await offstage.spawn({ kind: 'leaves', input: ended });
  await clock.settle();
  expect(engine.statuses(jobId).at(-1)).toBe('completed');
  expect(told).toEqual([]);
  await engine[Symbol.asyncDispose]();
  expect(told).toEqual(['engine.closing']);
});

it('G14: a run whose acceptance the store has never answered is refused by the close', async () => {
  const gate = controlledExecutor();
  const store = controlledStore(memoryStore());
  const engine = await testEngine({ store, executors: { gate }, shutdownGraceMs: 100 });
  const { offstage, clock } = engine;
  const { jobId: first } = await offstage.spawn({ kind: 'gate' });
  await gate.release(first);
  await offstage.wait(first);
  store.hold();
  const told = watch({ run: offstage.run({ kind: 'gate', jobId: 'new' }) });
  await clock.settle();
  expect(store.inFlight).toBe(1);
  const waits = watch({ wait: offstage.wait('new', { timeoutMs: null }) });
  const closing = offstage.close();
  await clock.advance(1_000);
  expect(told).toEqual({ run: 'engine.closing' });
  expect(waits).toMatchObject({ wait: { status: 'errored', durable: false } });
  store.release();
  await closing;
  expect(gate.calls).toEqual([first]);
});
