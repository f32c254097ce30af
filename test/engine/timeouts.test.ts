/** Time limits of a job (spec 2): they run from the start of the body, on elapsed time, and end it like any other cause. */
import { describe, expect, it } from 'vitest';
import type { JobContext } from '../../src/model/executor.ts';
import { echo, gate, scripted, stubborn } from '../support/executors.ts';
import { pastOf } from '../support/past.ts';
import { testEngine } from '../support/test-engine.ts';

describe('timeoutMs', () => {
  it('ends the job when it is over, and not before; the body is told why', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 1 });
    const { offstage, clock } = engine;
    const first = await offstage.spawn({ kind: 'held' });
    // Waiting in the queue does not count.
    const { jobId } = await offstage.spawn({ kind: 'held', timeoutMs: 500 });
    await held.started(first.jobId);
    await clock.advance(10_000);
    await held.release(first.jobId);
    const { context } = await held.started(jobId);
    await clock.advance(499);
    expect((await offstage.get(jobId)).status).toBe('running');
    await clock.advance(1);
    expect(context.signal.reason).toMatchObject({ code: 'job.timed_out' });
    expect(await offstage.wait(jobId)).toMatchObject({
      status: 'errored',
      reasonCode: 'timed_out',
      error: { code: 'job.timed_out', message: 'The job ran longer than its limit of 500 ms.' },
      cancelRequestedAt: null,
      detached: false,
    });
    expect((await pastOf(offstage, jobId)).map(({ type }) => type)).toEqual([
      'transition',
      'transition',
      'transition',
      'ending',
      'transition',
    ]);
    expect(engine.statuses(jobId)).toEqual(['pending', 'queued', 'running', 'errored']);
  });

  it('keeps the text of a body that returns after it, and the limit as the cause', async () => {
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { stuck } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'stuck', timeoutMs: 100 });
    await stuck.started(jobId);
    await clock.advance(100);
    await stuck.release(jobId, 'half of it');
    expect(await offstage.wait(jobId)).toMatchObject({ status: 'errored', reasonCode: 'timed_out', resultText: 'half of it' });
  });

  it('forces the end of a body that ignores it, at the cancel grace', async () => {
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { stuck }, cancelGraceMs: 1_000 });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'stuck', timeoutMs: 100 });
    const { context } = await stuck.started(jobId);
    context.partial('so far');
    await clock.advance(100);
    // A cancel that comes later moves nothing: the first cause wins.
    await clock.advance(500);
    expect(await offstage.cancel(jobId)).toMatchObject({ status: 'running', cancelRequestedAt: null });
    await clock.advance(499);
    expect((await offstage.get(jobId)).status).toBe('running');
    await clock.advance(1);
    expect(await offstage.get(jobId)).toMatchObject({
      status: 'errored',
      reasonCode: 'timed_out',
      detached: true,
      resultText: 'so far',
    });
    await stuck.release(jobId);
  });

  it('does not touch a job that ends in time, and leaves no timer', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held', timeoutMs: 1_000, idleTimeoutMs: 900 });
    await held.started(jobId);
    await clock.advance(800);
    await held.release(jobId, 'in time');
    const done = await offstage.wait(jobId);
    await clock.advance(10_000);
    expect(await offstage.get(jobId)).toEqual(done);
    expect(done.status).toBe('completed');
    // The retention sweep's own timer is all that is left.
    expect(clock.pending).toBe(1);
  });

  it('of a queued job that is cancelled never fires', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 1 });
    const { offstage, clock } = engine;
    const first = await offstage.spawn({ kind: 'held' });
    const { jobId } = await offstage.spawn({ kind: 'held', timeoutMs: 10 });
    const cancelled = await offstage.cancel(jobId);
    await clock.advance(1_000);
    expect(await offstage.get(jobId)).toEqual(cancelled);
    await held.release(first.jobId);
  });
});

describe('idleTimeoutMs', () => {
  it('ends a body that gives no sign of life; progress, output and partial text are signs', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held', idleTimeoutMs: 100 });
    const { context } = await held.started(jobId);
    for (const sign of [() => context.progress(1), () => context.output('a line\n'), () => context.partial('some')]) {
      await clock.advance(99);
      sign();
      await clock.settle();
    }
    await clock.advance(99);
    expect((await offstage.get(jobId)).status).toBe('running');
    await clock.advance(1);
    expect(await offstage.wait(jobId)).toMatchObject({
      status: 'errored',
      reasonCode: 'idle_timed_out',
      error: { code: 'job.idle_timed_out', message: 'The job gave no sign of life for 100 ms.' },
      resultText: 'some',
    });
  });

  it('and timeoutMs: the one that comes first ends it', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage, clock } = engine;
    const idle = await offstage.spawn({ kind: 'held', idleTimeoutMs: 100, timeoutMs: 101 });
    const total = await offstage.spawn({ kind: 'held', idleTimeoutMs: 101, timeoutMs: 100 });
    await held.started(idle.jobId);
    await held.started(total.jobId);
    await clock.advance(200);
    expect((await offstage.get(idle.jobId)).reasonCode).toBe('idle_timed_out');
    expect((await offstage.get(total.jobId)).reasonCode).toBe('timed_out');
  });
});

describe('what is no limit', () => {
  it('null and Infinity mean none, also for weeks; larger than Node can count is long', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage, clock } = engine;
    const jobs = await Promise.all([
      offstage.spawn({ kind: 'held', timeoutMs: null, idleTimeoutMs: Number.POSITIVE_INFINITY }),
      offstage.spawn({ kind: 'held', timeoutMs: 2 ** 31 + 5 }),
    ]);
    const [none, long] = jobs.map(({ jobId }) => jobId) as [string, string];
    await held.started(none);
    await held.started(long);
    await clock.advance(2 ** 31);
    expect((await offstage.get(none)).status).toBe('running');
    expect((await offstage.get(long)).status).toBe('running');
    await clock.advance(10);
    expect((await offstage.get(none)).status).toBe('running');
    expect((await offstage.get(long)).reasonCode).toBe('timed_out');
  });

  it('NaN, negative numbers and texts are refused', async () => {
    await using engine = await testEngine({ executors: { echo } });
    for (const bad of [Number.NaN, -1, Number.NEGATIVE_INFINITY, '5' as unknown as number]) {
      await expect(engine.offstage.spawn({ kind: 'echo', timeoutMs: bad })).rejects.toMatchObject({ code: 'input.invalid' });
      await expect(engine.offstage.spawn({ kind: 'echo', idleTimeoutMs: bad })).rejects.toMatchObject({ code: 'input.invalid' });
    }
  });

  it('a body that waits inside the engine can time out, and then unwinds', async () => {
    const held = gate();
    const seen: unknown[] = [];
    const parent = scripted({
      parent: async (context: JobContext) => {
        try {
          await context.run({ kind: 'held', jobId: 'child' });
        } catch (error) {
          seen.push(error);
          throw error;
        }
      },
    });
    await using engine = await testEngine({ executors: { parent, held }, workers: 1 });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'parent', subject: 'parent', timeoutMs: 100 });
    await held.started('child');
    await clock.advance(100);
    expect(await offstage.wait(jobId)).toMatchObject({ status: 'errored', reasonCode: 'timed_out', detached: false });
    expect(seen).toMatchObject([{ name: 'AbortError', code: 'job.cancelled' }]);
    expect(await offstage.wait('child')).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.caller_gone' });
  });
});
