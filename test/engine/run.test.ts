/** `run` and `contextOf`: foreground jobs of hosts, and verbs on behalf of a body (spec 4.8, 7). */
import { describe, expect, it } from 'vitest';
import type { JobView } from '../../src/model/records.ts';
import { echo, gate, throwing } from '../support/executors.ts';
import { testEngine } from '../support/test-engine.ts';

describe('run', () => {
  it('starts a foreground job and waits without limit; however it ends, its record is the answer', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held, broken: throwing(new Error('x')) } });
    const { offstage, clock } = engine;
    const spawned: JobView[] = [];
    const running = offstage.run({ kind: 'held', subject: 'a' }, { onSpawned: (job) => void spawned.push(job) });
    await clock.settle();
    expect(spawned).toMatchObject([{ subject: 'a', wait: true, status: 'queued' }]);
    await clock.advance(48 * 60 * 60 * 1000);
    await held.release(spawned[0]?.jobId as string, 'done');
    expect(await running).toMatchObject({ status: 'completed', resultText: 'done', wait: true });
    expect(await offstage.run({ kind: 'broken' })).toMatchObject({ status: 'errored', error: { message: 'Error: x' } });
    const cancelled = offstage.run({ kind: 'held' }, { onSpawned: ({ jobId }) => void offstage.cancel(jobId) });
    expect(await cancelled).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.user' });
  });

  it('whose signal fires rejects with its reason, and the job is cancelled', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 1 });
    const { offstage, clock } = engine;
    const controller = new AbortController();
    const reason = new Error('changed my mind');
    const [first, second] = [1, 2].map(() => offstage.run({ kind: 'held' }, { signal: controller.signal }));
    await clock.settle();
    controller.abort(reason);
    await expect(first).rejects.toBe(reason);
    await expect(second).rejects.toBe(reason);
    await clock.settle();
    expect(await offstage.list()).toMatchObject([
      { status: 'cancelled', reasonCode: 'cancel.caller_gone', startedAt: null },
      { status: 'cancelled', reasonCode: 'cancel.caller_gone' },
    ]);
    await expect(offstage.run({ kind: 'held' }, { signal: controller.signal })).rejects.toBe(reason);
    expect(await offstage.list()).toHaveLength(2);
  });

  it('G16: whose onSpawned throws or rejects goes on, and that is said', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    for (const onSpawned of [throwing(new Error('mine')), () => Promise.reject(new Error('mine'))]) {
      expect(await offstage.run({ kind: 'echo', input: 1 }, { onSpawned })).toMatchObject({ status: 'completed', result: 1 });
    }
    expect(engine.log.filter(({ event }) => event === 'run.observer_failed')).toHaveLength(2);
  });

  it('takes what it is given apart before anything is started', async () => {
    await using engine = await testEngine({ executors: { echo } });
    const { offstage } = engine;
    const bad = [{ signal: 'soon' }, { onSpawned: 'tell me' }, { timeoutMs: 5 }, 7, null];
    for (const more of bad) {
      await expect(offstage.run({ kind: 'echo' }, more as never)).rejects.toMatchObject({ code: 'input.invalid' });
    }
    await expect(offstage.run({ kind: 'nothing' } as never)).rejects.toMatchObject({ code: 'executor.unknown' });
    expect(await offstage.list()).toEqual([]);
    // It waits, whatever the options say.
    expect(await offstage.run({ kind: 'echo', input: 'a', wait: false })).toMatchObject({ resultText: 'a', wait: true });
  });
});

describe('contextOf', () => {
  it('is what the body was handed: its waits give up the slot, its children are the body’s, and it dies with the body', async () => {
    await using engine = await testEngine({
      workers: 1,
      executors: {
        echo,
        body: async ({ jobId }, context) => {
          const outside = engine.offstage.contextOf(jobId);
          const child = await outside.run({ kind: 'echo', input: 'child' });
          return [outside === context, child.parentJobId === jobId, child.resultText];
        },
      },
    });
    const { offstage } = engine;
    const { jobId } = await offstage.spawn({ kind: 'body' });
    expect((await offstage.wait(jobId)).result).toEqual([true, true, 'child']);
    for (const id of [jobId, 'nobody']) {
      expect(() => offstage.contextOf(id)).toThrow(expect.objectContaining({ code: 'job.not_found' }));
    }
    expect(() => offstage.contextOf('')).toThrow(expect.objectContaining({ code: 'input.invalid' }));
  });

  it('of a job that is queued is not there yet', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 1 });
    const { offstage, clock } = engine;
    const [first, second] = [await offstage.spawn({ kind: 'held' }), await offstage.spawn({ kind: 'held' })];
    await held.started(first.jobId);
    await clock.settle();
    expect(() => offstage.contextOf(second.jobId)).toThrow(expect.objectContaining({ code: 'job.not_found' }));
    for (const { jobId } of [first, second]) await held.release(jobId);
  });
});
