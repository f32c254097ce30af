/**
 * Liveness and stop, rows L64–L82, L87, L93, L94: what work is counted, and what a teardown takes along (liveness 6, 7, 9).
 *
 * An agent retires with everything it owned in one instant, and only then its successor starts; so the rows in which work of two executions lies
 * side by side (L67, L69, L70, L78, L79) drive the registrations and the chart by themselves.
 */
import { describe, expect, it } from 'vitest';
import { AgentExecution } from '../../src/engine/agent-execution.ts';
import { FrameIntake } from '../../src/engine/frame-intake.ts';
import { ToolCalls } from '../../src/engine/tool-calls.ts';
import type { Frame } from '../../src/model/agent.ts';
import { pausePoints } from '../../src/testing/pause-at.ts';
import { bareLiveness } from '../support/bare-liveness.ts';
import { type LabSession, type SessionLab, sessionLab } from '../support/sessions.ts';

const executionOf = (executionId: string): AgentExecution =>
  new AgentExecution({ executionId, sessionId: 's', taskId: 'task', agentId: 'default' }, () => {});

async function idleWith(lab: SessionLab, ...workloadIds: readonly string[]): Promise<LabSession> {
  const session = await lab.running();
  for (const workloadId of workloadIds) await session.reg(workloadId, 'subagent', `tool of ${workloadId}`);
  await session.idle();
  return session;
}

describe('counting', () => {
  it('L64: two subagents, a shell and a monitor count two; the same completion twice leaves one', async () => {
    await using lab = await sessionLab();
    const session = await idleWith(lab, 'subagent-one', 'subagent-two');
    await session.reg('shell', 'shell');
    await session.reg('monitor', 'monitor');
    expect(await session.view()).toMatchObject({ foregroundActivity: 'background', activeSubagentCount: 2 });
    await session.bgc({ workloadId: 'subagent-one' });
    await session.bgc({ workloadId: 'subagent-one' });
    expect(await session.count()).toBe(1);
    expect(await session.works()).toEqual(['subagent-two', 'shell', 'monitor']);
  });

  it('L65: one of two subagents completes: one publication, background, one', async () => {
    await using lab = await sessionLab();
    const session = await idleWith(lab, 'child-one', 'child-two');
    const since = lab.engine.events.length;
    await session.bgc({ workloadId: 'child-one' });
    expect(lab.publications('s', since)).toEqual([['background', 1]]);
  });

  it('L66: the second of two completes, twice: the first one is live both times', async () => {
    await using lab = await sessionLab();
    const session = await idleWith(lab, 'work-one', 'work-two');
    const toolsOf = async () => (await lab.offstage.workloads.list('s')).map(({ toolCallId }) => toolCallId);
    await session.bgc({ workloadId: 'work-two' });
    expect(await toolsOf()).toEqual(['tool of work-one']);
    const since = lab.engine.events.length;
    await session.bgc({ workloadId: 'work-two' });
    expect(await toolsOf()).toEqual(['tool of work-one']);
    expect(lab.publications('s', since)).toEqual([]);
    expect((await session.view()).uncertainCount).toBe(0);
  });

  it('L67: an id means work of its own execution only', async () => {
    const s = bareLiveness().session('s');
    s.reg('work-old', 'subagent', 'execution-old');
    expect(s.bgc({ workloadId: 'work-old', executionId: 'execution-successor' })).toBe(false);
    expect(s.works()).toEqual(['work-old']);
    expect(s.bgc({ workloadId: 'work-old', executionId: 'execution-old' })).toBe(true);

    await using lab = await sessionLab();
    const session = await idleWith(lab, 'work-old');
    const completing = { sessionId: 's', executionId: 'execution-successor', workloadId: 'work-old' };
    expect(await lab.offstage.workloads.complete(completing)).toEqual({ changed: false });
    expect(await session.works()).toEqual(['work-old']);
  });

  it('L69: a completion without an id, from the successor, ends the work of the launching execution; delivered again it does nothing', () => {
    const bare = bareLiveness();
    const s = bare.session('s');
    // A record lasts at least as long as its agent, and remembers deliveries that long.
    bare.core.liveness.at('s', 'task').swapAgent(null, executionOf('execution-successor'));
    s.reg('work', 'subagent', 'execution-launch');
    const since = bare.events.length;
    expect(s.bgc({ executionId: 'execution-successor', eventId: 'delivery' })).toBe(true);
    expect(s.works()).toEqual([]);
    expect(bare.publications('s', since)).toEqual([[null, 0]]);
    expect(bare.taskUpdates(since)).toEqual([[null, 0]]);
    s.reg('another', 'subagent', 'execution-successor');
    const later = bare.events.length;
    expect(s.bgc({ executionId: 'execution-successor', eventId: 'delivery' })).toBe(false);
    expect(s.works()).toEqual(['another']);
    expect(bare.taskUpdates(later)).toEqual([]);
  });

  it('L70: a completion without an id ends the oldest, whoever owns it', () => {
    const s = bareLiveness().session('s');
    s.reg('of the old', 'subagent', 'old-exec');
    s.reg('of the new', 'subagent', 'new-exec');
    s.bgc({ executionId: 'new-exec' });
    expect(s.works()).toEqual(['of the new']);
    expect(s.record?.uncertainCount).toBe(1);
  });
});

describe('ownership of tool calls', () => {
  it('L72: a foreground call of the old execution is no evidence for the same id of the new one', async () => {
    const tools = new ToolCalls();
    const evidence = { hasParent: false, isWork: false, isCall: true, generation: 1 };
    expect(tools.note('old', 'X', evidence)).toBe('foreground');
    expect(tools.note('new', 'X', { ...evidence, isCall: false, generation: 2 })).toBeNull();

    await using lab = await sessionLab();
    const session = await lab.running();
    await session.call('X');
    session.agent.exit();
    await lab.settled();
    await session.ask('again');
    await session.reg('work');
    await session.idle();
    expect(lab.mock.agents).toHaveLength(2);
    const since = lab.engine.events.length;
    await session.update('X', { status: 'completed', hasOutput: true });
    expect(await session.tier()).toBe('background');
    expect(lab.publications('s', since)).toEqual([]);
  });

  it('L93: a child stays a child when an update leaves its parent out', async () => {
    await using lab = await sessionLab();
    const session = await idleWith(lab, 'subagent');
    await session.call('child', { parent: 'tool of subagent' });
    const since = lab.engine.events.length;
    await session.update('child');
    await session.update('child', { status: 'running', hasOutput: true });
    await session.tell({
      type: 'output',
      generation: session.generation,
      text: 'what a child says',
      parentToolCallId: 'tool of subagent',
    });
    await session.update('child', { status: 'completed', hasOutput: true });
    expect(lab.publications('s', since)).toEqual([]);
    expect(await session.tier()).toBe('background');
  });

  it('L94: an update of a call that nobody has seen changes nothing', async () => {
    await using lab = await sessionLab();
    const session = await idleWith(lab, 'subagent');
    const since = lab.engine.events.length;
    await session.update('never seen', { status: 'running', hasOutput: true });
    await session.update('never seen', { status: 'completed', hasOutput: true });
    expect(lab.publications('s', since)).toEqual([]);
    expect(await session.attempt()).toBe('accepted');
  });
});

describe('teardown', () => {
  it('L75: a late tool call of a stopped execution creates no record', async () => {
    const bare = bareLiveness();
    const { core } = bare;
    const live = core.liveness.at('s', 'task');
    const execution = executionOf('stopped');
    execution.phase = 'retiring';
    // None of its rooms is asked: the frame is dropped before.
    const intake = new FrameIntake(core, { turns: undefined as never, requests: undefined as never, onFree: () => {} });
    const late: readonly Frame[] = [
      { type: 'tool.call', generation: 1, toolCallId: 'late', status: 'running' },
      { type: 'output', generation: 0, text: 'late' },
      { type: 'workload.started', generation: 0, kind: 'subagent', workloadId: 'late' },
      { type: 'workload.ended', generation: 0 },
      { type: 'turn.ended', generation: 1, stopReason: 'end_turn' },
    ];
    for (const frame of late) intake.take(live, execution, frame);
    expect(live.record).toBeNull();
    expect(intake.unreadable).toBe(0);
    expect(bare.events).toEqual([]);

    // And what a host says of it late, through the public verbs.
    await using lab = await sessionLab();
    const session = await lab.running();
    const { executionId } = session;
    session.agent.exit();
    await lab.settled();
    const { workloads } = lab.offstage;
    await expect(workloads.register({ sessionId: 's', executionId, kind: 'shell', workloadId: 'late' })).rejects.toMatchObject({
      code: 'execution.not_found',
    });
    await expect(workloads.snapshot({ sessionId: 's', executionId, workloads: [] })).rejects.toMatchObject({
      code: 'execution.not_found',
    });
    expect(await workloads.complete({ sessionId: 's', executionId, workloadId: 'late' })).toEqual({ changed: false });
    expect(session.agent.emit({ type: 'tool.call', generation: 0, toolCallId: 'late', status: 'running' })).toBe(false);
    expect(await session.view()).toMatchObject({ foregroundActivity: null, activeSubagentCount: 0, turn: null });
  });

  it('L76: the held publication of a teardown does not come after what the successor made of the session', async () => {
    const { points, pauseAt } = pausePoints();
    await using lab = await sessionLab({ points });
    const session = await idleWith(lab, 'old work');
    const since = lab.engine.events.length;
    const held = pauseAt('publish');
    session.agent.exit();
    await lab.settled();
    await session.ask('again');
    await session.reg('new work');
    await session.reg('more of it');
    await session.idle();
    expect(lab.publications('s', since)).toEqual([]);
    held.release();
    // Publications are made when they are told, so there is none left of the predecessor.
    expect(lab.publications('s', since)).toEqual([['background', 2]]);
    expect(lab.taskUpdates(session.taskId, since)).toEqual([['background', 2]]);
    expect(await session.works()).toEqual(['new work', 'more of it']);
  });

  it('L76: a record that is made anew has a later epoch', async () => {
    await using lab = await sessionLab();
    const session = await idleWith(lab, 'old work');
    const epochs = () =>
      lab.engine.events.flatMap((event) => (event.type === 'session.activity_changed' ? [event.activityEpoch] : []));
    const first = epochs().at(-1) as number;
    session.agent.exit();
    await lab.settled();
    await session.ask('again');
    await lab.settled();
    expect(epochs().at(-1)).toBeGreaterThan(first);
  });

  it('a record is kept while an execution retires, and made anew when that is over', async () => {
    let closed = (): void => {};
    const closing = new Promise<void>((resolve) => {
      closed = resolve;
    });
    await using lab = await sessionLab();
    const session = await idleWith(lab, 'old work');
    const epochs = () =>
      lab.engine.events.flatMap((event) => (event.type === 'session.activity_changed' ? [event.activityEpoch] : []));
    const first = epochs().at(-1) as number;
    Object.assign(session.agent, { close: () => closing });
    session.agent.exit();
    await lab.settled();
    expect(await session.tier()).toBeNull();
    await session.ask('again');
    expect(epochs().at(-1)).toBe(first);
    session.agent.exit();
    closed();
    await lab.settled();
    const since = lab.engine.events.length;
    await session.ask('and again');
    await lab.settled();
    expect(epochs().at(-1)).toBe(first + 1);
    expect(lab.publications('s', since)).toEqual([['generating', 0]]);
  });

  it("L78: the predecessor retires under the successor's claim: claim, record and generation are the successor's", () => {
    const bare = bareLiveness();
    const s = bare.session('s');
    s.reg('old work', 'subagent', 'predecessor');
    const { record } = s;
    const claim = s.claim();
    s.retire('predecessor');
    expect(s.record).toBe(record);
    expect(s.record?.context.claimId).toBe(claim);
    expect(s.works()).toEqual([]);
    expect(bare.publications().at(-1)).toEqual(['generating', 0]);
    const generation = s.begin(claim, 'successor');
    expect(generation).toBeGreaterThan(0);
    expect(s.accept(generation)).toBe(true);
    // Delayed, and once more.
    s.retire('predecessor');
    expect(s.record).toBe(record);
    expect(s.record?.context.turns).toMatchObject([{ generation, executionId: 'successor', isAccepted: true }]);
    expect(s.tier).toBe('generating');
  });

  it('L79: the same, and the claim is released: the record is gone, and nothing opens it again', () => {
    const bare = bareLiveness();
    const s = bare.session('s');
    s.reg('old work', 'subagent', 'predecessor');
    const claim = s.claim();
    s.retire('predecessor');
    s.release(claim);
    expect(s.record).toBeNull();
    expect(bare.publications().at(-1)).toEqual([null, 0]);
    const since = bare.events.length;
    s.retire('predecessor');
    expect(s.record).toBeNull();
    expect(bare.events.slice(since)).toEqual([]);
  });

  it('L81: a prompt of the successor, while the publication of the teardown is held: generating, and nothing else', async () => {
    const { points, pauseAt } = pausePoints();
    await using lab = await sessionLab({ points });
    const session = await idleWith(lab, 'old work');
    const since = lab.engine.events.length;
    const held = pauseAt('publish');
    session.agent.exit();
    await lab.settled();
    await session.ask('again');
    held.release();
    expect(lab.publications('s', since)).toEqual([['generating', 0]]);
  });

  it('L82: a prompt, while the publication of a completion without an id is held: generating, and nothing else', async () => {
    const { points, pauseAt } = pausePoints();
    await using lab = await sessionLab({ points });
    const session = await idleWith(lab, 'work');
    const since = lab.engine.events.length;
    const held = pauseAt('publish');
    await session.bgc();
    await session.ask('again');
    held.release();
    held.release();
    expect(lab.publications('s', since)).toEqual([['generating', 0]]);
    expect(await session.works()).toEqual([]);
  });

  it('L87: a transient failure of the provider keeps what is registered, and the next try is accepted', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.reg('work');
    session.prompt.fail(new Error('429: overloaded'));
    await lab.settled();
    expect(lab.engine.events).toContainEqual(
      expect.objectContaining({ type: 'session.turn_ended', error: expect.objectContaining({ code: 'agent.failed' }) }),
    );
    expect(await session.works()).toEqual(['work']);
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: 'background' });
    expect(await session.attempt()).toBe('accepted');
    expect(lab.mock.agents).toHaveLength(1);
  });
});
