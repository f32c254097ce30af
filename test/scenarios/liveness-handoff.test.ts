/** Liveness and stop, rows L112–L121 at the engine's level, and what liveness 4 says beyond them: the hand-off. */
import { describe, expect, it } from 'vitest';
import type { MockPrompt } from '../../src/adapters/mock-agent.ts';
import type { PromptAnswer } from '../../src/model/session-requests.ts';
import { FULL, type LabSession, type SessionLab, sessionLab } from '../support/sessions.ts';

const endsOf = (lab: SessionLab) =>
  lab.engine.events.flatMap((event) =>
    event.type === 'session.turn_ended' ? [[event.generation, event.stopReason ?? event.error?.code ?? null]] : [],
  );

/** A session whose prompt is open for a detached child, with its foreground handed off. */
async function handedOff(lab: SessionLab): Promise<LabSession> {
  const session = await lab.running();
  await session.call('child launch', { work: { kind: 'subagent', isDetached: true } });
  await session.idle();
  return session;
}

/** How many prompts were open in the provider at once, at most. */
function countingOpen() {
  let most = 0;
  const onPrompt = ({ agent }: MockPrompt): void => {
    most = Math.max(most, agent.prompts.filter(({ isOpen }) => isOpen).length);
  };
  return { onPrompt, most: () => most };
}

const isQueued = (answer: PromptAnswer): boolean => 'queued' in answer;

describe('a hand-off', () => {
  it('L112: the follow-up reaches the provider while the first call is open; only its completion is delivered', async () => {
    await using lab = await sessionLab();
    const session = await handedOff(lab);
    const first = session.prompt;
    await session.call('of the child', { parent: 'child launch' });
    expect(await session.ask('follow-up')).toMatchObject({ accepted: true });
    const second = session.prompt;
    expect(session.prompts).toEqual([first, second]);
    expect([first.isOpen, second.isOpen]).toEqual([true, true]);
    expect(second.generation).toBeGreaterThan(first.generation);
    // The child goes on, now without naming its parent.
    await session.update('of the child', { generation: first.generation });
    await session.done(first);
    await session.tell({ type: 'turn.ended', generation: first.generation, stopReason: 'end_turn' });
    // It was final when the second was taken; nobody's word completed it.
    expect(endsOf(lab)).toEqual([[first.generation, null]]);
    expect(await session.view()).toMatchObject({
      state: 'running',
      foregroundActivity: 'generating',
      activeSubagentCount: 1,
      turn: { generation: second.generation },
    });
    await session.done(second);
    await session.update('of the child', { status: 'completed', hasOutput: true, generation: first.generation });
    expect(endsOf(lab).slice(1)).toEqual([[second.generation, 'end_turn']]);
    expect(await session.tier()).toBe('background');
  });

  it('L114: without one, the follow-up waits for the first call, and runs as the second', async () => {
    await using lab = await sessionLab({ announces: null });
    const session = await handedOff(lab);
    const first = session.prompt;
    expect(await session.ask('follow-up', { whenBusy: 'queue' })).toMatchObject({ queued: true, position: 1 });
    await lab.settled();
    expect(session.prompts).toEqual([first]);
    await session.done(first);
    expect(session.prompts.map(({ content }) => content)).toEqual(['begin', 'follow-up']);
  });

  it('a person who waits already is let in at once when the foreground is handed off', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    expect(isQueued(await session.ask('follow-up', { whenBusy: 'queue' }))).toBe(true);
    await session.idle();
    expect(session.prompts).toHaveLength(2);
    expect(session.prompts[0]?.isOpen).toBe(true);
  });

  it('L117: a wake-up takes neither the hand-off nor the resumption of an agent that is gone', async () => {
    await using lab = await sessionLab();
    const session = await handedOff(lab);
    const wakeUp = await session.ask('wake up', { origin: 'synthetic', whenBusy: 'queue' });
    expect(isQueued(wakeUp)).toBe(true);
    expect(await session.attempt({ origin: 'synthetic' })).toBe('prompt.busy');
    expect(session.prompts).toHaveLength(1);
    // The boundary is still there for a person.
    expect(await session.attempt()).toBe('accepted');
    session.agent.crash();
    await lab.settled();
    expect(await lab.offstage.sessions.tickets('s')).toEqual([]);
    expect(lab.engine.events).toContainEqual(expect.objectContaining({ type: 'session.ticket', status: 'dropped' }));
    expect(lab.mock.starts).toHaveLength(1);
    expect(await session.view()).toMatchObject({ interrupted: true, executionId: null });
    // What a person has to be told is not used up by a wake-up that starts the agent.
    expect(await session.attempt({ origin: 'synthetic' })).toBe('accepted');
    expect(await session.view()).toMatchObject({ interrupted: true });
    await session.done();
    expect(await session.attempt()).toBe('accepted');
    expect(await session.view()).toMatchObject({ interrupted: false });
  });

  it('L118: without one, one prompt at most is open in the provider', async () => {
    const open = countingOpen();
    await using lab = await sessionLab({ announces: null, script: { attests: FULL, onPrompt: open.onPrompt } });
    const session = await handedOff(lab);
    for (let index = 0; index < 5; index++) await session.ask(index, { whenBusy: 'queue' });
    for (let index = 0; index < 6; index++) {
      await session.idle();
      await session.done();
    }
    expect(session.prompts.map(({ content }) => content)).toEqual(['begin', 0, 1, 2, 3, 4]);
    expect(open.most()).toBe(1);
  });

  it('L118: with one, two at most', async () => {
    const open = countingOpen();
    await using lab = await sessionLab({ script: { attests: FULL, onPrompt: open.onPrompt } });
    const session = await handedOff(lab);
    await Promise.all(Array.from({ length: 5 }, (_, index) => session.ask(index, { whenBusy: 'queue' })));
    await session.idle(session.prompts[0]?.generation);
    expect(session.prompts).toHaveLength(2);
    for (let index = 0; index < 5; index++) await session.done();
    expect(session.prompts.map(({ content }) => content)).toEqual(['begin', 0, 1, 2, 3, 4]);
    expect(open.most()).toBe(2);
  });

  it('L120: usage is counted once across it, however often the first call tells it again', async () => {
    await using lab = await sessionLab();
    const session = await handedOff(lab);
    const first = session.prompt;
    const usage = (generation: number, tokens: number) => session.tell({ type: 'usage', generation, usage: { tokens } });
    await usage(first.generation, 7);
    await usage(first.generation, 10);
    expect((await session.view()).usage).toEqual({ tokens: 10 });
    await session.ask('follow-up');
    await lab.settled();
    await usage(session.generation, 5);
    await usage(first.generation, 10);
    await session.done(first);
    await usage(first.generation, 10);
    expect((await session.view()).usage).toEqual({ tokens: 15 });
    await session.done();
    expect((await session.view()).usage).toEqual({ tokens: 15 });
  });

  it('L121: a cancel after it releases the gate', async () => {
    await using lab = await sessionLab();
    const session = await handedOff(lab);
    const first = session.prompt;
    await session.ask('follow-up');
    await lab.settled();
    expect(await lab.offstage.sessions.interrupt('s')).toEqual({ changed: true });
    await lab.settled();
    expect(session.prompts.map(({ isOpen }) => isOpen)).toEqual([true, false]);
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: 'background', turn: null });
    expect(await session.attempt()).toBe('accepted');
    await session.done(first);
    expect(await session.tier()).toBe('generating');
  });
});

describe('the boundary', () => {
  it('is there for one prompt: the next one is busy', async () => {
    await using lab = await sessionLab();
    const session = await handedOff(lab);
    expect(await session.attempt()).toBe('accepted');
    expect(await session.attempt()).toBe('prompt.busy');
    // The word for the earlier generation is spent.
    await session.idle(session.prompts[0]?.generation);
    expect(await session.attempt()).toBe('prompt.busy');
  });

  it('closes when output of that generation resumes, and opens again', async () => {
    await using lab = await sessionLab();
    const session = await handedOff(lab);
    await session.out();
    expect(await session.attempt()).toBe('prompt.busy');
    await session.idle();
    expect(await session.attempt()).toBe('accepted');
  });

  it('is not needed any more when the call has returned: also a wake-up is let in', async () => {
    await using lab = await sessionLab();
    const session = await handedOff(lab);
    await session.done();
    expect(await session.attempt({ origin: 'synthetic' })).toBe('accepted');
  });

  it('stays when the prompt that took it fails before it was accepted', async () => {
    await using lab = await sessionLab({ script: { attests: FULL, acceptAtOnce: false } });
    const session = await lab.create();
    const begun = session.ask('begin');
    await lab.settled();
    session.prompt.accept();
    await begun;
    await session.reg('work');
    await session.idle();
    const failing = session.ask('fails');
    await lab.settled();
    session.prompt.fail(new Error('not taken'));
    await expect(failing).rejects.toMatchObject({ code: 'agent.failed' });
    await lab.settled();
    expect(await session.view()).toMatchObject({ state: 'running', foregroundActivity: 'background' });
    const next = session.ask('follow-up');
    await lab.settled();
    expect(session.prompts).toHaveLength(3);
    session.prompt.accept();
    await expect(next).resolves.toMatchObject({ accepted: true });
  });

  const noBoundary: Readonly<Record<string, (session: LabSession) => Promise<void>>> = {
    'generation 0 while a call is open': (session) => session.idle(0),
    'an earlier generation': (session) => session.idle(session.generation - 1),
    'a later generation': (session) => session.idle(session.generation + 1),
    'a generation that is no number': (session) => session.idle(Number.NaN),
  };
  it.each(Object.entries(noBoundary))('is not opened by %s', async (_, idle) => {
    await using lab = await sessionLab();
    await lab.running('other');
    const session = await lab.running();
    await session.reg('work');
    await idle(session);
    expect(await session.tier()).toBe('generating');
    expect(await session.attempt()).toBe('prompt.busy');
    expect(await session.attempt({ whenBusy: 'queue' })).toBe('queued');
    expect(session.prompts).toHaveLength(1);
  });

  it.each([
    ['no yield', { ...FULL, yield: false }, undefined],
    ['no hand-off', { ...FULL, handoff: false }, undefined],
    ['a provider that said nothing', FULL, null],
    ['a provider that said no', FULL, { handoff: false, snapshot: true }],
    ['a provider that garbled it', FULL, { handoff: 'yes' as unknown as boolean, snapshot: true }],
  ])('is not opened with %s', async (_, attests, announces) => {
    await using lab = await sessionLab({ script: { attests }, ...(announces === undefined ? {} : { announces }) });
    const session = await handedOff(lab);
    expect(await session.view()).toMatchObject({ foregroundActivity: 'generating', activeSubagentCount: 1 });
    expect(await session.attempt()).toBe('prompt.busy');
  });

  it('the late end of the first call, by return, word or failure, changes nothing of the second', async () => {
    await using lab = await sessionLab();
    const session = await handedOff(lab);
    const first = session.prompt;
    await session.ask('follow-up');
    await lab.settled();
    const since = lab.engine.events.length;
    first.fail(new Error('late failure'));
    await lab.settled();
    for (let again = 0; again < 3; again++) {
      await session.tell({ type: 'turn.ended', generation: first.generation, stopReason: 'end_turn' });
      await session.out('late', first.generation);
    }
    expect(lab.publications('s', since)).toEqual([]);
    expect(endsOf(lab)).toEqual([[first.generation, null]]);
    expect(await session.view()).toMatchObject({ state: 'running', turn: { generation: session.generation } });
  });
});
