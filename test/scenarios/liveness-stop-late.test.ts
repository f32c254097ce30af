/**
 * Liveness and stop, "Stop", L133–L154: what comes late, what cannot be stored, read or ended, and whom a stop does not touch (liveness 9 and 11).
 * L156 and L157 are in `liveness-stalls.test.ts`.
 */
import { describe, expect, it, vi } from 'vitest';
import { offstageError } from '../../src/model/errors.ts';
import type { SessionRow } from '../../src/model/records.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS, RANGES } from '../../src/persistence/row-keys.ts';
import type { Store } from '../../src/persistence/store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { pausePoints } from '../../src/testing/pause-at.ts';
import { bareAgent, held, heldStart } from '../support/bare-agent.ts';
import { gate } from '../support/executors.ts';
import { agentProcess, rowOf, session, storeWith } from '../support/left-behind.ts';
import { FULL, type LabSession, sessionLab } from '../support/sessions.ts';
import {
  closesOf,
  failingReads,
  nothingRunning,
  orphan,
  STALL_MS,
  statesOf,
  stopAll,
  stopLines,
  storedRow,
  taskLab,
  taskState,
  unloaded,
} from '../support/stopping.ts';

describe('what comes late', () => {
  it('L133: the row is terminal when it is read again: no transition; the captured execution is torn down', async () => {
    const { points, pauseAt } = pausePoints();
    await using lab = await taskLab({ points });
    const s = await lab.running('s', 't');
    const closes = closesOf(s.agent, ['rejects']);
    const snapshot = pauseAt('snapshot');
    const stopping = lab.offstage.sessions.stop('s');
    await lab.clock.advance(STALL_MS);
    const row = await storedRow(lab, 's');
    snapshot.release();
    expect(await stopping).toMatchObject({ stopped: [], recovered: [{ sessionId: 's', executionId: s.executionId }] });
    await lab.settled();
    expect([await storedRow(lab, 's'), statesOf(lab, 's').at(-1)]).toEqual([row, 'failed']);
    expect([closes.count, s.agent.isClosed]).toEqual([2, true]);
  });

  it.each<[string, (s: LabSession) => void]>([
    ['the answer to its prompt', (s) => s.prompt.end()],
    ['the failure of its prompt', (s) => s.prompt.fail(new Error('late'))],
    ['output', (s) => void s.agent.emit({ type: 'output', generation: 0, text: 'late' })],
    [
      'a question',
      ({ agent }) =>
        void agent.emit({ type: 'permission.request', generation: 0, requestId: 'r', kind: 'permission', options: [] }),
    ],
    ['new work', (s) => void s.agent.emit({ type: 'workload.started', generation: 0, kind: 'shell', workloadId: 'w' })],
    ['its crash', (s) => s.agent.crash()],
  ])('L135: a late writer of the state cannot revive a cancelled session: %s', async (_what, late) => {
    const closing = held();
    await using lab = await taskLab({ script: { attests: FULL, ignoreCancel: true } });
    const s = await lab.running('s', 't');
    closesOf(s.agent, [closing.promise]);
    await lab.offstage.tasks.stop('t');
    const row = await storedRow(lab, 's');
    const since = lab.engine.events.length;
    late(s);
    await lab.settled();
    closing.resolve();
    await lab.settled();
    expect([await storedRow(lab, 's'), lab.engine.events.slice(since)]).toEqual([row, []]);
    expect(await s.view()).toMatchObject({ state: 'cancelled', foregroundActivity: null, turn: null });
  });

  it('L135: nor can an agent that starts late: it is closed', async () => {
    const start = heldStart();
    await using lab = await taskLab({ agents: { default: start.factory } });
    const s = await lab.create('s', 't');
    const asking = s.attempt();
    await lab.settled();
    const { stopped: told, settled } = await lab.offstage.tasks.stop('t');
    expect(told).toMatchObject([{ sessionId: 's' }]);
    expect(await asking).toBe('session.stopped');
    const close = vi.fn();
    start.resolve(bareAgent({ close }));
    await settled;
    await lab.settled();
    expect(close).toHaveBeenCalledTimes(1);
    expect(statesOf(lab, 's')).toEqual(['created', 'starting', 'cancelled']);
    // Nothing is on its way any more in the instant that tells of it.
    const event = lab.engine.events.findLast(({ type }) => type === 'session.state_changed');
    expect(event).toMatchObject({ newState: 'cancelled', foregroundActivity: null, activeSubagentCount: 0 });
    expect(await s.view()).toMatchObject({ state: 'cancelled', executionId: null, endingAgents: 0 });
  });

  it('L136: the writer of `starting` loses to the cancellation, also while its write is under way', async () => {
    const store = controlledStore(memoryStore());
    await using lab = await taskLab({ store });
    const s = await lab.create('s', 't');
    store.hold();
    const asking = s.ask().catch(({ code }: { code: string }) => code);
    await lab.settled();
    const stopping = lab.offstage.tasks.stop('t');
    await lab.settled();
    store.release();
    expect(await asking).toBe('session.stopped');
    await (await stopping).settled;
    await lab.settled();
    expect(statesOf(lab, 's')).toEqual(['created', 'starting', 'cancelled']);
    expect(((await rowOf(store, 's')) as SessionRow).state).toBe('cancelled');
    expect([s.prompts.length, lab.mock.agents.every(({ isClosed }) => isClosed)]).toEqual([0, true]);
  });

  it('L138: an agent that fails late, during its stop, launches no second cleanup', async () => {
    const closing = held();
    await using lab = await taskLab();
    const s = await lab.running('s', 't');
    await s.reg('work');
    const closes = closesOf(s.agent, [closing.promise]);
    const result = await lab.offstage.tasks.stop('t');
    const since = lab.engine.events.length;
    s.agent.crash();
    await lab.settled();
    closing.resolve();
    expect((await result.settled).stopped).toHaveLength(1);
    await lab.settled();
    expect([closes.count, lab.engine.events.slice(since)]).toEqual([1, []]);
  });
});

describe('what cannot be stored', () => {
  it('L141: cancelled is persisted before the teardown', async () => {
    const store = controlledStore(memoryStore());
    await using lab = await taskLab({ store });
    const s = await lab.running('s', 't');
    const closes = closesOf(s.agent);
    store.hold();
    const stopping = lab.offstage.tasks.stop('t');
    await lab.settled();
    expect([closes.count, (await s.view()).state]).toEqual([0, 'running']);
    const keys = store.writes.at(-1)?.operations.map(({ key }) => key);
    expect(keys).toEqual(expect.arrayContaining([KEYS.session('s'), KEYS.process(s.executionId)]));
    store.release();
    await (await stopping).settled;
    expect([closes.count, (await rowOf(store, 's')).state]).toEqual([1, 'cancelled']);
  });

  it('L141: a failure to persist does not stop the teardown, and is reported', async () => {
    const store = controlledStore(memoryStore());
    await using lab = await taskLab({ store });
    const s = await lab.running('s', 't');
    const closing = held();
    const closes = closesOf(s.agent, [closing.promise]);
    store.failAll(offstageError('store.failed', { message: 'no space left on device' }));
    const result = await lab.offstage.tasks.stop('t');
    expect(result).toMatchObject({ stopped: [{ sessionId: 's', executionId: s.executionId }], durable: false });
    await lab.settled();
    expect([closes.count, (await rowOf(store, 's')).state]).toEqual([1, 'running']);
    // Also while it takes its time: nothing of it counts any more.
    expect(await s.view()).toMatchObject({ executionId: null, foregroundActivity: null, turn: null });
    closing.resolve();
    store.failAll(null);
    await lab.clock.advance(60_000);
    expect([(await rowOf(store, 's')).state, statesOf(lab, 's').at(-1)]).toEqual(['cancelled', 'cancelled']);
  });

  it('L141: scheduling twice is harmless; empty ids are input.invalid', async () => {
    await using lab = await taskLab();
    const s = await lab.running('s', 't');
    const closes = closesOf(s.agent);
    const results = await Promise.all([
      lab.offstage.tasks.stop('t'),
      lab.offstage.sessions.stop('s'),
      lab.offstage.tasks.stop('t'),
    ]);
    expect(results.map((result) => result.stopped.length + result.alreadyStopping.length)).toEqual([1, 1, 1]);
    expect(results.flatMap((result) => result.stopped)).toEqual([{ sessionId: 's', executionId: s.executionId }]);
    await lab.settled();
    expect([closes.count, statesOf(lab, 's')]).toEqual([1, ['created', 'starting', 'running', 'cancelled']]);
    await expect(lab.offstage.tasks.stop('')).rejects.toMatchObject({ code: 'input.invalid' });
    await expect(lab.offstage.sessions.stop('')).rejects.toMatchObject({ code: 'input.invalid' });
  });
});

describe('absent and failed, predecessors and strangers', () => {
  const leftBehind = (): Promise<Store> =>
    storeWith({ sessions: [session('s', 'waiting_for_input')], processes: [agentProcess('e', 's')] });

  it.each([
    ['gone', 'absent', nothingRunning],
    ['unverified', 'failed', { code: 'stop.failed', details: { failed: [{ sessionId: 's', executionId: 'e' }] } }],
  ] as const)('L144: an execution of an earlier process that is %s now is %s', async (verdict, _kind, failure) => {
    const store = await leftBehind();
    let now: 'gone' | 'unverified' = 'unverified';
    await using lab = await sessionLab({ store, reap: async () => ({ verdict: now, detail: 'looked at' }) });
    now = verdict;
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject(failure);
    expect((await lab.offstage.processes()).length).toBe(verdict === 'gone' ? 0 : 1);
    expect((await rowOf(store, 's')).state).toBe('waiting_for_input');
  });

  it('L144: one that can be proven ours only now is ended, and its row stays', async () => {
    const store = await leftBehind();
    let now: 'killed' | 'unverified' = 'unverified';
    await using lab = await sessionLab({ store, reap: async () => ({ verdict: now, detail: 'looked at' }) });
    now = 'killed';
    const { recovered, absent, failed } = await lab.offstage.tasks.stop('t');
    expect([recovered, absent, failed]).toEqual([[{ sessionId: 's', executionId: 'e' }], [], []]);
    expect([await lab.offstage.processes(), (await rowOf(store, 's')).state]).toEqual([[], 'waiting_for_input']);
  });

  it('L144: nobody can say it is absent because the row of its session cannot be read', async () => {
    const reads = failingReads(await leftBehind());
    await using lab = await sessionLab({
      store: reads.store,
      reap: async () => ({ verdict: 'unverified', detail: 'looked at' }),
    });
    reads.fail(KEYS.session('s'));
    const left = { sessionId: 's', executionId: 'e', error: { code: 'execution.unknown' } };
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject({
      code: 'stop.failed',
      details: { failed: [left], loadErrors: [{ sessionId: 's' }] },
    });
  });

  it('L144: beside each other they are told apart', async () => {
    await using lab = await taskLab();
    await lab.create('absent', 't');
    const failing = await lab.running('failing', 't');
    closesOf(failing.agent, ['rejects']);
    await lab.running('s', 't');
    const { absent, failed } = await lab.offstage.tasks.stop('t');
    expect([absent, failed.map(({ sessionId }) => sessionId)]).toEqual([[{ sessionId: 'absent' }], ['failing']]);
  });

  it('L145: the end of a predecessor does not cancel a replacement that is starting', async () => {
    const closing = held();
    await using lab = await taskLab();
    const { s, executionId } = await unloaded(lab, 's', 't', ['rejects', closing.promise]);
    const { recovered, settled } = await lab.offstage.tasks.stop('t');
    const start = held();
    lab.mock.script.failStart = () => start.promise;
    const asking = s.ask();
    await lab.settled();
    expect((await s.view()).state).toBe('starting');
    const since = lab.engine.events.length;
    closing.resolve();
    expect((await settled).recovered).toEqual(recovered);
    await lab.settled();
    expect([recovered, (await s.view()).state, lab.engine.events.slice(since)]).toEqual([
      [{ sessionId: 's', executionId }],
      'starting',
      [],
    ]);
    start.resolve();
    await expect(asking).resolves.toMatchObject({ accepted: true });
    expect((await s.view()).state).toBe('running');
  });

  it('L147: a failed row with a registered execution: success, the row as it was, the execution torn down, the log names both', async () => {
    await using lab = await taskLab();
    const { s, executionId, closes } = await orphan(lab, 'orphan', 't');
    const row = await storedRow(lab, 'orphan');
    expect((await stopAll(lab)).recovered).toEqual([{ sessionId: 'orphan', executionId }]);
    expect([await storedRow(lab, 'orphan'), closes.count, s.agent.isClosed]).toEqual([row, 2, true]);
    expect(stopLines(lab)).toMatchObject([{ sessionId: 'orphan', executionId, source: 'registry', outcome: 'recovered' }]);
  });

  it('L148: active and orphan: both are stopped; the active one is cancelled, the orphan untouched', async () => {
    await using lab = await taskLab();
    const one = await orphan(lab, 'orphan', 't');
    const row = await storedRow(lab, 'orphan');
    const s = await lab.running('active', 't');
    const report = await stopAll(lab);
    expect([report.stopped.length, report.recovered.length]).toEqual([1, 1]);
    expect([s.agent.isClosed, one.s.agent.isClosed]).toEqual([true, true]);
    expect([(await s.view()).state, await storedRow(lab, 'orphan')]).toEqual(['cancelled', row]);
  });

  it('L150: a row load error: teardown by the captured id is scheduled, the error visible', async () => {
    const reads = failingReads();
    await using lab = await taskLab({ store: reads.store });
    const { executionId, closes } = await orphan(lab, 'orphan', 't');
    reads.fail(KEYS.session('orphan'));
    const { recovered, loadErrors } = await lab.offstage.tasks.stop('t');
    expect(recovered).toEqual([{ sessionId: 'orphan', executionId }]);
    expect(loadErrors).toMatchObject([{ sessionId: 'orphan', executionId, error: { code: 'store.failed' } }]);
    expect(closes.count).toBe(2);
  });

  it('L151: the active query fails, and the registry has pairs: those are stopped, in their order, and the error surfaces', async () => {
    const reads = failingReads();
    await using lab = await taskLab({ store: reads.store });
    const one = await orphan(lab, 'orphan', 't');
    const sessions = [await lab.running('z', 't'), await lab.running('s', 't')];
    reads.fail(RANGES.taskSessions('t').gte);
    const report = await stopAll(lab);
    expect(report.stopped.map(({ sessionId }) => sessionId)).toEqual(['s', 'z']);
    expect(report.recovered).toEqual([{ sessionId: 'orphan', executionId: one.executionId }]);
    expect([one.s, ...sessions].map(({ agent }) => agent.isClosed)).toEqual([true, true, true]);
    for (const s of sessions) expect((await s.view()).state).toBe('cancelled');
    expect(report.sourceError?.code).toBe('store.failed');
    expect(lab.engine.log.filter(({ event }) => event === 'stop.source_failed')).toHaveLength(1);
    reads.heal();
    // Who else is at work was not to be seen.
    expect(await taskState(lab)).toBe('in_progress');
  });

  it('L151: and nor can the row of one of them be read: its agent is torn down, and the session not cancelled', async () => {
    const reads = failingReads();
    await using lab = await taskLab({ store: reads.store });
    const s = await lab.running('s', 't');
    const since = lab.engine.events.length;
    reads.fail(RANGES.taskSessions('t').gte);
    reads.fail(KEYS.session('s'));
    const { recovered, loadErrors, settled } = await lab.offstage.tasks.stop('t');
    const entry = { sessionId: 's', executionId: s.executionId };
    expect([recovered, loadErrors]).toMatchObject([[entry], [{ ...entry, error: { code: 'store.failed' } }]]);
    await settled;
    await lab.settled();
    reads.heal();
    expect([s.agent.isClosed, statesOf(lab, 's', since)]).toEqual([true, ['waiting_for_input']]);
    expect(await s.view()).toMatchObject({ interrupted: true, executionId: null });
  });

  it.each([
    ['t1', 's1'],
    ['t/s', 's/t'],
    ['T', 'S'],
    ['t ', 's '],
  ])('L153: an execution of another task with a session-like id is never touched: %j, %j', async (taskId, sessionId) => {
    const executor = gate();
    await using lab = await taskLab({ executors: { gate: executor } });
    await lab.offstage.tasks.create({ taskId });
    const other = await lab.running(sessionId, taskId);
    const { jobId } = await lab.offstage.spawn({ kind: 'gate', sessionId });
    const { context } = await executor.started(jobId);
    const s = await lab.running('s', 't');
    const since = lab.engine.events.length;
    await stopAll(lab);
    expect([s.agent.isClosed, other.agent.isClosed, context.signal.aborted]).toEqual([true, false, false]);
    expect(lab.engine.events.slice(since).filter((event) => 'sessionId' in event && event.sessionId === sessionId)).toEqual([]);
    expect(await other.view()).toMatchObject({ state: 'running', executionId: other.executionId });
  });

  it('L154: one stop fails, one works: success; all fail: failure', async () => {
    await using lab = await taskLab();
    const [a, b] = [await lab.running('a', 't'), await lab.running('b', 't')];
    closesOf(a.agent, ['rejects', 'rejects']);
    const { stopped: worked, failed } = await lab.offstage.tasks.stop('t');
    expect([worked, failed.length]).toEqual([[{ sessionId: 'b', executionId: b.executionId }], 1]);
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject({
      code: 'stop.failed',
      retryable: true,
      details: { id: 't', failed: [{ sessionId: 'a', executionId: a.executionId }] },
    });
    // Its row is cancelled since the first stop, so by now only the registry knows of it.
    expect((await stopAll(lab)).recovered).toEqual([{ sessionId: 'a', executionId: a.executionId }]);
  });
});
