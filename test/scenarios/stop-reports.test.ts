/** Liveness 11: which rows a stop moves, what force means, what is reported at once and in the end, and what a stop of one session leaves alone. */
import { describe, expect, it } from 'vitest';
import { offstageError } from '../../src/model/errors.ts';
import type { SessionState, TaskState } from '../../src/model/records.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { held, watched } from '../support/bare-agent.ts';
import { gate, scripted, stubborn } from '../support/executors.ts';
import { rowOf, session, storeWith } from '../support/left-behind.ts';
import { sessionLab } from '../support/sessions.ts';
import { closesOf, nothingRunning, statesOf, stopAll, storedRow, taskLab, taskState, unloaded } from '../support/stopping.ts';

const GRACE_MS = 30_000;

describe('rows', () => {
  it.each<SessionState>(['created', 'idle', 'completed', 'failed', 'cancelled'])(
    'a %s row stays as it is, while the jobs in it are ended',
    async (state) => {
      const executor = gate();
      const store = await storeWith({ sessions: [session('s', state)] });
      await using lab = await sessionLab({ store, executors: { gate: executor } });
      const row = await storedRow(lab, 's');
      const { jobId } = await lab.offstage.spawn({ kind: 'gate', sessionId: 's' });
      const { execution } = (await executor.started(jobId)).context;
      await lab.settled();
      const report = await stopAll(lab);
      expect(report).toMatchObject({ stopped: [{ sessionId: 's', jobId, executionId: execution.executionId }], absent: [] });
      expect(await lab.offstage.get(jobId)).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.stop' });
      expect([await storedRow(lab, 's'), statesOf(lab, 's')]).toEqual([row, []]);
    },
  );

  it('an idle row stays as it is, while the agent that it has lost is ended', async () => {
    await using lab = await taskLab();
    const { s, executionId } = await unloaded(lab, 's', 't');
    const row = await storedRow(lab, 's');
    expect((await stopAll(lab)).recovered).toEqual([{ sessionId: 's', executionId }]);
    expect([(await s.view()).state, s.agent.isClosed, await storedRow(lab, 's')]).toEqual(['idle', true, row]);
    expect(await s.attempt()).toBe('accepted');
  });

  it('waiting for input with something live in it is cancelled, with nothing in it it is absent and stays', async () => {
    const executor = gate();
    const others = (['idle', 'completed', 'failed', 'cancelled'] as const).map((state) => session(state, state));
    const waiting = ['live', 'still'].map((id) => session(id, 'waiting_for_input'));
    const store = await storeWith({ sessions: [...waiting, ...others] });
    await using lab = await sessionLab({ store, executors: { gate: executor } });
    await lab.offstage.spawn({ kind: 'gate', sessionId: 'live' });
    await lab.settled();
    expect((await stopAll(lab)).absent).toEqual([{ sessionId: 'still' }]);
    expect([(await rowOf(store, 'live')).state, (await rowOf(store, 'still')).state]).toEqual(['cancelled', 'waiting_for_input']);
  });

  it('a job whose end is on its way to the store is no part of it; nothing running is said when that is stored', async () => {
    const executor = gate();
    const store = controlledStore(memoryStore());
    await using lab = await taskLab({ store, executors: { gate: executor } });
    await lab.create('s', 't');
    const { jobId } = await lab.offstage.spawn({ kind: 'gate', sessionId: 's' });
    await executor.started(jobId);
    await lab.settled();
    store.hold();
    await executor.release(jobId, 'done');
    await lab.settled();
    const stopping = lab.offstage.tasks.stop('t');
    const watch = watched(stopping);
    await lab.settled();
    expect(watch.hasSettled).toBe(false);
    store.release();
    await expect(stopping).rejects.toMatchObject({ ...nothingRunning, details: { detached: [] } });
    expect(await lab.offstage.get(jobId)).toMatchObject({ status: 'completed', resultText: 'done' });
  });

  it('one batch carries all that was decided: transitions, intents, and the ends of jobs that had only waited', async () => {
    const store = controlledStore(memoryStore());
    await using lab = await taskLab({ store, executors: { gate: gate() }, workers: 1 });
    const sessions = [await lab.running('a', 't'), await lab.running('b', 't')];
    const jobs = await Promise.all([1, 2].map(() => lab.offstage.spawn({ kind: 'gate', sessionId: 'a' })));
    await lab.settled();
    const { length } = store.writes;
    store.hold();
    const stopping = lab.offstage.tasks.stop('t', { reason: 'enough' });
    await lab.settled();
    expect(store.writes).toHaveLength(length + 1);
    const keys = store.writes.at(-1)?.operations.map(({ key }) => key);
    for (const { sessionId, executionId } of sessions)
      expect(keys).toEqual(expect.arrayContaining([KEYS.session(sessionId), KEYS.process(executionId)]));
    store.release();
    await stopping;
    for (const { jobId } of jobs)
      expect(await lab.offstage.wait(jobId)).toMatchObject({ status: 'cancelled', cancelReason: 'enough' });
    const ended = await Promise.all(jobs.map(({ jobId }) => lab.offstage.get(jobId)));
    expect(ended.map(({ startedAt }) => startedAt !== null)).toEqual([true, false]);
  });
});

describe('without a grace', () => {
  it('bodies that ignore their signal end detached at once; a second stop lists them, and finds nothing else', async () => {
    const slow = stubborn();
    await using lab = await taskLab({ executors: { slow } });
    await lab.create('s', 't');
    const { jobId } = await lab.offstage.spawn({ kind: 'slow', sessionId: 's' });
    const { context } = await slow.started(jobId);
    await lab.settled();
    const { stopped, settled } = await lab.offstage.tasks.stop('t', { force: true });
    const entry = { sessionId: 's', jobId, executionId: context.execution.executionId };
    expect(stopped).toEqual([entry]);
    await lab.clock.advance(0);
    expect(await settled).toMatchObject({ stopped: [], detached: [{ ...entry, error: { code: 'execution.detached' } }] });
    expect(await lab.offstage.get(jobId)).toMatchObject({ status: 'cancelled', detached: true, bodyLive: true });
    const repeated = { ...nothingRunning, details: { id: 't', detached: [entry] } };
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject(repeated);
    await expect(lab.offstage.sessions.stop('s')).rejects.toMatchObject({ ...repeated, details: { id: 's', detached: [entry] } });
    await slow.release(jobId);
    await lab.settled();
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject({ ...nothingRunning, details: { detached: [] } });
  });

  it('an agent that does not close is not waited for either', async () => {
    const closing = held();
    await using lab = await taskLab();
    const s = await lab.running('s', 't');
    closesOf(s.agent, [closing.promise]);
    const { settled } = await lab.offstage.tasks.stop('t', { force: true });
    await lab.clock.advance(0);
    const entry = { sessionId: 's', executionId: s.executionId };
    expect((await settled).detached).toMatchObject([entry]);
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject({ ...nothingRunning, details: { detached: [entry] } });
    expect(lab.offstage.health().agents).toMatchObject({ detached: 1 });
    closing.resolve();
    await lab.settled();
    expect(lab.offstage.health().agents).toEqual({ live: 0, ending: 0, detached: 0 });
  });

  it('asked for later, it takes away the rest of the grace of what an earlier stop left', async () => {
    const slow = stubborn();
    await using lab = await taskLab({ executors: { slow } });
    const s = await lab.running('s', 't');
    closesOf(s.agent, [new Promise(() => {})]);
    const { jobId } = await lab.offstage.spawn({ kind: 'slow', sessionId: 's' });
    await slow.started(jobId);
    const { settled } = await lab.offstage.tasks.stop('t');
    await lab.clock.advance(1_000);
    const { alreadyStopping } = await lab.offstage.tasks.stop('t', { force: true });
    expect(alreadyStopping.map((entry) => entry.jobId ?? entry.executionId)).toEqual([jobId, s.executionId]);
    await lab.clock.advance(0);
    expect((await settled).detached.map((entry) => entry.jobId ?? entry.executionId)).toEqual([jobId, s.executionId]);
    await slow.release(jobId);
  });
});

describe('the settled report', () => {
  it('comes when everything has ended, or its grace is over: what ended, what did not, and what could not be ended', async () => {
    const executors = { gate: gate(), slow: stubborn() };
    await using lab = await taskLab({ executors, workers: 8 });
    const [good, hanging, failing] = [await lab.running('a', 't'), await lab.running('b', 't'), await lab.running('c', 't')];
    closesOf(hanging.agent, [new Promise(() => {})]);
    const fails = closesOf(
      failing.agent,
      Array.from({ length: 100 }, () => 'rejects'),
    );
    const quick = await lab.offstage.spawn({ kind: 'gate', sessionId: 'a' });
    const slow = await lab.offstage.spawn({ kind: 'slow', sessionId: 'a' });
    await executors.slow.started(slow.jobId);
    const { settled, ...now } = await lab.offstage.tasks.stop('t');
    const idsOf = (entries: typeof now.stopped) => entries.map((entry) => entry.jobId ?? entry.executionId);
    expect([idsOf(now.stopped), idsOf(now.failed)]).toEqual([
      [quick.jobId, slow.jobId, good.executionId, hanging.executionId],
      [failing.executionId],
    ]);
    const watch = watched(settled);
    await lab.clock.advance(GRACE_MS - 1);
    expect(watch.hasSettled).toBe(false);
    await lab.clock.advance(1);
    const report = await settled;
    expect(idsOf(report.stopped)).toEqual([quick.jobId, good.executionId]);
    expect(idsOf(report.detached)).toEqual([slow.jobId, hanging.executionId]);
    expect(report.failed).toMatchObject([{ executionId: failing.executionId, error: { code: 'agent.failed' } }]);
    // It was tried again and again meanwhile.
    expect(fails.count).toBeGreaterThan(3);
    await executors.slow.release(slow.jobId);
  });

  it('is not put off by a later stop that tries again', async () => {
    await using lab = await taskLab();
    const s = await lab.running('s', 't');
    await lab.running('other', 't');
    closesOf(
      s.agent,
      Array.from({ length: 100 }, () => 'rejects'),
    );
    const { settled } = await lab.offstage.tasks.stop('t');
    const watch = watched(settled);
    await lab.clock.advance(GRACE_MS - 1_000);
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject({ code: 'stop.failed' });
    expect(watch.hasSettled).toBe(false);
    await lab.clock.advance(1_000);
    expect(watch.hasSettled).toBe(true);
    expect((await settled).failed).toMatchObject([{ executionId: s.executionId }]);
  });

  it('names what an earlier stop told to end, too', async () => {
    const closing = held();
    await using lab = await taskLab();
    const s = await lab.running('s', 't');
    closesOf(s.agent, [closing.promise]);
    const first = await lab.offstage.tasks.stop('t');
    const second = await lab.offstage.tasks.stop('t');
    closing.resolve();
    const entry = { sessionId: 's', executionId: s.executionId };
    expect([(await first.settled).stopped, (await second.settled).alreadyStopping]).toEqual([[entry], [entry]]);
  });
});

describe('the task', () => {
  it.each<[TaskState, TaskState]>([
    ['open', 'open'],
    ['in_progress', 'review'],
    ['review', 'review'],
    ['done', 'done'],
    ['cancelled', 'cancelled'],
    ['archived', 'archived'],
  ])('that was %s is %s after a stop', async (before, after) => {
    await using lab = await taskLab();
    await lab.offstage.tasks.setState('t', before);
    await lab.running('s', 't');
    await lab.offstage.tasks.stop('t');
    expect(await taskState(lab)).toBe(after);
  });
});

describe('sessions.stop', () => {
  it('is the same for one session: its agent, tickets and work go, the other session and the task stay', async () => {
    const executor = gate();
    await using lab = await taskLab({ executors: { gate: executor } });
    const [s, other] = [await lab.running('s', 't'), await lab.running('other', 't')];
    await s.reg('work');
    expect(await s.attempt({ whenBusy: 'queue' })).toBe('queued');
    const own = await lab.offstage.spawn({ kind: 'gate', sessionId: 's' });
    const its = await lab.offstage.spawn({ kind: 'gate', sessionId: 'other' });
    const { context } = await executor.started(its.jobId);
    await lab.settled();
    const since = lab.engine.events.length;
    const { stopped, settled } = await lab.offstage.sessions.stop('s', { reason: 'enough' });
    expect(stopped.map((entry) => entry.jobId ?? entry.executionId)).toEqual([own.jobId, s.executionId]);
    await settled;
    await lab.settled();
    expect(await s.view()).toMatchObject({ state: 'cancelled', queuedPrompts: 0, foregroundActivity: null, executionId: null });
    expect(await lab.offstage.workloads.list('s')).toEqual([]);
    expect(await lab.offstage.get(own.jobId)).toMatchObject({ status: 'cancelled', cancelReason: 'enough' });
    expect([context.signal.aborted, other.agent.isClosed, (await other.view()).state]).toEqual([false, false, 'running']);
    expect([lab.publications('other', since), await taskState(lab)]).toEqual([[], 'in_progress']);
    await lab.offstage.sessions.stop('other');
    expect(await taskState(lab)).toBe('review');
  });

  it('reaches everything below its jobs, on whatever session that runs', async () => {
    const held = gate();
    const parent = scripted({
      root: async (context) => void (await context.run({ kind: 'parent', subject: 'child', jobId: 'child', sessionId: 'b' })),
      child: async (context) => void (await context.run({ kind: 'held', jobId: 'grandchild', sessionId: 'c' })),
    });
    await using lab = await sessionLab({ executors: { held, parent }, workers: 8 });
    const { taskId } = await lab.create('a');
    for (const sessionId of ['b', 'c']) await lab.create(sessionId, taskId);
    await lab.offstage.spawn({ kind: 'parent', subject: 'root', jobId: 'root', sessionId: 'a' });
    await held.started('grandchild');
    await lab.settled();
    const { stopped, settled } = await lab.offstage.sessions.stop('a');
    expect(stopped.map(({ jobId }) => jobId).sort()).toEqual(['child', 'grandchild', 'root']);
    expect((await settled).stopped).toHaveLength(3);
    for (const jobId of ['root', 'child', 'grandchild']) expect((await lab.offstage.get(jobId)).status).toBe('cancelled');
  });
});

it('force reaches everything below the jobs of a stopped session, too: nothing of it has a grace', async () => {
  const deaf = stubborn();
  const parent = scripted({
    root: (context) => context.run({ kind: 'parent', subject: 'child', jobId: 'child', sessionId: 'b' }),
    child: (context) => context.run({ kind: 'deaf', jobId: 'grandchild', sessionId: 'c' }),
  });
  await using lab = await sessionLab({ executors: { deaf, parent }, workers: 8 });
  const { taskId } = await lab.create('a');
  for (const sessionId of ['b', 'c']) await lab.create(sessionId, taskId);
  await lab.offstage.spawn({ kind: 'parent', subject: 'root', jobId: 'root', sessionId: 'a' });
  await deaf.started('grandchild');
  await lab.settled();
  const { settled } = await lab.offstage.sessions.stop('a', { force: true });
  await lab.clock.advance(0);
  expect(await lab.offstage.get('grandchild')).toMatchObject({ status: 'cancelled', detached: true });
  expect((await settled).detached).toMatchObject([{ jobId: 'grandchild' }]);
  await deaf.release('grandchild');
});

describe('a store that refuses', () => {
  it('keeps nothing alive: durable false, all is told to end, and stored once that works', async () => {
    const executor = gate();
    const store = controlledStore(memoryStore());
    await using lab = await taskLab({ store, executors: { gate: executor } });
    const s = await lab.running('s', 't');
    expect(await s.attempt({ whenBusy: 'queue' })).toBe('queued');
    const { jobId } = await lab.offstage.spawn({ kind: 'gate', sessionId: 's' });
    const { context } = await executor.started(jobId);
    store.failAll(offstageError('store.failed', { message: 'no space left on device' }));
    const { durable, settled } = await lab.offstage.sessions.stop('s');
    expect([durable, context.signal.aborted]).toEqual([false, true]);
    expect(await settled).toMatchObject({ stopped: [{ jobId }, { executionId: s.executionId }], durable: false });
    expect(s.agent.isClosed).toBe(true);
    expect(lab.engine.events.findLast(({ type }) => type === 'session.ticket')).toMatchObject({ status: 'stopped' });
    expect(statesOf(lab, 's').at(-1)).toBe('running');
    store.failAll(null);
    await lab.clock.advance(60_000);
    expect([(await rowOf(store, 's')).state, (await lab.offstage.get(jobId)).status]).toEqual(['cancelled', 'cancelled']);
    expect([statesOf(lab, 's').at(-1), await lab.offstage.processes()]).toEqual(['cancelled', []]);
  });
});
