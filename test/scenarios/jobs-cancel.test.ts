/** Acceptance scenarios of jobs, "Cancel": J57 to J70. */
import { describe, expect, it } from 'vitest';
import { Lineage } from '../../src/engine/lineage.ts';
import type { JobContext } from '../../src/model/executor.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { echo, gate, scripted, stubborn } from '../support/executors.ts';
import { testEngine } from '../support/test-engine.ts';

describe('cancel', () => {
  it('J57: a queued job is cancelled at once, and the running one of another session is not touched', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 1 });
    const { offstage } = engine;
    for (const sessionId of ['p1', 'p2']) await offstage.sessions.create({ sessionId });
    const running = await offstage.spawn({ kind: 'held', sessionId: 'p1' });
    const { context } = await held.started(running.jobId);
    const queued = await offstage.spawn({ kind: 'held', sessionId: 'p2' });
    const before = await offstage.get(running.jobId);
    const cancelled = await offstage.cancel(queued.jobId);
    expect(cancelled).toMatchObject({
      status: 'cancelled',
      startedAt: null,
      reasonCode: 'cancel.user',
      error: { code: 'job.cancelled', message: 'cancelled before pickup' },
    });
    expect(cancelled.cancelRequestedAt).toBe(cancelled.completedAt);
    expect(await offstage.get(running.jobId)).toEqual(before);
    expect(context.signal.aborted).toBe(false);
    await held.release(running.jobId, 'done');
    expect((await offstage.wait(running.jobId)).status).toBe('completed');
    expect(held.calls).toEqual([running.jobId]);
  });

  it('J58: the reason is the error, for a queued and for a running job', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 1 });
    const { offstage } = engine;
    const running = await offstage.spawn({ kind: 'held' });
    const { context } = await held.started(running.jobId);
    const queued = await offstage.spawn({ kind: 'held' });
    for (const { jobId } of [queued, running]) {
      await offstage.cancel(jobId, { reason: 'stop it' });
      expect(await offstage.wait(jobId)).toMatchObject({
        status: 'cancelled',
        cancelReason: 'stop it',
        error: { code: 'job.cancelled', message: 'stop it' },
      });
    }
    expect(context.signal.reason).toMatchObject({ name: 'AbortError', code: 'job.cancelled', message: 'stop it' });
    await expect(offstage.cancel(queued.jobId, { reason: 7 as unknown as string })).rejects.toMatchObject({
      code: 'input.invalid',
    });
  });

  it('J60: of two running jobs of one session only the named one is told', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage } = engine;
    const [first, second] = await Promise.all([offstage.spawn({ kind: 'held' }), offstage.spawn({ kind: 'held' })]);
    const { context } = await held.started(second.jobId);
    await held.started(first.jobId);
    await offstage.cancel(first.jobId);
    expect((await offstage.wait(first.jobId)).status).toBe('cancelled');
    expect(context.signal.aborted).toBe(false);
    await held.release(second.jobId, 'fine');
    expect(await offstage.wait(second.jobId)).toMatchObject({ status: 'completed', resultText: 'fine', cancelRequestedAt: null });
  });

  it('J61: a completed job is answered as it is', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'echo', input: 'a' });
    const done = await offstage.wait(jobId);
    await clock.advance(1_000);
    const seen = engine.events.length;
    expect(await offstage.cancel(jobId, { reason: 'late' })).toEqual(done);
    expect(await offstage.get(jobId)).toEqual(done);
    await clock.settle();
    expect(engine.events.length).toBe(seen);
    await expect(offstage.cancel('nobody')).rejects.toMatchObject({ code: 'job.not_found' });
  });

  for (const isStoreSlow of [false, true]) {
    it(`J63: a queued child in another session ends with its parent${isStoreSlow ? ', with a slow store too' : ''}`, async () => {
      const store = controlledStore(memoryStore());
      const held = gate();
      const parent = scripted({
        parent: async (context: JobContext) => {
          await context.spawn({ kind: 'held', jobId: 'child', sessionId: 'p2' });
          await new Promise((_, reject) => context.signal.addEventListener('abort', () => reject(context.signal.reason)));
        },
      });
      await using engine = await testEngine({ executors: { parent, held }, store, workers: 1 });
      const { offstage, clock } = engine;
      await offstage.tasks.create({ taskId: 't' });
      for (const sessionId of ['p1', 'p2']) await offstage.sessions.create({ sessionId, taskId: 't' });
      const { jobId } = await offstage.spawn({ kind: 'parent', subject: 'parent', sessionId: 'p1' });
      await engine.eventOf((event) => event.type === 'job.status' && event.jobId === 'child');
      if (isStoreSlow) store.hold();
      const cancelling = offstage.cancel(jobId, { reason: 'all of it' });
      if (isStoreSlow) {
        await clock.settle();
        expect((await offstage.get('child')).status).toBe('queued');
        store.release();
      }
      await cancelling;
      expect(await offstage.get('child')).toMatchObject({
        status: 'cancelled',
        startedAt: null,
        reasonCode: 'cancel.parent',
        error: { message: 'all of it' },
      });
      expect(await offstage.wait(jobId)).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.user' });
      await clock.settle();
      expect(held.calls).toEqual([]);
    });
  }

  it('J64: parent, child and grandchild end together, the leaves told first, in one commit', async () => {
    const told: string[] = [];
    const next: Readonly<Record<string, string | undefined>> = { parent: 'child', child: 'grandchild' };
    const level = async (context: JobContext, job: { readonly subject: string }) => {
      context.signal.addEventListener('abort', () => told.push(job.subject));
      const below = next[job.subject];
      if (below !== undefined) await context.spawn({ kind: 'family', subject: below, jobId: below });
      await new Promise((_, reject) => context.signal.addEventListener('abort', () => reject(context.signal.reason)));
    };
    const family = scripted({ parent: level, child: level, grandchild: level });
    await using engine = await testEngine({ executors: { family } });
    const { offstage, clock } = engine;
    await offstage.spawn({ kind: 'family', subject: 'parent', jobId: 'parent' });
    await clock.settle();
    expect((await offstage.list({ status: 'running' })).map(({ jobId }) => jobId)).toEqual(['grandchild', 'child', 'parent']);
    const seqBefore = (await offstage.snapshot()).seq;
    await offstage.cancel('parent');
    const ended = await offstage.waitMany(['parent', 'child', 'grandchild']);
    expect(ended).toMatchObject([
      { status: 'cancelled', reasonCode: 'cancel.user' },
      { status: 'cancelled', reasonCode: 'cancel.parent' },
      { status: 'cancelled', reasonCode: 'cancel.parent' },
    ]);
    expect(told).toEqual(['grandchild', 'child', 'parent']);
    const intents = engine.events.filter((event) => event.seq > seqBefore && event.seq <= seqBefore + 3);
    expect(intents).toMatchObject([
      { jobId: 'grandchild', status: 'running' },
      { jobId: 'child', status: 'running' },
      { jobId: 'parent', status: 'running' },
    ]);
  });

  it('J64: the cascade passes through a child that has ended', async () => {
    const held = gate();
    const family = scripted({
      parent: async (context: JobContext) => {
        await context.spawn({ kind: 'family', subject: 'child', jobId: 'child' });
        await new Promise((_, reject) => context.signal.addEventListener('abort', () => reject(context.signal.reason)));
      },
      child: async (context: JobContext) => {
        await context.spawn({ kind: 'held', jobId: 'grandchild' });
      },
    });
    await using engine = await testEngine({ executors: { family, held } });
    const { offstage, clock } = engine;
    await offstage.spawn({ kind: 'family', subject: 'parent', jobId: 'parent' });
    await held.started('grandchild');
    await clock.settle();
    expect((await offstage.get('child')).status).toBe('completed');
    await offstage.cancel('parent');
    expect(await offstage.wait('grandchild')).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.parent' });
    expect((await offstage.get('child')).status).toBe('completed');
  });

  it('J66: a cycle of parents is walked once, in every direction', () => {
    // No verb can make one: a parent exists before its child. The walk ends on damaged data all the same.
    const lineage = new Lineage();
    lineage.add('a', 'b');
    lineage.add('b', 'a');
    expect(lineage.descendants('a')).toEqual(['b']);
    expect(lineage.descendants('b')).toEqual(['a']);
    expect(lineage.cancelledAncestor('a')).toBeNull();
    expect(lineage.isAncestor('b', 'a')).toBe(true);
    lineage.markCancelled('b');
    expect(lineage.cancelledAncestor('a')).toBe('b');
    lineage.end('a');
    lineage.end('b');
  });

  it('J67: a body that ends between the request and its storing keeps its own end', async () => {
    const store = controlledStore(memoryStore());
    const held = gate();
    await using engine = await testEngine({ executors: { held }, store });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    await held.started(jobId);
    await clock.settle();
    // The end is decided and not stored yet when the cancel comes.
    store.hold();
    await held.release(jobId, 'first');
    await clock.settle();
    expect((await offstage.get(jobId)).status).toBe('running');
    const cancelling = offstage.cancel(jobId, { reason: 'second' });
    await clock.settle();
    store.release();
    expect(await cancelling).toMatchObject({ status: 'completed', resultText: 'first', cancelRequestedAt: null });
    expect(engine.statuses(jobId)).toEqual(['pending', 'queued', 'running', 'completed']);
  });

  it('J67: a cancel that is decided and not stored yet is not overtaken by the end of the body', async () => {
    const store = controlledStore(memoryStore());
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { stuck }, store });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'stuck' });
    const { context } = await stuck.started(jobId);
    await clock.settle();
    store.hold();
    const cancelling = offstage.cancel(jobId);
    await clock.settle();
    // The intent is stored before any signal fires.
    expect(context.signal.aborted).toBe(false);
    await stuck.release(jobId, 'text');
    await clock.settle();
    store.release();
    await cancelling;
    expect(await offstage.wait(jobId)).toMatchObject({ status: 'cancelled', resultText: 'text', reasonCode: 'cancel.user' });
    expect(engine.statuses(jobId)).toEqual(['pending', 'queued', 'running', 'running', 'cancelled']);
  });

  it('J69: a body that returns normally after a cancel is cancelled, and its text is kept', async () => {
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { stuck } });
    const { offstage } = engine;
    const { jobId } = await offstage.spawn({ kind: 'stuck' });
    await stuck.started(jobId);
    await offstage.cancel(jobId);
    await stuck.release(jobId, 'almost there');
    expect(await offstage.wait(jobId)).toMatchObject({
      status: 'cancelled',
      resultText: 'almost there',
      detached: false,
      error: { code: 'job.cancelled', message: 'cancelled' },
    });
    expect(engine.statuses(jobId)).not.toContain('completed');
  });

  it('J70: a second cancel moves no deadline and changes no field', async () => {
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { stuck }, cancelGraceMs: 1_000 });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'stuck' });
    await stuck.started(jobId);
    const first = await offstage.cancel(jobId, { reason: 'one' });
    await clock.advance(600);
    const seen = engine.events.length;
    expect(await offstage.cancel(jobId, { reason: 'two' })).toEqual(first);
    expect(await Promise.all([offstage.cancel(jobId), offstage.cancel(jobId)])).toEqual([first, first]);
    expect(engine.events.length).toBe(seen);
    await clock.advance(399);
    expect((await offstage.get(jobId)).status).toBe('running');
    await clock.advance(1);
    expect(await offstage.get(jobId)).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.timed_out', cancelReason: 'one' });
    await stuck.release(jobId);
  });

  it('J70: the deadline of one run is not the deadline of the next', async () => {
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { stuck }, cancelGraceMs: 1_000 });
    const { offstage, clock } = engine;
    const first = await offstage.spawn({ kind: 'stuck' });
    await stuck.started(first.jobId);
    await offstage.cancel(first.jobId);
    await stuck.release(first.jobId);
    await offstage.wait(first.jobId);
    const second = await offstage.spawn({ kind: 'stuck' });
    await stuck.started(second.jobId);
    await clock.advance(5_000);
    expect((await offstage.get(second.jobId)).status).toBe('running');
    await stuck.release(second.jobId, 'done');
    expect((await offstage.wait(second.jobId)).resultText).toBe('done');
    expect(clock.pending).toBeLessThanOrEqual(1);
  });
});
