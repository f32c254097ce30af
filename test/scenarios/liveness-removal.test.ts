/** Rows L90 to L92, L108 and L109: removal stops first, and what was removed says nothing any more. */
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { pausePoints } from '../../src/testing/pause-at.ts';
import { held } from '../support/bare-agent.ts';
import { agentProcess, leave, session } from '../support/left-behind.ts';
import { codeOf, findingsOf, markerOf, removalLab, resting, rowsLeft } from '../support/removing.ts';
import { slowReads } from '../support/slow-reads.ts';
import { closesOf, orphan, STALL_MS, statesOf } from '../support/stopping.ts';
import { contentOf } from '../support/store-content.ts';

const CONFIRMED = { confirm: true } as const;

describe('removal stops first', () => {
  it('L90: what runs of a settled session is ended by its id, the row goes, and a late frame makes nothing', async () => {
    await using lab = await removalLab({ stallFailMs: STALL_MS });
    // Its first close fails, so it is at work although its session has failed; the second one ends it when the test says so.
    const closing = held();
    const { s, executionId, closes } = await orphan(lab, 's', 't', ['rejects', closing.promise]);
    const { agent } = s;
    expect(await s.view()).toMatchObject({ state: 'failed', endingAgents: 1 });
    const since = lab.engine.events.length;
    const removing = lab.offstage.sessions.remove('s', CONFIRMED);
    await lab.settled();
    expect(closes.count).toBe(2);
    expect(lab.engine.log.findLast(({ event }) => event === 'stop')?.fields).toMatchObject({ executionId, source: 'registry' });
    await s.tell({ type: 'output', generation: 0, text: 'still here' }, agent);
    closing.resolve();
    expect(await removing).toEqual({ done: true });
    agent.emit({ type: 'workload.started', generation: 0, kind: 'subagent', workloadId: 'w' });
    agent.emit({ type: 'output', generation: 0, text: 'still here' });
    await lab.settled();
    expect(lab.engine.events.slice(since).map(({ type }) => type)).toEqual(['session.removed']);
    expect(lab.offstage.health().agents).toEqual({ live: 0, ending: 0, detached: 0 });
    expect(lab.offstage.sessionsModel.get().live.size).toBe(0);
    expect(await codeOf(s.view())).toBe('session.not_found');
    expect(await rowsLeft(lab.engine.store)).toEqual(['o/t']);
    expect(await findingsOf(lab.engine.store)).toEqual([]);
  });

  it('L90: an agent inside this process that never ends keeps nothing, and can do nothing any more', async () => {
    await using lab = await removalLab({ script: { attests: { workloads: ['subagent'] }, ignoreClose: true } });
    const s = await resting(lab);
    const { agent } = s;
    const removing = lab.offstage.sessions.remove('s');
    await lab.clock.advance(60_000);
    expect(await removing).toEqual({ done: true });
    expect(lab.offstage.health().agents).toEqual({ live: 0, ending: 1, detached: 1 });
    const since = lab.engine.events.length;
    const before = await contentOf(lab.engine.store);
    agent.emit({ type: 'workload.started', generation: 0, kind: 'subagent', workloadId: 'w' });
    agent.emit({ type: 'output', generation: 0, text: 'still here' });
    agent.emit({ type: 'permission.request', generation: 0, requestId: 'r', kind: 'permission', options: [] });
    agent.crash();
    await lab.settled();
    expect(lab.engine.events.length).toBe(since);
    expect(await contentOf(lab.engine.store)).toEqual(before);
  });

  it.each([
    ['session', 'at once'],
    ['task', 'at once'],
    ['session', 'later'],
    ['task', 'later'],
  ] as const)('L91: a stop that fails refuses the removal of its %s; rows and registration remain (%s)', async (what, when) => {
    await using lab = await removalLab();
    const s = await resting(lab);
    const first = held();
    const closes = closesOf(s.agent, [when === 'later' ? first.promise : 'rejects', ...Array(100).fill('rejects')]);
    const since = lab.engine.events.length;
    const removing = what === 'task' ? lab.offstage.tasks.remove('t') : lab.offstage.sessions.remove('s');
    const refused = expect(removing).rejects.toMatchObject({
      code: 'remove.refused',
      retryable: true,
      details: { id: what === 'task' ? 't' : 's', message: expect.stringContaining('it does not let go') },
    });
    await lab.settled();
    if (when === 'later') first.reject(new Error('it does not let go'));
    await lab.clock.advance(60_000);
    await refused;
    expect(closes.count).toBeGreaterThan(1);
    // The stop has moved the row; the removal has not.
    expect(statesOf(lab, 's', since)).toEqual(['cancelled']);
    expect(await s.view()).toMatchObject({ state: 'cancelled', endingAgents: 1, foregroundActivity: null });
    expect((await lab.offstage.tasks.get('t')).sessions).toEqual(['s']);
    expect(lab.offstage.health().agents).toMatchObject({ ending: 1 });
    expect(lab.engine.events.map(({ type }) => type)).not.toContain('session.removed');
    // Nothing is kept out any more.
    expect((await lab.offstage.sessions.create({ sessionId: 's2', taskId: 't' })).taskId).toBe('t');
  });

  it('L92: where the stop finds nothing, and nothing is left of an earlier process, the removal succeeds', async () => {
    const store = memoryStore();
    await leave(store, {
      sessions: [session('idle', 'idle'), session('asked', 'waiting_for_input'), session('over', 'failed')],
      processes: [agentProcess('gone', 'over')],
    });
    let verdict: 'unverified' | 'gone' = 'unverified';
    await using lab = await removalLab({ store, reap: async () => ({ verdict, detail: 'its group cannot be looked into.' }) });
    const { sessions, tasks } = lab.offstage;
    // Nobody can say whether that one is at work.
    const unknown = { code: 'remove.refused', details: { message: expect.stringContaining('cannot be looked into') } };
    await expect(sessions.remove('over', CONFIRMED)).rejects.toMatchObject(unknown);
    await expect(tasks.remove('t', CONFIRMED)).rejects.toMatchObject(unknown);
    expect((await tasks.get('t')).sessions).toHaveLength(3);
    expect(await sessions.remove('idle')).toEqual({ done: true });
    verdict = 'gone';
    expect(await sessions.remove('over')).toEqual({ done: true });
    expect(await tasks.remove('t')).toEqual({ done: true });
    expect(await rowsLeft(store)).toEqual([]);
    expect(await markerOf(store, { sessionId: 'asked' })).toEqual({ removed: lab.clock.now() });
    expect(await findingsOf(store)).toEqual([]);
  });
});

describe('nothing is told of what was removed', () => {
  it('L108: an update, the removal and a late update are two events, and the late one writes nothing', async () => {
    await using lab = await removalLab();
    const since = lab.engine.events.length;
    await lab.offstage.tasks.setState('t', 'review');
    await lab.offstage.tasks.remove('t');
    expect(await codeOf(lab.offstage.tasks.setState('t', 'done'))).toBe('task.not_found');
    await lab.settled();
    expect(lab.engine.events.slice(since)).toMatchObject([
      { type: 'task.updated', taskId: 't', state: 'review' },
      { type: 'task.removed', taskId: 't', title: 'T', state: 'review' },
    ]);
    expect(await rowsLeft(lab.engine.store)).toEqual([]);
  });

  it('L108: an update beside the removal comes before it, or not at all', async () => {
    for (let turnsLate = 0; turnsLate < 12; turnsLate++) {
      await using lab = await removalLab({ store: slowReads(memoryStore()) });
      const since = lab.engine.events.length;
      const removing = lab.offstage.tasks.remove('t');
      for (let turn = 0; turn < turnsLate; turn++) await new Promise((resolve) => setImmediate(resolve));
      const late = codeOf(lab.offstage.tasks.setState('t', 'done'));
      await removing;
      const state = (await late) === 'done' ? 'done' : 'open';
      const events = lab.engine.events.slice(since);
      expect(events.at(-1)).toMatchObject({ type: 'task.removed', state });
      expect(events.map(({ type }) => type)).toEqual([...(state === 'done' ? ['task.updated'] : []), 'task.removed']);
      expect([await late, await rowsLeft(lab.engine.store)]).toEqual([state === 'done' ? 'done' : 'task.not_found', []]);
    }
  });

  it('L109: activity that was committed earlier stays in order; after the removal none is told, not even what was held back', async () => {
    const { points, pauseAt } = pausePoints();
    await using lab = await removalLab({ points });
    const s = await lab.running('s', 't');
    await s.reg('w');
    const job = await lab.offstage.spawn({ kind: 'gate', sessionId: 's' });
    await lab.settled();
    expect(lab.offstage.tasksModel.get().live.get('t')).toEqual({ foregroundActivity: 'generating', activeSubagentCount: 2 });
    const since = lab.engine.events.length;
    const paused = pauseAt('publish');
    await lab.offstage.tasks.remove('t', CONFIRMED);
    const told = lab.engine.events.slice(since);
    expect(told.map(({ type }) => type).slice(-2)).toEqual(['session.removed', 'task.removed']);
    expect(told.filter(({ type }) => type === 'job.status')).toMatchObject([
      { jobId: job.jobId, status: 'running' },
      { jobId: job.jobId, status: 'cancelled' },
    ]);
    paused.release();
    await lab.settled();
    expect(lab.engine.events.slice(since)).toEqual(told);
    expect([lab.offstage.sessionsModel.get().live.size, lab.offstage.tasksModel.get().live.size]).toEqual([0, 0]);
  });

  it('L109: of a removed session nothing is told; its task tells that it is free, once', async () => {
    const { points, pauseAt } = pausePoints();
    await using lab = await removalLab({ points });
    await lab.running('s', 't');
    const since = lab.engine.events.length;
    const paused = pauseAt('publish');
    await lab.offstage.sessions.remove('s', CONFIRMED);
    expect(lab.engine.events.slice(since).map(({ type }) => type)).toEqual([
      'session.turn_ended',
      'session.state_changed',
      'session.removed',
    ]);
    paused.release();
    await lab.settled();
    expect(lab.engine.events.slice(since + 3)).toMatchObject([
      { type: 'task.updated', taskId: 't', isVolatile: true, foregroundActivity: null, activeSubagentCount: 0 },
    ]);
    expect([lab.offstage.sessionsModel.get().live.size, lab.offstage.tasksModel.get().live.size]).toEqual([0, 0]);
  });
});
