/** B43 and degraded mode (spec 6): no acknowledgement without a record, and a failed write blocks no cancel, no abort, no waiter. */
import { describe, expect, it } from 'vitest';
import { offstageError } from '../../src/model/errors.ts';
import type { JobContext } from '../../src/model/executor.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { type ControlledStore, controlledStore } from '../../src/testing/controlled-store.ts';
import { counting, echo, gate, scripted, stubborn } from '../support/executors.ts';
import { pastOf } from '../support/past.ts';
import { contentOf } from '../support/store-content.ts';
import { type TestEngine, type TestEngineOptions, testEngine } from '../support/test-engine.ts';

const DISK_FULL = offstageError('store.failed', { message: 'no space left on device' });

interface Failing extends AsyncDisposable {
  readonly engine: TestEngine;
  readonly store: ControlledStore;
}

/** An engine on a store that can be made to fail. The store is well again before the engine closes. */
async function onFailingStore(options: TestEngineOptions): Promise<Failing> {
  const store = controlledStore(memoryStore());
  const engine = await testEngine({ ...options, store });
  return {
    engine,
    store,
    async [Symbol.asyncDispose]() {
      store.failAll(null);
      await engine[Symbol.asyncDispose]();
    },
  };
}

/** Record events since `after`, by their numbers, as a late reader gets them. */
/** What the log says of jobs, and in between of their cards: without a gap. */
async function replayed({ offstage }: TestEngine, after: number): Promise<readonly (readonly [string, string])[]> {
  const { seq } = await offstage.snapshot();
  const found: [string, string][] = [];
  if (seq === after) return found;
  let last = after;
  for await (const event of offstage.events({ after })) {
    last += 1;
    expect(event.seq).toBe(last);
    if (event.type === 'job.status') found.push([event.jobId, event.status]);
    if (event.type === 'card.updated') expect(found.at(-1)).toEqual([event.jobId, event.status]);
    if (event.seq === seq) break;
  }
  return found;
}

describe('a store that refuses the acceptance', () => {
  it('B43: spawn rejects, nothing is listed, no body is called; the next spawns are refused until the store is well', async () => {
    const count = counting();
    await using failing = await onFailingStore({ executors: { count } });
    const { engine, store } = failing;
    const { offstage, clock } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    await clock.settle();
    const before = await contentOf(store);
    store.failAll(DISK_FULL);
    const spawns = await Promise.allSettled([1, 2, 3].map(() => offstage.spawn({ kind: 'count', sessionId: 's' })));
    for (const spawn of spawns) expect(spawn).toMatchObject({ status: 'rejected', reason: { code: 'store.failed' } });
    expect(offstage.health()).toMatchObject({
      status: 'degraded',
      store: { lastError: expect.stringContaining('no space left on device') },
    });
    expect(engine.log).toContainEqual(expect.objectContaining({ level: 'error', event: 'store.failed' }));
    for (const refused of [
      () => offstage.spawn({ kind: 'count', sessionId: 's' }),
      () => offstage.spawn({ kind: 'count', sessionId: 's', jobId: 'x' }),
      () => offstage.sessions.create({ sessionId: 'other' }),
      () => offstage.tasks.create({ taskId: 'other' }),
    ]) {
      await expect(refused()).rejects.toMatchObject({ code: 'engine.degraded', retryable: true });
    }
    expect(await offstage.list()).toEqual([]);
    expect(await contentOf(store)).toEqual(before);
    store.failAll(null);
    // Nobody has to try: the engine finds out by itself.
    await clock.advance(5_000);
    expect(offstage.health()).toMatchObject({ status: 'ok', store: { lastError: null, pendingWrites: 0 } });
    expect(count.calls).toEqual([]);
    expect(engine.events.filter(({ type }) => type.startsWith('job.'))).toEqual([]);
    const { jobId } = await offstage.spawn({ kind: 'count', sessionId: 's' });
    expect((await offstage.wait(jobId)).status).toBe('completed');
    expect(offstage.health().pool).toMatchObject({ running: 0, queued: 0 });
  });

  it('B43: whoever waits for a job that is being refused is told that there is none', async () => {
    const count = counting();
    await using failing = await onFailingStore({ executors: { count } });
    const { engine, store } = failing;
    const { offstage, clock } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    store.hold();
    const spawning = offstage.spawn({ kind: 'count', jobId: 'x', sessionId: 's' }).catch((error: unknown) => error);
    await clock.settle();
    // Accepted, on its way to the store, and not there yet.
    const waits = [offstage.wait('x', { timeoutMs: null }), offstage.waitMany(['x'], { timeoutMs: null })];
    const cancelling = offstage.cancel('x').catch((error: unknown) => error);
    const peek = offstage.wait('x', { timeoutMs: 0 });
    const short = offstage.wait('x', { timeoutMs: 50 });
    const settled = Promise.allSettled([...waits, peek, short]);
    await clock.advance(50);
    await expect(offstage.get('x')).rejects.toMatchObject({ code: 'job.not_found' });
    store.failNext({ when: 'before', error: DISK_FULL });
    store.release();
    expect(await spawning).toBe(DISK_FULL);
    expect(await cancelling).toMatchObject({ code: 'job.not_found' });
    expect(await settled).toMatchObject([
      { status: 'rejected', reason: { code: 'job.not_found' } },
      { status: 'fulfilled', value: [{ jobId: 'x', error: { code: 'job.not_found' } }] },
      { status: 'rejected', reason: { code: 'job.not_found' } },
      { status: 'rejected', reason: { code: 'job.not_found' } },
    ]);
    expect(count.calls).toEqual([]);
  });

  it('B43: a session whose creation was reported as failed is not there, although it was written', async () => {
    await using failing = await onFailingStore({ executors: { echo } });
    const { engine, store } = failing;
    const { offstage, clock } = engine;
    store.failNext({ when: 'after', error: DISK_FULL });
    await expect(offstage.sessions.create({ sessionId: 's' })).rejects.toBe(DISK_FULL);
    await expect(offstage.sessions.get('s')).rejects.toMatchObject({ code: 'session.not_found' });
    expect(await offstage.sessions.list()).toEqual([]);
    expect(await offstage.tasks.list()).toEqual([]);
    await clock.advance(1_000);
    await expect(offstage.sessions.get('s')).rejects.toMatchObject({ code: 'session.not_found' });
    expect((await offstage.sessions.create({ sessionId: 's' })).sessionId).toBe('s');
    expect(engine.events.filter(({ type }) => type === 'session.state_changed')).toHaveLength(1);
  });
});

for (const when of ['before', 'after'] as const) {
  describe(`a store that fails ${when} it has written`, () => {
    it('B43: an end that cannot be stored is acted upon, marked, and shown to nobody else until it is stored', async () => {
      const held = gate();
      await using failing = await onFailingStore({ executors: { held } });
      const { engine, store } = failing;
      const { offstage, clock } = engine;
      const { jobId } = await offstage.spawn({ kind: 'held' });
      await held.started(jobId);
      await clock.settle();
      const committed = await offstage.get(jobId);
      const { seq } = await offstage.snapshot();
      const seen = engine.events.length;
      const waiting = offstage.wait(jobId);
      // The first two attempts.
      store.failNext({ when, error: DISK_FULL });
      store.failNext({ when, nth: 2, error: DISK_FULL });
      await held.release(jobId, 'done');
      const ended = await waiting;
      expect(ended).toMatchObject({ status: 'completed', resultText: 'done', durable: false });
      expect(await offstage.wait(jobId)).toEqual(ended);
      expect(await offstage.waitMany([jobId])).toEqual([ended]);
      expect(await offstage.cancel(jobId)).toEqual(ended);
      expect(await offstage.get(jobId)).toEqual({ ...committed, bodyLive: false });
      expect((await offstage.list()).map(({ status }) => status)).toEqual(['running']);
      expect((await pastOf(offstage, jobId)).at(-1)).toMatchObject({ to: 'running' });
      expect(engine.events.length).toBe(seen);
      expect(offstage.jobsModel.get().live.get(jobId)?.status).toBe('running');
      expect(offstage.health()).toMatchObject({ status: 'degraded', store: { pendingWrites: 1 } });
      await expect(offstage.spawn({ kind: 'held' })).rejects.toMatchObject({ code: 'engine.degraded' });
      await clock.advance(60);
      expect(offstage.health().status).toBe('degraded');
      await clock.advance(1_000);
      expect(offstage.health()).toMatchObject({ status: 'ok', store: { pendingWrites: 0, lastError: null } });
      const stored = await offstage.get(jobId);
      expect(stored).toMatchObject({ status: 'completed', resultText: 'done' });
      expect(stored.durable).toBeUndefined();
      expect(await offstage.wait(jobId)).toEqual(stored);
      expect(await offstage.cancel(jobId)).toEqual(stored);
      expect(engine.statuses(jobId)).toEqual(['pending', 'queued', 'running', 'completed']);
      expect(await replayed(engine, seq)).toEqual([[jobId, 'completed']]);
    });

    it('B43: a cancel that cannot be stored reaches the body all the same', async () => {
      const held = gate();
      const stuck = stubborn();
      await using failing = await onFailingStore({ executors: { held, stuck }, cancelGraceMs: 1_000 });
      const { engine, store } = failing;
      const { offstage, clock } = engine;
      const { jobId } = await offstage.spawn({ kind: 'held' });
      const forced = await offstage.spawn({ kind: 'stuck' });
      const run = await held.started(jobId);
      await stuck.started(forced.jobId);
      await clock.settle();
      const { seq } = await offstage.snapshot();
      if (when === 'before') store.failAll(DISK_FULL);
      else for (let nth = 1; nth <= 6; nth++) store.failNext({ when, nth, error: DISK_FULL });
      const answers = await Promise.all([offstage.cancel(jobId, { reason: 'stop' }), offstage.cancel(forced.jobId)]);
      expect(run.context.signal.aborted).toBe(true);
      for (const answer of answers) expect(answer).toMatchObject({ cancelRequestedAt: clock.now(), durable: false });
      expect(await offstage.wait(jobId)).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.user', durable: false });
      expect(await offstage.get(jobId)).toMatchObject({ status: 'running', cancelRequestedAt: null });
      // The grace runs as well.
      await clock.advance(1_000);
      const ended = await offstage.wait(forced.jobId);
      expect(ended).toMatchObject({ status: 'cancelled', detached: true, durable: false });
      expect(offstage.health().status).toBe('degraded');
      store.failAll(null);
      await clock.advance(60_000);
      expect(offstage.health().status).toBe('ok');
      expect(await offstage.get(jobId)).toMatchObject({ status: 'cancelled', cancelReason: 'stop' });
      expect(engine.statuses(jobId)).toEqual(['pending', 'queued', 'running', 'running', 'cancelled']);
      // The forced one is still known, because its body lives: it answers what is stored now.
      const known = await offstage.get(forced.jobId);
      expect({ ...known, durable: false }).toEqual(ended);
      expect(known.durable).toBeUndefined();
      expect(await offstage.cancel(forced.jobId)).toEqual(known);
      expect(await offstage.wait(forced.jobId)).toEqual(known);
      const events = await replayed(engine, seq);
      expect(events).toHaveLength(4);
      await stuck.release(forced.jobId);
    });
  });
}

describe('while the store refuses', () => {
  it('B43: what was accepted goes on, one after the other, and catches up in order', async () => {
    const held = gate();
    await using failing = await onFailingStore({ executors: { held, echo }, workers: 1 });
    const { engine, store } = failing;
    const { offstage, clock } = engine;
    const first = await offstage.spawn({ kind: 'held' });
    const rest = await Promise.all([1, 2, 3].map((input) => offstage.spawn({ kind: 'echo', input })));
    await held.started(first.jobId);
    await clock.settle();
    const { seq } = await offstage.snapshot();
    store.failAll(DISK_FULL);
    const waits = rest.map(({ jobId }) => offstage.wait(jobId));
    await held.release(first.jobId);
    for (const ended of await Promise.all(waits)) expect(ended).toMatchObject({ status: 'completed', durable: false });
    expect((await offstage.list({ status: 'completed' })).length).toBe(0);
    expect(offstage.health().pool).toMatchObject({ running: 0 });
    store.failAll(null);
    await clock.advance(5_000);
    const ids = [first, ...rest].map(({ jobId }) => jobId);
    const expected = [
      [first.jobId, 'completed'],
      ...rest.flatMap(({ jobId }) => [
        [jobId, 'running'],
        [jobId, 'completed'],
      ]),
    ];
    const events = await replayed(engine, seq);
    expect(events).toEqual(expected);
    expect((await offstage.list({ status: 'completed' })).map(({ jobId }) => jobId)).toEqual([...ids].reverse());
  });

  it('B43: children that a body starts are refused, and the body can go on', async () => {
    const refusals: unknown[] = [];
    const parent = scripted({
      parent: async (context: JobContext) => {
        await new Promise((resolve) => setImmediate(resolve));
        await context.run({ kind: 'echo' }).catch((error: unknown) => refusals.push(error));
        return 'went on';
      },
    });
    await using failing = await onFailingStore({ executors: { parent, echo } });
    const { engine, store } = failing;
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'parent', subject: 'parent' });
    store.failAll(DISK_FULL);
    expect(await offstage.wait(jobId)).toMatchObject({ status: 'completed', resultText: 'went on', durable: false });
    expect(refusals).toHaveLength(1);
    expect(['engine.degraded', 'store.failed']).toContain((refusals[0] as { code: string }).code);
    store.failAll(null);
    await clock.advance(5_000);
    expect((await offstage.get(jobId)).status).toBe('completed');
    expect(await offstage.list()).toHaveLength(1);
  });

  it('B43: retries wait longer and longer, at most 5 s', async () => {
    const held = gate();
    await using failing = await onFailingStore({ executors: { held } });
    const { engine, store } = failing;
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    await held.started(jobId);
    await clock.settle();
    store.failAll(DISK_FULL);
    await held.release(jobId);
    await offstage.wait(jobId);
    const attempts = (): number => store.writes.length;
    const before = attempts();
    await clock.advance(60_000);
    const inTheFirstMinute = attempts() - before;
    await clock.advance(60_000);
    expect(inTheFirstMinute).toBeGreaterThan(12);
    expect(attempts() - before - inTheFirstMinute).toBe(12);
    expect((await offstage.get(jobId)).status).toBe('running');
  });

  it('B43: after a crash a job whose end was never stored is errored, not running', async () => {
    const held = gate();
    const store = controlledStore(memoryStore());
    const engine = await testEngine({ executors: { held }, store });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    await held.started(jobId);
    await clock.settle();
    store.failAll(DISK_FULL);
    await held.release(jobId, 'done');
    expect(await offstage.wait(jobId)).toMatchObject({ status: 'completed', durable: false });
    const found = await store.crash();
    await using next = await testEngine({ executors: { held }, store: found, clock });
    expect(await next.offstage.get(jobId)).toMatchObject({ status: 'errored', reasonCode: 'abandoned.crash' });
    expect(held.calls).toEqual([jobId]);
  });

  it('B43: a close ends by its grace, says what is not saved, and the next start errors it', async () => {
    const inner = memoryStore();
    const store = controlledStore(inner);
    const held = gate();
    const stuck = stubborn();
    const engine = await testEngine({ executors: { held, stuck }, store, workers: 2, shutdownGraceMs: 100 });
    const { offstage, clock } = engine;
    const running = await offstage.spawn({ kind: 'held' });
    const hanging = await offstage.spawn({ kind: 'stuck' });
    const queued = await offstage.spawn({ kind: 'held' });
    await held.started(running.jobId);
    await stuck.started(hanging.jobId);
    await clock.settle();
    store.failAll(DISK_FULL);
    const waits = [running, hanging, queued].map(({ jobId }) => offstage.wait(jobId, { timeoutMs: null }));
    const closing = offstage.close();
    await clock.advance(100);
    await closing;
    expect(await Promise.all(waits)).toMatchObject([
      { status: 'errored', reasonCode: 'abandoned.shutdown', durable: false },
      { status: 'errored', reasonCode: 'abandoned.shutdown', durable: false, detached: true },
      { status: 'errored', reasonCode: 'abandoned.shutdown', durable: false },
    ]);
    expect(engine.log).toContainEqual(expect.objectContaining({ level: 'error', event: 'close.unsaved' }));
    expect(clock.pending).toBe(0);
    const found = await store.tear();
    await using next = await testEngine({ executors: { held, stuck }, store: found, clock });
    expect(next.recovery.abandoned).toHaveLength(3);
    for (const { jobId } of [running, hanging, queued]) {
      expect(await next.offstage.get(jobId)).toMatchObject({ status: 'errored', reasonCode: 'abandoned.crash' });
    }
  });

  it('B43: a close takes back what a failed write may have left', async () => {
    const store = controlledStore(memoryStore());
    const count = counting();
    const engine = await testEngine({ executors: { count }, store });
    const { offstage } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    store.failNext({ when: 'after', error: DISK_FULL });
    await expect(offstage.spawn({ kind: 'count', sessionId: 's', jobId: 'x' })).rejects.toBe(DISK_FULL);
    await offstage.close();
    const found = await store.tear();
    await using next = await testEngine({ executors: { count }, store: found, clock: engine.clock });
    expect(next.recovery.abandoned).toEqual([]);
    await expect(next.offstage.get('x')).rejects.toMatchObject({ code: 'job.not_found' });
  });

  it('B43: reads that fail reject with the reason, and nothing else is harmed', async () => {
    const inner = memoryStore();
    let isBroken = false;
    const broken = <T>(answer: () => T): T => {
      if (isBroken) throw offstageError('store.failed', { message: 'read error' });
      return answer();
    };
    const store = {
      get: async (key: string) => broken(() => inner.get(key)),
      getMany: async (keys: readonly string[]) => broken(() => inner.getMany(keys)),
      range: (options: Parameters<typeof inner.range>[0]) => broken(() => inner.range(options)),
      batch: inner.batch.bind(inner),
      close: () => inner.close(),
    };
    await using engine = await testEngine({ executors: { echo }, store });
    const { offstage } = engine;
    const { jobId } = await offstage.spawn({ kind: 'echo', input: 'kept' });
    const done = await offstage.wait(jobId);
    isBroken = true;
    for (const read of [
      () => offstage.get(jobId),
      () => offstage.list(),
      () => pastOf(offstage, jobId),
      () => offstage.wait(jobId),
      () => offstage.spawn({ kind: 'echo', jobId: 'x' }),
      () => offstage.cancel(jobId),
    ]) {
      await expect(read()).rejects.toMatchObject({ code: 'store.failed' });
    }
    // What needs no reading goes on.
    const next = await offstage.spawn({ kind: 'echo', input: 'fine' });
    expect(
      (await engine.eventOf((event) => event.type === 'job.status' && event.jobId === next.jobId && event.completedAt !== null))
        .type,
    ).toBe('job.status');
    isBroken = false;
    expect(await offstage.get(jobId)).toEqual(done);
  });
});
