/** Reported faults, "cancel", in process: B07, B08, B10, B12, B13. */
import { describe, expect, it } from 'vitest';
import type { JobContext } from '../../src/model/executor.ts';
import { counting, gate, stubborn } from '../support/executors.ts';
import { pastOf } from '../support/past.ts';
import { type TestEngine, testEngine } from '../support/test-engine.ts';

/** A body that says goodbye after its abort and returns normally. */
const polite = async (_: unknown, context: JobContext): Promise<string> => {
  await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  return 'done';
};

const endsOf = (engine: TestEngine, jobId: string) =>
  engine.events.filter((event) => event.type === 'job.status' && event.jobId === jobId && event.completedAt !== null);

/** The statuses of several jobs in the order they were told, by the names given here. */
const told = (engine: TestEngine, names: Readonly<Record<string, string>>): readonly string[] =>
  engine.events.flatMap((event) =>
    event.type === 'job.status' && event.status !== 'queued' && names[event.jobId] !== undefined
      ? [
          `${names[event.jobId]} ${event.status}${event.status === 'running' && event.cancelRequestedAt !== null ? ', asked to end' : ''}`,
        ]
      : [],
  );

describe('cancel', () => {
  it('B07: a polite success after a cancel stays cancelled, and a cancel after a success changes nothing', async () => {
    await using engine = await testEngine({ executors: { polite, held: gate() } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'polite' });
    await engine.eventOf((event) => event.type === 'job.status' && event.status === 'running');
    const answer = await offstage.cancel(jobId);
    expect(answer).toMatchObject({ status: 'running', cancelRequestedAt: clock.now() });
    const ended = await offstage.wait(jobId);
    expect(ended).toMatchObject({ status: 'cancelled', resultText: 'done' });
    expect(endsOf(engine, jobId)).toHaveLength(1);
    await clock.advance(1_000);
    expect(JSON.stringify(await offstage.cancel(jobId))).toBe(JSON.stringify(ended));
    expect(JSON.stringify(await offstage.get(jobId))).toBe(JSON.stringify(ended));
  });

  it('B07: a completed job answers a cancel with itself', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held } });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'held' });
    await held.release(jobId, 'fine');
    const completed = await offstage.wait(jobId);
    await clock.advance(1_000);
    const seen = engine.events.length;
    const answer = await offstage.cancel(jobId, { reason: 'too late' });
    expect(JSON.stringify(answer)).toBe(JSON.stringify(completed));
    expect(answer).toMatchObject({ status: 'completed', cancelRequestedAt: null, cancelReason: null });
    expect(engine.events.length).toBe(seen);
  });

  it('B08: cancelled jobs in the queue end at once, never start, and cost nothing', async () => {
    const held = gate();
    const count = counting();
    await using engine = await testEngine({ executors: { held, count }, workers: 1 });
    const { offstage, clock } = engine;
    const a = await offstage.spawn({ kind: 'held' });
    await held.started(a.jobId);
    const queued = await Promise.all(Array.from({ length: 10 }, () => offstage.spawn({ kind: 'count' })));
    const waits = queued.map(({ jobId }) => offstage.wait(jobId, { timeoutMs: null }));
    await clock.settle();
    for (const { jobId } of queued) {
      expect(await offstage.cancel(jobId)).toMatchObject({ status: 'cancelled', startedAt: null });
    }
    expect((await Promise.all(waits)).every(({ status }) => status === 'cancelled')).toBe(true);
    expect(held.live.has(a.jobId)).toBe(true);
    expect(await offstage.list({ status: 'queued' })).toEqual([]);
    expect(offstage.health().pool.queued).toBe(0);
    const l = await offstage.spawn({ kind: 'held' });
    await held.release(a.jobId);
    await held.started(l.jobId);
    expect(held.calls).toEqual([a.jobId, l.jobId]);
    expect(count.calls).toEqual([]);
    await held.release(l.jobId);
    await offstage.wait(l.jobId);
  });

  for (const inOneTick of [false, true]) {
    for (const order of ['queued first', 'running first'] as const) {
      it(`B10: dead entries at the head of the queue are skipped (${order}${inOneTick ? ', in one tick' : ''})`, async () => {
        const held = gate();
        await using engine = await testEngine({ executors: { held }, workers: 1 });
        const { offstage, clock } = engine;
        for (const jobId of ['1', '2', '3']) await offstage.spawn({ kind: 'held', jobId });
        await held.started('1');
        await clock.settle();
        const names = { 1: '1', 2: '2', 3: '3' };
        const cancels = order === 'queued first' ? ['2', '1'] : ['1', '2'];
        if (inOneTick) await Promise.all(cancels.map((jobId) => offstage.cancel(jobId)));
        else for (const jobId of cancels) await offstage.cancel(jobId);
        await held.release('3');
        await offstage.wait('3');
        const ends = ['1 running', '1 cancelled', '2 cancelled', '3 running', '3 completed'];
        const seen = told(engine, names).filter((line) => ends.includes(line));
        if (order === 'queued first') {
          expect(seen).toEqual(['1 running', '2 cancelled', '1 cancelled', '3 running', '3 completed']);
        } else {
          expect([...seen].sort()).toEqual([...ends].sort());
          expect(seen.indexOf('1 cancelled')).toBeLessThan(seen.indexOf('3 running'));
          expect(seen.indexOf('2 cancelled')).toBeLessThan(seen.indexOf('3 running'));
        }
        expect(held.calls).toEqual(['1', '3']);
      });
    }
  }

  it('B10: ten dead entries in front of the live one are skipped as well', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 1 });
    const { offstage } = engine;
    await offstage.spawn({ kind: 'held', jobId: 'first' });
    await held.started('first');
    const dead = Array.from({ length: 10 }, (_, index) => `dead ${index}`);
    for (const jobId of dead) await offstage.spawn({ kind: 'held', jobId });
    await offstage.spawn({ kind: 'held', jobId: 'live' });
    await Promise.all([...dead, 'first'].map((jobId) => offstage.cancel(jobId)));
    await held.started('live');
    await held.release('live', 'ran');
    expect((await offstage.wait('live')).resultText).toBe('ran');
    expect(held.calls).toEqual(['first', 'live']);
    expect(offstage.health().pool).toMatchObject({ running: 0, queued: 0 });
  });

  for (const later of ['returns', 'rejects'] as const) {
    it(`B12: a body that ignores its abort is ended by force at the grace of the first cancel, and then ${later} in vain`, async () => {
      const stuck = stubborn();
      await using engine = await testEngine({ executors: { stuck }, cancelGraceMs: 1_000, workers: 1 });
      const { offstage, clock } = engine;
      const { jobId } = await offstage.spawn({ kind: 'stuck' });
      const { context } = await stuck.started(jobId);
      let settledAt = -1;
      const waiting = offstage.wait(jobId, { timeoutMs: null }).then((record) => {
        settledAt = clock.monotonic();
        return record;
      });
      const asked = clock.monotonic();
      expect(await offstage.cancel(jobId)).toMatchObject({ status: 'running', cancelRequestedAt: clock.now() });
      expect(context.signal.aborted).toBe(true);
      for (const pause of [400, 400]) {
        await clock.advance(pause);
        expect(await offstage.cancel(jobId)).toMatchObject({ status: 'running' });
      }
      await clock.advance(199);
      expect(settledAt).toBe(-1);
      await clock.advance(1);
      const ended = await waiting;
      expect(settledAt).toBe(asked + 1_000);
      expect(ended).toMatchObject({
        status: 'cancelled',
        reasonCode: 'cancel.timed_out',
        error: { code: 'job.cancelled', message: 'cancel timed out, worker may be stuck' },
        detached: true,
        bodyLive: true,
      });
      expect(engine.log).toContainEqual({
        level: 'warn',
        event: 'body.detached',
        fields: expect.objectContaining({ jobId, kind: 'stuck' }),
      });
      expect(offstage.health()).toMatchObject({ status: 'starved', pool: { running: 0, detached: 1 } });
      if (later === 'returns') await stuck.release(jobId, 'late');
      else await stuck.fail(jobId, new Error('late'));
      await clock.settle();
      expect(await offstage.get(jobId)).toEqual({ ...ended, bodyLive: false });
      expect(endsOf(engine, jobId)).toHaveLength(1);
      expect(offstage.health()).toMatchObject({ status: 'ok', pool: { running: 0, detached: 0 } });
      const types = (await pastOf(offstage, jobId)).map(({ type }) => type);
      expect(types.slice(-2)).toEqual(
        later === 'returns' ? ['late_result_dropped', 'detached_settled'] : ['transition', 'detached_settled'],
      );
    });
  }

  it('B12: with no grace at all a cancel never forces an end', async () => {
    const stuck = stubborn();
    await using engine = await testEngine({ executors: { stuck }, cancelGraceMs: null });
    const { offstage, clock } = engine;
    const { jobId } = await offstage.spawn({ kind: 'stuck' });
    await stuck.started(jobId);
    await offstage.cancel(jobId);
    await clock.advance(10 * 24 * 60 * 60 * 1000);
    expect((await offstage.get(jobId)).status).toBe('running');
    await stuck.release(jobId);
    expect((await offstage.wait(jobId)).status).toBe('cancelled');
  });

  it('B13: a cancel touches the named job, and ids that begin alike are other jobs', async () => {
    const held = gate();
    await using engine = await testEngine({ executors: { held }, workers: 4 });
    const { offstage, clock } = engine;
    for (const sessionId of ['s', 's1']) await offstage.sessions.create({ sessionId });
    await offstage.spawn({ kind: 'held', jobId: 'job-1', sessionId: 's' });
    await offstage.spawn({ kind: 'held', jobId: 'job-10', sessionId: 's' });
    await offstage.spawn({ kind: 'held', jobId: 'job-2', sessionId: 's1' });
    const run = await held.started('job-2');
    await clock.settle();
    const before = await Promise.all(['job-10', 'job-2'].map((id) => offstage.get(id)));
    await offstage.cancel('job-1');
    expect((await offstage.wait('job-1')).status).toBe('cancelled');
    expect(await Promise.all(['job-10', 'job-2'].map((id) => offstage.get(id)))).toEqual(before);
    // Everything of one session, as stop does it.
    expect(await offstage.cancelMany({ sessionId: 's' })).toEqual({
      cancelled: [],
      cancelling: ['job-10'],
      alreadyTerminal: [],
      notFound: [],
    });
    expect((await offstage.wait('job-10')).status).toBe('cancelled');
    expect(run.context.signal.aborted).toBe(false);
    await held.release('job-2', 'fine');
    expect(await offstage.wait('job-2')).toMatchObject({ status: 'completed', resultText: 'fine' });
  });
});
