import { describe, expect, it } from 'vitest';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { testEngine } from '../support/test-engine.ts';

describe('one job from spawn to end', () => {
  it('answers queued, runs, completes, and every way of reading agrees', async () => {
    const gate = controlledExecutor();
    await using engine = await testEngine({ executors: { gate } });
    const { offstage } = engine;
    const job = await offstage.spawn({ kind: 'gate', input: { n: 1 } });
    expect(job.status).toBe('queued');
    await gate.started(job.jobId);
    await engine.eventOf((event) => event.type === 'job.status' && event.status === 'running');
    expect((await offstage.get(job.jobId)).status).toBe('running');
    await gate.release(job.jobId, 'done');
    const done = await offstage.wait(job.jobId);
    expect(done).toMatchObject({ status: 'completed', resultText: 'done', reasonCode: 'completed', bodyLive: false });
    expect(await offstage.get(job.jobId)).toEqual(done);
    expect(await offstage.list()).toEqual([done]);
    expect(engine.statuses(job.jobId)).toEqual(['pending', 'queued', 'running', 'completed']);
  });

  it('ends a stubborn body by force at the end of the grace, and says so', async () => {
    const stubborn = controlledExecutor({ stubborn: true });
    await using engine = await testEngine({ executors: { stubborn } });
    const { offstage, clock } = engine;
    const job = await offstage.spawn({ kind: 'stubborn' });
    await stubborn.started(job.jobId);
    expect(await offstage.cancel(job.jobId)).toMatchObject({ status: 'running', cancelReason: null });
    const waiting = offstage.wait(job.jobId, { timeoutMs: null });
    await clock.advance(29_999);
    expect((await offstage.get(job.jobId)).status).toBe('running');
    await clock.advance(1);
    expect(await waiting).toMatchObject({ status: 'cancelled', detached: true, reasonCode: 'cancel.timed_out', bodyLive: true });
    expect(offstage.health().pool).toMatchObject({ running: 0, detached: 1 });
    await stubborn.release(job.jobId, 'too late');
    await clock.settle();
    expect(offstage.health().pool).toMatchObject({ running: 0, detached: 0 });
    expect((await offstage.history(job.jobId)).map(({ type }) => type)).toEqual([
      'transition',
      'transition',
      'transition',
      'cancel_requested',
      'transition',
      'late_result_dropped',
      'detached_settled',
    ]);
  });
});
