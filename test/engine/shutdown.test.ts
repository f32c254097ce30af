/** Closing (spec 6 "Shutdown"): bounded, idempotent, whatever the jobs are at. */
import { describe, expect, it } from 'vitest';
import type { JobContext } from '../../src/model/executor.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { counting, echo, gate, scripted, stubborn } from '../support/executors.ts';
import { keptStore } from '../support/kept-store.ts';
import { testEngine } from '../support/test-engine.ts';

describe('bodies that run at close', () => {
  it('that return in time are completed with their result; those that throw are abandoned', async () => {
    const said: unknown[] = [];
    const ending = (how: 'return' | 'throw') => async (context: JobContext) => {
      await new Promise<void>((resolve) =>
        context.signal.addEventListener('abort', () => {
          said.push((context.signal.reason as { code: string }).code);
          resolve();
        }),
      );
      if (how === 'throw') throw new Error('interrupted');
      return 'in time';
    };
    const store = keptStore(memoryStore());
    const engine = await testEngine({
      executors: { family: scripted({ returns: ending('return'), throws: ending('throw') }) },
      store: store.open(),
    });
    const { offstage, clock } = engine;
    const a = await offstage.spawn({ kind: 'family', subject: 'returns' });
    const b = await offstage.spawn({ kind: 'family', subject: 'throws' });
    await clock.settle();
    const waits = [a, b].map(({ jobId }) => offstage.wait(jobId, { timeoutMs: null }));
    await engine[Symbol.asyncDispose]();
    const [completed, abandoned] = await Promise.all(waits);
    expect(completed).toMatchObject({
      status: 'completed',
      resultText: 'in time',
      reasonCode: 'completed',
      cancelRequestedAt: null,
    });
    expect(abandoned).toMatchObject({
      status: 'errored',
      reasonCode: 'abandoned.shutdown',
      error: { code: 'job.abandoned', message: 'worker pool shutdown' },
    });
    expect(said).toEqual(['engine.closing', 'engine.closing']);
    await using again = await testEngine({ store: store.open(), clock });
    expect(await again.offstage.get(a.jobId)).toEqual(completed);
    expect((await again.offstage.history(a.jobId)).map(({ type, detail }) => [type, detail])).toContainEqual([
      'ending',
      'shutdown',
    ]);
  });

  for (const [cancelGraceMs, shutdownGraceMs] of [
    [100, 1_000],
    [1_000, 100],
  ] as const) {
    it(`that end by a cancel end by it, at the earlier of ${cancelGraceMs} and ${shutdownGraceMs} ms`, async () => {
      const stuck = stubborn();
      const engine = await testEngine({ executors: { stuck }, cancelGraceMs, shutdownGraceMs });
      const { offstage, clock } = engine;
      const { jobId } = await offstage.spawn({ kind: 'stuck' });
      await stuck.started(jobId);
      await offstage.cancel(jobId);
      const waiting = offstage.wait(jobId, { timeoutMs: null });
      let isClosed = false;
      const closing = offstage.close().then(() => {
        isClosed = true;
      });
      await clock.advance(99);
      expect(isClosed).toBe(false);
      await clock.advance(1);
      await closing;
      expect(await waiting).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.timed_out', detached: true });
      await stuck.release(jobId);
    });
  }

  it('that wait inside the engine wake and unwind', async () => {
    const seen: unknown[] = [];
    const stuck = stubborn();
    const parent = scripted({
      parent: async (context: JobContext) => {
        await context.run({ kind: 'stuck', jobId: 'child' }).catch((error: unknown) => seen.push(error));
        return 'unwound';
      },
    });
    const engine = await testEngine({ executors: { parent, stuck }, workers: 1, shutdownGraceMs: 100 });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'parent', subject: 'parent' });
    await stuck.started('child');
    await clock.settle();
    const waits = Promise.all([offstage.wait(jobId, { timeoutMs: null }), offstage.wait('child', { timeoutMs: null })]);
    const closing = offstage.close();
    await clock.advance(100);
    await closing;
    expect(await waits).toMatchObject([
      { status: 'completed', resultText: 'unwound' },
      { status: 'errored', reasonCode: 'abandoned.shutdown', detached: true },
    ]);
    expect(seen).toMatchObject([{ name: 'AbortError' }]);
  });

  it('with a grace of null get all the time they need', async () => {
    const stuck = stubborn();
    const engine = await testEngine({ executors: { stuck }, shutdownGraceMs: null });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'stuck' });
    await stuck.started(jobId);
    let isClosed = false;
    const closing = offstage.close().then(() => {
      isClosed = true;
    });
    await clock.advance(24 * 60 * 60 * 1000);
    expect(isClosed).toBe(false);
    await stuck.release(jobId, 'done');
    await closing;
  });

  it('with a grace of 0 get none', async () => {
    const stuck = stubborn();
    const engine = await testEngine({ executors: { stuck }, shutdownGraceMs: 0 });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'stuck' });
    await stuck.started(jobId);
    const waiting = offstage.wait(jobId);
    const closing = offstage.close();
    await clock.advance(0);
    await closing;
    expect(await waiting).toMatchObject({ status: 'errored', detached: true });
    await stuck.release(jobId);
  });
});

describe('verbs around close', () => {
  it('in its tick: every promise settles, and what was acknowledged has ended', async () => {
    for (let turns = 0; turns < 8; turns++) {
      const store = keptStore(memoryStore());
      const engine = await testEngine({ executors: { echo, held: gate() }, store: store.open(), workers: 2 });
      const { offstage, clock } = engine;
      await offstage.spawn({ kind: 'held', jobId: 'old' });
      const verbs = [
        ...Array.from({ length: 20 }, (_, index) => offstage.spawn({ kind: index % 2 === 0 ? 'echo' : 'held' })),
        offstage.spawn({ kind: 'echo', jobId: 'named' }),
        offstage.wait('old', { timeoutMs: null }),
        offstage.waitMany(['old', 'named'], { timeoutMs: null }),
        offstage.cancel('old'),
        offstage.cancelMany({ sessionId: 'default' }),
        offstage.list(),
        offstage.snapshot(),
        offstage.sessions.create({ sessionId: `s${turns}` }),
        offstage.tasks.create(),
        offstage.prune(),
        offstage.plan.run([{ description: 'x', kind: 'held' }]),
        offstage.history('old'),
      ];
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      const closing = offstage.close();
      let answers: readonly PromiseSettledResult<unknown>[] = [];
      const settled = Promise.allSettled(verbs).then((all) => {
        answers = all;
      });
      await clock.advance(5_000);
      await Promise.all([closing, settled]);
      const allowed = ['engine.closing', 'job.not_found', 'job.cancelled'];
      for (const answer of answers) {
        if (answer.status === 'rejected') expect(allowed).toContain((answer.reason as { code?: string }).code);
      }
      expect(clock.pending).toBe(0);
      await using again = await testEngine({ store: store.open(), clock });
      expect([turns, again.recovery.abandoned]).toEqual([turns, []]);
      for (const answer of answers.slice(0, 20)) {
        if (answer.status !== 'fulfilled') continue;
        const { jobId } = answer.value as { jobId: string };
        expect(['completed', 'errored', 'cancelled']).toContain((await again.offstage.get(jobId)).status);
      }
    }
  });

  it('after it: nothing is written, spawned or hung', async () => {
    const store = controlledStore(memoryStore());
    const count = counting();
    const engine = await testEngine({ executors: { count }, store });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'count' });
    await offstage.wait(jobId);
    await offstage.close();
    await offstage.close();
    const writes = store.writes.length;
    const verbs: readonly (() => unknown)[] = [
      () => offstage.spawn({ kind: 'count' }),
      () => offstage.cancel(jobId),
      () => offstage.get(jobId),
      () => offstage.list(),
      () => offstage.wait(jobId),
      () => offstage.sessions.create(),
      () => offstage.tasks.create(),
      () => offstage.prune(),
      () => offstage.plan.run([{ description: 'x', kind: 'count' }]),
      () => offstage.snapshot(),
    ];
    for (const verb of verbs) {
      const error = await Promise.resolve()
        .then(verb)
        .then(
          () => null,
          (reason: { code?: string }) => reason,
        );
      expect(error?.code).toBe('engine.closing');
    }
    const events = offstage.events();
    expect(await events.next()).toMatchObject({ done: true });
    await clock.advance(60 * 60 * 1000);
    expect(store.writes.length).toBe(writes);
    expect(clock.pending).toBe(0);
    expect(offstage.health().status).toBe('closing');
    expect(count.calls).toEqual([jobId]);
  });

  it('await using closes', async () => {
    let kept: Awaited<ReturnType<typeof testEngine>>['offstage'] | null = null;
    {
      const engine = await testEngine({ executors: { echo } });
      await using offstage = engine.offstage;
      kept = offstage;
      await offstage.wait((await offstage.spawn({ kind: 'echo' })).jobId);
    }
    await expect(kept?.spawn({ kind: 'echo' })).rejects.toMatchObject({ code: 'engine.closing' });
  });
});
