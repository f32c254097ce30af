/** Acceptance scenarios of jobs, "Spawn and admission": J18 to J30. */
import { describe, expect, it } from 'vitest';
import { offstageError } from '../../src/model/errors.ts';
import type { JobContext } from '../../src/model/executor.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { counting, gate, scripted } from '../support/executors.ts';
import { contentOf } from '../support/store-content.ts';
import { testEngine } from '../support/test-engine.ts';

describe('spawn', () => {
  it('J18: an unknown session is refused, and nothing is stored', async () => {
    const count = counting();
    await using engine = await testEngine({ executors: { count } });
    const { offstage, store, clock } = engine;
    await offstage.wait((await offstage.spawn({ kind: 'count' })).jobId);
    await clock.settle();
    const before = await contentOf(store);
    await expect(offstage.spawn({ kind: 'count', sessionId: 'nowhere' })).rejects.toMatchObject({ code: 'session.not_found' });
    await expect(offstage.spawn({ kind: 'count', callerSessionId: 'nowhere' })).rejects.toMatchObject({
      code: 'session.not_found',
    });
    await clock.settle();
    expect(await contentOf(store)).toEqual(before);
    expect(count.calls).toHaveLength(1);
    expect(await offstage.list()).toHaveLength(1);
  });

  it('J22: the same job again answers the same job, and runs nothing', async () => {
    const count = counting();
    await using engine = await testEngine({ executors: { count } });
    const { offstage, clock } = engine;
    const request = { kind: 'count', jobId: 'x', description: 'do it', input: { a: 1, b: [2] } } as const;
    expect((await offstage.spawn(request)).jobId).toBe('x');
    const done = await offstage.wait('x');
    const eventsBefore = engine.events.length;
    expect(await offstage.spawn({ ...request, input: { b: [2], a: 1 } })).toEqual(done);
    await clock.settle();
    expect(count.calls).toEqual(['x']);
    expect(await offstage.list()).toHaveLength(1);
    expect(engine.events.length).toBe(eventsBefore);
    expect(engine.statuses('x')).toEqual(['pending', 'queued', 'running', 'completed']);
  });

  it('J25: when the record cannot be saved, spawn says so, nothing is left, and a retry succeeds', async () => {
    const store = controlledStore(memoryStore());
    const count = counting();
    await using engine = await testEngine({ executors: { count }, store });
    const { offstage, clock } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    await clock.settle();
    const before = await contentOf(store);
    const failure = offstageError('store.failed', { message: 'disk full' });
    store.failNext({ when: 'before', error: failure });
    const request = { kind: 'count', jobId: 'x', sessionId: 's' } as const;
    await expect(offstage.spawn(request)).rejects.toBe(failure);
    await expect(offstage.get('x')).rejects.toMatchObject({ code: 'job.not_found' });
    expect(await offstage.list()).toEqual([]);
    expect(await contentOf(store)).toEqual(before);
    await clock.advance(1_000);
    expect(offstage.health().status).toBe('ok');
    expect((await offstage.spawn(request)).jobId).toBe('x');
    expect((await offstage.wait('x')).status).toBe('completed');
    expect(count.calls).toEqual(['x']);
  });

  it('J25: a save that was reported as failed and had happened leaves nothing either', async () => {
    const store = controlledStore(memoryStore());
    const count = counting();
    await using engine = await testEngine({ executors: { count }, store });
    const { offstage, clock } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    await clock.settle();
    const jobRows = async () => Object.keys(await contentOf(store)).filter((key) => /^[lfbis]\/[^~]/.test(key));
    store.failNext({ when: 'after' });
    await expect(offstage.spawn({ kind: 'count', jobId: 'x', sessionId: 's' })).rejects.toMatchObject({ code: 'store.failed' });
    expect(await jobRows()).not.toEqual([]);
    await expect(offstage.get('x')).rejects.toMatchObject({ code: 'job.not_found' });
    await clock.advance(1_000);
    expect(await jobRows()).toEqual([]);
    expect(count.calls).toEqual([]);
    expect(engine.events.filter(({ type }) => type.startsWith('job.'))).toEqual([]);
  });

  it('J30: under a cancel nothing is born', async () => {
    const refusals: unknown[] = [];
    const held = gate();
    const parent = scripted({
      parent: async (context: JobContext) => {
        await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
        await context.spawn({ kind: 'held' }).catch((error: unknown) => refusals.push(error));
        await context.run({ kind: 'held' }).catch((error: unknown) => refusals.push(error));
      },
    });
    await using engine = await testEngine({ executors: { parent, held } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'parent', subject: 'parent' });
    await clock.settle();
    await offstage.cancel(jobId);
    // A host that spawns on behalf of the job is refused as well.
    await expect(offstage.spawn({ kind: 'held', parentJobId: jobId })).rejects.toMatchObject({ code: 'job.parent_cancelled' });
    expect((await offstage.wait(jobId)).status).toBe('cancelled');
    await expect(offstage.spawn({ kind: 'held', parentJobId: jobId })).rejects.toMatchObject({ code: 'job.parent_cancelled' });
    expect(refusals).toMatchObject([{ code: 'job.parent_cancelled' }, { code: 'job.parent_cancelled' }]);
    expect(held.calls).toEqual([]);
    expect((await offstage.list()).map((job) => job.jobId)).toEqual([jobId]);
  });
});
