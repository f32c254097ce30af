/**
 * Liveness and stop, rows L84, L85, L88 and "Stop", L126–L132 (liveness 9 and 11); the others are in `liveness-stop-late.test.ts`.
 *
 * *Nothing running* and *absent* of a whole stop are `stop.nothing_running`; forced means without a grace.
 */
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS, RANGES } from '../../src/persistence/row-keys.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { held } from '../support/bare-agent.ts';
import { gate } from '../support/executors.ts';
import { rowOf, session, storeWith } from '../support/left-behind.ts';
import { type SessionLab, sessionLab } from '../support/sessions.ts';
import { closesOf, failingReads, nothingRunning, statesOf, stopAll, taskLab, taskState } from '../support/stopping.ts';

const tickets = (lab: SessionLab) =>
  lab.engine.events.flatMap((event) => (event.type === 'session.ticket' ? [[event.status, event.error?.code ?? null]] : []));

describe('what is told when a session is cancelled', () => {
  it('L84: the state event of a session in the background carries an explicit null and 0', async () => {
    await using lab = await taskLab();
    const s = await lab.running('s', 't');
    await s.reg('work');
    await s.done();
    expect(await s.tier()).toBe('background');
    await stopAll(lab);
    const event = lab.engine.events.findLast(({ type }) => type === 'session.state_changed');
    expect(event).toMatchObject({ newState: 'cancelled', foregroundActivity: null, activeSubagentCount: 0 });
  });

  it('L85: a session stop, then the end of its agent: one clear of the state, one of the activity; the registration is gone', async () => {
    await using lab = await taskLab();
    const s = await lab.running('s', 't');
    await s.reg('work');
    const { agent } = s;
    const closing = held();
    closesOf(agent, [closing.promise]);
    const since = lab.engine.events.length;
    const result = await lab.offstage.sessions.stop('s');
    agent.exit();
    closing.resolve();
    await result.settled;
    await lab.settled();
    expect(statesOf(lab, 's', since)).toEqual(['cancelled']);
    expect(lab.publications('s', since)).toEqual([[null, 0]]);
    expect(lab.taskUpdates('t', since)).toEqual([[null, 0]]);
    expect([await s.works(), await s.view()]).toMatchObject([[], { foregroundActivity: null, activeSubagentCount: 0 }]);
  });

  it('L88: a forced stop called twice: one stop of the agent, one clear', async () => {
    const closing = held();
    await using lab = await taskLab();
    const s = await lab.running('s', 't');
    await s.reg('work');
    const closes = closesOf(s.agent, [closing.promise]);
    const since = lab.engine.events.length;
    const [first, second] = await Promise.all([1, 2].map(() => lab.offstage.sessions.stop('s', { force: true })));
    const entry = { sessionId: 's', executionId: s.executionId };
    expect([first?.stopped, second?.stopped, second?.alreadyStopping]).toEqual([[entry], [], [entry]]);
    closing.resolve();
    await lab.settled();
    expect([closes.count, statesOf(lab, 's', since), lab.publications('s', since)]).toEqual([1, ['cancelled'], [[null, 0]]]);
  });
});

describe('what a stop stops', () => {
  it('L126: one running session: cancelled, the task in review, one teardown, its tickets session.stopped; repeated: nothing running', async () => {
    await using lab = await taskLab();
    const s = await lab.running('s', 't');
    const closes = closesOf(s.agent);
    expect(await s.attempt({ whenBusy: 'queue' })).toBe('queued');
    expect(await s.attempt({ whenBusy: 'queue', origin: 'synthetic' })).toBe('queued');
    expect(await stopAll(lab)).toMatchObject({ stopped: [{ sessionId: 's', executionId: s.executionId }], durable: true });
    expect([closes.count, await taskState(lab)]).toEqual([1, 'review']);
    expect(await s.view()).toMatchObject({ state: 'cancelled', queuedPrompts: 0 });
    expect(tickets(lab).slice(2)).toEqual([
      ['stopped', 'session.stopped'],
      ['stopped', 'session.stopped'],
    ]);
    const left: string[] = [];
    for await (const { key } of lab.engine.store.range(RANGES.tickets)) left.push(key);
    expect(left).toEqual([]);
    expect([s.prompts.length, s.prompt.signal.aborted || !s.prompt.isOpen]).toEqual([1, true]);
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject(nothingRunning);
    expect(closes.count).toBe(1);
  });

  it('L127: all absent: nothing running', async () => {
    const store = await storeWith({ sessions: [session('a', 'running'), session('b', 'waiting_for_input')] });
    await using lab = await sessionLab({ store });
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject({ ...nothingRunning, details: { id: 't' } });
    expect([(await rowOf(store, 'a')).state, (await rowOf(store, 'b')).state]).toEqual([
      'waiting_for_input',
      'waiting_for_input',
    ]);
  });

  it.each([
    ['the rows of its sessions', RANGES.taskSessions('t').gte],
    ['the task itself', KEYS.task('t')],
  ])('L127: a lookup failure of %s never hides the others, and is reported', async (_what, key) => {
    const executor = gate();
    const reads = failingReads();
    await using lab = await taskLab({ store: reads.store, executors: { gate: executor } });
    const s = await lab.running('s', 't');
    const { jobId } = await lab.offstage.spawn({ kind: 'gate', sessionId: 's' });
    const { execution } = (await executor.started(jobId)).context;
    reads.fail(key);
    expect((await lab.offstage.tasks.stop('t')).stopped).toEqual([
      { sessionId: 's', jobId, executionId: execution.executionId },
      { sessionId: 's', executionId: s.executionId },
    ]);
    await lab.settled();
    expect(s.agent.isClosed).toBe(true);
    expect(lab.engine.log).toContainEqual({
      level: 'warn',
      event: 'stop.source_failed',
      fields: { taskId: 't', error: expect.stringContaining(key) },
    });
    reads.heal();
    // Who else is at work was not to be seen.
    expect(await taskState(lab)).toBe('in_progress');
  });

  it('L127: with nothing that runs, a lookup failure is no word for nothing running', async () => {
    const reads = failingReads();
    await using lab = await taskLab({ store: reads.store });
    await lab.create('s', 't');
    reads.fail(RANGES.taskSessions('t').gte);
    await expect(lab.offstage.tasks.stop('t')).rejects.toMatchObject({ code: 'stop.failed', cause: { code: 'store.failed' } });
  });

  it('L129: the first teardown intent wins, a duplicate is suppressed', async () => {
    const closing = held();
    const store = controlledStore(memoryStore());
    await using lab = await taskLab({ store });
    const s = await lab.running('s', 't');
    const closes = closesOf(s.agent, [closing.promise]);
    await lab.offstage.tasks.stop('t');
    const intent = await lab.offstage.processes();
    expect(intent).toMatchObject([{ executionId: s.executionId, teardownAt: lab.clock.now() }]);
    await lab.clock.advance(1_000);
    const { length } = store.writes;
    const second = await lab.offstage.tasks.stop('t');
    expect(second).toMatchObject({ stopped: [], alreadyStopping: [{ sessionId: 's', executionId: s.executionId }] });
    await lab.settled();
    expect([await lab.offstage.processes(), closes.count, store.writes.length]).toEqual([intent, 1, length]);
    closing.resolve();
    await second.settled;
    await lab.settled();
    expect(await lab.offstage.processes()).toEqual([]);
  });

  it('L130: candidates are processed by the time of their making, then by their ids; of each the jobs before the agent', async () => {
    const executor = gate();
    await using lab = await taskLab({ executors: { gate: executor }, workers: 8 });
    const order: string[] = [];
    const make = async (sessionId: string): Promise<void> => {
      const s = await lab.running(sessionId, 't');
      closesOf(s.agent, [], () => order.push(`agent of ${sessionId}`));
      const { jobId } = await lab.offstage.spawn({ kind: 'gate', sessionId });
      const { context } = await executor.started(jobId);
      context.signal.addEventListener('abort', () => order.push(`job of ${sessionId}`));
    };
    for (const sessionId of ['d', 'c']) await make(sessionId);
    await lab.clock.advance(1_000);
    for (const sessionId of ['b', 'a']) await make(sessionId);
    const report = await stopAll(lab);
    const agents = report.stopped.filter(({ jobId }) => jobId === undefined);
    expect(agents.map(({ sessionId }) => sessionId)).toEqual(['c', 'd', 'a', 'b']);
    expect(order).toEqual([
      ...['c', 'd', 'a', 'b'].map((id) => `job of ${id}`),
      ...['c', 'd', 'a', 'b'].map((id) => `agent of ${id}`),
    ]);
  });
});

describe('what goes wrong meanwhile', () => {
  it('L132: partial failure: every candidate is attempted, success with a failed[] that is not empty; review is not written', async () => {
    await using lab = await taskLab();
    const [a, b, c] = [await lab.running('a', 't'), await lab.running('b', 't'), await lab.running('c', 't')];
    closesOf(a.agent, ['rejects']);
    closesOf(b.agent, ['throws']);
    const result = await lab.offstage.tasks.stop('t');
    expect(result).toMatchObject({
      stopped: [{ sessionId: 'c', executionId: c.executionId }],
      failed: [
        { sessionId: 'a', executionId: a.executionId, error: { code: 'agent.failed' } },
        { sessionId: 'b', executionId: b.executionId, error: { code: 'agent.failed' } },
      ],
    });
    expect([c.agent.isClosed, await taskState(lab)]).toEqual([true, 'in_progress']);
    // What failed is retried by the next stop: its row is cancelled, so only the registry knows of it. Then nobody is at work.
    expect((await stopAll(lab)).recovered.map(({ sessionId }) => sessionId)).toEqual(['a', 'b']);
    expect([a.agent.isClosed, b.agent.isClosed, await taskState(lab)]).toEqual([true, true, 'review']);
  });

  it('L132: review is not written while another session still works', async () => {
    await using lab = await taskLab();
    const other = await lab.create('other', 't');
    const s = await lab.running('s', 't');
    const asked = lab.engine.eventOf((event) => event.type === 'session.state_changed' && event.newState === 'cancelled');
    const asking = asked.then(() => other.ask());
    expect((await lab.offstage.tasks.stop('t')).absent).toEqual([{ sessionId: 'other' }]);
    await expect(asking).resolves.toMatchObject({ accepted: true });
    expect([(await s.view()).state, (await other.view()).state]).toEqual(['cancelled', 'running']);
    expect(await taskState(lab)).toBe('in_progress');
    await stopAll(lab);
    expect(await taskState(lab)).toBe('review');
  });
});
