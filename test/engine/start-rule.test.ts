/** When a body may be called (spec 6 "Start rule"), and what a new process does with what was launched (spec 6 "Recovery"). */
import { describe, expect, it } from 'vitest';
import type { ReapVerdict } from '../../src/engine/recovery.ts';
import type { ProcessRecord } from '../../src/model/records.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { type ControlledStore, controlledStore } from '../../src/testing/controlled-store.ts';
import { counting, echo, gate } from '../support/executors.ts';
import { pastOf } from '../support/past.ts';
import { contentOf } from '../support/store-content.ts';
import { testEngine } from '../support/test-engine.ts';

/** An executor like that of commands: it launches something that outlives this process. */
const launching = () => controlledExecutor({ capabilities: { strictStart: true, killable: true, workload: 'shell' } });

const processRows = async (store: ControlledStore): Promise<readonly ProcessRecord[]> =>
  Object.entries(await contentOf(store))
    .filter(([key]) => key.startsWith('x/'))
    .map(([, value]) => JSON.parse(value) as ProcessRecord);

describe('a body', () => {
  it('is called only when its acceptance is stored, and may be at work for one commit before its start is shown', async () => {
    const store = controlledStore(memoryStore());
    const held = gate();
    await using engine = await testEngine({ executors: { held }, store });
    const { offstage, clock } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    store.hold();
    const spawning = offstage.spawn({ kind: 'held', sessionId: 's' });
    await clock.settle();
    expect(held.calls).toEqual([]);
    store.release();
    const { jobId } = await spawning;
    store.hold();
    await clock.settle();
    expect(held.calls).toEqual([jobId]);
    expect((await offstage.get(jobId)).status).toBe('queued');
    expect(engine.statuses(jobId)).toEqual(['pending', 'queued']);
    store.release();
    await clock.settle();
    expect((await offstage.get(jobId)).status).toBe('running');
    await held.release(jobId);
  });

  it('is never called when its cancel was decided before', async () => {
    const store = controlledStore(memoryStore());
    const count = counting();
    await using engine = await testEngine({ executors: { count }, store });
    const { offstage, clock } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    store.hold();
    const spawning = offstage.spawn({ kind: 'count', sessionId: 's', jobId: 'x' });
    await clock.settle();
    const cancelling = offstage.cancel('x');
    await clock.settle();
    store.release();
    expect(await cancelling).toMatchObject({ status: 'cancelled', startedAt: null });
    await spawning;
    await clock.settle();
    expect(count.calls).toEqual([]);
  });

  it('that was called, with the start still on its way: a cancel is that of a running job, both stored together', async () => {
    const store = controlledStore(memoryStore());
    const held = gate();
    await using engine = await testEngine({ executors: { held }, store });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    store.hold();
    const { context } = await held.started(jobId);
    await clock.settle();
    const cancelling = offstage.cancel(jobId);
    await clock.settle();
    expect(context.signal.aborted).toBe(false);
    store.release();
    await cancelling;
    expect(await offstage.wait(jobId)).toMatchObject({ status: 'cancelled', startedAt: expect.any(Number) });
    expect(engine.statuses(jobId)).toEqual(['pending', 'queued', 'running', 'running', 'cancelled']);
  });
});

describe('a strict body', () => {
  it('is called only when its start and its launch token are stored', async () => {
    const store = controlledStore(memoryStore());
    const launch = launching();
    await using engine = await testEngine({ executors: { launch }, store });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'launch' });
    store.hold();
    await clock.settle();
    expect(launch.calls).toEqual([]);
    store.release();
    const { context } = await launch.started(jobId);
    expect((await offstage.get(jobId)).status).toBe('running');
    const { executionId } = context.execution;
    expect(await processRows(store)).toMatchObject([{ executionId, jobId, pid: null }]);
    expect(store.writes.at(-1)?.sync).toBe(true);
    await context.execution.launched({ pid: 4711, startTime: '99', bootId: 'boot' });
    expect(await processRows(store)).toMatchObject([{ executionId, jobId, pid: 4711, startTime: '99', bootId: 'boot' }]);
    expect(await offstage.processes()).toEqual(await processRows(store));
    expect((await pastOf(offstage, jobId)).at(-1)).toMatchObject({ type: 'process_launched', detail: 'pid 4711' });
    await launch.release(jobId, 'done');
    await offstage.wait(jobId);
    expect(await processRows(store)).toEqual([]);
    expect(await offstage.processes()).toEqual([]);
  });

  it('is never called when the start cannot be stored: the job is errored, and the slot comes back', async () => {
    const store = controlledStore(memoryStore());
    const launch = launching();
    await using engine = await testEngine({ executors: { launch, echo }, store, workers: 1 });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'launch' });
    store.failNext({ when: 'before' });
    const ended = await offstage.wait(jobId);
    expect(ended).toMatchObject({ status: 'errored', error: { code: 'store.failed' } });
    await clock.advance(1_000);
    expect(launch.calls).toEqual([]);
    expect(await processRows(store)).toEqual([]);
    const next = await offstage.spawn({ kind: 'echo', input: 'next' });
    expect((await offstage.wait(next.jobId)).resultText).toBe('next');
  });

  it('is never called when a cancel comes while its start is on its way', async () => {
    const store = controlledStore(memoryStore());
    const launch = launching();
    await using engine = await testEngine({ executors: { launch }, store });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'launch' });
    store.hold();
    await clock.settle();
    const cancelling = offstage.cancel(jobId);
    await clock.settle();
    store.release();
    await cancelling;
    expect(await offstage.wait(jobId)).toMatchObject({ status: 'cancelled' });
    await clock.settle();
    expect(launch.calls).toEqual([]);
    expect(await processRows(store)).toEqual([]);
    expect(offstage.health().pool.running).toBe(0);
  });

  it('is not said to be at work still when the grace of its cancel is over before its start is stored', async () => {
    const store = controlledStore(memoryStore());
    const launch = launching();
    await using engine = await testEngine({ executors: { launch }, store, cancelGraceMs: 1_000 });
    const { offstage, clock } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    const { jobId } = await offstage.spawn({ kind: 'launch', sessionId: 's' });
    store.hold();
    await clock.settle();
    const cancelling = offstage.cancel(jobId);
    await clock.advance(1_000);
    expect(offstage.health().pool).toMatchObject({ running: 0, detached: 0 });
    store.release();
    await cancelling;
    expect(await offstage.wait(jobId)).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.user', detached: false });
    await clock.settle();
    expect([launch.calls, await processRows(store)]).toEqual([[], []]);
  });

  it('starts in its turn, also between others', async () => {
    const launch = launching();
    const held = gate();
    const order: string[] = [];
    const noted = (executor: typeof held) => ({
      ...executor,
      run: (job: Parameters<typeof held.run>[0], context: Parameters<typeof held.run>[1]) => {
        order.push(job.jobId);
        return executor.run(job, context);
      },
    });
    await using engine = await testEngine({ executors: { launch: noted(launch), held: noted(held) }, workers: 6 });
    const { offstage, clock } = engine;
    const kinds = ['held', 'launch', 'held', 'launch', 'held', 'held'];
    const jobs = await Promise.all(kinds.map((kind) => offstage.spawn({ kind })));
    await clock.settle();
    expect(order).toEqual(jobs.map(({ jobId }) => jobId));
  });
});

describe('what an earlier process launched', () => {
  const crashed = async (isLaunched: boolean) => {
    const store = controlledStore(memoryStore());
    const launch = launching();
    const engine = await testEngine({ executors: { launch }, store });
    const { jobId } = await engine.offstage.spawn({ kind: 'launch' });
    const { context } = await launch.started(jobId);
    if (isLaunched) await context.execution.launched({ pid: 4711, startTime: '99', bootId: 'boot' });
    await engine.clock.settle();
    return { found: controlledStore(await store.crash()), jobId, clock: engine.clock, launch };
  };

  for (const verdict of ['gone', 'killed', 'not_ours'] as const) {
    it(`and is ${verdict}: the job is errored, the process forgotten`, async () => {
      const { found, jobId, clock, launch } = await crashed(true);
      const asked: ProcessRecord[] = [];
      const reap = async (record: ProcessRecord): Promise<ReapVerdict> => {
        asked.push(record);
        // The jobs are still as they were: processes end first.
        expect(Object.keys(await contentOf(found)).filter((key) => /^l\/[0-9]/.test(key))).toHaveLength(1);
        return { verdict, detail: 'as the test says' };
      };
      await using engine = await testEngine({ store: found, clock, reap, executors: { launch } });
      expect(asked).toMatchObject([{ jobId, pid: 4711, startTime: '99', bootId: 'boot' }]);
      expect(engine.recovery).toMatchObject({ abandoned: [jobId], processes: [{ jobId, pid: 4711, verdict }] });
      expect(await engine.offstage.get(jobId)).toMatchObject({
        status: 'errored',
        detached: false,
        error: { message: 'worker died before completion' },
      });
      expect(await processRows(found)).toEqual([]);
      expect(launch.calls).toEqual([jobId]);
    });
  }

  it('and cannot be verified: the record says so, the process stays known, and a second start changes nothing', async () => {
    const { found, jobId, clock, launch } = await crashed(true);
    const reap = async (): Promise<ReapVerdict> => ({ verdict: 'unverified', detail: 'pid 4711 may still be at work' });
    const first = await testEngine({ store: found, clock, reap, executors: { launch } });
    const record = await first.offstage.get(jobId);
    expect(record).toMatchObject({
      status: 'errored',
      detached: true,
      error: { message: 'worker died before completion; pid 4711 may still be at work' },
    });
    const rows = await processRows(found);
    expect(rows).toMatchObject([{ pid: 4711 }]);
    const again = controlledStore(await found.crash());
    const before = await contentOf(again);
    await using second = await testEngine({ store: again, clock, reap, executors: { launch } });
    expect(second.recovery.abandoned).toEqual([]);
    expect(second.recovery.processes).toMatchObject([{ verdict: 'unverified' }]);
    expect(await second.offstage.get(jobId)).toEqual(record);
    expect(await contentOf(again)).toEqual(before);
  });

  it('or was about to: the token alone is looked for; a reaper that fails counts as unverified', async () => {
    const { found, jobId, clock, launch } = await crashed(false);
    const reap = async (record: ProcessRecord): Promise<ReapVerdict> => {
      expect(record).toMatchObject({ jobId, pid: null, executionId: expect.stringMatching(/^exec_/) });
      throw new Error('no permission');
    };
    await using engine = await testEngine({ store: found, clock, reap, executors: { launch } });
    expect(await engine.offstage.get(jobId)).toMatchObject({
      detached: true,
      error: { message: expect.stringContaining('no permission') },
    });
  });
});
