/** Liveness 3: turns that the agent opens by itself, and interrupts; J76. */
import { describe, expect, it } from 'vitest';
import type { Frame } from '../../src/model/agent.ts';
import { gate, scripted } from '../support/executors.ts';
import { FULL, type LabSession, type SessionLab, sessionLab } from '../support/sessions.ts';

const SILENCE_MS = 5_000;
const GRACE_MS = 10_000;

const endsOf = (lab: SessionLab) =>
  lab.engine.events.flatMap((event) =>
    event.type === 'session.turn_ended' ? [[event.generation, event.stopReason ?? event.error?.code ?? null]] : [],
  );

/** Its agent is there, and nobody asks it anything. */
async function waiting(lab: SessionLab): Promise<LabSession> {
  const session = await lab.running();
  await session.done();
  return session;
}

const turnOf = async (session: LabSession) => (await session.view()).turn;

describe('an agent that speaks without having been asked', () => {
  const opening: Readonly<Record<string, Frame>> = {
    output: { type: 'output', generation: 0, text: 'by the way' },
    'a thought': { type: 'output', generation: 0, channel: 'thought', text: 'hm' },
    'a tool call that runs': { type: 'tool.call', generation: 0, toolCallId: 't', status: 'running' },
    'a tool call that is pending': { type: 'tool.call', generation: 0, toolCallId: 't', status: 'pending' },
  };
  it.each(Object.entries(opening))('opens a turn with its own generation by %s', async (_, frame) => {
    await using lab = await sessionLab();
    const session = await waiting(lab);
    const since = lab.engine.events.length;
    await session.tell(frame);
    const turn = await turnOf(session);
    expect(turn).toMatchObject({ origin: 'provider', quiet: false });
    expect(turn?.generation).toBeGreaterThan(session.generation);
    expect(await session.view()).toMatchObject({ state: 'running', foregroundActivity: 'generating' });
    expect(lab.publications('s', since)).toEqual([['generating', 0]]);
    expect(await session.attempt()).toBe('prompt.busy');
  });

  const silent: Readonly<Record<string, Frame>> = {
    'empty output': { type: 'output', generation: 0, text: '' },
    'the voice of a child': { type: 'output', generation: 0, text: 'child', parentToolCallId: 'parent' },
    'a call of a child': { type: 'tool.call', generation: 0, toolCallId: 't', status: 'running', parentToolCallId: 'parent' },
    'a call that is background work': {
      type: 'tool.call',
      generation: 0,
      toolCallId: 't',
      status: 'running',
      work: { kind: 'shell', isDetached: true },
    },
    'a terminal update': { type: 'tool.update', generation: 0, toolCallId: 'known', status: 'completed', hasOutput: true },
    'a call that is over already': {
      type: 'tool.call',
      generation: 0,
      toolCallId: 't',
      status: 'completed',
      hasOutput: true,
    },
    'an update of a call that nobody knows': { type: 'tool.update', generation: 0, toolCallId: 't', status: 'running' },
    'output of a turn that is over': { type: 'output', generation: 1, text: 'late' },
    usage: { type: 'usage', generation: 0, usage: { tokens: 1 } },
    idle: { type: 'foreground.idle', generation: 0 },
  };
  it.each(Object.entries(silent))('opens none by %s', async (_, frame) => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.call('known', { work: { kind: 'subagent', isDetached: true } });
    await session.done();
    const since = lab.engine.events.length;
    await session.tell(frame);
    expect(await turnOf(session)).toBeNull();
    expect(lab.publications('s', since)).toEqual([]);
    expect(await session.attempt()).toBe('accepted');
  });

  const ending: Readonly<Record<string, readonly [Partial<Frame>, string | null]>> = {
    'idle of nobody in particular': [{ type: 'foreground.idle', generation: 0 }, null],
    'its end': [{ type: 'turn.ended', generation: 0, stopReason: 'end_turn' }, 'end_turn'],
  };
  it.each(Object.entries(ending))('is ended by %s, and who waits is served', async (_, [frame, stopReason]) => {
    await using lab = await sessionLab();
    const session = await waiting(lab);
    await session.out('by the way', 0);
    const generation = (await turnOf(session))?.generation;
    expect(await session.attempt({ whenBusy: 'queue' })).toBe('queued');
    expect(session.prompts).toHaveLength(1);
    await session.tell(frame as Frame);
    expect(endsOf(lab).at(-1)).toEqual([generation, stopReason]);
    expect(session.prompts).toHaveLength(2);
    expect(await turnOf(session)).toMatchObject({ origin: 'prompt' });
  });

  it('is not ended by the idle of another generation, late or made up', async () => {
    await using lab = await sessionLab();
    const session = await waiting(lab);
    await session.out('by the way', 0);
    const generation = (await turnOf(session))?.generation as number;
    for (const other of [session.generation, generation + 1, -1, Number.NaN]) await session.idle(other);
    await session.tell({ type: 'turn.ended', generation: session.generation, stopReason: 'end_turn' });
    expect(await turnOf(session)).toMatchObject({ origin: 'provider', generation });
    await session.idle(generation);
    expect(await turnOf(session)).toBeNull();
  });

  it('is ended by silence, counted from its last word', async () => {
    await using lab = await sessionLab();
    const session = await waiting(lab);
    await session.reg('work');
    await session.out('by the way', 0);
    await lab.clock.advance(SILENCE_MS - 1);
    await session.out('and another thing', 0);
    await lab.clock.advance(SILENCE_MS - 1);
    expect(await session.tier()).toBe('generating');
    // What works in the background is not its voice.
    await session.reg('work');
    await lab.clock.advance(1);
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: 'background', turn: null });
    expect(await session.attempt()).toBe('accepted');
  });

  it('is not ended by silence where that is switched off', async () => {
    await using lab = await sessionLab({ outOfTurnIdleMs: null });
    const session = await waiting(lab);
    await session.out('by the way', 0);
    await lab.clock.advance(24 * 60 * 60 * 1000);
    expect(await session.view()).toMatchObject({ state: 'running', turn: { origin: 'provider', quiet: true } });
    await session.idle(0);
    expect(await session.attempt()).toBe('accepted');
  });

  it('is cut off when its agent goes', async () => {
    await using lab = await sessionLab();
    const session = await waiting(lab);
    await session.out('by the way', 0);
    session.agent.crash();
    await lab.settled();
    expect(endsOf(lab).at(-1)?.[1]).toBe('agent.gone');
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input', interrupted: true, turn: null });
    // Its watch is over with it.
    await lab.clock.advance(SILENCE_MS);
    expect(endsOf(lab)).toHaveLength(2);
  });

  it('does not speak for the next turn: what it opened is closed with it, and the next generation is a new one', async () => {
    await using lab = await sessionLab();
    const session = await waiting(lab);
    await session.call('tool', { generation: 0 });
    const byItself = (await turnOf(session))?.generation as number;
    await session.call('second tool', { generation: 0 });
    await session.idle(0);
    await session.update('second tool', { status: 'running', generation: 0 });
    expect(await turnOf(session)).toBeNull();
    await session.ask('now I ask');
    await lab.settled();
    expect(session.generation).toBeGreaterThan(byItself);
    await session.reg('work');
    await session.idle();
    await session.update('tool', { status: 'completed', hasOutput: true, generation: byItself });
    expect(await session.tier()).toBe('background');
  });

  it('can be interrupted, and is over when the grace has passed, however often that is asked for', async () => {
    await using lab = await sessionLab({ outOfTurnIdleMs: null });
    const session = await waiting(lab);
    await session.out('by the way', 0);
    const generation = (await turnOf(session))?.generation;
    expect(await lab.offstage.sessions.interrupt('s')).toEqual({ changed: true });
    expect(session.agent.cancels).toEqual([generation]);
    await lab.clock.advance(GRACE_MS - 1);
    await lab.offstage.sessions.interrupt('s');
    expect(await session.tier()).toBe('generating');
    await lab.clock.advance(1);
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: null });
    expect(endsOf(lab).at(-1)).toEqual([generation, 'interrupted']);
    expect(await session.attempt()).toBe('accepted');
    expect(session.prompt.signal.aborted).toBe(false);
  });

  it('is over at its silence also when it was interrupted', async () => {
    await using lab = await sessionLab();
    const session = await waiting(lab);
    await session.out('by the way', 0);
    await lab.offstage.sessions.interrupt('s');
    await lab.clock.advance(SILENCE_MS);
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input', turn: null });
  });
});

describe('the end of a turn', () => {
  it('J76: an interrupt that comes after it changes nothing, and the next turn starts clean', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.done();
    const since = lab.engine.events.length;
    expect(await lab.offstage.sessions.interrupt('s')).toEqual({ changed: false });
    expect(session.agent.cancels).toEqual([]);
    expect(lab.engine.events.slice(since)).toEqual([]);
    expect(await session.attempt()).toBe('accepted');
    expect(session.prompt.signal.aborted).toBe(false);
    await session.done();
    expect(endsOf(lab).map(([, reason]) => reason)).not.toContain('interrupted');
  });

  it('sweeps the tool calls that it opened in the foreground: what is still told of one is told of nobody', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await session.call('never ended');
    await session.reg('work', 'subagent', 'launch');
    await session.call('of the child', { parent: 'launch' });
    await session.done();
    const since = lab.engine.events.length;
    await session.update('never ended', { status: 'running', hasOutput: true, generation: 0 });
    await session.update('of the child', { status: 'running', hasOutput: true, generation: 0 });
    expect(await session.view()).toMatchObject({ foregroundActivity: 'background', turn: null });
    expect(lab.publications('s', since)).toEqual([]);
    // In a later turn neither is its output.
    await session.ask('follow-up');
    await lab.settled();
    await session.idle();
    await session.update('never ended', { status: 'completed', hasOutput: true });
    expect(await session.tier()).toBe('background');
  });
});

describe('an interrupt', () => {
  it.each(['never launched', 'settled', 'unloaded'] as const)('of a session that is %s leaves no trace', async (how) => {
    await using lab = await sessionLab();
    const session = how === 'never launched' ? await lab.create() : await waiting(lab);
    if (how === 'unloaded') session.agent.exit();
    await lab.settled();
    const before = await session.view();
    const since = lab.engine.events.length;
    for (let again = 0; again < 3; again++) expect(await lab.offstage.sessions.interrupt('s')).toEqual({ changed: false });
    await lab.settled();
    expect(await session.view()).toEqual(before);
    expect(lab.engine.events.slice(since)).toEqual([]);
    expect(await session.attempt()).toBe('accepted');
    expect(session.prompt).toMatchObject({ isOpen: true, signal: { aborted: false } });
    expect(session.agent.cancels).toEqual([]);
    await lab.clock.advance(GRACE_MS);
    expect(await session.tier()).toBe('generating');
  });

  it('of a session whose jobs work, and whose foreground is idle, ends none of them', async () => {
    const executor = gate();
    await using lab = await sessionLab({ executors: { gate: executor } });
    const session = await lab.running();
    await session.idle();
    await lab.offstage.spawn({ kind: 'gate', sessionId: 's', jobId: 'waited-for', wait: true });
    await executor.started('waited-for');
    await lab.settled();
    expect(await lab.offstage.sessions.interrupt('s')).toEqual({ changed: false });
    expect((await lab.offstage.get('waited-for')).status).toBe('running');
    // The call that has yielded is still open, and nobody asked to end it.
    expect(session.prompt).toMatchObject({ isOpen: true, signal: { aborted: false } });
    await executor.release('waited-for');
  });

  it('ends the jobs that the turn waits for, not those of its background, nor those of other sessions', async () => {
    const executor = gate();
    await using lab = await sessionLab({ executors: { gate: executor } });
    const session = await lab.running();
    await lab.running('other');
    const spawn = (jobId: string, sessionId: string, wait: boolean) =>
      lab.offstage.spawn({ kind: 'gate', sessionId, jobId, wait });
    await spawn('waited-for', 's', true);
    await spawn('behind', 's', false);
    await spawn('elsewhere', 'other', true);
    await lab.settled();
    await lab.offstage.sessions.interrupt('s');
    expect((await lab.offstage.wait('waited-for')).status).toBe('cancelled');
    expect((await lab.offstage.get('behind')).cancelRequestedAt).toBeNull();
    expect((await lab.offstage.get('elsewhere')).cancelRequestedAt).toBeNull();
    expect(await session.tier()).toBe('background');
  });

  it('leaves background work whole: also what a job of it waits for', async () => {
    const held = gate();
    const parent = scripted({
      root: async (context) => {
        await context.spawn({ kind: 'held', jobId: 'part', wait: true });
        return (await context.wait('part')).resultText;
      },
    });
    await using lab = await sessionLab({ executors: { held, parent } });
    await lab.running();
    await lab.offstage.spawn({ kind: 'parent', subject: 'root', jobId: 'root', sessionId: 's', wait: false });
    await held.started('part');
    await lab.settled();
    expect(await lab.offstage.sessions.interrupt('s')).toEqual({ changed: true });
    await lab.settled();
    for (const jobId of ['root', 'part']) expect((await lab.offstage.get(jobId)).cancelRequestedAt).toBeNull();
    await held.release('part', 'its result');
    expect(await lab.offstage.wait('root')).toMatchObject({ status: 'completed', resultText: 'its result' });
  });

  it('that comes just as the agent has started ends the prompt, and leaves no session starting', async () => {
    const ends = new Set<string>();
    // Some number of microtasks after the start lies between the agent and its first turn.
    for (let microtasks = 0; microtasks < 16; microtasks++) {
      let start = (_?: undefined): void => {};
      const starting = new Promise<undefined>((resolve) => {
        start = resolve;
      });
      await using lab = await sessionLab({ script: { attests: FULL, failStart: () => starting } });
      const session = await lab.create();
      const asking = session.ask().catch(({ code }) => code);
      await lab.settled();
      start();
      for (let passed = 0; passed < microtasks; passed++) await null;
      expect(await lab.offstage.sessions.interrupt('s')).toEqual({ changed: true });
      expect(await asking).toBe('prompt.interrupted');
      await lab.settled();
      const { state, foregroundActivity, turn } = await session.view();
      expect([foregroundActivity, turn]).toEqual([null, null]);
      ends.add(`${state} after ${lab.mock.starts.length} start`);
      expect(await session.attempt()).toBe('accepted');
    }
    // Given up with its start, or started for a prompt that was withdrawn: then the agent waits for the next one.
    expect(ends).toEqual(new Set(['created after 1 start', 'waiting_for_input after 1 start']));
  });

  it('of nobody is said so', async () => {
    await using lab = await sessionLab();
    await expect(lab.offstage.sessions.interrupt('nobody')).rejects.toMatchObject({ code: 'session.not_found' });
  });

  it('harms nobody when the agent throws at it', async () => {
    await using lab = await sessionLab({ script: { attests: FULL, ignoreCancel: true } });
    const session = await lab.running();
    Object.assign(session.agent, {
      cancel: () => {
        throw new Error('no');
      },
    });
    expect(await lab.offstage.sessions.interrupt('s')).toEqual({ changed: true });
    expect(lab.engine.log).toContainEqual(expect.objectContaining({ event: 'agent.cancel_failed' }));
    await lab.clock.advance(GRACE_MS);
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: null });
  });
});
