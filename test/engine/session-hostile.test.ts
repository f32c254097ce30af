/** Agents whose answers, errors and frames throw when they are looked at, or name things that have no name: they harm nobody (ARN5, FRM5). */
import { describe, expect, it } from 'vitest';
import type { Agent, AgentFactory, Frame, TurnEnd } from '../../src/model/agent.ts';
import { bareAgent, SILENCE } from '../support/bare-agent.ts';
import { HOSTILE_ERRORS, mutedError, strayErrors, thorny } from '../support/hostile.ts';
import { sessionLab } from '../support/sessions.ts';
import { testEngine } from '../support/test-engine.ts';

const throwing = (): never => {
  throw mutedError();
};

/** A session `s` and its first prompt, for which an agent is started that the test has written; nothing is awaited yet. */
async function prompted(factory: AgentFactory) {
  const stray = strayErrors();
  const engine = await testEngine({ agents: { default: factory }, interruptGraceMs: 1_000 });
  const { offstage, clock } = engine;
  await offstage.sessions.create({ sessionId: 's' });
  const ask = (promptId?: string): Promise<string> =>
    offstage.sessions.prompt('s', { content: 'go on', ...(promptId === undefined ? {} : { promptId }) }).then(
      () => 'accepted',
      (error: { code: string }) => error.code,
    );
  const first = ask('first');
  await clock.settle();
  return {
    engine,
    offstage,
    clock,
    stray,
    ask,
    first,
    view: () => offstage.sessions.get('s'),
    /** How its turns ended: their errors' codes, or their stop reasons. */
    ends: () =>
      engine.events.flatMap((event) => (event.type === 'session.turn_ended' ? [event.error?.code ?? event.stopReason] : [])),
    /** What the engine said of it, by event. */
    reports: (event: string) => engine.log.filter((line) => line.event === event).map(({ fields }) => fields.error),
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]();
      await clock.settle();
      stray[Symbol.dispose]();
      expect(stray.count).toBe(0);
    },
  };
}

/** An agent that accepts what it is asked, and then answers as it is told. */
function answering(answer: () => unknown): AgentFactory {
  return () => {
    const asked: number[] = [];
    let wake = (): void => {};
    const frames = async function* (): AsyncGenerator<Frame> {
      for (;;) {
        for (const generation of asked.splice(0)) yield { type: 'prompt.accepted', generation };
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    };
    return bareAgent({
      frames: frames(),
      prompt: (_content, { generation }) => {
        asked.push(generation);
        wake();
        return answer() as Promise<TurnEnd>;
      },
    });
  };
}

describe('an answer that throws when it is looked at', () => {
  const unreadable = {
    get stopReason(): string {
      throw mutedError();
    },
  };
  const thenThrows = {
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what this is about.
    get then(): never {
      throw mutedError();
    },
  };

  it.each<readonly [string, () => unknown]>([
    ['its stop reason throws', async () => unreadable],
    ['it is a proxy', async () => thorny()],
    ['it is a proxy that throws at `then` already', () => thorny(true)],
    ['its `then` throws', () => thenThrows],
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what this is about.
    ['it is a thenable that throws', () => ({ then: throwing })],
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what this is about.
    ['its stop reason is a thenable', async () => ({ stopReason: { then: () => {} } })],
    ['it is nothing', () => undefined],
    ['it is no object', async () => 7],
  ])('ends the turn, and only that: %s', async (_name, answer) => {
    await using lab = await prompted(answering(answer));
    expect(await lab.first).toBe('accepted');
    expect(await lab.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: null, turn: null });
    expect(lab.ends()).toHaveLength(1);
    expect(await lab.ask('second')).toBe('accepted');
    await lab.clock.settle();
    expect(lab.ends()).toHaveLength(2);
  });

  it('ends the turn with a reason where one can be read', async () => {
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what this is about.
    const thenable = { then: (resolve: (end: TurnEnd) => void) => resolve({ stopReason: 'end_turn' }) };
    await using lab = await prompted(answering(() => thenable));
    expect([await lab.first, lab.ends()]).toEqual(['accepted', ['end_turn']]);
  });
});

describe.each(HOSTILE_ERRORS)('%s', (_name, hostile) => {
  const throwing = (): never => {
    throw hostile();
  };
  const rejecting = (): Promise<never> => Promise.reject(hostile());

  it.each([
    ['thrown', throwing],
    ['rejected', rejecting],
  ])('from a factory is a failed start; %s', async (_how, start) => {
    await using lab = await prompted(start);
    expect(await lab.first).toBe('agent.start_failed');
    expect(await lab.view()).toMatchObject({ foregroundActivity: null, executionId: null });
  });

  it.each([
    ['thrown', throwing],
    ['rejected', rejecting],
  ])('from prompt is a failed prompt; %s', async (_how, prompt) => {
    await using lab = await prompted(() => bareAgent({ prompt }));
    expect(await lab.first).toBe('agent.failed');
    expect(await lab.view()).toMatchObject({ foregroundActivity: null });
  });

  it.each([
    ['thrown', throwing],
    ['rejected', rejecting],
  ])('from cancel is reported, and the turn ends by its grace; %s', async (_how, cancel) => {
    await using lab = await prompted(() => bareAgent({ cancel }));
    expect(await lab.offstage.sessions.interrupt('s')).toEqual({ changed: true });
    await lab.clock.advance(1_000);
    expect(await lab.first).toBe('prompt.interrupted');
    expect(lab.reports('agent.cancel_failed')).toEqual([expect.stringMatching(/./)]);
  });

  it.each([
    ['thrown', throwing],
    ['rejected', rejecting],
  ])('from close is reported, and the engine closes; %s', async (_how, close) => {
    await using lab = await prompted(() => bareAgent({ close }));
    await lab.offstage.close();
    expect(await lab.first).toMatch(/^(agent\.gone|engine\.closing)$/);
    expect(lab.reports('agent.close_failed')).toEqual([expect.stringMatching(/./)]);
  });

  it('hanging in close holds up the close of the engine no longer than its own grace', async () => {
    const lab = await prompted(() => bareAgent({ close: () => new Promise(() => {}) }));
    let hasClosed = false;
    const closing = lab.offstage.close().then(() => {
      hasClosed = true;
    });
    await lab.clock.advance(4_999);
    expect(hasClosed).toBe(false);
    await lab.clock.advance(1);
    expect(hasClosed).toBe(true);
    await closing;
  });

  it.each<readonly [string, () => AsyncIterable<Frame>]>([
    ['by their reading', () => ({ [Symbol.asyncIterator]: throwing })],
    ['by their first one', () => ({ [Symbol.asyncIterator]: () => ({ next: throwing }) })],
    ['by a rejection', () => ({ [Symbol.asyncIterator]: () => ({ next: rejecting }) })],
  ])('from frames is the end of the agent: %s', async (_how, frames) => {
    await using lab = await prompted(() => bareAgent({ frames: frames() }));
    expect(await lab.first).toBe('agent.gone');
    expect(await lab.view()).toMatchObject({ foregroundActivity: null, executionId: null });
  });

  it('as a frame, or in one, is left out', async () => {
    const frames = async function* (): AsyncGenerator<Frame> {
      yield hostile() as Frame;
      yield {
        generation: 0,
        get type() {
          return throwing();
        },
      };
      yield {
        type: 'output',
        text: 'x',
        get generation() {
          return throwing();
        },
      };
      yield* SILENCE;
    };
    await using lab = await prompted(() => bareAgent({ frames: frames(), prompt: async () => ({ stopReason: 'end_turn' }) }));
    expect([await lab.first, lab.ends()]).toEqual(['accepted', ['end_turn']]);
    expect(lab.reports('frame.unreadable').length).toBeGreaterThan(0);
  });

  it('from answer is told to who answered, and the question is still there', async () => {
    await using lab = await sessionLab();
    using stray = strayErrors();
    const s = await lab.running();
    const agent = s.agent as unknown as Agent;
    agent.answer = throwing;
    await s.tell({ type: 'permission.request', generation: s.generation, requestId: 'r', kind: 'permission', options: [] });
    const answer = lab.offstage.sessions.answer('s', 'r', 'yes');
    await expect(answer).rejects.toMatchObject({ code: 'agent.failed', message: expect.stringMatching(/./) });
    await lab.settled();
    expect([(await s.view()).pending?.requestId, stray.count]).toEqual(['r', 0]);
  });
});

describe('ids that are none', () => {
  const NO_IDS: readonly (readonly [string, unknown])[] = [
    ['missing', undefined],
    ['null', null],
    ['a number', 7],
    ['an object', { toString: () => 'w' }],
    ['empty', ''],
    ['more than 512 bytes', 'é'.repeat(257)],
    ['with a NUL', 'a\0b'],
  ];

  it.each(NO_IDS)('name no work, no call and no question: %s', async (_name, id) => {
    await using lab = await sessionLab();
    using stray = strayErrors();
    const s = await lab.running();
    const { generation } = s;
    const frames = [
      { type: 'workload.started', kind: 'subagent', workloadId: id },
      { type: 'tool.call', toolCallId: id, status: 'running', work: { kind: 'subagent', isDetached: true } },
      { type: 'tool.update', toolCallId: id, work: { kind: 'subagent', isDetached: true, workloadId: 'w' } },
      { type: 'permission.request', requestId: id, kind: 'permission', options: [] },
    ];
    for (const frame of frames) await s.tell({ generation, ...frame } as Frame);
    expect(await s.works()).toEqual([]);
    expect(await s.view()).toMatchObject({ state: 'running', pending: null, activeSubagentCount: 0 });
    await s.done();
    expect(await s.view()).toMatchObject({ state: 'waiting_for_input', pending: null, foregroundActivity: null });
    expect(stray.count).toBe(0);
  });

  it.each(NO_IDS)('in a list of live work take no other entry along: %s', async (_name, id) => {
    await using lab = await sessionLab();
    const s = await lab.running();
    await s.reg('old');
    await s.reg('kept');
    const entry = { workloadId: id, kind: 'subagent' };
    const workloads = [{ workloadId: 'kept' }, entry, { workloadId: 'new', kind: 'subagent' }];
    await s.tell({ type: 'workload.snapshot', generation: 0, workloads } as Frame);
    expect(await s.works()).toEqual(['kept', 'new']);
    for (const workloadId of await s.works()) await lab.offstage.workloads.dismiss('s', workloadId);
    await s.done();
    expect(await s.tier()).toBeNull();
  });

  it('nor does an entry that is nothing, or of a kind that there is not', async () => {
    await using lab = await sessionLab();
    const s = await lab.running();
    const workloads = [{ workloadId: 'a' }, null, undefined, 7, { workloadId: 'x', kind: 'toaster' }, { workloadId: 'b' }];
    await s.tell({ type: 'workload.snapshot', generation: 0, workloads } as unknown as Frame);
    expect(await s.works()).toEqual(['a', 'b']);
  });

  it.each(NO_IDS)('leave a call that is work to be known by its own: %s', async (_name, workloadId) => {
    await using lab = await sessionLab();
    const s = await lab.running();
    const work = { kind: 'subagent', isDetached: true, workloadId };
    await s.tell({ type: 'tool.call', generation: s.generation, toolCallId: 'c', status: 'running', work } as Frame);
    expect(await s.works()).toEqual(['c']);
  });
});

describe('a question whose choices are no JSON', () => {
  const circular: Record<string, unknown> = {};
  circular.self = circular;

  it.each<readonly [string, unknown]>([
    ['a bigint', [{ a: 1n }]],
    ['a circle', ['fine', circular]],
    ['a function', [() => 'yes']],
    ['a proxy', [thorny()]],
    ['no list', 'yes or no'],
    ['missing', undefined],
  ])('is shown without choices, and can be answered: %s', async (_name, options) => {
    await using lab = await sessionLab();
    const s = await lab.running();
    const request = { type: 'permission.request', generation: s.generation, requestId: 'r', kind: 'permission', options };
    await s.tell(request as Frame);
    expect((await s.view()).pending).toEqual({ requestId: 'r', kind: 'permission', options: [] });
    await lab.offstage.sessions.answer('s', 'r', 'yes');
    await lab.settled();
    expect(s.agent.answers).toEqual([{ requestId: 'r', choice: 'yes' }]);
    expect((await s.view()).pending).toBeNull();
  });
});
