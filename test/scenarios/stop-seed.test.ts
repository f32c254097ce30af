/**
 * Task stop reachability: its seed in its words, *Two sources of truth*, *Resolution*, *Stopping a recovered session*; the other sections are in
 * `stop-seed-contracts.test.ts`. Where liveness 9 and 11 say it otherwise, they win, and the test says so:
 * *not found* is `stop.nothing_running` (or `task.not_found`), and the per-session lock is one turn of the event loop (decisions/007).
 */
import { describe, expect, it } from 'vitest';
import { SESSION_STATES } from '../../src/machines/session.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { pausePoints } from '../../src/testing/pause-at.ts';
import { held } from '../support/bare-agent.ts';
import {
  closesOf,
  failingReads,
  nothingRunning,
  orphan,
  STALL_MS,
  statesOf,
  stopLines,
  storedRow,
  taskLab,
  unloaded,
} from '../support/stopping.ts';
import { contentOf } from '../support/store-content.ts';

describe('two sources of truth', () => {
  it('a session marked terminal without its execution torn down: the active-state query cannot see it, and its process is still running', async () => {
    await using lab = await taskLab();
    const { s, executionId } = await orphan(lab, 'orphan', 't');
    const { state, endingAgents } = await s.view();
    expect([state, SESSION_STATES[state].active, endingAgents]).toEqual(['failed', false, 1]);
    expect(s.agent.isClosed).toBe(false);
    expect((await lab.offstage.processes()).map((record) => record.executionId)).toEqual([executionId]);
  });

  it('the registry is the authority for what can be stopped; the persisted state remains the authority for what the session means', async () => {
    await using lab = await taskLab();
    const { s, executionId } = await orphan(lab, 'orphan', 't');
    const { recovered } = await lab.offstage.tasks.stop('t');
    expect(recovered).toEqual([{ sessionId: 'orphan', executionId }]);
    await lab.settled();
    expect(s.agent.isClosed).toBe(true);
    expect(await s.view()).toMatchObject({ state: 'failed', endingAgents: 0 });
    expect(await lab.offstage.processes()).toEqual([]);
  });
});

describe('resolution', () => {
  it('1. sessions in an active persisted state of the task, as today; those without anything to end are named, and unchanged', async () => {
    await using lab = await taskLab();
    const running = await lab.running('running', 't');
    const waiting = await lab.running('waiting', 't');
    await waiting.done();
    const created = await lab.create('created', 't');
    const before = await storedRow(lab, 'created');
    const result = await lab.offstage.tasks.stop('t');
    expect(result).toMatchObject({
      stopped: [
        { sessionId: 'running', executionId: running.executionId },
        { sessionId: 'waiting', executionId: waiting.executionId },
      ],
      absent: [{ sessionId: 'created' }],
      recovered: [],
      failed: [],
    });
    expect([(await running.view()).state, (await waiting.view()).state]).toEqual(['cancelled', 'cancelled']);
    expect([(await created.view()).state, await storedRow(lab, 'created')]).toEqual(['created', before]);
  });

  it('2. and 3. any registry-only session is added by loading its session row', async () => {
    const reads = failingReads();
    await using lab = await taskLab({ store: reads.store });
    const one = await orphan(lab, 'orphan', 't');
    const active = await lab.running('active', 't');
    const since = reads.reads.length;
    const { stopped, recovered } = await lab.offstage.tasks.stop('t');
    expect(stopped).toEqual([{ sessionId: 'active', executionId: active.executionId }]);
    expect(recovered).toEqual([{ sessionId: 'orphan', executionId: one.executionId }]);
    expect(reads.reads.slice(since)).toContain(KEYS.session('orphan'));
  });

  it('3. when the row cannot be loaded the paired registry reference is kept, the load error logged, and teardown scheduled by the captured execution', async () => {
    const reads = failingReads();
    await using lab = await taskLab({ store: reads.store });
    const { s, executionId, closes } = await orphan(lab, 'orphan', 't');
    reads.fail(KEYS.session('orphan'));
    const { recovered, loadErrors } = await lab.offstage.tasks.stop('t');
    expect(recovered).toEqual([{ sessionId: 'orphan', executionId }]);
    expect(loadErrors).toMatchObject([{ sessionId: 'orphan', error: { code: 'store.failed' } }]);
    expect(lab.engine.log).toContainEqual({
      level: 'warn',
      event: 'stop.unreadable',
      fields: { taskId: 't', sessionId: 'orphan', error: loadErrors[0]?.error?.message },
    });
    await lab.settled();
    expect([closes.count, s.agent.isClosed]).toEqual([2, true]);
  });

  it('4. if the union is empty, it is reported that no execution was found, and nothing is changed', async () => {
    const store = controlledStore(memoryStore());
    await using lab = await taskLab({ store });
    await lab.create('created', 't');
    const before = await contentOf(store);
    const { length: writes } = store.writes;
    const { length: events } = lab.engine.events;
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject({ ...nothingRunning, details: { id: 't' } });
    await lab.settled();
    expect([store.writes.length, lab.engine.events.length, await contentOf(store)]).toEqual([writes, events, before]);
    expect((await lab.offstage.tasks.get('t')).state).toBe('in_progress');
  });

  it('ordering keeps existing behavior first: sessions of active state, then those that only the registry knew of, older ones included', async () => {
    await using lab = await taskLab();
    await orphan(lab, 'orphan', 't');
    await lab.running('active', 't');
    await lab.offstage.tasks.stop('t');
    expect(stopLines(lab).map(({ sessionId, source }) => [sessionId, source])).toEqual([
      ['active', 'active'],
      ['orphan', 'registry'],
    ]);
  });

  it('a task with no orphan resolves exactly the set it resolves today', async () => {
    await using lab = await taskLab();
    await orphan(lab, 'elsewhere');
    for (const sessionId of ['a', 'b']) await lab.running(sessionId, 't');
    const result = await lab.offstage.tasks.stop('t');
    expect(result.stopped.map(({ sessionId }) => sessionId)).toEqual(['a', 'b']);
    expect(result).toMatchObject({ recovered: [], alreadyStopping: [], detached: [], absent: [], failed: [], loadErrors: [] });
  });
});

describe('stopping a recovered session', () => {
  it('one reached through the active-state query keeps its behavior: the cancellation state, and the existing events', async () => {
    await using lab = await taskLab();
    const s = await lab.running('s', 't');
    const since = lab.engine.events.length;
    await lab.offstage.tasks.stop('t');
    await lab.settled();
    expect(lab.engine.events.slice(since).map(({ type }) => type)).toEqual([
      'session.turn_ended',
      'session.state_changed',
      'session.activity_changed',
      'task.updated',
      'task.updated',
    ]);
    expect(statesOf(lab, 's', since)).toEqual(['cancelled']);
    expect(s.agent.isClosed).toBe(true);
  });

  it('the state transition is skipped for a terminal row, also when it became terminal while the stop was on its way', async () => {
    const { points, pauseAt } = pausePoints();
    await using lab = await taskLab({ points });
    const s = await lab.running('s', 't');
    const { executionId } = s;
    const closes = closesOf(s.agent, ['rejects']);
    const lock = pauseAt('lock');
    const stopping = lab.offstage.tasks.stop('t');
    await lab.clock.advance(STALL_MS);
    expect([(await s.view()).state, closes.count]).toEqual(['failed', 1]);
    const row = await storedRow(lab, 's');
    lock.release();
    expect(await stopping).toMatchObject({ stopped: [], recovered: [{ sessionId: 's', executionId }] });
    await lab.settled();
    expect([statesOf(lab, 's').at(-1), await storedRow(lab, 's')]).toEqual(['failed', row]);
    expect([closes.count, s.agent.isClosed]).toEqual([2, true]);
  });

  it('and when a replacement execution owns the session; teardown always targets the captured execution', async () => {
    const closing = held();
    await using lab = await taskLab();
    const { s, executionId, closes } = await unloaded(lab, 's', 't', ['rejects', closing.promise]);
    const former = s.agent;
    const result = await lab.offstage.tasks.stop('t');
    expect(result.recovered).toEqual([{ sessionId: 's', executionId }]);
    // Asked for after the stop, while what it captured is being torn down.
    expect(await s.attempt()).toBe('accepted');
    const replacement = s.agent;
    const since = lab.engine.events.length;
    const before = await s.view();
    closing.resolve();
    expect(await result.settled).toMatchObject({ recovered: [{ sessionId: 's', executionId }], detached: [], failed: [] });
    await lab.settled();
    expect([closes.count, former.isClosed, replacement.isClosed, replacement === former]).toEqual([2, true, false, false]);
    expect(await s.view()).toEqual({ ...before, endingAgents: 0 });
    expect(before).toMatchObject({ state: 'running', foregroundActivity: 'generating' });
    expect(statesOf(lab, 's', since)).toEqual([]);
  });

  // Decisions/007: it decides in one tick, so what runs by then belongs to what the task still owns, and nothing of it is left.
  it('a replacement that came before the stop decided is stopped as what it is; the predecessor is torn down as what it is', async () => {
    const { points, pauseAt } = pausePoints();
    await using lab = await taskLab({ points });
    const { s, executionId, closes } = await unloaded(lab, 's', 't');
    const lock = pauseAt('lock');
    const stopping = lab.offstage.tasks.stop('t');
    await lab.settled();
    expect(await s.attempt()).toBe('accepted');
    lock.release();
    const { stopped } = await stopping;
    await lab.settled();
    expect(stopped.map((entry) => entry.executionId).sort()).toEqual([executionId, s.executionId].sort());
    expect([closes.count, s.agent.isClosed, (await s.view()).state]).toEqual([2, true, 'cancelled']);
    expect(lab.offstage.health().agents).toEqual({ live: 0, ending: 0, detached: 0 });
  });

  it('if the captured execution still owns an active row, recovery uses the normal cancellation transition', async () => {
    const { points, pauseAt } = pausePoints();
    await using lab = await taskLab({ points });
    await lab.running('known', 't');
    const snapshot = pauseAt('snapshot');
    const stopping = lab.offstage.tasks.stop('t');
    await lab.settled();
    // The query has not seen it; the registry has.
    const late = await lab.running('late', 't');
    snapshot.release();
    const { stopped } = await stopping;
    expect(stopped.map(({ sessionId }) => sessionId)).toEqual(['known', 'late']);
    await lab.settled();
    expect(statesOf(lab, 'late').at(-1)).toBe('cancelled');
    expect(late.agent.isClosed).toBe(true);
  });

  it('success is reported when teardown is scheduled for at least one execution; it does not confirm that teardown has finished', async () => {
    const closing = held();
    await using lab = await taskLab();
    const { s } = await orphan(lab, 'orphan', 't', ['rejects', closing.promise]);
    const { recovered, settled } = await lab.offstage.tasks.stop('t');
    expect([recovered.length, s.agent.isClosed, (await s.view()).endingAgents]).toEqual([1, false, 1]);
    closing.resolve();
    expect((await settled).recovered).toEqual(recovered);
    expect([s.agent.isClosed, (await s.view()).endingAgents]).toEqual([true, 0]);
  });

  it('a task whose only live work was an orphan stops successfully, and post-stop task handling proceeds as for any successful stop', async () => {
    await using lab = await taskLab();
    await orphan(lab, 'orphan', 't');
    await lab.offstage.tasks.stop('t');
    expect((await lab.offstage.tasks.get('t')).state).toBe('review');
  });
});
