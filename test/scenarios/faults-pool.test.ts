/** Reported faults, "pool", in process: B22, B23, B24, B25. */
import { describe, expect, it, vi } from 'vitest';
import { offstageError } from '../../src/model/errors.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { counting, echo, gate, stubborn, throwing } from '../support/executors.ts';
import { keptStore } from '../support/kept-store.ts';
import { contentOf } from '../support/store-content.ts';
import { testEngine } from '../support/test-engine.ts';

describe('the pool', () => {
  it('B22: every way to end gives the slot back exactly once', async () => {
    const held = gate();
    const stuck = stubborn();
    const executors = {
      held,
      stuck,
      echo,
      broken: throwing(new Error('no start')),
      dying: async () => {
        throw offstageError('job.worker_died', { message: 'killed by SIGKILL' });
      },
    };
    await using engine = await testEngine({ executors, workers: 2, cancelGraceMs: 100 });
    const { offstage, clock } = engine;
    const jobs: string[] = [];
    for (let round = 0; round < 10; round++) {
      for (const kind of ['echo', 'broken', 'dying']) jobs.push((await offstage.spawn({ kind })).jobId);
      const a = await offstage.spawn({ kind: 'held' });
      const b = await offstage.spawn({ kind: 'stuck' });
      const c = await offstage.spawn({ kind: 'held' });
      jobs.push(a.jobId, b.jobId, c.jobId);
      await stuck.started(b.jobId);
      await held.started(a.jobId);
      // Queued, running, and forced.
      await Promise.all([c, a, b].map(({ jobId }) => offstage.cancel(jobId)));
      await clock.advance(100);
      expect((await offstage.get(b.jobId)).reasonCode).toBe('cancel.timed_out');
      if (round % 2 === 0) await stuck.release(b.jobId, 'late');
      else await stuck.fail(b.jobId, new Error('late'));
      await clock.settle();
    }
    const ended = await offstage.waitMany(jobs, { timeoutMs: null });
    expect(jobs).toHaveLength(60);
    const reasons = new Set(ended.map((entry) => ('status' in entry ? entry.reasonCode : null)));
    expect([...reasons].sort()).toEqual(['cancel.timed_out', 'cancel.user', 'completed', 'failed', 'worker_died']);
    expect(offstage.health().pool).toEqual({ workers: 2, running: 0, waiting: 0, queued: 0, detached: 0 });
    const three = await Promise.all([1, 2, 3].map(() => offstage.spawn({ kind: 'held' })));
    await clock.settle();
    expect((await offstage.list({ status: 'running' })).map(({ jobId }) => jobId).reverse()).toEqual(
      three.slice(0, 2).map(({ jobId }) => jobId),
    );
    expect(await offstage.list({ status: 'queued' })).toHaveLength(1);
    expect(held.live.size).toBe(2);
    expect(offstage.health().pool).toMatchObject({ running: 2, queued: 1 });
  });

  it('B23: starts and lists follow the order of spawn, with any ids, also after a reopen', async () => {
    const store = keptStore(memoryStore());
    const held = gate();
    const count = counting();
    const engine = await testEngine({ executors: { held, count }, store: store.open(), workers: 1 });
    const { offstage } = engine;
    const first = await offstage.spawn({ kind: 'held' });
    await held.started(first.jobId);
    const numbered = Array.from({ length: 120 }, (_, index) => String(index + 1));
    const spawned = await Promise.all([
      ...numbered.map((jobId) => offstage.spawn({ kind: 'count', jobId })),
      ...numbered.map(() => offstage.spawn({ kind: 'count' })),
    ]);
    const order = spawned.map(({ jobId }) => jobId);
    expect(order.slice(0, 120)).toEqual(numbered);
    // Generated ids sort by their creation as well.
    expect(order.slice(120)).toEqual(order.slice(120).toSorted());
    await held.release(first.jobId);
    await offstage.waitMany(order, { timeoutMs: null });
    expect(count.calls).toEqual(order);
    const listed = [...order].reverse();
    const list = async (from: typeof offstage) => (await from.list({ kind: 'count', limit: 1_000 })).map(({ jobId }) => jobId);
    expect(await list(offstage)).toEqual(listed);
    await engine[Symbol.asyncDispose]();
    await using again = await testEngine({ store: store.open(), clock: engine.clock });
    expect(await list(again.offstage)).toEqual(listed);
    // And in pages, across 9 and 10, 99 and 100.
    const paged: string[] = [];
    for (let before: string | undefined; ; before = paged.at(-1)) {
      const page = await again.offstage.list({ kind: 'count', limit: 7, ...(before === undefined ? {} : { before }) });
      paged.push(...page.map(({ jobId }) => jobId));
      if (page.length < 7) break;
    }
    expect(paged).toEqual(listed);
  });

  it('B24: shutdown is bounded and idempotent, and leaves nothing that has not ended', async () => {
    const inner = memoryStore();
    const store = keptStore(inner);
    const held = gate();
    const stuck = stubborn();
    const count = counting();
    const executors = { held, stuck, count };
    const engine = await testEngine({ executors, store: store.open(), workers: 2, shutdownGraceMs: 1_000 });
    const { offstage, clock } = engine;
    const a = await offstage.spawn({ kind: 'stuck' });
    const b = await offstage.spawn({ kind: 'held' });
    const queued = await Promise.all([1, 2, 3].map(() => offstage.spawn({ kind: 'count' })));
    await stuck.started(a.jobId);
    const run = await held.started(b.jobId);
    const all = [a, b, ...queued].map(({ jobId }) => jobId);
    const waits = all.map((id) => offstage.wait(id, { timeoutMs: null }));
    await clock.settle();
    let closed = 0;
    const closing = [offstage.close(), offstage.close()].map((promise) => promise.then(() => (closed += 1)));
    await expect(offstage.spawn({ kind: 'count' })).rejects.toMatchObject({ code: 'engine.closing' });
    await expect(offstage.cancel(a.jobId)).rejects.toMatchObject({ code: 'engine.closing' });
    await expect(offstage.sessions.create()).rejects.toMatchObject({ code: 'engine.closing' });
    expect(offstage.health().status).toBe('closing');
    await clock.advance(999);
    expect(run.context.signal.aborted).toBe(true);
    expect(closed).toBe(0);
    await clock.advance(1);
    await Promise.all(closing);
    const records = await Promise.all(waits);
    expect(records[0]).toMatchObject({
      status: 'errored',
      reasonCode: 'abandoned.shutdown',
      error: { code: 'job.abandoned', message: 'worker pool shutdown' },
      detached: true,
    });
    expect(records[1]).toMatchObject({ status: 'errored', reasonCode: 'abandoned.shutdown', detached: false });
    for (const record of records.slice(2)) {
      expect(record).toMatchObject({ status: 'errored', reasonCode: 'abandoned.shutdown', startedAt: null, detached: false });
    }
    expect(count.calls).toEqual([]);
    await expect(offstage.spawn({ kind: 'count' })).rejects.toMatchObject({ code: 'engine.closing' });
    const before = await contentOf(inner);
    await using again = await testEngine({ executors, store: store.open(), clock });
    expect(again.recovery.abandoned).toEqual([]);
    expect(await contentOf(inner)).toEqual(before);
    expect(await Promise.all(all.map((id) => again.offstage.get(id)))).toEqual(
      records.map((record) => ({ ...record, bodyLive: false })),
    );
  });

  it('B24: an idle engine closes at once', async () => {
    const engine = await testEngine({ executors: { echo } });
    const before = engine.clock.monotonic();
    await engine.offstage.close();
    expect(engine.clock.monotonic()).toBe(before);
    expect(engine.clock.pending).toBe(0);
  });

  for (const order of ['open, then close', 'close, then open'] as const) {
    it(`B25: nothing starts once close was called (${order})`, async () => {
      for (let round = 0; round < 100; round++) {
        const held = gate();
        const count = counting();
        const engine = await testEngine({ executors: { held, count }, workers: 1 });
        const { offstage } = engine;
        const a = await offstage.spawn({ kind: 'held' });
        const b = await offstage.spawn({ kind: 'count' });
        await held.started(a.jobId);
        const waiting = offstage.wait(b.jobId);
        // Whatever the two calls meet: the body's return is some microtasks away.
        let closing: Promise<void>;
        if (order === 'open, then close') {
          void held.release(a.jobId, 'done');
          for (let turn = 0; turn < round % 8; turn++) await null;
          closing = offstage.close();
        } else {
          closing = offstage.close();
          for (let turn = 0; turn < round % 8; turn++) await null;
          void held.release(a.jobId, 'done');
        }
        const calledBefore = count.calls.length;
        await closing;
        expect(count.calls.length).toBe(calledBefore);
        const ended = await waiting;
        expect(['completed', 'errored']).toContain(ended.status);
        if (calledBefore === 0)
          expect(ended).toMatchObject({ status: 'errored', reasonCode: 'abandoned.shutdown', startedAt: null });
      }
    });
  }

  for (const later of ['returns', 'rejects'] as const) {
    it(`B25: a body that ${later} after shutdown writes nothing and harms nobody`, async () => {
      const inner = memoryStore();
      const stuck = stubborn();
      const engine = await testEngine({ executors: { stuck }, store: keptStore(inner).open(), shutdownGraceMs: 100 });
      const { offstage, clock } = engine;
      const { jobId } = await offstage.spawn({ kind: 'stuck' });
      const { context } = await stuck.started(jobId);
      const closing = offstage.close();
      await clock.advance(100);
      await closing;
      const before = await contentOf(inner);
      const logged = engine.log.length;
      const warned = vi.spyOn(console, 'warn');
      if (later === 'returns') await stuck.release(jobId, 'late');
      else await stuck.fail(jobId, new Error('late'));
      await clock.advance(60_000);
      expect(await contentOf(inner)).toEqual(before);
      expect(engine.log.slice(logged)).toEqual([]);
      expect(warned).not.toHaveBeenCalled();
      warned.mockRestore();
      expect(clock.pending).toBe(0);
      await expect(context.spawn({ kind: 'stuck' })).rejects.toMatchObject({ code: 'job.context_closed' });
      await expect(context.wait(jobId)).rejects.toMatchObject({ code: 'job.context_closed' });
    });
  }
});
