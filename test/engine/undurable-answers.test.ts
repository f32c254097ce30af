/** G7: every answer about what the store has refused to keep says so, in the engine and through its doors. */
import { expect, it } from 'vitest';
import { handle } from '../../src/doors/requests/handler.ts';
import type { WireFields } from '../../src/doors/wire/rename.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { recordingConnection } from '../doors/recording-connection.ts';
import { type SessionLabOptions, sessionLab } from '../support/sessions.ts';

const DISK_FULL = new Error('the disk is full');

/** A session whose first turn is open, on a store that can be made to fail; it is well again before the engine closes. */
async function onFailingStore(options: SessionLabOptions = {}) {
  const store = controlledStore(memoryStore());
  const lab = await sessionLab({ ...options, store });
  const s = await lab.running();
  return {
    ...lab,
    store,
    s,
    fail: () => store.failAll(DISK_FULL),
    async recover() {
      store.failAll(null);
      await lab.clock.advance(60_000);
    },
    async ask(action: string, fields: WireFields) {
      const connection = recordingConnection();
      await handle(lab.offstage, { ...fields, action, request_id: 7 }, connection);
      return connection.frames.at(-1);
    },
    async [Symbol.asyncDispose]() {
      store.failAll(null);
      await lab[Symbol.asyncDispose]();
    },
  };
}

it('of a prompt: the agent has it, and that the session is running is not stored', async () => {
  await using lab = await onFailingStore();
  const { s, offstage } = lab;
  await s.done();
  lab.fail();
  const asked = { promptId: 'p', generation: expect.any(Number) };
  const answer = await s.ask('second', { promptId: 'p' });
  expect(answer).toEqual({ accepted: true, ...asked, durable: false });
  expect((await s.view()).state).toBe('waiting_for_input');
  await lab.recover();
  expect((await s.view()).state).toBe('running');
  // The same prompt has the same answer.
  expect(await s.ask('second', { promptId: 'p' })).toEqual(answer);
  await s.done();
  expect(await offstage.sessions.prompt('s', { content: 'third' })).not.toHaveProperty('durable');
});

it('of a prompt, through a door', async () => {
  await using lab = await onFailingStore();
  await lab.s.done();
  lab.fail();
  expect(await lab.ask('submit_prompt', { session_id: 's', prompt: 'second' })).toMatchObject({ accepted: true, durable: false });
});

it('of a ticket that is cancelled', async () => {
  await using lab = await onFailingStore();
  const queue = async (promptId: string) => {
    const answer = await lab.s.ask('later', { whenBusy: 'queue', promptId });
    return 'queued' in answer ? answer.ticketId : '';
  };
  const [a, b, c] = [await queue('a'), await queue('b'), await queue('c')];
  expect(await lab.offstage.sessions.cancelTicket(a)).toEqual({ changed: true });
  lab.fail();
  expect(await lab.offstage.sessions.cancelTicket(b)).toEqual({ changed: true, durable: false });
  expect(await lab.ask('cancel_ticket', { ticket_id: c })).toMatchObject({ changed: true, durable: false });
  expect(await lab.offstage.sessions.tickets('s')).toEqual([]);
});

it('of an interrupt that cancels what the turn waits for', async () => {
  const gate = controlledExecutor();
  await using lab = await onFailingStore({ executors: { gate } });
  const run = lab.offstage.run({ kind: 'gate', sessionId: 's' });
  await lab.settled();
  lab.fail();
  expect(await lab.offstage.sessions.interrupt('s')).toEqual({ changed: true, durable: false });
  expect(await run).toMatchObject({ status: 'cancelled', durable: false });
});

it('of a cancel of many, and of one through a door', async () => {
  const gate = controlledExecutor();
  await using lab = await onFailingStore({ executors: { gate }, workers: 1 });
  const { offstage } = lab;
  const [running, ...waiting] = await Promise.all(['a', 'b', 'c'].map((jobId) => offstage.spawn({ kind: 'gate', jobId })));
  await gate.started(running?.jobId ?? '');
  expect(waiting).toHaveLength(2);
  expect(await offstage.cancelMany({ ids: ['none'] })).not.toHaveProperty('durable');
  lab.fail();
  expect(await offstage.cancelMany({ ids: ['b'] })).toMatchObject({ cancelled: ['b'], durable: false });
  expect(await offstage.cancelMany({ ids: ['none'] })).not.toHaveProperty('durable');
  expect(await lab.ask('cancel_job', { job_id: 'c' })).toMatchObject({ status: 'cancelled', durable: false });
  expect(await lab.ask('cancel_jobs', { job_ids: ['a'] })).toMatchObject({ durable: false });
  expect(await offstage.cancelMany({ ids: ['b'] })).toMatchObject({ alreadyTerminal: ['b'], durable: false });
});

it('of a cancel of many: an end that is on its way to the store is told when it is there', async () => {
  const gate = controlledExecutor();
  await using lab = await onFailingStore({ executors: { gate } });
  const { offstage, store } = lab;
  const { jobId } = await offstage.spawn({ kind: 'gate' });
  await gate.started(jobId);
  await lab.settled();
  store.hold();
  await gate.release(jobId);
  await store.whenInFlight(1);
  let told: unknown = null;
  const cancelling = offstage.cancelMany({ ids: [jobId] }).then((answer) => {
    told = answer;
  });
  await lab.settled();
  expect(told).toBeNull();
  store.release();
  await cancelling;
  expect(told).toEqual({ cancelled: [], cancelling: [], alreadyTerminal: [jobId], notFound: [] });
});
