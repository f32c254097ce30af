/** Corners of stop that were found by trying to break it: what belongs to whom, what is live, what is told of what is left. */
import { describe, expect, it } from 'vitest';
import type { ReapVerdict } from '../../src/engine/recovery.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import type { Store } from '../../src/persistence/store.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { held, watched } from '../support/bare-agent.ts';
import { gate } from '../support/executors.ts';
import { heldReads } from '../support/held-reads.ts';
import { closesOf, failingReads, nothingRunning, stopAll, taskLab, unloaded } from '../support/stopping.ts';
import { testEngine } from '../support/test-engine.ts';

describe('what belongs to a task', () => {
  it('G13: a job is refused under a parent of another task, however the parent is named', async () => {
    const opened = gate();
    await using lab = await taskLab({ executors: { gate: opened } });
    await lab.offstage.tasks.create({ taskId: 'u' });
    await lab.create('s', 't');
    await lab.create('other', 'u');
    const parent = await lab.offstage.spawn({ kind: 'gate', sessionId: 's' });
    const spawned = lab.offstage.spawn({ kind: 'gate', sessionId: 'other', parentJobId: parent.jobId });
    await expect(spawned).rejects.toMatchObject({ code: 'job.cross_task' });
    await stopAll(lab);
    // And one that has ended is still of its own task.
    const late = lab.offstage.spawn({ kind: 'gate', sessionId: 'other', parentJobId: parent.jobId });
    await expect(late).rejects.toMatchObject({ code: 'job.cross_task' });
  });
});

describe('what is live', () => {
  it('a session whose only work is queued is not absent, and is cancelled', async () => {
    const opened = gate();
    await using lab = await taskLab({ executors: { gate: opened }, workers: 1 });
    const busy = await lab.create('busy', 't');
    await lab.offstage.spawn({ kind: 'gate', sessionId: busy.sessionId });
    const s = await lab.running('s', 't');
    await s.done();
    s.agent.crash();
    await lab.settled();
    // Its agent is unloaded; a turn that was cut off leaves it waiting.
    await s.ask();
    s.agent.crash();
    await lab.settled();
    expect((await s.view()).state).toBe('waiting_for_input');
    const queued = await lab.offstage.spawn({ kind: 'gate', sessionId: 's' });
    const report = await lab.offstage.sessions.stop('s');
    expect(report.stopped).toEqual([{ sessionId: 's', jobId: queued.jobId }, { sessionId: 's' }]);
    expect(report.absent).toEqual([]);
    expect((await s.view()).state).toBe('cancelled');
  });

  it('an execution that has gone is nothing that an earlier engine left, also while its record is on its way out', async () => {
    const unverified: ReapVerdict = { verdict: 'unverified', detail: 'May still be at work.' };
    const store = controlledStore(memoryStore());
    await using lab = await taskLab({ store, reap: async () => unverified });
    const s = await lab.running('s', 't');
    store.hold();
    s.agent.crash();
    await lab.settled();
    expect(await lab.offstage.processes()).toHaveLength(1);
    expect(lab.offstage.health().agents).toMatchObject({ live: 0, ending: 0 });
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject(nothingRunning);
    store.release();
    await lab.settled();
    expect(await lab.offstage.sessions.remove(s.sessionId)).toEqual({ done: true });
  });
});

describe('what is told', () => {
  it('stop.failed names what is detached as well', async () => {
    const stubborn = controlledExecutor({ stubborn: true });
    await using lab = await taskLab({ executors: { stubborn }, cancelGraceMs: 1_000 });
    const { s } = await unloaded(lab, 'unloaded', 't', ['rejects', 'rejects', 'rejects', 'rejects']);
    const job = await lab.offstage.spawn({ kind: 'stubborn', sessionId: s.sessionId });
    await stubborn.started(job.jobId);
    await lab.offstage.cancel(job.jobId);
    await lab.clock.advance(1_000);
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject({
      code: 'stop.failed',
      details: { failed: [{ sessionId: 'unloaded' }], detached: [{ sessionId: 'unloaded', jobId: job.jobId }] },
    });
    await stubborn.release(job.jobId);
  });

  it('the last report does not call detached what has ended meanwhile', async () => {
    const stubborn = controlledExecutor({ stubborn: true });
    await using lab = await taskLab({ executors: { stubborn }, cancelGraceMs: 1_000 });
    const s = await lab.running('s', 't');
    const job = await lab.offstage.spawn({ kind: 'stubborn', sessionId: 's' });
    await stubborn.started(job.jobId);
    await lab.offstage.cancel(job.jobId);
    await lab.clock.advance(1_000);
    let close = (): void => {};
    closesOf(s.agent, [new Promise<void>((resolve) => (close = resolve))]);
    const report = await lab.offstage.tasks.stop('t');
    expect(report.detached).toMatchObject([{ jobId: job.jobId }]);
    await stubborn.release(job.jobId);
    close();
    const last = await report.settled;
    expect([last.detached, last.alreadyStopping]).toMatchObject([[], [{ jobId: job.jobId }]]);
  });

  it('a ticket that was being served is told stopped like the others', async () => {
    const reads = heldReads();
    await using lab = await taskLab({ store: reads.store });
    const s = await lab.running('s', 't');
    await s.ask('later', { whenBusy: 'queue' });
    const since = lab.engine.events.length;
    const letGo = reads.hold();
    // The turn ends with its agent: the ticket is served, and its new agent waits for what the store knows of the conversation.
    s.agent.crash();
    await lab.settled();
    const stopping = lab.offstage.sessions.stop('s');
    await lab.settled();
    letGo();
    await (await stopping).settled;
    await lab.settled();
    const told = lab.engine.events.slice(since).flatMap((event) => (event.type === 'session.ticket' ? [event.status] : []));
    expect(told).toEqual(['stopped']);
  });
});

describe('what hangs', () => {
  it('a start whose read of the store hangs ends with the stop', async () => {
    const inner = memoryStore();
    const conversation = held<undefined>();
    const get = (key: string) => (key === KEYS.conversation('s') ? conversation.promise : inner.get(key));
    const store: Store = {
      get,
      getMany: (keys) => inner.getMany(keys),
      range: (options) => inner.range(options),
      batch: (operations, options) => inner.batch(operations, options),
      close: () => inner.close(),
    };
    await using lab = await taskLab({ store });
    const s = await lab.create('s', 't');
    const prompting = s.attempt();
    await lab.settled();
    expect(await s.tier()).toBe('generating');
    const stopping = lab.offstage.sessions.stop('s');
    await lab.settled();
    const report = await stopping;
    const settled = watched(report.settled);
    await lab.settled();
    expect(settled.hasSettled).toBe(true);
    expect(await prompting).toBe('session.stopped');
    conversation.resolve(undefined);
  });

  it('an answer that the agent never takes ends with the agent', async () => {
    await using lab = await taskLab({});
    const s = await lab.running('s', 't');
    await s.tell({ type: 'permission.request', generation: s.generation, requestId: 'r', kind: 'permission', options: [] });
    (s.agent as unknown as { answer(): Promise<void> }).answer = () => new Promise(() => {});
    const answering = lab.offstage.sessions.answer('s', 'r', 'yes').catch((error) => error.code);
    await stopAll(lab);
    expect(await answering).toBe('session.stopped');
  });

  it('a removal in doubt is looked for until the store has an answer', async () => {
    const reads = failingReads();
    const store = controlledStore(reads.store);
    await using engine = await testEngine({ store });
    const { offstage, clock } = engine;
    await offstage.sessions.create({ sessionId: 's' });
    store.failNext({ when: 'before', nth: 2 });
    const removing = offstage.sessions.remove('s').catch((error) => error.code);
    await clock.settle();
    expect(await removing).toBe('store.failed');
    reads.fail(KEYS.session('s'));
    await clock.advance(50);
    await expect(offstage.spawn({ kind: 'none', sessionId: 's' })).rejects.toThrow();
    reads.heal();
    await clock.advance(1_000);
    expect(await offstage.sessions.remove('s')).toEqual({ done: true });
  });
});
