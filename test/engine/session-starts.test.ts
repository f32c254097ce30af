/** Starts of agents that nobody waits for any more, that come to nothing, or whose agent goes at once. */
import { describe, expect, it } from 'vitest';
import type { Agent, Frame } from '../../src/model/agent.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS, RANGES } from '../../src/persistence/row-keys.ts';
import { bareAgent, held, heldStart, watched } from '../support/bare-agent.ts';
import { strayErrors } from '../support/hostile.ts';
import { keptStore } from '../support/kept-store.ts';
import { keysUnder } from '../support/left-behind.ts';
import { type TestEngine, testEngine } from '../support/test-engine.ts';

const GRACE_MS = 5_000;

/** What becomes of a prompt: `accepted`, or the code of the refusal. */
const asked = (engine: TestEngine, sessionId = 's'): Promise<string> =>
  engine.offstage.sessions.prompt(sessionId, { content: 'go on' }).then(
    () => 'accepted',
    (error: { code: string }) => error.code,
  );

async function hanging() {
  const start = heldStart();
  const inner = memoryStore();
  const engine = await testEngine({
    store: keptStore(inner).open(),
    shutdownGraceMs: GRACE_MS,
    agents: { default: start.factory },
  });
  await engine.offstage.sessions.create({ sessionId: 's' });
  const prompt = asked(engine);
  await engine.clock.settle();
  const [context] = start.contexts;
  if (context === undefined) throw new Error('nothing was started');
  const { executionId } = context.execution;
  return {
    ...engine,
    engine,
    start,
    prompt,
    executionId,
    signal: context.signal,
    recorded: async () => (await engine.offstage.processes()).map((record) => record.executionId),
    /** Keys of process records in the store, also after the engine has closed. */
    stored: () => keysUnder(inner, RANGES.processes),
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
}

/** An agent whose `close` the test lets resolve. */
function slowToClose() {
  const closing = held();
  const calls: string[] = [];
  const agent = bareAgent({
    close: () => {
      calls.push('close');
      return closing.promise;
    },
  });
  return { agent, calls, closing };
}

describe('ARN2: a start that is given up while its factory hangs', () => {
  it('stays on record until the factory has answered and its late agent has closed', async () => {
    await using lab = await hanging();
    const { agent, calls, closing } = slowToClose();
    await lab.offstage.sessions.interrupt('s');
    await lab.clock.settle();
    expect([await lab.prompt, lab.signal.aborted]).toEqual(['prompt.interrupted', true]);
    await lab.clock.advance(60_000);
    expect(await lab.recorded()).toEqual([lab.executionId]);
    lab.start.resolve(agent);
    await lab.clock.settle();
    expect(calls).toEqual(['close']);
    expect(await lab.recorded()).toEqual([lab.executionId]);
    closing.resolve();
    await lab.clock.settle();
    expect(await lab.recorded()).toEqual([]);
  });

  it('is off the record once the factory has failed', async () => {
    using stray = strayErrors();
    await using lab = await hanging();
    await lab.offstage.sessions.interrupt('s');
    await lab.clock.settle();
    expect(await lab.recorded()).toEqual([lab.executionId]);
    lab.start.reject(new Error('told to stop'));
    await lab.clock.settle();
    expect([await lab.recorded(), stray.count]).toEqual([[], 0]);
  });

  it('stays on record when the late agent cannot be closed', async () => {
    using stray = strayErrors();
    await using lab = await hanging();
    await lab.offstage.sessions.interrupt('s');
    lab.start.resolve(bareAgent({ close: () => Promise.reject(new Error('it does not die')) }));
    await lab.clock.settle();
    expect([await lab.recorded(), stray.count]).toEqual([[lab.executionId], 0]);
    expect(lab.log).toContainEqual(expect.objectContaining({ event: 'agent.close_failed' }));
  });

  it('keeps the session from nothing: the next prompt starts another agent beside it', async () => {
    await using lab = await hanging();
    await lab.offstage.sessions.interrupt('s');
    const next = watched(asked(lab.engine));
    await lab.clock.settle();
    expect([lab.start.contexts.length, next.hasSettled]).toEqual([2, false]);
    expect([...(await lab.recorded())].sort()).toEqual(lab.start.contexts.map(({ execution }) => execution.executionId).sort());
  });

  it.each(['by the close itself', 'by an interrupt before'])('is waited for when the engine closes; given up %s', async (how) => {
    await using lab = await hanging();
    const { agent, calls, closing } = slowToClose();
    if (how !== 'by the close itself') await lab.offstage.sessions.interrupt('s');
    const closed = watched(lab.offstage.close());
    await lab.clock.settle();
    expect([await lab.prompt, lab.signal.aborted]).toEqual([
      expect.stringMatching(/^(prompt\.interrupted|engine\.closing)$/),
      true,
    ]);
    expect(closed.hasSettled).toBe(false);
    lab.start.resolve(agent);
    await lab.clock.settle();
    expect([calls, closed.hasSettled]).toEqual([['close'], false]);
    closing.resolve();
    await lab.clock.settle();
    expect([closed.hasSettled, await lab.stored()]).toEqual([true, []]);
  });

  it.each(['by the close itself', 'by an interrupt before'])(
    'is waited for no longer than the grace, and then left on record; a later agent is closed all the same; given up %s',
    async (how) => {
      using stray = strayErrors();
      await using lab = await hanging();
      const { agent, calls } = slowToClose();
      if (how !== 'by the close itself') await lab.offstage.sessions.interrupt('s');
      const closed = watched(lab.offstage.close());
      await lab.clock.advance(GRACE_MS - 1);
      expect(closed.hasSettled).toBe(false);
      await lab.clock.advance(1);
      expect([closed.hasSettled, await lab.stored()]).toEqual([true, [KEYS.process(lab.executionId)]]);
      lab.start.resolve(agent);
      await lab.clock.settle();
      expect([calls, stray.count]).toEqual([['close'], 0]);
    },
  );
});

describe('an agent that goes at once', () => {
  const endsAtOnce = (): AsyncIterable<Frame> => (async function* () {})();
  const throwsAtOnce = (): AsyncIterable<Frame> => ({
    [Symbol.asyncIterator]() {
      throw new Error('no frames today');
    },
  });

  async function fleeting(frames: () => AsyncIterable<Frame>) {
    const agents: Agent[] = [];
    const state = { isSound: false };
    const engine = await testEngine({
      agents: {
        default: () => {
          if (agents.length >= 5) throw new Error('started again and again');
          const agent = bareAgent(state.isSound ? { prompt: async () => ({ stopReason: 'end_turn' }) } : { frames: frames() });
          agents.push(agent);
          return agent;
        },
      },
    });
    await engine.offstage.sessions.create({ sessionId: 's' });
    return { engine, agents, state, [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
  }

  it.each([
    ['its frames end at once', endsAtOnce],
    ['its frames cannot be read', throwsAtOnce],
  ])('is started once per prompt, which is told; the session goes on: %s', async (_name, frames) => {
    await using lab = await fleeting(frames);
    const { offstage, clock } = lab.engine;
    expect(await asked(lab.engine)).toBe('agent.gone');
    await clock.settle();
    expect(lab.agents).toHaveLength(1);
    expect(await offstage.sessions.get('s')).toMatchObject({ foregroundActivity: null, turn: null, executionId: null });
    expect(await offstage.processes()).toEqual([]);
    expect(await asked(lab.engine)).toBe('agent.gone');
    expect(lab.agents).toHaveLength(2);
    lab.state.isSound = true;
    expect(await asked(lab.engine)).toBe('accepted');
  });

  it('takes nobody along who waited behind the prompt: each gets a start of its own', async () => {
    await using lab = await fleeting(endsAtOnce);
    const { offstage, clock, events } = lab.engine;
    const first = asked(lab.engine);
    const { promptId } = await offstage.sessions.prompt('s', { content: 'me too', whenBusy: 'queue' });
    await clock.settle();
    expect([await first, lab.agents.length]).toEqual(['agent.gone', 2]);
    const told = events.flatMap((event) => (event.type === 'session.ticket' && event.promptId === promptId ? [event] : []));
    expect(told.map(({ status, error }) => [status, error?.code ?? null])).toEqual([
      ['queued', null],
      ['failed', 'agent.gone'],
    ]);
    expect(await offstage.sessions.get('s')).toMatchObject({ foregroundActivity: null, queuedPrompts: 0 });
  });
});

describe('what a factory returns and is no agent', () => {
  it.each([
    ['without attestation', { attests: undefined }],
    ['without frames', { frames: undefined }],
    ['without prompt', { prompt: 'later' }],
  ])('is closed all the same: %s', async (_name, missing) => {
    let closed = 0;
    const close = (): void => {
      closed += 1;
    };
    await using engine = await testEngine({
      agents: { default: () => ({ ...bareAgent({ close }), ...missing }) as unknown as Agent },
    });
    await engine.offstage.sessions.create({ sessionId: 's' });
    expect(await asked(engine)).toBe('agent.start_failed');
    await engine.clock.settle();
    expect([closed, await engine.offstage.processes()]).toEqual([1, []]);
  });

  it('harms nobody when that fails too', async () => {
    using stray = strayErrors();
    const close = (): never => {
      throw new Error('not that either');
    };
    await using engine = await testEngine({ agents: { default: () => ({ close }) as unknown as Agent } });
    await engine.offstage.sessions.create({ sessionId: 's' });
    expect(await asked(engine)).toBe('agent.start_failed');
    await engine.clock.settle();
    expect(stray.count).toBe(0);
    expect(await engine.offstage.sessions.get('s')).toMatchObject({ foregroundActivity: null, executionId: null });
  });
});
