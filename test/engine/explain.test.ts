import { describe, expect, it } from 'vitest';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { testEngine } from '../support/test-engine.ts';

describe('EXP1: the history of a live job ends with why it is where it is', () => {
  it('a queued job says what it waits for; so do a body that waits inside the engine and one that ends', async () => {
    const gate = controlledExecutor();
    const stubborn = controlledExecutor({ stubborn: true });
    await using engine = await testEngine({
      workers: 1,
      executors: {
        gate,
        stubborn,
        parent: async (_, context) => (await context.run({ kind: 'gate', jobId: 'child' })).status,
      },
    });
    const { offstage, clock } = engine;
    const why = async (jobId: string) => {
      const last = (await offstage.history(jobId)).at(-1);
      return last?.type === 'now' ? last.detail : null;
    };
    const parent = await offstage.spawn({ kind: 'parent' });
    await gate.started('child');
    const next = await offstage.spawn({ kind: 'stubborn' });
    await clock.settle();
    expect(await why(parent.jobId)).toBe('waiting for child; its slot is free meanwhile');
    expect(await why('child')).toBe('at work; last heard of 0 ms ago');
    expect(await why(next.jobId)).toBe('waiting for a slot: 1 of 1 are in use; 1 jobs are queued');
    await gate.release('child');
    await stubborn.started(next.jobId);
    await clock.settle();
    expect(await why(parent.jobId)).toBe('what it waited for is there; waiting for a slot to go on');
    await offstage.cancel(next.jobId);
    await clock.advance(10_000);
    expect(await why(next.jobId)).toBe('told to end (cancel), and its body has not settled yet; it is ended by force in 20 s');
    await clock.advance(20_000);
    expect(await why(next.jobId)).toBe('the record has ended, but its body is still at work and holds what it holds');
    const starved = await offstage.spawn({ kind: 'gate' });
    expect(await why(starved.jobId)).toBe(
      'waiting for a slot: 1 of 1 are in use, 1 of them by bodies that did not end when they were told to; 1 jobs are queued',
    );
    await stubborn.release(next.jobId);
    await gate.release(starved.jobId);
    await clock.settle();
    expect(await why(next.jobId)).toBeNull();
    expect(await why(parent.jobId)).toBeNull();
  });

  it('a job held back by its session says so', async () => {
    const gate = controlledExecutor();
    await using engine = await testEngine({ workers: 4, perSessionLimit: 1, executors: { gate } });
    const { offstage } = engine;
    const [first, second] = [await offstage.spawn({ kind: 'gate' }), await offstage.spawn({ kind: 'gate' })];
    await gate.started(first.jobId);
    expect((await offstage.history(second.jobId)).at(-1)).toMatchObject({
      type: 'now',
      detail: 'waiting for a place in its session, which has 1 of 1 jobs at work',
    });
    await gate.release(first.jobId);
    await gate.release(second.jobId);
  });
});

it('B08: cancelled jobs leave the queue at once; what waits is not counted behind them', async () => {
  const gate = controlledExecutor();
  await using engine = await testEngine({ workers: 1, executors: { gate } });
  const { offstage } = engine;
  const first = await offstage.spawn({ kind: 'gate' });
  await gate.started(first.jobId);
  const others = await Promise.all([1, 2, 3].map(() => offstage.spawn({ kind: 'gate' })));
  const last = await offstage.spawn({ kind: 'gate' });
  await Promise.all(others.map(({ jobId }) => offstage.cancel(jobId)));
  expect((await offstage.history(last.jobId)).at(-1)?.detail).toBe('waiting for a slot: 1 of 1 are in use; 1 jobs are queued');
  await gate.release(first.jobId);
  await gate.release(last.jobId);
});
