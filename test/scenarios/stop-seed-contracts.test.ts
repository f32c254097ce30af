/**
 * Task stop reachability: its seed in its words, *Data and contracts*, *Failure and recovery*, *Persistence*, *Security*, *Observability*. *Not found* is
 * `stop.nothing_running` here, or `task.not_found`. Of its sections the first ones are in `stop-seed.test.ts`.
 */
import { describe, expect, it } from 'vitest';
import { AgentExecution } from '../../src/engine/agent-execution.ts';
import { ExecutionRegistry } from '../../src/engine/execution-registry.ts';
import { LiveSession } from '../../src/engine/live-session.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { gate } from '../support/executors.ts';
import { session, storeWith } from '../support/left-behind.ts';
import { sessionLab } from '../support/sessions.ts';
import { failingReads, nothingRunning, orphan, statesOf, stopLines, storedRow, taskLab } from '../support/stopping.ts';

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
