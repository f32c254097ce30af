/** What shows only after many writes, or where one fails in the middle of a job (COM1, COM5, RCV1). */
import { expect, it } from 'vitest';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { echo, gate } from '../support/executors.ts';
import { testEngine } from '../support/test-engine.ts';

it('COM1: the end of a job that is decided while its start is being written, and that write fails, is stored after it', async () => {
  const store = controlledStore(memoryStore());
  const held = gate();
  await using engine = await testEngine({ store, executors: { held } });
  const { offstage, clock } = engine;
  const { jobId } = await offstage.spawn({ kind: 'held' });
  store.hold();
  store.failNext({ when: 'before' });
  await store.whenInFlight(1);
  await held.release(jobId, 'done');
  await clock.settle();
  expect((await offstage.get(jobId)).status).toBe('queued');
  store.release();
  await clock.advance(50);
  expect(await offstage.get(jobId)).toMatchObject({ status: 'completed', resultText: 'done' });
  expect(engine.statuses(jobId)).toEqual(['pending', 'queued', 'running', 'completed']);
});

it('RCV1: a crash finds the job that has lived through more batches than lie between two watermarks', async () => {
  const store = controlledStore(memoryStore());
  const held = gate();
  const executors = { held, echo };
  const { offstage, clock } = await testEngine({ store, executors });
  const { jobId } = await offstage.spawn({ kind: 'held' });
  await held.started(jobId);
  const before = store.writes.length;
  while (store.writes.length < before + 200) await offstage.wait((await offstage.spawn({ kind: 'echo' })).jobId);
  await using next = await testEngine({ store: await store.crash(), executors, clock });
  expect(next.recovery.abandoned).toEqual([jobId]);
  expect((await next.offstage.get(jobId)).reasonCode).toBe('abandoned.crash');
});
