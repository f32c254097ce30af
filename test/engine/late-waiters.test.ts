/** Answers of the store that come too late: what has become of the job meanwhile counts (G14, WAI1, spec 4.5). */
import { expect, it } from 'vitest';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { heldReads } from '../support/held-reads.ts';
import { testEngine } from '../support/test-engine.ts';

it.each(['all', 'any'] as const)(
  'G14: waitMany (%s) settles although one job ended while another was read from the store',
  async (mode) => {
    const gate = controlledExecutor();
    const { store, hold } = heldReads();
    await using engine = await testEngine({ store, executors: { gate } });
    const { offstage, clock } = engine;
    const [early, late] = await Promise.all([offstage.spawn({ kind: 'gate' }), offstage.spawn({ kind: 'gate' })]);
    await gate.release(early.jobId);
    await offstage.wait(early.jobId);
    const open = hold();
    const waiting = offstage.waitMany([early.jobId, late.jobId], { mode, timeoutMs: null });
    await gate.release(late.jobId);
    await clock.settle();
    open();
    expect((await waiting).map((entry) => 'status' in entry && entry.status)).toEqual(['completed', 'completed']);
  },
);

it('4.5: a cancel that is still looking for its job when the job is accepted cancels it', async () => {
  const gate = controlledExecutor();
  const { store, hold } = heldReads();
  await using engine = await testEngine({ store, executors: { gate } });
  const { offstage } = engine;
  const open = hold('next');
  const cancelling = offstage.cancel('late');
  const { jobId } = await offstage.spawn({ kind: 'gate', jobId: 'late' });
  await gate.started(jobId);
  open();
  expect(await cancelling).toMatchObject({ status: 'running', cancelRequestedAt: expect.any(Number) });
  expect(await offstage.wait(jobId)).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.user' });
});

it('4.5: a cancel that is still looking for its job when the job has come and gone answers the end', async () => {
  const gate = controlledExecutor();
  const { store, hold } = heldReads();
  await using engine = await testEngine({ store, executors: { gate } });
  const { offstage } = engine;
  const open = hold('next');
  const cancelling = offstage.cancel('late');
  const { jobId } = await offstage.spawn({ kind: 'gate', jobId: 'late' });
  await gate.release(jobId, 'done');
  const done = await offstage.wait(jobId);
  open();
  expect(await cancelling).toEqual(done);
});

it('ADM4: a cancel asked for while spawns are being refused is answered too', async () => {
  const gate = controlledExecutor();
  const store = controlledStore(memoryStore());
  await using engine = await testEngine({ store, executors: { gate } });
  const { offstage } = engine;
  await offstage.spawn({ kind: 'gate' });
  store.failNext({ when: 'before' });
  const [first, second] = [offstage.spawn({ kind: 'gate', jobId: 'first' }), offstage.spawn({ kind: 'gate', jobId: 'second' })];
  second.catch(() => {});
  const cancelled = first.then(
    () => 'accepted',
    () =>
      offstage.cancel('second').then(
        ({ status }) => status,
        ({ code }: { code: string }) => code,
      ),
  );
  expect(await Promise.race([cancelled, engine.clock.advance(60_000).then(() => 'never answered')])).toBe('job.not_found');
});

it('ADM4, G7: the cancel of a job that is being accepted says so when the store hangs', async () => {
  const gate = controlledExecutor();
  const store = controlledStore(memoryStore());
  await using engine = await testEngine({ store, executors: { gate } });
  const { offstage, clock } = engine;
  await offstage.spawn({ kind: 'gate' });
  store.hold();
  const spawned = offstage.spawn({ kind: 'gate', jobId: 'late' });
  const cancelled = offstage.cancel('late');
  await clock.advance(60_000);
  expect(await cancelled).toMatchObject({ status: 'cancelled', durable: false });
  store.release();
  expect(await spawned).toMatchObject({ status: 'cancelled' });
  expect(gate.calls).not.toContain('late');
});

it('WTG4: a wait whose signal fires while the store does not answer rejects with its reason', async () => {
  const { store, hold } = heldReads();
  await using engine = await testEngine({ store, executors: { quick: () => null } });
  const { offstage } = engine;
  const { jobId } = await offstage.spawn({ kind: 'quick' });
  await offstage.wait(jobId);
  const open = hold();
  const controller = new AbortController();
  const { signal } = controller;
  const waits = [offstage.wait(jobId, { signal }), offstage.waitMany([jobId], { signal })];
  const reason = new Error('gone');
  controller.abort(reason);
  expect(await Promise.allSettled(waits)).toEqual(waits.map(() => ({ status: 'rejected', reason })));
  open();
});

it('WTG4: a body that is told to end while the store does not answer wakes', async () => {
  const { store, hold } = heldReads();
  const asked: string[] = [];
  let ended = '';
  await using engine = await testEngine({
    store,
    executors: {
      quick: () => null,
      waits: async (_, context) => {
        asked.push(context.jobId);
        await context.wait(ended);
      },
    },
  });
  const { offstage, clock } = engine;
  ended = (await offstage.spawn({ kind: 'quick' })).jobId;
  await offstage.wait(ended);
  const open = hold();
  const { jobId } = await offstage.spawn({ kind: 'waits' });
  await clock.settle();
  expect(asked).toEqual([jobId]);
  await offstage.cancel(jobId);
  await clock.settle();
  expect(engine.statuses(jobId).at(-1)).toBe('cancelled');
  open();
  expect((await offstage.get(jobId)).detached).toBe(false);
});
