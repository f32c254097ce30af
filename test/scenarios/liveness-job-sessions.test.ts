/** Jobs as workloads: on which session they show and count (liveness 5 W6, W10), and that sessions do not mix (B13). */
import { describe, expect, it } from 'vitest';
import { isVolatileEvent } from '../../src/model/events.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { gate, scripted } from '../support/executors.ts';
import { sessionLab } from '../support/sessions.ts';

describe('W6: a job that runs elsewhere than it was asked for', () => {
  it('is counted where it was asked for, and shown where it runs; once per task', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { held } });
    const caller = await lab.create('caller');
    const host = await lab.create('host', caller.taskId);
    const { jobId } = await lab.offstage.spawn({ kind: 'held', sessionId: 'host', callerSessionId: 'caller' });
    await lab.settled();
    expect(await caller.view()).toMatchObject({ foregroundActivity: 'background', activeSubagentCount: 1 });
    expect(await host.view()).toMatchObject({ foregroundActivity: 'background', activeSubagentCount: 0 });
    expect(await lab.offstage.workloads.list('caller')).toMatchObject([{ workloadId: jobId, hosted: false, phase: 'live' }]);
    expect(await lab.offstage.workloads.list('host')).toMatchObject([{ workloadId: jobId, hosted: true, phase: 'live' }]);
    expect(await lab.offstage.tasks.get(caller.taskId)).toMatchObject({ activeSubagentCount: 1, runningJobs: 1 });
    await held.release(jobId);
    await lab.settled();
    expect(lab.publications('caller')).toEqual([
      ['background', 0],
      ['background', 1],
      [null, 0],
    ]);
    expect(lab.publications('host')).toEqual([
      ['background', 0],
      [null, 0],
    ]);
    expect(Math.max(...lab.taskUpdates(caller.taskId).map(([, count]) => count))).toBe(1);
    expect(lab.taskUpdates(caller.taskId).at(-1)).toEqual([null, 0]);
  });

  it('a child was asked for by the session of its parent, wherever it runs', async () => {
    const held = gate();
    const parent = scripted({
      root: async (context) => {
        await Promise.all([
          context.spawn({ kind: 'held', jobId: 'near' }),
          context.spawn({ kind: 'held', jobId: 'far', sessionId: 'other' }),
        ]);
        await context.waitMany(['near', 'far']);
      },
    });
    await using lab = await sessionLab({ executors: { held, parent } });
    const session = await lab.create('s');
    const other = await lab.create('other', session.taskId);
    const { jobId } = await lab.offstage.spawn({ kind: 'parent', subject: 'root', jobId: 'root', sessionId: 's' });
    await Promise.all([held.started('near'), held.started('far')]);
    await lab.settled();
    expect([...(await session.works())].sort()).toEqual(['far', 'near', 'root']);
    expect(await session.count()).toBe(3);
    expect([await other.works(), await other.count(), await other.tier()]).toEqual([['far'], 0, 'background']);
    expect((await lab.offstage.get('far')).callerSessionId).toBe('s');
    await held.release('near');
    await held.release('far');
    await lab.offstage.wait(jobId);
    await lab.settled();
    expect([await session.tier(), await other.tier()]).toEqual([null, null]);
  });

  it('cancelled before it starts it leaves neither session anything', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { held }, workers: 1 });
    const caller = await lab.create('caller');
    const host = await lab.create('host', caller.taskId);
    const blocking = await lab.offstage.spawn({ kind: 'held', sessionId: 'caller' });
    const { jobId } = await lab.offstage.spawn({ kind: 'held', sessionId: 'host', callerSessionId: 'caller' });
    await lab.settled();
    expect(await host.tier()).toBe('background');
    await lab.offstage.cancel(jobId);
    await lab.settled();
    expect([await host.tier(), await host.works(), await caller.works()]).toEqual([null, [], [blocking.jobId]]);
  });
});

describe('W10: state events while jobs run', () => {
  it('carry the true tier and count of their instant', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { held } });
    const session = await lab.create();
    const { jobId } = await lab.offstage.spawn({ kind: 'held', sessionId: 's' });
    await lab.settled();
    await session.ask();
    await lab.settled();
    await session.done();
    await held.release(jobId);
    await lab.settled();
    await session.ask();
    await lab.settled();
    lab.mock.crash();
    await lab.settled();
    const states = lab.engine.events.flatMap((event) =>
      event.type === 'session.state_changed' ? [[event.newState, event.foregroundActivity, event.activeSubagentCount]] : [],
    );
    expect(states).toEqual([
      ['created', null, 0],
      ['starting', 'generating', 1],
      ['running', 'generating', 1],
      ['waiting_for_input', 'background', 1],
      ['running', 'generating', 0],
      ['waiting_for_input', null, 0],
    ]);
  });

  it('of the commit that ends a job no longer count it, also where they come before its end', async () => {
    const held = gate();
    const store = controlledStore(memoryStore());
    await using lab = await sessionLab({ executors: { held }, store });
    const session = await lab.running();
    const { jobId } = await lab.offstage.spawn({ kind: 'held', sessionId: 's' });
    await lab.settled();
    // What comes while a write is under way goes into one commit together.
    store.hold();
    const other = lab.offstage.sessions.create({ sessionId: 'other' });
    await lab.settled();
    session.prompt.end();
    await lab.settled();
    const released = held.release(jobId);
    await lab.settled();
    const before = lab.engine.events.length;
    store.release();
    await Promise.all([other, released]);
    await lab.settled();
    const ours = lab.engine.events
      .slice(before)
      .filter((event) => !isVolatileEvent(event) && 'sessionId' in event && event.sessionId === 's');
    expect(ours).toMatchObject([
      { type: 'session.state_changed', newState: 'waiting_for_input', foregroundActivity: null, activeSubagentCount: 0 },
      { type: 'job.status', status: 'completed' },
      { type: 'card.updated', status: 'completed' },
    ]);
  });
});

describe('B13: sessions do not mix', () => {
  it('what begins and ends on one is told of that one', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { held }, workers: 4 });
    const s = await lab.create('s');
    const s1 = await lab.create('s1', s.taskId);
    for (const [jobId, sessionId] of [
      ['job-1', 's'],
      ['job-10', 's'],
      ['job-2', 's1'],
    ] as const) {
      await lab.offstage.spawn({ kind: 'held', jobId, sessionId });
      await held.started(jobId);
    }
    await lab.settled();
    const { context } = await held.started('job-2');
    let since = lab.engine.events.length;
    await lab.offstage.cancel('job-1');
    await lab.settled();
    expect([lab.publications('s', since), lab.publications('s1', since)]).toEqual([[['background', 1]], []]);
    expect([await s.works(), await s1.works()]).toEqual([['job-10'], ['job-2']]);
    since = lab.engine.events.length;
    await held.release('job-10');
    await lab.settled();
    expect([lab.publications('s', since), lab.publications('s1', since)]).toEqual([[[null, 0]], []]);
    expect(lab.taskUpdates(s.taskId, since)).toEqual([['background', 1]]);
    expect([context.signal.aborted, await s1.tier(), await s1.count()]).toEqual([false, 'background', 1]);
    await held.release('job-2');
    expect((await lab.offstage.wait('job-2')).status).toBe('completed');
  });

  it('and neither do tasks', async () => {
    const held = gate();
    await using lab = await sessionLab({ executors: { held } });
    const [one, two] = [await lab.create('one'), await lab.create('two')];
    const { jobId } = await lab.offstage.spawn({ kind: 'held', sessionId: 'one' });
    await lab.settled();
    expect(await lab.offstage.tasks.get(one.taskId)).toMatchObject({ foregroundActivity: 'background', activeSubagentCount: 1 });
    expect(await lab.offstage.tasks.get(two.taskId)).toMatchObject({ foregroundActivity: null, activeSubagentCount: 0 });
    await held.release(jobId);
    await lab.settled();
    expect(lab.taskUpdates(two.taskId)).toEqual([]);
  });
});
