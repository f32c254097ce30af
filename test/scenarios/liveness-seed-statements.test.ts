/**
 * Background work liveness: what its seed says under *What*, *API surface*, *State machine*, *Failure modes* and *Persistence guarantees*, and no
 * scenario of it covers (those are in `liveness-seed.test.ts`; one claim among many is L23 and L24, restart is `liveness-restart.test.ts`).
 */
import { describe, expect, it } from 'vitest';
import { SESSION_STATES } from '../../src/machines/session.ts';
import { type Activity, aggregatePending } from '../../src/model/activity.ts';
import type { PendingRequest, SessionState } from '../../src/model/records.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledStore } from '../../src/testing/controlled-store.ts';
import { pausePoints } from '../../src/testing/pause-at.ts';
import { bareLiveness } from '../support/bare-liveness.ts';
import { gate } from '../support/executors.ts';
import { FULL, type LabSession, sessionLab } from '../support/sessions.ts';

const request = (kind: PendingRequest['kind']): PendingRequest => ({ requestId: kind, kind, options: [] });

const shown = (state: SessionState, pending: PendingRequest | null, foregroundActivity: Activity = null) => ({
  state,
  pending,
  foregroundActivity,
  activeSubagentCount: 0,
});

describe('what', () => {
  it('Foreground activity takes precedence over background work; neither condition may appear as done', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    expect(await session.tier()).toBe('generating');
    await session.reg('work');
    expect(await session.tier()).toBe('generating');
    await session.idle();
    expect(await session.tier()).toBe('background');
    await session.bgc({ workloadId: 'work' });
    expect(await session.tier()).toBeNull();
  });

  it('Background shells and Monitor watches contribute to background liveness but not to the subagent count', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.reg('shell', 'shell');
    await session.reg('watch', 'monitor');
    await session.done();
    expect(await session.view()).toMatchObject({ foregroundActivity: 'background', activeSubagentCount: 0 });
  });

  it('The active subagent count is derived from one registration per live subagent: a launch told twice is one', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.call('launch', { work: { kind: 'subagent', isDetached: true, workloadId: 'subagent' } });
    await session.update('launch', { work: { kind: 'subagent', isDetached: true, workloadId: 'subagent' } });
    await session.reg('subagent', 'subagent', 'launch');
    await session.hostReg('subagent');
    expect(await session.count()).toBe(1);
  });

  it('A pending permission request takes precedence over a pending clarification request, which takes precedence over the work state', async () => {
    await using lab = await sessionLab();
    const { taskId } = await lab.offstage.tasks.create({ taskId: 'task' });
    const pending = async () => (await lab.offstage.tasks.get(taskId)).pending;
    const one = await lab.running('one', taskId);
    expect(await pending()).toBe('work');
    const ask = (session: LabSession, kind: PendingRequest['kind']) =>
      session.tell({ type: 'permission.request', generation: session.generation, requestId: kind, kind, options: [] });
    await ask(one, 'clarification');
    expect(await pending()).toBe('clarification');
    const other = await lab.running('other', taskId);
    await ask(other, 'permission');
    expect(await pending()).toBe('permission');
    await other.done();
    expect(await pending()).toBe('clarification');
    await one.done();
    expect(await pending()).toBeNull();
  });

  it('stale pending flags on starting or terminal sessions do not override the work-state indicator', () => {
    const states = Object.keys(SESSION_STATES) as SessionState[];
    const capable = states.filter((state) => aggregatePending([shown(state, request('permission'))]) === 'permission');
    expect(capable).toEqual(['running', 'waiting_for_input']);
    const [permission, clarification] = [shown('running', request('permission')), shown('running', request('clarification'))];
    for (const sessions of [
      [permission, clarification],
      [clarification, permission],
    ])
      expect(aggregatePending(sessions)).toBe('permission');
    expect(aggregatePending([shown('starting', request('permission'), 'generating')])).toBe('work');
    expect(aggregatePending([shown('failed', request('clarification'), 'background')])).toBe('work');
    expect(aggregatePending([shown('cancelled', request('permission'))])).toBeNull();
  });
});

describe('API surface', () => {
  it('background can be present after the coarse session state settles', async () => {
    await using lab = await sessionLab({ executors: { gate: gate() } });
    const session = await lab.running();
    await session.reg('work');
    await session.done();
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: 'background' });
    // Also in a session whose agent was never started: its job works.
    const other = await lab.create('other');
    await lab.offstage.spawn({ kind: 'gate', sessionId: 'other' });
    await lab.settled();
    expect(await other.view()).toMatchObject({ state: 'created', foregroundActivity: 'background', activeSubagentCount: 1 });
  });

  it('records and notifications always expose the count as an integer, and carry value and count of one instant', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.reg('work');
    await session.idle();
    await session.done();
    await session.bgc({ workloadId: 'work' });
    await lab.offstage.tasks.setState(session.taskId, 'review');
    const { offstage, engine } = lab;
    const snapshot = await offstage.snapshot();
    const records = [
      ...(await offstage.sessions.list()),
      ...(await offstage.tasks.list()),
      ...snapshot.sessions,
      ...snapshot.tasks,
    ];
    const events = engine.events.filter(({ type }) =>
      ['session.state_changed', 'session.activity_changed', 'task.updated'].includes(type),
    );
    expect(records).toHaveLength(4);
    expect(events.length).toBeGreaterThan(8);
    for (const one of [...records, ...events]) {
      const { foregroundActivity, activeSubagentCount } = one as unknown as Readonly<Record<string, unknown>>;
      expect(['generating', 'background', null]).toContain(foregroundActivity);
      expect(Number.isInteger(activeSubagentCount)).toBe(true);
    }
  });

  it('session.state_changed carries both, as they are when it is told', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.reg('work');
    await session.done();
    const told = lab.engine.events.flatMap((event) =>
      event.type === 'session.state_changed'
        ? [[event.newState, event.foregroundActivity, event.activeSubagentCount] as const]
        : [],
    );
    expect(told).toEqual([
      ['created', null, 0],
      ['starting', 'generating', 0],
      ['running', 'generating', 0],
      ['waiting_for_input', 'background', 1],
    ]);
  });

  it('session.state_changed carries both as of its own instant, also before the activity itself is published', async () => {
    const { points, pauseAt } = pausePoints();
    await using lab = await sessionLab({ points });
    const session = await lab.create();
    const held = pauseAt('publish');
    await session.ask();
    await lab.settled();
    expect(lab.publications('s')).toEqual([]);
    const last = lab.engine.events.findLast(({ type }) => type === 'session.state_changed');
    expect(last).toMatchObject({ newState: 'running', foregroundActivity: 'generating', activeSubagentCount: 0 });
    held.release();
    expect(lab.publications('s')).toEqual([['generating', 0]]);
  });

  it('A task update is emitted for a generating-to-background or count-only transition with no coarse state change', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    const since = lab.engine.events.length;
    await session.reg('one');
    await session.reg('two');
    await session.idle();
    expect(lab.taskUpdates(session.taskId, since)).toEqual([
      ['generating', 1],
      ['generating', 2],
      ['background', 2],
    ]);
    expect(lab.engine.events.slice(since).some(({ type }) => type === 'session.state_changed')).toBe(false);
  });
});

describe('state machine', () => {
  type Step = (session: LabSession) => Promise<unknown>;
  const steps = {
    prompt: (session) => session.ask(),
    output: (session) => session.out('by itself', 0),
    tool: (session) => session.call('foreground tool', { generation: 0 }),
    work: (session) => session.reg('work', 'shell'),
    yield: (session) => session.idle(),
    complete: (session) => session.done(),
    'end of work': (session) => session.bgc({ workloadId: 'work' }),
    teardown: async (session) => session.agent.exit(),
  } satisfies Readonly<Record<string, Step>>;
  const rows: readonly (readonly [string, readonly (keyof typeof steps)[], Activity])[] = [
    ['generating is entered by a prompt', ['complete', 'prompt'], 'generating'],
    ['generating is entered by output of the known foreground', ['complete', 'output'], 'generating'],
    ['generating is entered by a top-level tool', ['complete', 'tool'], 'generating'],
    ['generating is left when the prompt yields', ['yield'], null],
    ['generating is left when the prompt completes', ['complete'], null],
    ['generating is not left while more foreground activity arrives', ['yield', 'output'], 'generating'],
    ['background is entered when the foreground idles over work', ['work', 'yield'], 'background'],
    ['background is left for a prompt', ['work', 'complete', 'prompt'], 'generating'],
    ['background is left for output', ['work', 'complete', 'output'], 'generating'],
    ['background is left when the final workload completes', ['work', 'complete', 'end of work'], null],
    ['background is left when it is torn down', ['work', 'complete', 'teardown'], null],
    ['done is left when a recognized workload begins', ['complete', 'work'], 'background'],
  ];
  it.each(rows)('%s', async (_, path, tier) => {
    await using lab = await sessionLab();
    const session = await lab.running();
    for (const step of path) {
      await steps[step](session);
      await lab.settled();
    }
    expect(await session.tier()).toBe(tier);
  });
});

describe('failure modes', () => {
  it('An unknown activity value for an in-flight RUNNING session is rendered as generating, not done', () => {
    const { core } = bareLiveness();
    expect(core.liveness.valueOf(null, { state: 'running', agentId: null })).toEqual({
      foregroundActivity: 'generating',
      activeSubagentCount: 0,
    });
    for (const state of Object.keys(SESSION_STATES).filter((name) => name !== 'running'))
      expect(core.liveness.valueOf(null, { state, agentId: null }).foregroundActivity).toBeNull();
  });

  it('An uncorrelated completion retires only one outstanding registration and leaves an ambiguous remainder live', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    for (const workloadId of ['one', 'two', 'three']) await session.reg(workloadId);
    await session.done();
    await session.bgc();
    expect(await session.view()).toMatchObject({
      foregroundActivity: 'background',
      activeSubagentCount: 2,
      uncertainCount: 2,
    });
    expect(await session.attempt()).toBe('accepted');
    await session.bgc({ workloadId: 'two' });
    await session.bgc({ workloadId: 'two' });
    expect(await session.view()).toMatchObject({ activeSubagentCount: 1, uncertainCount: 1 });
    expect(await session.works()).toEqual(['three']);
  });

  it('A started card of an agent that nobody vouches for creates no live registration, also if the host asks', async () => {
    await using lab = await sessionLab({ script: {} });
    const session = await lab.running();
    await session.call('card', { work: { kind: 'subagent', isDetached: true } });
    await expect(session.hostReg('card')).rejects.toMatchObject({ code: 'workload.not_attested' });
    expect(await session.works()).toEqual([]);
  });

  it.each(['crash', 'exit'] as const)(
    '%s of an execution retires all activity it owned, and nothing of another session',
    async (how) => {
      const executor = gate();
      await using lab = await sessionLab({ executors: { gate: executor } });
      const session = await lab.running();
      const other = await lab.running('other');
      for (const one of [session, other]) {
        await one.reg('work');
        await one.call('tool');
        await one.tell({
          type: 'permission.request',
          generation: one.generation,
          requestId: 'r',
          kind: 'permission',
          options: [],
        });
      }
      await lab.offstage.spawn({ kind: 'gate', sessionId: 's', jobId: 'job' });
      await lab.settled();
      session.agent[how]();
      session.agent[how]();
      await lab.settled();
      // Its jobs are not the agent's (W2).
      expect(await session.works()).toEqual(['job']);
      expect(await session.view()).toMatchObject({
        state: 'waiting_for_input',
        interrupted: true,
        pending: null,
        foregroundActivity: 'background',
        activeSubagentCount: 1,
        turn: null,
      });
      expect(await other.view()).toMatchObject({ state: 'running', foregroundActivity: 'generating', activeSubagentCount: 1 });
      expect((await other.view()).pending).not.toBeNull();
    },
  );
});

describe('persistence guarantees', () => {
  it('A restart reconstructs no detached work and no count, and keeps the durable coarse state', async () => {
    const store = controlledStore(memoryStore());
    const lab = await sessionLab({ store });
    const session = await lab.running();
    await session.reg('work');
    await session.idle();
    await lab.create('untouched', session.taskId);
    const found = await store.crash();
    await using next = await sessionLab({ store: found, script: { attests: FULL } });
    const { offstage } = next;
    const nothing = { foregroundActivity: null, activeSubagentCount: 0 };
    expect(await offstage.sessions.get('s')).toMatchObject({ ...nothing, state: 'waiting_for_input', interrupted: true });
    expect(await offstage.sessions.get('untouched')).toMatchObject({ ...nothing, state: 'created' });
    expect(await offstage.tasks.get(session.taskId)).toMatchObject(nothing);
    expect(await offstage.workloads.list('s')).toEqual([]);
    expect(await offstage.sessions.prompt('s', { content: 'again' })).toMatchObject({ accepted: true });
  });
});
