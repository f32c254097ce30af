/** Acceptance scenarios of jobs, "Completion and errors": J49 to J55. */
import { describe, expect, it } from 'vitest';
import { outcome } from '../../src/model/executor.ts';
import { echo, stubborn, throwing } from '../support/executors.ts';
import { testEngine } from '../support/test-engine.ts';

class ValueError extends Error {}

describe('how a body ends a job', () => {
  it('J49: an outcome sets the fields it names', async () => {
    const named = async () => outcome({ headId: 'h', sourceCommitId: 'c', text: 'hello', value: { n: 1 } });
    await using engine = await testEngine({ executors: { named } });
    const { jobId } = await engine.offstage.spawn({ kind: 'named' });
    expect(await engine.offstage.wait(jobId)).toMatchObject({
      status: 'completed',
      reasonCode: 'completed',
      resultText: 'hello',
      result: { n: 1 },
      headId: 'h',
      sourceCommitId: 'c',
      error: null,
    });
  });

  it('J49: a string is text, nothing is nothing, anything else is the result', async () => {
    await using engine = await testEngine({ executors: { echo, nothing: async () => undefined } });
    const { offstage } = engine;
    const end = async (kind: string, input?: unknown) => {
      const { resultText, result } = await offstage.wait((await offstage.spawn({ kind, input })).jobId);
      return [resultText, result];
    };
    expect(await end('echo', 'text')).toEqual(['text', null]);
    expect(await end('echo', '')).toEqual(['', null]);
    expect(await end('echo', 0)).toEqual([null, 0]);
    expect(await end('echo', false)).toEqual([null, false]);
    expect(await end('echo', [1, { a: null }])).toEqual([null, [1, { a: null }]]);
    expect(await end('nothing')).toEqual([null, null]);
  });

  it('J51: an error is told by its type and its message', async () => {
    await using engine = await testEngine({ executors: { broken: throwing(new ValueError('x')) } });
    const { jobId } = await engine.offstage.spawn({ kind: 'broken' });
    expect(await engine.offstage.wait(jobId)).toMatchObject({
      status: 'errored',
      reasonCode: 'failed',
      error: { code: 'job.failed', message: 'ValueError: x' },
      resultText: null,
    });
  });

  it('J52: a thrown thing that is no error ends the job as well, and gives the slot back', async () => {
    await using engine = await testEngine({ executors: { broken: throwing(Symbol('fatal')), echo }, workers: 1 });
    const { offstage } = engine;
    const broken = await offstage.spawn({ kind: 'broken' });
    const next = await offstage.spawn({ kind: 'echo', input: 'ok' });
    expect(await offstage.wait(broken.jobId)).toMatchObject({ status: 'errored', error: { message: 'Thrown: Symbol(fatal)' } });
    expect((await offstage.wait(next.jobId)).resultText).toBe('ok');
  });

  for (const first of ['body', 'grace'] as const) {
    it(`J55: when the body and the grace end a job in one tick, the ${first} first, the end is written once`, async () => {
      const stuck = stubborn();
      await using engine = await testEngine({ executors: { stuck }, cancelGraceMs: 100 });
      const { offstage, clock } = engine;
      const { jobId } = await offstage.spawn({ kind: 'stuck' });
      await stuck.started(jobId);
      await offstage.cancel(jobId);
      await clock.advance(99);
      // The timer callback and the body's return meet in one turn of the event loop.
      const meet = new Promise<void>((resolve) => {
        clock.schedule(1, () => {
          if (first === 'body') void stuck.release(jobId, 'text');
          resolve();
        });
      });
      const advancing = clock.advance(1);
      if (first === 'grace') void meet.then(() => stuck.release(jobId, 'text'));
      await advancing;
      const ended = await offstage.get(jobId);
      expect(ended.status).toBe('cancelled');
      expect(engine.statuses(jobId)).toEqual(['pending', 'queued', 'running', 'running', 'cancelled']);
      const ends = (await offstage.history(jobId)).filter(({ type, to }) => type === 'transition' && to === 'cancelled');
      expect(ends).toHaveLength(1);
      expect(offstage.health().pool).toMatchObject({ running: 0, detached: 0 });
    });
  }
});
