/** Providers that misbehave, and what a person sees and can do: work that never ends, words said twice, ids used again, words after the end, turns that hang. */
import { describe, expect, it } from 'vitest';
import { FULL, type LabSession, type SessionLab, sessionLab } from '../support/sessions.ts';

const QUIET_MS = 300_000;
const GRACE_MS = 10_000;

const endsOf = (lab: SessionLab) =>
  lab.engine.events.flatMap((event) =>
    event.type === 'session.turn_ended' ? [[event.generation, event.stopReason ?? event.error?.code ?? null]] : [],
  );

const labels = async (lab: SessionLab) =>
  (await lab.offstage.workloads.list('s')).map(({ workloadId, uncertain, quiet }) => [workloadId, uncertain, quiet]);

describe('one that never completes its work', () => {
  async function begun(lab: SessionLab) {
    const session = await lab.running();
    await session.reg('forgotten', 'subagent', 'launch of forgotten');
    await session.reg('watched', 'shell');
    await session.done();
    return session;
  }

  it('stays background for days, is labelled quiet, is counted, and keeps no prompt out', async () => {
    await using lab = await sessionLab();
    const session = await begun(lab);
    await lab.clock.advance(QUIET_MS - 1);
    expect(await labels(lab)).toEqual([
      ['forgotten', false, false],
      ['watched', false, false],
    ]);
    const since = lab.engine.events.length;
    await lab.clock.advance(1);
    await session.update('launch of forgotten');
    expect(await labels(lab)).toEqual([
      ['forgotten', false, false],
      ['watched', false, true],
    ]);
    await lab.clock.advance(3 * 24 * 60 * 60 * 1000);
    expect(await session.view()).toMatchObject({
      state: 'waiting_for_input',
      foregroundActivity: 'background',
      activeSubagentCount: 1,
      quietCount: 2,
    });
    // A label is not an activity: nobody was told of one.
    expect(lab.publications('s', since)).toEqual([]);
    expect(await session.attempt()).toBe('accepted');
  });

  it.each<[string, (session: LabSession) => Promise<void>]>([
    ['its launch, told again', (s) => s.reg('forgotten', 'subagent', 'launch of forgotten')],
    ['an update of its card', (s) => s.update('launch of forgotten')],
    ['a call of its child', (s) => s.call('ls', { parent: 'launch of forgotten' })],
    [
      'the voice of its child',
      (s) => s.tell({ type: 'output', generation: 0, text: 'child', parentToolCallId: 'launch of forgotten' }),
    ],
    [
      'a list that names it',
      (s) => s.tell({ type: 'workload.snapshot', generation: 0, workloads: [{ workloadId: 'forgotten' }] }),
    ],
  ])('is neither quiet nor uncertain any more by %s', async (_, sign) => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.reg('oldest');
    await session.reg('forgotten', 'subagent', 'launch of forgotten');
    await session.done();
    await session.bgc();
    await lab.clock.advance(QUIET_MS);
    expect(await labels(lab)).toEqual([['forgotten', true, true]]);
    const since = lab.engine.events.length;
    await sign(session);
    expect(await labels(lab)).toEqual([['forgotten', false, false]]);
    expect(await session.view()).toMatchObject({ foregroundActivity: 'background', uncertainCount: 0, quietCount: 0 });
    expect(lab.publications('s', since)).toEqual([]);
  });

  it('may be the one whose end was told without a name: then it is labelled uncertain until it is heard of', async () => {
    await using lab = await sessionLab();
    const session = await begun(lab);
    await session.reg('third', 'monitor');
    await session.bgc();
    expect(await labels(lab)).toEqual([
      ['watched', true, false],
      ['third', true, false],
    ]);
    expect(await session.view()).toMatchObject({ foregroundActivity: 'background', uncertainCount: 2 });
    expect(await session.attempt()).toBe('accepted');
    await session.reg('third', 'monitor');
    expect(await labels(lab)).toContainEqual(['third', false, false]);
    await session.bgc({ workloadId: 'watched' });
    expect(await session.view()).toMatchObject({ uncertainCount: 0 });
  });

  it('can be dismissed by a person who knows better, for good', async () => {
    await using lab = await sessionLab();
    const session = await begun(lab);
    const { workloads } = lab.offstage;
    expect(await workloads.dismiss('s', 'forgotten')).toEqual({ changed: true });
    expect(lab.engine.log).toContainEqual(expect.objectContaining({ event: 'workload.dismissed' }));
    expect(await session.view()).toMatchObject({ foregroundActivity: 'background', activeSubagentCount: 0 });
    await expect(workloads.dismiss('s', 'forgotten')).rejects.toMatchObject({ code: 'workload.not_found' });
    await session.reg('forgotten', 'subagent', 'launch of forgotten');
    await session.bgc({ workloadId: 'forgotten' });
    expect(await session.works()).toEqual(['watched']);
    await workloads.dismiss('s', 'watched');
    expect(await session.tier()).toBeNull();
  });

  it('ends with its agent at the latest', async () => {
    await using lab = await sessionLab();
    const session = await begun(lab);
    session.agent.exit();
    await lab.settled();
    expect(await session.view()).toMatchObject({ state: 'idle', foregroundActivity: null, activeSubagentCount: 0 });
  });
});

describe('one that completes everything twice', () => {
  it('is counted once: work by its id, tool calls, turns, usage', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.reg('one');
    await session.reg('two');
    await session.call('tool');
    const { generation } = session;
    const twice = async (act: () => Promise<unknown>): Promise<void> => {
      await act();
      const since = lab.engine.events.length;
      await act();
      expect(lab.engine.events.slice(since)).toEqual([]);
    };
    await twice(() => session.update('tool', { status: 'completed' }));
    await twice(() => session.tell({ type: 'usage', generation, usage: { tokens: 3 } }));
    await twice(() => session.bgc({ workloadId: 'one' }));
    await twice(() => session.tell({ type: 'turn.ended', generation, stopReason: 'end_turn' }));
    await session.done();
    expect(endsOf(lab)).toEqual([[generation, 'end_turn']]);
    expect(await session.works()).toEqual(['two']);
    expect((await session.view()).usage).toEqual({ tokens: 3 });
    await twice(() => session.bgc({ workloadId: 'two' }));
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: null });
    expect(await session.attempt()).toBe('accepted');
  });

  it('without an id: the same delivery ends one; two deliveries cannot be told apart, and end two', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    for (const workloadId of ['one', 'two', 'three']) await session.reg(workloadId);
    await session.done();
    await session.bgc({ eventId: 'delivery' });
    await session.bgc({ eventId: 'delivery' });
    expect(await session.works()).toEqual(['two', 'three']);
    await session.bgc({ eventId: 'another' });
    expect(await session.works()).toEqual(['three']);
    // What a person sees in the meantime: that it is in doubt.
    expect(await session.view()).toMatchObject({ uncertainCount: 1, foregroundActivity: 'background' });
  });
});

describe('one that uses ids again', () => {
  it('after its rotation: the new work is other work, and the end of the old one is not its end', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.reg('work-1', 'subagent', 'tool-1');
    await session.bgc({ workloadId: 'work-1' });
    await session.call('tool-2', { parent: 'tool-1' });
    const old = session.executionId;
    session.agent.exit();
    await lab.settled();
    await session.ask('again');
    await lab.settled();
    expect(session.executionId).not.toBe(old);
    await session.reg('work-1', 'subagent', 'tool-1');
    expect(await session.count()).toBe(1);
    const late = { sessionId: 's', executionId: old, workloadId: 'work-1' };
    expect(await lab.offstage.workloads.complete(late)).toEqual({ changed: false });
    expect(await session.works()).toEqual(['work-1']);
    await session.done();
    // In the old execution this was a child.
    await session.call('tool-2', { generation: 0 });
    expect(await session.tier()).toBe('generating');
  });

  it('within one execution: what has ended stays ended', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.reg('work-1', 'subagent', 'tool-1');
    await session.bgc({ workloadId: 'work-1' });
    await session.reg('work-1', 'subagent', 'tool-1');
    await session.reg('work-1', 'shell', 'tool-9');
    expect(await session.works()).toEqual([]);
  });
});

describe('one that speaks after its teardown', () => {
  it('is not heard: neither its frames nor the late answer of its prompt', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    const old = session.prompt;
    await session.reg('old work');
    // Its stream ends, and its call stays open.
    (session.agent as unknown as { readonly frames: { end(): void } }).frames.end();
    await lab.settled();
    expect(endsOf(lab)).toEqual([[old.generation, 'agent.gone']]);
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input', interrupted: true, foregroundActivity: null });
    expect(old.agent.emit({ type: 'output', generation: old.generation, text: 'late' })).toBe(false);

    await session.ask('again');
    await lab.settled();
    const before = await session.view();
    const since = lab.engine.events.length;
    old.end('late');
    await lab.settled();
    expect(await session.view()).toEqual(before);
    expect(before).toMatchObject({ state: 'running', foregroundActivity: 'generating', activeSubagentCount: 0 });
    expect(lab.engine.events.slice(since)).toEqual([]);
    // Its successor may not speak for its generation either.
    await session.tell({ type: 'turn.ended', generation: old.generation, stopReason: 'end_turn' });
    expect(await session.tier()).toBe('generating');
  });

  it('owns nothing any more, whatever a host says for it', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    const { executionId } = session;
    session.agent.exit();
    await lab.settled();
    await session.ask('again');
    const late = session.hostReg('late', 'shell', executionId);
    await expect(late).rejects.toMatchObject({ code: 'execution.not_found' });
    expect(await session.works()).toEqual([]);
  });
});

describe('one that hangs in the turn', () => {
  const hanging = (options: { readonly turnTimeoutMs?: number } = {}) =>
    sessionLab({ ...options, script: { attests: FULL, ignoreCancel: true } });

  /** Interrupted, ignored, and closed without its agent. */
  async function closedAlone(lab: SessionLab): Promise<LabSession> {
    const session = await lab.running();
    await lab.offstage.sessions.interrupt('s');
    await lab.clock.advance(GRACE_MS);
    return session;
  }

  it('is shown as quiet after a while, and as not quiet when it says something', async () => {
    await using lab = await hanging();
    const session = await lab.running();
    await lab.clock.advance(QUIET_MS - 1);
    expect((await session.view()).turn).toMatchObject({ generation: session.generation, origin: 'prompt', quiet: false });
    await lab.clock.advance(1);
    expect(await session.view()).toMatchObject({ foregroundActivity: 'generating', turn: { quiet: true } });
    await session.out();
    expect((await session.view()).turn).toMatchObject({ quiet: false });
    // Nothing ends it by itself: there is no limit unless one is set.
    await lab.clock.advance(30 * 24 * 60 * 60 * 1000);
    expect(await session.view()).toMatchObject({ state: 'running', foregroundActivity: 'generating' });
  });

  it('can be interrupted; when it ignores that, its turn is closed without it, once the grace has passed', async () => {
    await using lab = await hanging();
    const session = await lab.running();
    expect(await lab.offstage.sessions.interrupt('s')).toEqual({ changed: true });
    await lab.settled();
    expect(session.agent.cancels).toEqual([session.generation]);
    expect(session.prompt.signal.aborted).toBe(true);
    await lab.clock.advance(GRACE_MS - 1);
    expect(await session.tier()).toBe('generating');
    await lab.clock.advance(1);
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: null, turn: null });
    expect(endsOf(lab)).toEqual([[session.generation, 'prompt.interrupted']]);
    // What it still says of that turn is said to nobody.
    const since = lab.engine.events.length;
    await session.out('still here');
    await session.call('tool');
    await session.idle();
    expect(lab.publications('s', since)).toEqual([]);
    expect(await session.tier()).toBeNull();
  });

  it('takes no prompt then: it is busy, or a ticket; its late answer frees it, and the ticket is served', async () => {
    await using lab = await hanging();
    const session = await closedAlone(lab);
    expect(await session.attempt()).toBe('prompt.busy');
    expect(await session.attempt({ whenBusy: 'queue' })).toBe('queued');
    expect(await session.attempt({ origin: 'synthetic', whenBusy: 'queue' })).toBe('queued');
    expect(session.prompts).toHaveLength(1);
    await session.done();
    expect(session.prompts).toHaveLength(2);
    expect(await session.view()).toMatchObject({ state: 'running', queuedPrompts: 1 });
    expect(endsOf(lab)).toHaveLength(1);
  });

  it('takes none until its end, otherwise: the ticket is served by its successor', async () => {
    await using lab = await hanging();
    const session = await closedAlone(lab);
    expect(await session.attempt({ whenBusy: 'queue' })).toBe('queued');
    const stuck = session.agent;
    stuck.exit();
    await lab.settled();
    expect(session.agent).not.toBe(stuck);
    expect(session.prompts).toHaveLength(2);
    expect(await session.view()).toMatchObject({ state: 'running', interrupted: false, queuedPrompts: 0 });
  });

  it('is ended by `turnTimeoutMs`, where one is set, in the same way', async () => {
    await using lab = await hanging({ turnTimeoutMs: 60_000 });
    const session = await lab.running();
    await lab.clock.advance(59_999);
    expect(session.prompt.signal.aborted).toBe(false);
    await lab.clock.advance(1);
    expect(session.prompt.signal.aborted).toBe(true);
    expect((session.prompt.signal.reason as Error).message).toContain('60000 ms');
    await lab.clock.advance(GRACE_MS);
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: null });
    expect(await session.attempt()).toBe('prompt.busy');
    await session.done();
    expect(await session.attempt()).toBe('accepted');
  });

  it('one that obeys at once is free at once, and the limit of a turn does not outlive it', async () => {
    await using lab = await sessionLab({ turnTimeoutMs: 60_000 });
    const session = await lab.running();
    await lab.offstage.sessions.interrupt('s');
    await lab.settled();
    expect(endsOf(lab)).toEqual([[session.generation, 'cancelled']]);
    await lab.clock.advance(59_000);
    expect(await session.attempt()).toBe('accepted');
    await lab.clock.advance(2_000);
    expect(session.prompt.signal.aborted).toBe(false);
    expect(await session.tier()).toBe('generating');
  });

  it('one that hangs in its start shows a turn without a generation, and an interrupt gives it up', async () => {
    await using lab = await sessionLab({ script: { attests: FULL, hangStart: true } });
    const session = await lab.create();
    const prompting = session.ask().catch(({ code }) => code);
    await lab.clock.advance(QUIET_MS);
    expect(await session.view()).toMatchObject({ state: 'starting', turn: { generation: 0, origin: 'prompt', quiet: true } });
    lab.mock.script.hangStart = false;
    expect(await lab.offstage.sessions.interrupt('s')).toEqual({ changed: true });
    expect(await prompting).toBe('prompt.interrupted');
    await lab.settled();
    expect(await session.view()).toMatchObject({ state: 'created', foregroundActivity: null, turn: null });
    expect(await session.attempt()).toBe('accepted');
  });
});
