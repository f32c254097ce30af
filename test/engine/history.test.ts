/** A job's history answers why the job is where it is (spec 2; seed 000 D4), for every way to get there. */
import { describe, expect, it } from 'vitest';
import { echo, gate, stubborn, throwing } from '../support/executors.ts';
import { pastOf } from '../support/past.ts';
import { testEngine } from '../support/test-engine.ts';

const START = Date.UTC(2026, 0, 1);

describe('history', () => {
  it('of a waiting job says since when it waits, and of a running one since when it runs', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 1 });
    const { offstage, clock } = engine;
    const first = await offstage.spawn({ kind: 'held' });
    await held.started(first.jobId);
    await clock.advance(1_000);
    const { jobId } = await offstage.spawn({ kind: 'held' });
    await clock.advance(5_000);
    expect(await pastOf(offstage, jobId)).toEqual([
      { at: START + 1_000, type: 'transition', to: 'pending' },
      { at: START + 1_000, type: 'transition', from: 'pending', to: 'queued' },
    ]);
    await held.release(first.jobId);
    await clock.settle();
    expect((await pastOf(offstage, jobId)).at(-1)).toEqual({
      at: START + 6_000,
      type: 'transition',
      from: 'queued',
      to: 'running',
    });
    await held.release(jobId);
  });

  it('of an end names its reason and its cause', async () => {
    const held = gate();
    const stuck = stubborn();
    await using engine = await testEngine({
      executors: { held, stuck, echo, broken: throwing(new TypeError('no')) },
      cancelGraceMs: 500,
    });
    const { offstage, clock } = engine;
    const lastOf = async (jobId: string) => (await pastOf(offstage, jobId)).at(-1);
    const done = await offstage.spawn({ kind: 'echo' });
    await offstage.wait(done.jobId);
    expect(await lastOf(done.jobId)).toEqual({
      at: START,
      type: 'transition',
      from: 'running',
      to: 'completed',
      reasonCode: 'completed',
    });
    const broken = await offstage.spawn({ kind: 'broken' });
    await offstage.wait(broken.jobId);
    expect(await lastOf(broken.jobId)).toEqual({
      at: START,
      type: 'transition',
      from: 'running',
      to: 'errored',
      reasonCode: 'failed',
      detail: 'TypeError: no',
    });
    const { jobId } = await offstage.spawn({ kind: 'stuck' });
    await stuck.started(jobId);
    await clock.advance(10);
    await offstage.cancel(jobId, { reason: 'enough' });
    await clock.advance(500);
    await clock.advance(90);
    await stuck.release(jobId, 'late');
    await clock.settle();
    expect((await pastOf(offstage, jobId)).slice(2)).toEqual([
      { at: START, type: 'transition', from: 'queued', to: 'running' },
      { at: START + 10, type: 'cancel_requested', detail: 'enough' },
      {
        at: START + 510,
        type: 'transition',
        from: 'running',
        to: 'cancelled',
        reasonCode: 'cancel.timed_out',
        detail: 'cancel timed out, worker may be stuck',
      },
      { at: START + 600, type: 'late_result_dropped' },
      { at: START + 600, type: 'detached_settled' },
    ]);
    const queued = await offstage.spawn({ kind: 'held', jobId: 'q' });
    await held.started(queued.jobId);
    await held.release(queued.jobId);
    await offstage.wait(queued.jobId);
  });

  it('of a time-out says what was exceeded, before the body has ended', async () => {
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { stuck } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'stuck', timeoutMs: 100 });
    await stuck.started(jobId);
    await clock.advance(100);
    expect((await pastOf(offstage, jobId)).at(-1)).toEqual({
      at: START + 100,
      type: 'ending',
      detail: 'The job ran longer than its limit of 100 ms.',
    });
    expect((await offstage.get(jobId)).status).toBe('running');
    await stuck.release(jobId);
    await offstage.wait(jobId);
  });

  it('of an unknown job is job.not_found, of a pruned one job.expired', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    await expect(pastOf(offstage, 'nobody')).rejects.toMatchObject({ code: 'job.not_found' });
    const { jobId } = await offstage.spawn({ kind: 'echo' });
    await offstage.wait(jobId);
    await offstage.prune({ maxJobs: 0 });
    await expect(pastOf(offstage, jobId)).rejects.toMatchObject({ code: 'job.expired' });
  });
});
