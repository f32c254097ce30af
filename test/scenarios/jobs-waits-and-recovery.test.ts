/** Acceptance scenarios of jobs, "Await" at the engine's verbs (J85, J87, J88) and "Recovery and fencing" (J115, J120). */
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { echo, gate, throwing } from '../support/executors.ts';
import { contentOf } from '../support/store-content.ts';
import { testEngine } from '../support/test-engine.ts';

describe('waits', () => {
  it('J85: a job that ended long ago answers at once', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'echo', input: 'a' });
    const done = await offstage.wait(jobId);
    await clock.advance(24 * 60 * 60 * 1000);
    const before = clock.monotonic();
    expect(await offstage.wait(jobId, { timeoutMs: 5_000 })).toEqual(done);
    expect(clock.monotonic()).toBe(before);
  });

  it('J87: of many, a failed one is a record like the others, and no throw', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held, broken: throwing(new Error('x')) } });
    const { offstage, clock } = engine;
    const a = await offstage.spawn({ kind: 'broken' });
    const b = await offstage.spawn({ kind: 'held' });
    const any = await offstage.waitMany([b.jobId, a.jobId], { mode: 'any' });
    expect(any).toMatchObject([{ status: expect.stringMatching('queued|running') }, { status: 'errored' }]);
    const bounded = offstage.waitMany([a.jobId, b.jobId], { timeoutMs: 100 });
    await clock.advance(100);
    expect(await bounded).toMatchObject([{ status: 'errored' }, { status: 'running', timedOut: true }]);
    const all = offstage.waitMany([a.jobId, b.jobId]);
    await held.release(b.jobId, 'done');
    expect(await all).toMatchObject([
      { status: 'errored', error: { message: 'Error: x' } },
      { status: 'completed', resultText: 'done' },
    ]);
  });

  it('J88: three waiters on one job get the same record', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    const waits = [offstage.wait(jobId), offstage.wait(jobId, { timeoutMs: null }), offstage.waitMany([jobId])];
    await held.release(jobId, 'done');
    const [first, second, third] = (await Promise.all(waits)).flat();
    expect(first).toMatchObject({ status: 'completed', resultText: 'done' });
    expect(second).toEqual(first);
    expect(third).toEqual(first);
    expect(await offstage.get(jobId)).toEqual(first);
  });
});

describe('recovery', () => {
  it('J115: what an earlier process left running is errored once, and what had completed is not touched', async () => {
    const store = controlledStore(memoryStore());
    const held = gate();
    const engine = await testEngine({ executors: { held, echo }, store });
    const done = await engine.offstage.spawn({ kind: 'echo', input: 'kept' });
    const completed = await engine.offstage.wait(done.jobId);
    const running = await engine.offstage.spawn({ kind: 'held' });
    await held.started(running.jobId);
    await engine.clock.settle();
    const { revision } = await engine.offstage.get(running.jobId);
    const found = await store.crash();
    await using next = await testEngine({ executors: { held, echo }, store: found, clock: engine.clock });
    expect(next.recovery.abandoned).toEqual([running.jobId]);
    expect(await next.offstage.get(running.jobId)).toMatchObject({
      status: 'errored',
      reasonCode: 'abandoned.crash',
      error: { code: 'job.abandoned', message: 'worker died before completion' },
      detached: false,
      bodyLive: false,
      revision: revision + 1,
    });
    expect(await next.offstage.get(done.jobId)).toEqual(completed);
    expect(held.calls).toEqual([running.jobId]);
  });

  it('J120: a second recovery changes nothing', async () => {
    const store = controlledStore(memoryStore());
    const held = gate();
    const engine = await testEngine({ executors: { held }, store, workers: 1 });
    for (let index = 0; index < 3; index++) await engine.offstage.spawn({ kind: 'held' });
    await engine.clock.settle();
    const first = controlledStore(await store.crash());
    const second = await testEngine({ store: first, clock: engine.clock });
    expect(second.recovery.abandoned).toHaveLength(3);
    const records = await second.offstage.list();
    const history = await Promise.all(records.map(({ jobId }) => second.offstage.history(jobId)));
    const again = await first.crash();
    const before = await contentOf(again);
    await using third = await testEngine({ store: again, clock: engine.clock });
    expect(third.recovery).toEqual({ abandoned: [], sessions: [], lostTickets: [], processes: [] });
    expect(await contentOf(again)).toEqual(before);
    expect(await third.offstage.list()).toEqual(records);
    expect(await Promise.all(records.map(({ jobId }) => third.offstage.history(jobId)))).toEqual(history);
  });
});
