/** Liveness 2 and 1: `display` and `admission` are two switches, for the engine and for each agent; what agents ask, and the answers. */
import { describe, expect, it } from 'vitest';
import { type MockAgent, mockAgent } from '../../src/adapters/mock-agent.ts';
import type { AgentProfile } from '../../src/model/agent.ts';
import type { PendingRequest } from '../../src/model/records.ts';
import { gate } from '../support/executors.ts';
import { FULL, LabSession, type SessionLab, sessionLab } from '../support/sessions.ts';

/** Its prompt is open, its foreground handed off, and work goes on behind it. */
async function yielded(lab: SessionLab): Promise<LabSession> {
  const session = await lab.running();
  await session.reg('work');
  await session.idle();
  return session;
}

describe('display and admission', () => {
  it('attested and attested: what is vouched for is shown, and let in', async () => {
    await using lab = await sessionLab();
    const session = await yielded(lab);
    expect(await session.tier()).toBe('background');
    expect(await session.attempt()).toBe('accepted');
  });

  it('conservative admission: it is shown, and nobody is let in while a prompt is open', async () => {
    await using lab = await sessionLab({ admission: 'conservative' });
    const session = await yielded(lab);
    expect(await session.tier()).toBe('background');
    expect(await session.attempt()).toBe('prompt.busy');
    expect(await session.attempt({ whenBusy: 'queue' })).toBe('queued');
    expect(session.prompts).toHaveLength(1);
    await session.done(session.prompts[0]);
    expect(session.prompts).toHaveLength(2);
    // Between prompts work keeps nobody out.
    await session.done();
    expect(await session.tier()).toBe('background');
    expect(await session.attempt()).toBe('accepted');
  });

  it('coarse display: it is not shown while the session runs, and somebody is let in all the same', async () => {
    await using lab = await sessionLab({ display: 'coarse' });
    const session = await yielded(lab);
    expect(await session.view()).toMatchObject({ foregroundActivity: 'generating', activeSubagentCount: 1 });
    expect(await lab.offstage.tasks.get(session.taskId)).toMatchObject({
      foregroundActivity: 'generating',
      activeSubagentCount: 1,
    });
    expect(await session.attempt()).toBe('accepted');
    await session.done();
    await session.done(session.prompts[0]);
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: 'background' });
    await session.bgc({ workloadId: 'work' });
    // Its yield, and its second prompt, have changed nothing that is shown.
    expect(lab.publications('s')).toEqual([
      ['generating', 0],
      ['generating', 1],
      ['background', 1],
      [null, 0],
    ]);
    const states = lab.engine.events.flatMap((event) =>
      event.type === 'session.state_changed' ? [[event.newState, event.foregroundActivity]] : [],
    );
    expect(states.slice(2)).toEqual([
      ['running', 'generating'],
      ['waiting_for_input', 'background'],
    ]);
  });

  it('both: neither shown nor let in', async () => {
    await using lab = await sessionLab({ display: 'coarse', admission: 'conservative' });
    const session = await yielded(lab);
    expect(await session.tier()).toBe('generating');
    expect(await session.attempt()).toBe('prompt.busy');
  });

  describe('of an agent go before those of the engine', () => {
    const ofAgent = (mock: MockAgent, rules: Omit<AgentProfile, 'start'>): AgentProfile => ({
      start: async (context) => {
        const agent = await mock.factory(context);
        mock.emit({ type: 'capability', generation: 0, handoff: true, snapshot: true });
        return agent;
      },
      ...rules,
    });
    const rows = [
      ['conservative, in an attested engine', { admission: 'conservative' }, {}, 'background', 'prompt.busy'],
      ['attested, in a conservative engine', { admission: 'attested' }, { admission: 'conservative' }, 'background', 'accepted'],
      ['coarse, in an attested engine', { display: 'coarse' }, {}, 'generating', 'accepted'],
      ['attested, in a coarse engine', { display: 'attested' }, { display: 'coarse' }, 'background', 'accepted'],
      ['nothing said: those of the engine', {}, { display: 'coarse', admission: 'conservative' }, 'generating', 'prompt.busy'],
    ] as const;
    it.each(rows)('%s', async (_, rules, engine, tier, outcome) => {
      const mock = mockAgent({ attests: FULL });
      await using lab = await sessionLab({ ...engine, agents: { other: ofAgent(mock, rules) } });
      const { offstage } = lab;
      const session = new LabSession(lab, await offstage.sessions.create({ sessionId: 'o', agentId: 'other' }));
      await session.ask('begin');
      const prompt = await mock.nextPrompt();
      mock.emit({ type: 'workload.started', generation: prompt.generation, kind: 'shell', workloadId: 'w' });
      mock.emit({ type: 'foreground.idle', generation: prompt.generation });
      await lab.settled();
      expect(await session.tier()).toBe(tier);
      expect(await session.attempt()).toBe(outcome);
      expect(mock.prompts).toHaveLength(outcome === 'accepted' ? 2 : 1);
    });
  });
});

describe('what an agent asks', () => {
  const ask = (session: LabSession, requestId: string, kind: PendingRequest['kind'] = 'permission', generation?: number) =>
    session.tell({
      type: 'permission.request',
      generation: generation ?? session.generation,
      requestId,
      kind,
      options: [{ optionId: 'yes' }, { optionId: 'no' }],
    });
  const shown = async (session: LabSession) => (await session.view()).pending?.requestId ?? null;

  it('is shown with its options, changes no tier, and is answered once', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    const { sessions } = lab.offstage;
    const since = lab.engine.events.length;
    await ask(session, 'r1');
    expect(await session.view()).toMatchObject({
      state: 'running',
      foregroundActivity: 'generating',
      pending: { requestId: 'r1', kind: 'permission', options: [{ optionId: 'yes' }, { optionId: 'no' }] },
    });
    expect(lab.engine.events.slice(since)).toMatchObject([
      { type: 'session.state_changed', oldState: 'running', newState: 'running', foregroundActivity: 'generating' },
    ]);
    await sessions.answer('s', 'r1', { optionId: 'yes' });
    expect(session.agent.answers).toEqual([{ requestId: 'r1', choice: { optionId: 'yes' } }]);
    await lab.settled();
    expect(await shown(session)).toBeNull();
    await expect(sessions.answer('s', 'r1', 'no')).rejects.toMatchObject({ code: 'request.not_found' });
    expect(lab.publications('s', since)).toEqual([]);
    expect(session.prompt.isOpen).toBe(true);
  });

  it('of two callers one answers, and the other is told', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await ask(session, 'r1');
    const outcomes = await Promise.allSettled(['yes', 'no'].map((choice) => lab.offstage.sessions.answer('s', 'r1', choice)));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(session.agent.answers).toEqual([{ requestId: 'r1', choice: 'yes' }]);
  });

  it('several are shown one after the other, and answered in any order; the same one twice is one', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    for (const requestId of ['r1', 'r2', 'r3', 'r2']) await ask(session, requestId, 'clarification');
    expect(await shown(session)).toBe('r1');
    await lab.offstage.sessions.answer('s', 'r2', 'b');
    await lab.settled();
    expect(await shown(session)).toBe('r1');
    await lab.offstage.sessions.answer('s', 'r1', 'a');
    await lab.settled();
    expect(await shown(session)).toBe('r3');
    await lab.offstage.sessions.answer('s', 'r3', 'c');
    await lab.settled();
    expect(await shown(session)).toBeNull();
    expect(session.agent.answers.map(({ requestId }) => requestId)).toEqual(['r2', 'r1', 'r3']);
  });

  const endings: Readonly<Record<string, (lab: SessionLab, session: LabSession) => Promise<unknown>>> = {
    'the return of its prompt': (_, session) => session.done(),
    'the end of its turn': (_, session) =>
      session.tell({ type: 'turn.ended', generation: session.generation, stopReason: 'end_turn' }),
    'an interrupt': ({ offstage }) => offstage.sessions.interrupt('s'),
    'the end of its agent': async (_, session) => session.agent.crash(),
  };
  it.each(Object.entries(endings))('does not outlive %s', async (_, end) => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await ask(session, 'r1');
    await ask(session, 'r2');
    await end(lab, session);
    await lab.settled();
    expect(await session.view()).toMatchObject({ state: 'waiting_for_input', pending: null });
    for (const requestId of ['r1', 'r2'])
      await expect(lab.offstage.sessions.answer('s', requestId, 'yes')).rejects.toMatchObject({ code: 'request.not_found' });
    expect(session.agent.answers).toEqual([]);
    // Asked anew in the next turn it is another one.
    await session.ask('again');
    await lab.settled();
    await ask(session, 'r1');
    expect(await shown(session)).toBe('r1');
    await lab.offstage.sessions.answer('s', 'r1', 'yes');
    await lab.settled();
    // And nothing of the earlier ones comes after it.
    expect(await shown(session)).toBeNull();
    await expect(lab.offstage.sessions.answer('s', 'r2', 'yes')).rejects.toMatchObject({ code: 'request.not_found' });
    expect(session.agent.answers).toEqual([{ requestId: 'r1', choice: 'yes' }]);
  });

  it('does not outlive its agent, also where a job keeps the session alive', async () => {
    await using lab = await sessionLab({ executors: { gate: gate() } });
    const session = await lab.running();
    await lab.offstage.spawn({ kind: 'gate', sessionId: 's' });
    for (const requestId of ['r1', 'r2']) await ask(session, requestId);
    session.agent.crash();
    await lab.settled();
    expect(await session.view()).toMatchObject({ foregroundActivity: 'background', pending: null });
    await session.ask('again');
    await lab.settled();
    expect(await shown(session)).toBeNull();
    await expect(lab.offstage.sessions.answer('s', 'r2', 'yes')).rejects.toMatchObject({ code: 'request.not_found' });
  });

  it('is shown also where it comes before the word that the prompt was taken, and in a turn that nobody asked for', async () => {
    await using lab = await sessionLab({ script: { attests: FULL, acceptAtOnce: false } });
    const session = await lab.create();
    const asking = session.ask();
    await lab.settled();
    await ask(session, 'early');
    await asking;
    expect(await shown(session)).toBe('early');
    await session.done();
    await session.out('by the way', 0);
    await ask(session, 'by itself', 'permission', 0);
    expect(await shown(session)).toBe('by itself');
    await session.idle(0);
    expect(await shown(session)).toBeNull();
  });

  it('is shown also where it comes with the start of the agent, before the session runs', async () => {
    const mock = mockAgent();
    const start: AgentProfile['start'] = async (context) => {
      const agent = await mock.factory(context);
      mock.emit({ type: 'permission.request', generation: 0, requestId: 'may I start', kind: 'permission', options: [] });
      return agent;
    };
    await using lab = await sessionLab({ agents: { default: start } });
    const session = await lab.create();
    await session.ask();
    await lab.settled();
    expect(await shown(session)).toBe('may I start');
    await lab.offstage.sessions.answer('s', 'may I start', 'yes');
    expect(mock.agents[0]?.answers).toEqual([{ requestId: 'may I start', choice: 'yes' }]);
  });

  it('an agent that fails at the answer is named, and what it asked can still be answered', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await ask(session, 'r1');
    Object.assign(session.agent, { answer: () => Promise.reject(new Error('it does not listen')) });
    await expect(lab.offstage.sessions.answer('s', 'r1', 'yes')).rejects.toMatchObject({ code: 'agent.failed' });
    await lab.settled();
    expect(await shown(session)).toBe('r1');
    Object.assign(session.agent, { answer: () => {} });
    await lab.offstage.sessions.answer('s', 'r1', 'yes');
    await lab.settled();
    expect(await shown(session)).toBeNull();
  });

  it('a choice that is no JSON is refused, and the request is still there', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    await ask(session, 'r1');
    const answering = lab.offstage.sessions.answer('s', 'r1', (() => {}) as never);
    await expect(answering).rejects.toMatchObject({ code: 'input.invalid', details: { argument: 'choice' } });
    expect(await shown(session)).toBe('r1');
  });

  it('what cannot be read is no request, or one without options', async () => {
    await using lab = await sessionLab();
    const session = await lab.running();
    const frame = { type: 'permission.request', generation: session.generation, kind: 'permission' } as const;
    await session.tell({ ...frame, requestId: 7 as never, options: [] });
    expect(await shown(session)).toBeNull();
    await session.tell({ ...frame, requestId: 'r', kind: 'odd' as never, options: 'none' as never });
    expect((await session.view()).pending).toEqual({ requestId: 'r', kind: 'permission', options: [] });
  });
});
