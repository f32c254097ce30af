/**
 * Background work liveness, the scenarios of its seed in their own words, at the surfaces of the engine: `sessions.get` and `list`, `tasks.get` and
 * `list`, `snapshot()`, events. Its scenarios of deleting and archiving belong to removal, which does not exist yet.
 */
import { describe, expect, it } from 'vitest';
import type { ActivityValue } from '../../src/model/activity.ts';
import { pausePoints } from '../../src/testing/pause-at.ts';
import { tiersOf } from '../support/bare-liveness.ts';
import { FULL, type LabSession, type SessionLab, sessionLab } from '../support/sessions.ts';

const value = (foregroundActivity: ActivityValue['foregroundActivity'], activeSubagentCount: number): ActivityValue => ({
  foregroundActivity,
  activeSubagentCount,
});

/** Everything that shows a task, in this order: get, list, snapshot. */
async function taskSurfaces({ offstage }: SessionLab, taskId: string) {
  const listed = (await offstage.tasks.list()).find((task) => task.taskId === taskId);
  const shown = (await offstage.snapshot()).tasks.find((task) => task.taskId === taskId);
  return [await offstage.tasks.get(taskId), listed, shown];
}

async function sessionSurfaces({ offstage }: SessionLab, sessionId: string) {
  const listed = (await offstage.sessions.list()).find((session) => session.sessionId === sessionId);
  const shown = (await offstage.snapshot()).sessions.find((session) => session.sessionId === sessionId);
  return [await offstage.sessions.get(sessionId), listed, shown];
}

async function expectShown(lab: SessionLab, { sessionId, taskId }: LabSession, expected: ActivityValue): Promise<void> {
  for (const surface of [...(await sessionSurfaces(lab, sessionId)), ...(await taskSurfaces(lab, taskId))])
    expect(surface).toMatchObject(expected);
}

/** A session whose foreground is idle while work goes on behind it; its prompt is still open. */
async function foregroundIdle(lab: SessionLab, workloadId = 'work', sessionId = 's', taskId?: string): Promise<LabSession> {
  const session = await lab.running(sessionId, taskId);
  await session.reg(workloadId, 'subagent', `launch of ${workloadId}`);
  await session.idle();
  return session;
}

describe('prompts beside background work', () => {
  it('GIVEN a foreground-idle session with a recognized background workload, WHEN the operator sends a prompt, THEN the prompt is accepted while the status remains background-running until foreground activity begins', async () => {
    await using lab = await sessionLab();
    const session = await foregroundIdle(lab);
    await expectShown(lab, session, value('background', 1));
    const since = lab.engine.events.length;
    expect(await session.attempt()).toBe('accepted');
    // Foreground activity begins with the claim of the prompt, and nothing is shown in between.
    expect(lab.publications('s', since)).toEqual([['generating', 1]]);
    await expectShown(lab, session, value('generating', 1));
    expect(await session.works()).toEqual(['work']);
  });

  it('GIVEN an attested provider keeps a prompt RPC open for a detached child after emitting foreground-idle for the matching generation, WHEN the operator sends a follow-up, THEN that human prompt reaches the provider immediately and the detached child may continue streaming', async () => {
    await using lab = await sessionLab();
    const session = await foregroundIdle(lab);
    const owning = session.prompt;
    await session.ask('follow-up');
    await lab.settled();
    expect(owning.isOpen).toBe(true);
    expect(session.prompt).toMatchObject({ content: 'follow-up', origin: 'human', isOpen: true });
    const parent = 'launch of work';
    await session.call('streams on', { parent, generation: owning.generation });
    await session.tell({ type: 'output', generation: owning.generation, text: 'from the child', parentToolCallId: parent });
    await session.done();
    await expectShown(lab, session, value('background', 1));
  });

  it('GIVEN a synthetic wakeup is waiting when an attested human handoff occurs, WHEN a human follow-up is submitted, THEN the human prompt inherits ownership and the wakeup remains serialized until the human turn completes', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.reg('work');
    await session.ask('wake up', { origin: 'synthetic', whenBusy: 'queue' });
    await session.idle();
    expect(session.prompts.map(({ content }) => content)).toEqual(['begin']);
    await session.ask('follow-up', { whenBusy: 'queue' });
    await lab.settled();
    expect(session.prompts.map(({ content }) => content)).toEqual(['begin', 'follow-up']);
    expect(await lab.offstage.sessions.tickets('s')).toMatchObject([{ origin: 'synthetic', position: 1 }]);
    // Not even the next hand-off is its own: it is that of a person who came later, and waits.
    await session.ask('second follow-up', { whenBusy: 'queue' });
    await lab.settled();
    expect(session.prompts).toHaveLength(2);
    await session.idle();
    expect(session.prompts.map(({ content }) => content)).toEqual(['begin', 'follow-up', 'second follow-up']);
    await session.done();
    expect(session.prompts.map(({ content }) => content)).toEqual(['begin', 'follow-up', 'second follow-up', 'wake up']);
  });

  describe('GIVEN predecessor background tools or Monitors are still live after the follow-up completes, WHEN the successor runs prompt-end cleanup, THEN those predecessor-owned streams remain tracked until', () => {
    const afterFollowUp = async (lab: SessionLab) => {
      const session = await foregroundIdle(lab);
      await session.reg('watch', 'monitor', 'launch of watch');
      await session.call('nested', { parent: 'launch of work' });
      await session.ask('follow-up');
      await lab.settled();
      await session.call('own tool');
      await session.done();
      expect(await session.works()).toEqual(['work', 'watch']);
      await expectShown(lab, session, value('background', 1));
      // The nested call is still known to be a child's, also when it is told anew and without its parent.
      await session.call('nested', { generation: 0 });
      await expectShown(lab, session, value('background', 1));
      // And the card that launched it is still known to be no more than that.
      await session.update('launch of work', { status: 'completed', hasOutput: true });
      expect(await session.works()).toEqual(['work', 'watch']);
      return session;
    };

    it('their authoritative terminal event', async () => {
      await using lab = await sessionLab();
      const session = await afterFollowUp(lab);
      await session.bgc({ toolCallId: 'launch of work' });
      await expectShown(lab, session, value('background', 0));
      await session.bgc({ workloadId: 'watch' });
      await expectShown(lab, session, value(null, 0));
    });

    it('explicit cancellation (of what the operator knows to be over)', async () => {
      await using lab = await sessionLab();
      const session = await afterFollowUp(lab);
      expect(await lab.offstage.workloads.dismiss('s', 'work')).toEqual({ changed: true });
      expect(await session.works()).toEqual(['watch']);
    });

    it('session replacement', async () => {
      await using lab = await sessionLab();
      const session = await afterFollowUp(lab);
      session.agent.exit();
      await lab.settled();
      await expectShown(lab, session, value(null, 0));
    });
  });

  it('GIVEN the provider has not authoritatively released the foreground, WHEN the operator submits a follow-up, THEN it is reported as queued and not sent concurrently', async () => {
    await using lab = await sessionLab({ script: { attests: { ...FULL, handoff: false } } });
    const session = await foregroundIdle(lab);
    expect(await session.ask('follow-up', { whenBusy: 'queue' })).toMatchObject({ queued: true, position: 1 });
    await lab.settled();
    expect(session.prompts).toHaveLength(1);
    expect(await session.view()).toMatchObject({ foregroundActivity: 'generating', queuedPrompts: 1 });
  });
});

describe('counts and aggregates', () => {
  it('GIVEN two adapter-attested subagents and one background shell are live, WHEN the session is serialized or publishes an activity update, THEN active_subagent_count is two while all three workloads still contribute to background liveness', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.reg('one');
    await session.reg('two');
    await session.reg('shell', 'shell');
    await session.idle();
    await expectShown(lab, session, value('background', 2));
    expect(lab.publications('s').at(-1)).toEqual(['background', 2]);
    await session.bgc({ workloadId: 'one' });
    await session.bgc({ workloadId: 'two' });
    await expectShown(lab, session, value('background', 0));
    await session.bgc({ workloadId: 'shell' });
    await expectShown(lab, session, value(null, 0));
  });

  it('GIVEN one generating session with one live subagent and another session with two live subagents, WHEN the task is serialized, THEN its foreground_activity is generating and its active_subagent_count is three', async () => {
    await using lab = await sessionLab();
    const { taskId } = await lab.offstage.tasks.create({ taskId: 'task' });
    const generating = await lab.running('generating', taskId);
    await generating.reg('one');
    const other = await foregroundIdle(lab, 'two', 'other', taskId);
    await other.reg('three');
    for (const surface of await taskSurfaces(lab, taskId)) expect(surface).toMatchObject(value('generating', 3));
    expect(lab.taskUpdates(taskId).at(-1)).toEqual(['generating', 3]);
  });

  it('GIVEN a Codex subagent launch card without an accountable terminal lifecycle, WHEN its prompt remains in flight or later settles, THEN no recognized background work is reported and the active subagent count remains zero', async () => {
    // An adapter that vouches for nothing, as that of every agent without a fixture of its end.
    await using lab = await sessionLab({ script: {}, announces: null });
    const session = await lab.running();
    await session.call('spawn_agent', { work: { kind: 'subagent', isDetached: true } });
    await session.reg('child thread');
    await session.idle();
    await expectShown(lab, session, value('generating', 0));
    await session.done();
    await expectShown(lab, session, value(null, 0));
    expect(await session.works()).toEqual([]);
    expect(lab.publications('s')).toEqual([
      ['generating', 0],
      [null, 0],
    ]);
  });

  it('GIVEN an unsupported ACP adapter emits a normalized subagent-shaped tool card, WHEN its prompt remains in flight, THEN the foreground is reported as generating and the active subagent count remains zero', async () => {
    await using lab = await sessionLab({ script: { attests: { yield: true, handoff: true } } });
    const session = await lab.running();
    await session.call('Task', { work: { kind: 'subagent', isDetached: false } });
    await session.update('Task', { status: 'completed', hasOutput: true });
    await expectShown(lab, session, value('generating', 0));
    expect(await session.attempt()).toBe('prompt.busy');
  });

  it('GIVEN a task with one generating session and one background-running session, WHEN its aggregate is rendered, THEN it shows generating', async () => {
    await using lab = await sessionLab();
    const { taskId } = await lab.offstage.tasks.create({ taskId: 'task' });
    await foregroundIdle(lab, 'work', 'background', taskId);
    await lab.running('generating', taskId);
    for (const surface of await taskSurfaces(lab, taskId)) expect(surface).toMatchObject(value('generating', 1));
  });

  it('GIVEN a task with no generating session and one background-running session, WHEN its aggregate is rendered, THEN it does not show done', async () => {
    await using lab = await sessionLab();
    const { taskId } = await lab.offstage.tasks.create({ taskId: 'task' });
    const background = await foregroundIdle(lab, 'work', 'background', taskId);
    const settled = await lab.running('settled', taskId);
    await settled.done();
    // Also when its own turn is over, and its coarse state has settled.
    await background.done();
    expect(await background.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: 'background' });
    for (const surface of await taskSurfaces(lab, taskId)) expect(surface).toMatchObject(value('background', 1));
    expect((await lab.offstage.tasks.get(taskId)).pending).toBe('work');
  });
});

describe('launches and children', () => {
  it('GIVEN a detached workload launch completes, WHEN no workload terminal signal has arrived, THEN the session stays background-running', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.call('launch', { work: { kind: 'shell', isDetached: true } });
    await session.update('launch', { status: 'completed', hasOutput: true });
    await session.done();
    await expectShown(lab, session, value('background', 0));
  });

  it('GIVEN a child tool call was attributed to recognized background work, WHEN an incremental update temporarily omits its parent metadata, THEN the session remains background-running', async () => {
    await using lab = await sessionLab();
    const session = await foregroundIdle(lab);
    await session.call('child', { parent: 'launch of work' });
    const since = lab.engine.events.length;
    await session.update('child', { status: 'running', hasOutput: true });
    await expectShown(lab, session, value('background', 1));
    expect(lab.publications('s', since)).toEqual([]);
  });

  it('GIVEN a freshly loaded page or a second browser tab, WHEN a connected session has current background activity, THEN its task and session surfaces show background-running without waiting for a transition', async () => {
    await using lab = await sessionLab();
    const session = await foregroundIdle(lab);
    const since = lab.engine.events.length;
    for (let tab = 0; tab < 2; tab++) await expectShown(lab, session, value('background', 1));
    expect(lab.engine.events.slice(since)).toEqual([]);
    // The models that pages are drawn from show the same.
    expect(lab.offstage.sessionsModel.get().live.get('s')).toMatchObject(value('background', 1));
    expect(lab.offstage.tasksModel.get().live.get(session.taskId)).toMatchObject(value('background', 1));
  });
});

describe('order and teardown', () => {
  it('GIVEN an activity transition for a task, WHEN a later transition is computed before earlier publication completes, THEN observers never see the later value followed by the stale earlier value', async () => {
    const { points, pauseAt } = pausePoints();
    await using lab = await sessionLab({ points });
    const session = await lab.running();
    await session.reg('work');
    const since = lab.engine.events.length;
    const held = pauseAt('publish');
    await session.idle();
    await session.out();
    await session.idle();
    held.release();
    await session.out();
    expect(tiersOf(lab.publications('s', since))).toEqual(['background', 'generating']);
    expect(tiersOf(lab.taskUpdates(session.taskId, since))).toEqual(['background', 'generating']);
    const numbers = lab.engine.events.flatMap((event) => (event.type === 'session.activity_changed' ? [event.sessionSeq] : []));
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  });

  it('GIVEN an execution terminates with orphaned tool ownership and background work and no successor exists, WHEN teardown runs, THEN all owned state and the session activity record are released', async () => {
    await using lab = await sessionLab();
    const session = await foregroundIdle(lab);
    await session.call('orphan');
    session.agent.crash();
    await lab.settled();
    await expectShown(lab, session, value(null, 0));
    expect(await session.works()).toEqual([]);
    expect(await session.view()).toMatchObject({ turn: null, executionId: null, uncertainCount: 0, quietCount: 0 });
    // The record is made anew for the next one, which knows nothing of the orphan.
    await session.ask('again');
    await session.reg('new work');
    await session.idle();
    await session.update('orphan', { status: 'completed', hasOutput: true });
    await expectShown(lab, session, value('background', 1));
  });

  it("GIVEN execution B has claimed the same session before delayed teardown for execution A, WHEN A is retired, THEN B's prompt claim, prompt generation, foreground state, tools, and background work remain unchanged", async () => {
    let closed = (): void => {};
    const closing = new Promise<void>((resolve) => {
      closed = resolve;
    });
    await using lab = await sessionLab();
    const session = await foregroundIdle(lab);
    // The processes of A take their time.
    Object.assign(session.agent, { close: () => closing });
    session.agent.exit();
    await lab.settled();
    await session.ask('to B');
    await session.reg('work of B');
    await session.call('tool of B');
    const before = await session.view();
    const since = lab.engine.events.length;
    closed();
    await lab.settled();
    expect(await session.view()).toEqual({ ...before, endingAgents: 0 });
    expect(before).toMatchObject({ ...value('generating', 1), state: 'running', turn: { generation: session.generation } });
    expect(await session.works()).toEqual(['work of B']);
    expect(lab.engine.events.slice(since)).toEqual([]);
    expect(await session.attempt()).toBe('prompt.busy');
  });

  it("GIVEN execution B reuses a tool-call ID left nonterminal by execution A, WHEN B emits an ownership-incomplete update, THEN A's classification is not observable as ownership evidence for B", async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.call('reused');
    session.agent.exit();
    await lab.settled();
    await session.ask('to B');
    await session.reg('work of B');
    await session.idle();
    // Had A's word counted, this would be output of the foreground.
    await session.update('reused', { status: 'running', hasOutput: true });
    await expectShown(lab, session, value('background', 1));
    expect(await session.attempt()).toBe('accepted');
  });

  it("GIVEN execution A's cleanup publication is delayed until after execution B claims the session, WHEN the delayed publication resumes, THEN it cannot recreate A's record or overwrite B's activity", async () => {
    const { points, pauseAt } = pausePoints();
    await using lab = await sessionLab({ points });
    const session = await foregroundIdle(lab);
    const since = lab.engine.events.length;
    const held = pauseAt('publish');
    session.agent.crash();
    await lab.settled();
    await session.ask('to B');
    await lab.settled();
    held.release();
    await lab.settled();
    expect(lab.publications('s', since)).toEqual([['generating', 0]]);
    expect(lab.taskUpdates(session.taskId, since)).toEqual([['generating', 0]]);
    await expectShown(lab, session, value('generating', 0));
    expect(await session.works()).toEqual([]);
  });
});
