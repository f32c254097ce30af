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

it('LOG2: a job that was asked for by another session is replayed on the session that it runs on', async () => {
  await using engine = await testEngine({ executors: { echo } });
  const { offstage, clock } = engine;
  const { taskId } = await offstage.tasks.create();
  for (const sessionId of ['here', 'there']) await offstage.sessions.create({ sessionId, taskId });
  const live = new Map<number, unknown>();
  offstage.onEvent((event) => event.type === 'job.status' && live.set(event.seq, event));
  const { jobId } = await offstage.spawn({ kind: 'echo', sessionId: 'there', callerSessionId: 'here' });
  await offstage.wait(jobId);
  await clock.settle();
  const { seq } = await offstage.snapshot();
  for await (const event of offstage.events({ after: 0 })) {
    if (event.type === 'job.status') expect(event).toEqual(live.get(event.seq));
    if (event.seq === seq) break;
  }
  expect([...live.values()]).toHaveLength(3);
});

it('COM5: of a spawn that was refused although it had been written, no event is left for the next process', async () => {
  const store = controlledStore(memoryStore());
  const { offstage, clock } = await testEngine({ store, executors: { echo } });
  await offstage.sessions.create({ sessionId: 's' });
  await clock.settle();
  store.failNext({ when: 'after' });
  await expect(offstage.spawn({ kind: 'echo', sessionId: 's', jobId: 'refused' })).rejects.toMatchObject({
    code: 'store.failed',
  });
  // The next try takes back what may be there.
  await clock.advance(50);
  const { seq } = await offstage.snapshot();
  await using next = await testEngine({ store: await store.crash(), executors: { echo }, clock });
  expect((await next.offstage.snapshot()).seq).toBe(seq);
});

it('COM4: what is printed in the middle of a reveal carries the number of the event that was told last', async () => {
  const held = gate();
  await using engine = await testEngine({ executors: { held, echo } });
  const { offstage, clock } = engine;
  const { jobId } = await offstage.spawn({ kind: 'held' });
  const { context } = await held.started(jobId);
  await clock.settle();
  const told: number[] = [];
  offstage.onEvent((event) => {
    told.push(event.seq);
    if (event.type === 'job.created') context.output('seen');
  });
  // Created, queued and its card are of one reveal.
  await offstage.wait((await offstage.spawn({ kind: 'echo' })).jobId);
  const output = told.findIndex((seq, index) => seq === told[index - 1]);
  expect(output).toBe(1);
  expect(told.slice(2, 4)).toEqual([(told[0] as number) + 1, (told[0] as number) + 2]);
});

it('WAI1: a wait for any of several jobs settles when all of them are refused', async () => {
  const store = controlledStore(memoryStore());
  await using engine = await testEngine({ store, executors: { echo } });
  const { offstage, clock } = engine;
  await offstage.sessions.create({ sessionId: 's' });
  await clock.settle();
  store.hold();
  store.failNext({ when: 'before' });
  const ids = ['one', 'two'];
  const spawns = Promise.allSettled(ids.map((jobId) => offstage.spawn({ kind: 'echo', sessionId: 's', jobId })));
  await store.whenInFlight(1);
  const waiting = offstage.waitMany(ids, { mode: 'any', timeoutMs: null });
  await clock.settle();
  store.release();
  expect((await spawns).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await waiting).toEqual(ids.map((jobId) => ({ jobId, error: { code: 'job.not_found' } })));
});
