/** Acceptance scenarios of jobs, "Pool and fairness": J37 to J46. */
import { describe, expect, it } from 'vitest';
import { settingsFrom } from '../../src/engine/settings.ts';
import type { JobContext } from '../../src/model/executor.ts';
import { gate, scripted } from '../support/executors.ts';
import { type TestEngine, testEngine } from '../support/test-engine.ts';

/** How many jobs are running after each event of the log, by the log alone. */
function runningOverTime(engine: TestEngine): readonly number[] {
  const running = new Set<string>();
  return engine.events.map((event) => {
    if (event.type !== 'job.status') return running.size;
    if (event.status === 'running') running.add(event.jobId);
    else running.delete(event.jobId);
    return running.size;
  });
}

describe('the pool', () => {
  it('J37: with one worker at most one job runs at any time, in the order of admission', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 1 });
    const { offstage, clock } = engine;
    const samples: number[] = [];
    offstage.onEvent(async () => {
      samples.push((await offstage.list({ status: 'running' })).length);
    });
    const jobs = await Promise.all([1, 2, 3].map(() => offstage.spawn({ kind: 'held' })));
    const ids = jobs.map(({ jobId }) => jobId);
    for (const id of ids) {
      await held.started(id);
      expect([...held.live]).toEqual([id]);
      await clock.settle();
      await held.release(id, id);
    }
    expect((await offstage.waitMany(ids)).map((entry) => 'status' in entry && entry.resultText)).toEqual(ids);
    await clock.settle();
    expect(held.calls).toEqual(ids);
    expect(Math.max(...samples)).toBe(1);
    expect(Math.max(...runningOverTime(engine))).toBe(1);
  });

  it('J37: a slot that comes free is told before it is taken again', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 1 });
    const { offstage, clock } = engine;
    const [first, second] = await Promise.all([offstage.spawn({ kind: 'held' }), offstage.spawn({ kind: 'held' })]);
    await held.release(first.jobId);
    await held.release(second.jobId);
    await clock.settle();
    const told = engine.events.flatMap((event) =>
      event.type === 'job.status' && event.status !== 'queued' ? [[event.jobId === first.jobId ? 1 : 2, event.status]] : [],
    );
    expect(told).toEqual([
      [1, 'running'],
      [1, 'completed'],
      [2, 'running'],
      [2, 'completed'],
    ]);
  });

  it('J39: a saturated session is skipped, and keeps its place', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 2, perSessionLimit: 1 });
    const { offstage, clock } = engine;
    for (const sessionId of ['p1', 'p2']) await offstage.sessions.create({ sessionId });
    const [a, b, c, d] = await Promise.all(
      ['p1', 'p1', 'p2', 'p1'].map((sessionId) => offstage.spawn({ kind: 'held', sessionId })),
    );
    const id = (job: { jobId: string } | undefined): string => (job as { jobId: string }).jobId;
    await clock.settle();
    expect([...held.live]).toEqual([id(a), id(c)]);
    await held.release(id(c));
    await clock.settle();
    expect([...held.live]).toEqual([id(a)]);
    await held.release(id(a));
    await clock.settle();
    expect([...held.live]).toEqual([id(b)]);
    await held.release(id(b));
    await clock.settle();
    expect([...held.live]).toEqual([id(d)]);
    await held.release(id(d));
    await offstage.waitMany([id(a), id(b), id(c), id(d)]);
  });

  it('J40: three jobs of one session run at once, each with its own handle', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 3, perSessionLimit: 3 });
    const { offstage, clock } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    const jobs = await Promise.all([1, 2, 3].map(() => offstage.spawn({ kind: 'held', sessionId: 's' })));
    const runs = await Promise.all(jobs.map(({ jobId }) => held.started(jobId)));
    expect(held.live.size).toBe(3);
    expect(new Set(runs.map(({ context }) => context.signal)).size).toBe(3);
    expect(new Set(runs.map(({ context }) => context.execution.executionId)).size).toBe(3);
    await offstage.cancel((jobs[1] as { jobId: string }).jobId);
    await clock.settle();
    expect(runs.map(({ context }) => context.signal.aborted)).toEqual([false, true, false]);
  });

  it('J42: a number of workers that is none is refused, and the option beats the environment', () => {
    const workers = (option: unknown, environment?: string) =>
      settingsFrom(
        (option === undefined ? {} : { workers: option }) as { workers?: number },
        environment === undefined ? {} : { OFFSTAGE_WORKERS: environment },
        null,
      ).workers;
    for (const bad of ['abc', 0, 1.5, 2000, -1, Number.NaN, Number.NEGATIVE_INFINITY, '3', true, {}]) {
      expect(() => workers(bad)).toThrow(expect.objectContaining({ code: 'config.invalid' }));
    }
    for (const bad of ['abc', '0', '1.5', '2000', '-1', ' 3', '0x10', '1e2', 'null']) {
      expect(() => workers(undefined, bad)).toThrow(expect.objectContaining({ code: 'config.invalid' }));
    }
    expect(workers(undefined)).toBe(4);
    expect(workers(undefined, '')).toBe(4);
    expect(workers(undefined, '7')).toBe(7);
    expect(workers(2, '7')).toBe(2);
    expect(workers(2, 'abc')).toBe(2);
    expect(workers(1024)).toBe(1024);
    expect(workers(null, '7')).toBeNull();
    expect(workers(Number.POSITIVE_INFINITY)).toBeNull();
    for (const bad of [0, 1.5, 2000, '1']) {
      expect(() => settingsFrom({ perSessionLimit: bad as number }, {}, null)).toThrow(
        expect.objectContaining({ code: 'config.invalid' }),
      );
    }
  });

  it('J46: a child in the same session finishes inside its parent, with one worker', async () => {
    const order: string[] = [];
    let executing = 0;
    let most = 0;
    const enter = (): void => {
      executing += 1;
      most = Math.max(most, executing);
    };
    const family = scripted({
      parent: async (context: JobContext) => {
        enter();
        order.push('parent');
        executing -= 1;
        const child = await context.run({ kind: 'family', subject: 'child' });
        enter();
        executing -= 1;
        return `parent saw ${child.resultText}`;
      },
      child: async () => {
        enter();
        order.push('child');
        await new Promise((resolve) => setImmediate(resolve));
        executing -= 1;
        return 'child done';
      },
    });
    await using engine = await testEngine({ executors: { family }, workers: 1, perSessionLimit: 1 });
    const { offstage } = engine;
    const { jobId } = await offstage.spawn({ kind: 'family', subject: 'parent' });
    expect(await offstage.wait(jobId)).toMatchObject({ status: 'completed', resultText: 'parent saw child done' });
    expect(order).toEqual(['parent', 'child']);
    expect(most).toBe(1);
    const [child] = await offstage.list({ parentJobId: jobId });
    expect(child).toMatchObject({ sessionId: 'default', wait: true, status: 'completed', parentJobId: jobId });
    await engine.clock.settle();
    expect(offstage.health().pool).toEqual({ workers: 1, running: 0, waiting: 0, queued: 0, detached: 0 });
  });
});
