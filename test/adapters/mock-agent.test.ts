import { describe, expect, it } from 'vitest';
import { mockAgent } from '../../src/adapters/mock-agent.ts';
import type { Agent, Frame } from '../../src/model/agent.ts';
import { agentContext, promptContext } from './agent-context.ts';
import { fixturePair } from './fixture-files.ts';

async function collect(agent: Agent): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of agent.frames) frames.push(frame);
  return frames;
}

describe('MOK1: what is attested', () => {
  it('nothing by default, and what the script says', async () => {
    const plain = await mockAgent().factory(agentContext());
    expect(plain.attests).toEqual({ workloads: [], yield: false, handoff: false, snapshot: false });
    const rich = await mockAgent({ attests: { workloads: ['shell'], handoff: true } }).factory(agentContext());
    expect(rich.attests).toEqual({ workloads: ['shell'], yield: false, handoff: true, snapshot: false });
  });
});

describe('MOK2: how prompts end', () => {
  it('by end and by fail, the first of them', async () => {
    const mock = mockAgent();
    const agent = await mock.factory(agentContext());
    const first = agent.prompt('one', promptContext(1));
    const second = agent.prompt('two', promptContext(2, { origin: 'synthetic' }));
    const [one, two] = [await mock.nextPrompt(), await mock.nextPrompt()];
    expect([one.content, one.origin, two.content, two.origin]).toEqual(['one', 'human', 'two', 'synthetic']);
    expect([one.isOpen, two.isOpen]).toEqual([true, true]);
    one.end();
    one.fail('too late');
    two.fail('refused');
    expect(await first).toEqual({ stopReason: 'end_turn' });
    await expect(second).rejects.toBe('refused');
    expect(mock.prompts.map(({ isOpen }) => isOpen)).toEqual([false, false]);
  });

  it('by their signal, unless it is ignored', async () => {
    const mock = mockAgent();
    const agent = await mock.factory(agentContext());
    const abort = new AbortController();
    const ended = agent.prompt('one', promptContext(1, { signal: abort.signal }));
    abort.abort();
    expect(await ended).toEqual({ stopReason: 'cancelled' });
    expect(await agent.prompt('two', promptContext(2, { signal: abort.signal }))).toEqual({ stopReason: 'cancelled' });
    mock.script.ignoreCancel = true;
    const stubborn = agent.prompt('three', promptContext(3, { signal: abort.signal }));
    expect(mock.prompts[2]?.isOpen).toBe(true);
    mock.prompts[2]?.end('late');
    expect(await stubborn).toEqual({ stopReason: 'late' });
  });

  it.each(['crash', 'exit'] as const)('agent.gone after %s', async (verb) => {
    const mock = mockAgent();
    const agent = await mock.factory(agentContext());
    const frames = collect(agent);
    const open = agent.prompt('one', promptContext(1));
    mock[verb]();
    await expect(open).rejects.toMatchObject({ code: 'agent.gone' });
    await expect(agent.prompt('two', promptContext(2))).rejects.toMatchObject({ code: 'agent.gone' });
    if (verb === 'crash') await expect(frames).rejects.toMatchObject({ code: 'agent.gone' });
    else expect(await frames).toEqual([{ type: 'prompt.accepted', generation: 1 }]);
    expect(mock.emit({ type: 'foreground.idle', generation: 1 })).toBe(false);
  });

  it('by the steps of the script, and by what they throw', async () => {
    const mock = mockAgent({
      onPrompt: (prompt, agent) => {
        if (prompt.content === 'bad') throw new Error('no');
        agent.emit({ type: 'output', generation: prompt.generation, text: 'hi' });
        prompt.end();
      },
    });
    const agent = await mock.factory(agentContext());
    const frames = collect(agent);
    expect(await agent.prompt('good', promptContext(1))).toEqual({ stopReason: 'end_turn' });
    await expect(agent.prompt('bad', promptContext(2))).rejects.toThrow('no');
    await agent.close();
    expect(await frames).toEqual([
      { type: 'prompt.accepted', generation: 1 },
      { type: 'output', generation: 1, text: 'hi' },
      { type: 'prompt.accepted', generation: 2 },
    ]);
  });
});

describe('MOK3: frames', () => {
  it('go to the agent that is meant; nothing is accepted before the test says so', async () => {
    const mock = mockAgent({ acceptAtOnce: false });
    const [old, young] = [await mock.factory(agentContext()), await mock.factory(agentContext({ sessionId: 'two' }))];
    const [oldFrames, youngFrames] = [collect(old), collect(young)];
    void young.prompt('one', promptContext(7)).catch(() => {});
    mock.emit({ type: 'foreground.idle', generation: 0 });
    mock.prompts[0]?.accept();
    mock.agents[0]?.emit({ type: 'output', generation: 0, text: 'old' });
    await old.close();
    await young.close();
    expect(await oldFrames).toEqual([{ type: 'output', generation: 0, text: 'old' }]);
    expect(await youngFrames).toEqual([
      { type: 'foreground.idle', generation: 0 },
      { type: 'prompt.accepted', generation: 7 },
    ]);
    expect(mock.closed).toBe(2);
    expect(mock.starts.map(({ sessionId }) => sessionId)).toEqual(['session-one', 'two']);
  });

  it('there is no newest agent before the first start', () => {
    expect(() => mockAgent().exit()).toThrow(TypeError);
  });
});

describe('MOK4: replay', () => {
  it('tells a fixture through the mapping of its adapter, whatever is attested', async () => {
    const mock = mockAgent({ attests: { workloads: ['shell'] }, acceptAtOnce: false });
    const agent = await mock.factory(agentContext());
    const frames = collect(agent);
    const { adapter, launch, end } = fixturePair('acp-v1-claude-subagent');
    const turn = agent.prompt('go', promptContext(1));
    mock.replay({ adapter, steps: launch.steps });
    expect(await turn).toEqual({ stopReason: 'end_turn' });
    mock.replay({ adapter, steps: end.steps });
    mock.exit();
    expect(await frames).toEqual([...launch.frames, ...end.frames]);
    expect(agent.attests.workloads).toEqual(['shell']);
  });

  it('moves its generations, to fit those of the engine', async () => {
    const mock = mockAgent({ acceptAtOnce: false });
    const agent = await mock.factory(agentContext());
    const { adapter, launch } = fixturePair('acp-v2-shell');
    const turn = agent.prompt('go', promptContext(8));
    mock.replay({ adapter, steps: launch.steps }, 7);
    expect(await turn).toEqual({ stopReason: 'end_turn' });
  });
});

describe('starts', () => {
  it('fail as told, and work again', async () => {
    const mock = mockAgent({ failStart: new Error('missing') });
    await expect(mock.factory(agentContext())).rejects.toThrow('missing');
    mock.script.failStart = () => {
      throw new Error('still missing');
    };
    await expect(mock.factory(agentContext())).rejects.toThrow('still missing');
    const next = mock.nextAgent();
    mock.script.failStart = () => undefined;
    await mock.factory(agentContext());
    expect([mock.starts.length, (await next) === mock.agents[0]]).toEqual([3, true]);
  });

  it('hang until their signal fires', async () => {
    const abort = new AbortController();
    const starting = mockAgent({ hangStart: true }).factory(agentContext({ signal: abort.signal }));
    abort.abort(new Error('not wanted'));
    await expect(starting).rejects.toThrow('not wanted');
  });

  it('records cancels and answers; a close that is ignored leaves it alive', async () => {
    const mock = mockAgent({ ignoreClose: true });
    const agent = await mock.factory(agentContext());
    await agent.cancel?.(3);
    await agent.answer?.('request-one', { optionId: 'yes' });
    void agent.close();
    const [running] = mock.agents;
    expect([running?.cancels, running?.answers]).toEqual([[3], [{ requestId: 'request-one', choice: { optionId: 'yes' } }]]);
    expect([running?.isClosed, running?.isGone, mock.closed]).toEqual([true, false, 1]);
  });
});
