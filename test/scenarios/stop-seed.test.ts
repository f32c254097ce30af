/**
 * Task stop reachability: every section of its seed, in its words. Where liveness 9 and 11 say it otherwise, they win, and the test says so:
 * *not found* is `stop.nothing_running` (or `task.not_found`), and the per-session lock is one turn of the event loop (decisions/007).
 */
import { describe, expect, it } from 'vitest';
import { AgentExecution } from '../../src/engine/agent-execution.ts';
import { ExecutionRegistry } from '../../src/engine/execution-registry.ts';
import { LiveSession } from '../../src/engine/live-session.ts';
import { SESSION_STATES } from '../../src/machines/session.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { pausePoints } from '../../src/testing/pause-at.ts';
import { held } from '../support/bare-agent.ts';
import { gate } from '../support/executors.ts';
import { session, storeWith } from '../support/left-behind.ts';
import { sessionLab } from '../support/sessions.ts';
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

describe('data and contracts', () => {
  it('the stop entry point keeps its not-found error', async () => {
    await using lab = await taskLab();
    const { s } = await orphan(lab, 'orphan', 't');
    await expect(lab.offstage.tasks.stop('no-such-task')).rejects.toMatchObject({ code: 'task.not_found' });
    await expect(lab.offstage.sessions.stop('no-such-session')).rejects.toMatchObject({ code: 'session.not_found' });
    await lab.settled();
    expect(s.agent.isClosed).toBe(false);
  });

  it('given a task identity, the registry returns paired session and execution identities that currently have a registered execution; it is a snapshot', () => {
    const registry = new ExecutionRegistry();
    const register = (executionId: string, sessionId: string, taskId: string): AgentExecution => {
      const execution = new AgentExecution({ executionId, sessionId, taskId, agentId: 'default' }, () => {});
      registry.swapAgent(new LiveSession(sessionId, taskId), null, execution);
      return execution;
    };
    const first = register('e1', 's1', 't');
    register('e2', 's2', 't');
    register('e3', 's3', 'other');
    const pairs = ({ agents }: ReturnType<typeof registry.ofTask>) =>
      agents.map(({ sessionId, executionId }) => [sessionId, executionId]);
    const before = registry.ofTask('t');
    registry.removeAgent(first);
    register('e4', 's4', 't');
    expect(pairs(before)).toEqual([
      ['s1', 'e1'],
      ['s2', 'e2'],
    ]);
    expect(pairs(registry.ofTask('t'))).toEqual([
      ['s2', 'e2'],
      ['s4', 'e4'],
    ]);
    expect(registry.ofTask('none')).toEqual({ agents: [], bodies: [] });
  });
});

describe('failure and recovery', () => {
  it('a failed stop for one session does not prevent the others', async () => {
    await using lab = await taskLab();
    const { executionId } = await orphan(lab, 'orphan', 't', ['rejects', 'rejects']);
    const s = await lab.running('s', 't');
    const { stopped, recovered, failed } = await lab.offstage.tasks.stop('t');
    expect([stopped, recovered]).toEqual([[{ sessionId: 's', executionId: s.executionId }], []]);
    expect(failed).toMatchObject([{ sessionId: 'orphan', executionId, error: { code: 'agent.failed' } }]);
    await lab.settled();
    expect(s.agent.isClosed).toBe(true);
  });

  it('the operation reports failure only when every resolved session failed', async () => {
    await using lab = await taskLab();
    const { executionId } = await orphan(lab, 'orphan', 't', ['rejects', 'rejects']);
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject({
      code: 'stop.failed',
      details: { id: 't', failed: [{ sessionId: 'orphan', executionId, error: { code: 'agent.failed' } }] },
    });
    expect((await lab.offstage.tasks.get('t')).state).toBe('in_progress');
    // Not given up: the next one tries again.
    expect((await lab.offstage.tasks.stop('t')).recovered).toEqual([{ sessionId: 'orphan', executionId }]);
  });

  it('a repeated stop finds the executions already removed and reports not-found without creating another transition', async () => {
    await using lab = await taskLab();
    await orphan(lab, 'orphan', 't');
    await lab.running('s', 't');
    const { settled } = await lab.offstage.tasks.stop('t');
    await settled;
    await lab.settled();
    const { length } = lab.engine.events;
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject(nothingRunning);
    for (const id of ['orphan', 's'])
      await expect(lab.offstage.sessions.stop(id)).rejects.toMatchObject({ ...nothingRunning, details: { id } });
    await lab.settled();
    expect(lab.engine.events.slice(length)).toEqual([]);
  });

  it("a registry lookup that returns nothing degrades exactly to today's behavior", async () => {
    const held = gate();
    await using lab = await taskLab({ executors: { held }, workers: 1 });
    const elsewhere = await lab.create('elsewhere');
    const { jobId: blocking } = await lab.offstage.spawn({ kind: 'held', sessionId: elsewhere.sessionId });
    await held.started(blocking);
    const s = await lab.running('s', 't');
    await s.done();
    const { jobId } = await lab.offstage.spawn({ kind: 'held', sessionId: 's' });
    s.agent.exit();
    await lab.settled();
    // Nothing of the task runs: it has a job in the queue, and no agent.
    expect((await s.view()).executionId).toBeNull();
    const { stopped, recovered } = await lab.offstage.tasks.stop('t');
    expect([stopped, recovered]).toEqual([[{ sessionId: 's', jobId }], []]);
    expect(await lab.offstage.get(jobId)).toMatchObject({ status: 'cancelled', reasonCode: 'cancel.stop' });
    expect(held.calls).toEqual([blocking]);
  });

  it('a session row that cannot be loaded is logged, its captured execution scheduled for teardown; the load error remains visible to the caller', async () => {
    const reads = failingReads();
    await using lab = await taskLab({ store: reads.store });
    const { s, executionId } = await orphan(lab, 'orphan', 't', ['rejects', 'rejects']);
    reads.fail(KEYS.session('orphan'));
    const failure = await lab.offstage.tasks.stop('t').catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'stop.failed',
      details: { loadErrors: [{ sessionId: 'orphan', executionId, error: { code: 'store.failed' } }] },
    });
    const settled = await (await lab.offstage.tasks.stop('t')).settled;
    expect(settled).toMatchObject({ recovered: [{ executionId }], loadErrors: [{ sessionId: 'orphan' }] });
    expect(s.agent.isClosed).toBe(true);
    expect(lab.engine.log.filter(({ event }) => event === 'stop.unreadable')).toHaveLength(2);
  });

  it('the load error of a session in which nothing runs remains visible too', async () => {
    const reads = failingReads(await storeWith({ sessions: [session('s', 'waiting_for_input')] }));
    await using lab = await sessionLab({ store: reads.store });
    reads.fail(KEYS.session('s'));
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject({
      ...nothingRunning,
      details: { loadErrors: [{ sessionId: 's', error: { code: 'store.failed' } }] },
    });
  });
});

describe('persistence', () => {
  it("an orphan's terminal state is not overwritten: its row is the same byte for byte", async () => {
    const store = controlledStore(memoryStore());
    await using lab = await taskLab({ store });
    await orphan(lab, 'orphan', 't');
    const row = await storedRow(lab, 'orphan');
    const { length: writes } = store.writes;
    const { length: events } = lab.engine.events;
    await (await lab.offstage.tasks.stop('t')).settled;
    await lab.settled();
    expect(await storedRow(lab, 'orphan')).toBe(row);
    const keys = store.writes.slice(writes).flatMap(({ operations }) => operations.map(({ key }) => key));
    expect(keys).not.toContain(KEYS.session('orphan'));
    expect(statesOf(lab, 'orphan', events)).toEqual([]);
  });
});

describe('security', () => {
  it("resolution is constrained to the requested task: a stop cannot reach another task's execution", async () => {
    await using lab = await taskLab();
    await lab.offstage.tasks.create({ taskId: 't/x' });
    const other = await orphan(lab, 's/orphan', 't/x');
    const busy = await lab.running('s/x', 't/x');
    await lab.running('s', 't');
    const { length } = lab.engine.events;
    const views = async () => {
      const shown = await Promise.all([other.s.view(), busy.view()]);
      // The number of the last telling of any session.
      return shown.map((view) => ({ ...view, sessionSeq: 0 }));
    };
    const before = await views();
    await (await lab.offstage.tasks.stop('t')).settled;
    await lab.settled();
    expect(await views()).toEqual(before);
    expect([other.closes.count, other.s.agent.isClosed, busy.agent.isClosed]).toEqual([1, false, false]);
    const told = lab.engine.events.slice(length).filter((event) => 'taskId' in event && event.taskId !== 't');
    expect(told).toEqual([]);
  });
});

describe('observability', () => {
  it('the stop log distinguishes sessions of the active-state query from those recovered through the registry, and names session and execution', async () => {
    await using lab = await taskLab();
    const one = await orphan(lab, 'orphan', 't');
    const s = await lab.running('s', 't');
    await lab.offstage.tasks.stop('t');
    const line = { taskId: 't', error: null };
    expect(stopLines(lab)).toEqual([
      { ...line, sessionId: 's', executionId: s.executionId, source: 'active', outcome: 'stopped' },
      { ...line, sessionId: 'orphan', executionId: one.executionId, source: 'registry', outcome: 'recovered' },
    ]);
  });
});
