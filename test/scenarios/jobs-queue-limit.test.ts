/** J21 with a limit that a test can reach. */
import { expect, it, vi } from 'vitest';
import { gate } from '../support/executors.ts';
import { contentOf } from '../support/store-content.ts';
import { testEngine } from '../support/test-engine.ts';

vi.mock('../../src/model/limits.ts', async (original) => {
  const { LIMITS } = await original<typeof import('../../src/model/limits.ts')>();
  return { LIMITS: { ...LIMITS, queuedJobs: 3, waiters: 2 } };
});

it('J21: a full queue refuses the next job, and nothing of it remains', async () => {
  const held = gate();
  await using engine = await testEngine({ executors: { held }, workers: 1 });
  const { offstage, store, clock } = engine;
  const running = await offstage.spawn({ kind: 'held' });
  await held.started(running.jobId);
  const queued = [];
  for (let index = 0; index < 3; index++) queued.push(await offstage.spawn({ kind: 'held' }));
  await clock.settle();
  const before = await contentOf(store);
  const seen = engine.events.length;
  await expect(offstage.spawn({ kind: 'held', jobId: 'x' })).rejects.toMatchObject({ code: 'limit.queue_full', retryable: true });
  await expect(offstage.spawn({ kind: 'held' })).rejects.toMatchObject({ code: 'limit.queue_full' });
  await clock.settle();
  expect(await contentOf(store)).toEqual(before);
  expect(engine.events.length).toBe(seen);
  await expect(offstage.get('x')).rejects.toMatchObject({ code: 'job.not_found' });
  await expect(offstage.cards.get('card_x')).rejects.toMatchObject({ code: 'card.not_found' });
  expect(await offstage.cards.list({ sessionId: 'default' })).toHaveLength(4);
  // As soon as one leaves, there is room for one.
  await offstage.cancel((queued[0] as { jobId: string }).jobId);
  expect((await offstage.spawn({ kind: 'held', jobId: 'x' })).status).toBe('queued');
  await expect(offstage.spawn({ kind: 'held' })).rejects.toMatchObject({ code: 'limit.queue_full' });
});

it('J88: more callers than can be held are refused, and the others are not disturbed', async () => {
  const held = gate();
  await using engine = await testEngine({ executors: { held } });
  const { offstage, clock } = engine;
  const { jobId } = await offstage.spawn({ kind: 'held' });
  const waits = [offstage.wait(jobId), offstage.wait(jobId)];
  await clock.settle();
  await expect(offstage.wait(jobId)).rejects.toMatchObject({ code: 'limit.waiters' });
  await held.release(jobId, 'done');
  expect((await Promise.all(waits)).map(({ resultText }) => resultText)).toEqual(['done', 'done']);
  expect((await offstage.wait(jobId)).resultText).toBe('done');
});
