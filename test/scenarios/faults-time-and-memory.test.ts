/** Reported faults, "timers" and "memory", scaled: B68, B69, B70. */
import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { JobView } from '../../src/model/records.ts';
import { echo, gate, stubborn } from '../support/executors.ts';
import { testEngine } from '../support/test-engine.ts';

const HOUR_MS = 60 * 60 * 1000;

const timesOf = ({ createdAt, queuedAt, startedAt, completedAt }: JobView): readonly number[] =>
  [createdAt, queuedAt, startedAt, completedAt].filter((at) => at !== null);

describe('time', () => {
  it('B68: a wall clock that jumps moves no deadline and no order', async () => {
    const stuck = stubborn();
    const held = gate();
    await using engine = await testEngine({ executors: { stuck, held, echo }, cancelGraceMs: 1_000, workers: 2 });
    const { offstage, clock } = engine;
    const cancelled = await offstage.spawn({ kind: 'stuck' });
    const awaited = await offstage.spawn({ kind: 'held', timeoutMs: 10_000, idleTimeoutMs: 8_000 });
    await stuck.started(cancelled.jobId);
    await held.started(awaited.jobId);
    await clock.settle();
    await offstage.cancel(cancelled.jobId);
    let isTimedOut = false;
    const waiting = offstage.wait(awaited.jobId, { timeoutMs: 1_000 }).finally(() => {
      isTimedOut = true;
    });
    clock.jumpWall(2 * HOUR_MS);
    await clock.advance(500);
    expect(isTimedOut).toBe(false);
    expect((await offstage.get(cancelled.jobId)).status).toBe('running');
    expect((await offstage.get(awaited.jobId)).status).toBe('running');
    clock.jumpWall(-4 * HOUR_MS);
    await clock.advance(499);
    expect(isTimedOut).toBe(false);
    expect((await offstage.get(cancelled.jobId)).status).toBe('running');
    await clock.advance(1);
    expect(await waiting).toMatchObject({ timedOut: true, status: 'running' });
    expect((await offstage.get(cancelled.jobId)).status).toBe('cancelled');
    // The second slot is stuck; the first one takes jobs that are created "before" the earlier ones.
    await held.release(awaited.jobId);
    const later: string[] = [];
    for (const jump of [-HOUR_MS, 3 * HOUR_MS, -HOUR_MS]) {
      const job = await offstage.spawn({ kind: 'echo' });
      clock.jumpWall(jump);
      await offstage.wait(job.jobId);
      later.push(job.jobId);
    }
    const jobs = await offstage.list();
    expect(jobs.map(({ jobId }) => jobId).reverse()).toEqual([cancelled.jobId, awaited.jobId, ...later]);
    expect(later).toEqual(later.toSorted());
    for (const job of jobs) expect([job.jobId, timesOf(job)]).toEqual([job.jobId, timesOf(job).toSorted((a, b) => a - b)]);
    for (const { jobId } of jobs) {
      const at = (await offstage.history(jobId)).map((entry) => entry.at);
      expect(at).toEqual(at.toSorted((a, b) => a - b));
    }
    await stuck.release(cancelled.jobId);
  });

  it('B69: a job that runs for a day is started once, and the one behind it waits', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 1 });
    const { offstage, clock } = engine;
    const [first, second] = await Promise.all([offstage.spawn({ kind: 'held' }), offstage.spawn({ kind: 'held' })]);
    await held.started(first.jobId);
    for (let hour = 0; hour < 24; hour++) await clock.advance(HOUR_MS);
    expect(held.calls).toEqual([first.jobId]);
    expect((await offstage.get(first.jobId)).status).toBe('running');
    expect((await offstage.get(second.jobId)).status).toBe('queued');
    expect(engine.log.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
    await held.release(first.jobId, 1);
    await held.release(second.jobId, 2);
    const ended = await offstage.waitMany([first.jobId, second.jobId]);
    expect(ended).toMatchObject([
      { status: 'completed', result: 1 },
      { status: 'completed', result: 2 },
    ]);
    expect(held.calls).toEqual([first.jobId, second.jobId]);
  });
});

describe('memory', () => {
  const warnings: string[] = [];
  const note = (warning: Error): void => void warnings.push(`${warning.name}: ${warning.message}`);
  beforeEach(() => {
    warnings.length = 0;
    process.on('warning', note);
  });
  afterEach(() => void process.off('warning', note));

  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  /** Megabytes in use after a collection. */
  const heapMb = (): number => {
    collect();
    return process.memoryUsage().heapUsed / 2 ** 20;
  };

  it('B70: thousands of short waits on one job, with one signal, leave nothing behind', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    await held.started(jobId);
    await clock.settle();
    const session = new AbortController();
    const timersBefore = clock.pending;
    const heapBefore = heapMb();
    for (let round = 0; round < 20; round++) {
      const waits: Promise<unknown>[] = [];
      for (let index = 0; index < 500; index++) {
        const options = { timeoutMs: 1 + (index % 5), signal: session.signal };
        waits.push(index % 2 === 0 ? offstage.wait(jobId, options) : offstage.waitMany([jobId, jobId], options));
      }
      await clock.advance(5);
      await Promise.all(waits);
    }
    expect(clock.pending).toBe(timersBefore);
    expect(heapMb() - heapBefore).toBeLessThan(4);
    expect(getEventListeners(session.signal, 'abort')).toHaveLength(0);
    await held.release(jobId);
    await offstage.wait(jobId);
    expect(warnings).toEqual([]);
  });

  it('B70: while many wait with one signal it has one listener, and aborting it reaches all of them', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage, clock } = engine;
    const jobs = await Promise.all(Array.from({ length: 20 }, () => offstage.spawn({ kind: 'held' })));
    const ids = jobs.map(({ jobId }) => jobId);
    const session = new AbortController();
    const waits = [
      ...ids.map((id) => offstage.wait(id, { signal: session.signal })),
      offstage.waitMany(ids, { signal: session.signal }),
      offstage.waitMany(ids, { signal: session.signal, mode: 'any' }),
    ];
    const settled = Promise.allSettled(waits);
    await clock.settle();
    expect(getEventListeners(session.signal, 'abort')).toHaveLength(1);
    session.abort(new Error('gone'));
    expect((await settled).map(({ status }) => status)).toEqual(waits.map(() => 'rejected'));
    expect(getEventListeners(session.signal, 'abort')).toHaveLength(0);
    expect((await offstage.list({ status: ['running', 'queued'] })).length).toBe(20);
    expect(warnings).toEqual([]);
  });

  it('B70: thousands of short jobs of one session leave nothing behind', async () => {
    await using engine = await testEngine({ executors: { echo }, workers: 8 });
    const { offstage, clock } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    for (let round = 0; round < 10; round++) {
      const jobs = await Promise.all(
        Array.from({ length: 200 }, (_, index) =>
          offstage.spawn({ kind: 'echo', input: index, sessionId: 's', timeoutMs: 1_000 }),
        ),
      );
      await offstage.waitMany(
        jobs.map(({ jobId }) => jobId),
        { timeoutMs: 5_000 },
      );
    }
    await clock.settle();
    // One timer behind everything, or none; and the sweep.
    expect(clock.pending).toBeLessThanOrEqual(1);
    expect(offstage.jobsModel.get().live.size).toBe(0);
    expect(offstage.health().pool).toEqual({ workers: 8, running: 0, waiting: 0, queued: 0, detached: 0 });
    expect(warnings).toEqual([]);
  });
});
