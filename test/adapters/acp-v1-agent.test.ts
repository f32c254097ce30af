import { describe, expect, it } from 'vitest';
import { type AcpV1AgentOptions, acpV1Agent } from '../../src/adapters/acp-v1-agent.ts';
import type { JsonValue } from '../../src/model/json.ts';
import { promptContext } from './agent-context.ts';
import { fixturePair } from './fixture-files.ts';
import { FrameReader } from './read-frames.ts';
import { ScriptedAcp, V1_ANSWERS } from './scripted-acp.ts';

const CLAUDE: JsonValue = {
  protocolVersion: 1,
  agentCapabilities: { _meta: { claudeCode: { promptQueueing: true } }, loadSession: true },
};

async function connect(options: Partial<AcpV1AgentOptions> = {}, answers: Record<string, JsonValue> = {}) {
  const provider = new ScriptedAcp({ ...V1_ANSWERS, ...answers });
  const agent = await acpV1Agent({ ...provider.pair.host, cwd: '/srv', agentId: 'example', ...options });
  return { provider, agent, reader: new FrameReader(agent) };
}

const chunk = (text: string): JsonValue => ({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
const humanIdle: JsonValue = {
  sessionUpdate: 'usage_update',
  used: 1,
  size: 2,
  _meta: { '_claude/origin': { kind: 'human' } },
};

describe('a turn', () => {
  it('is accepted when it is written, and ended by the answer', async () => {
    const { provider, agent, reader } = await connect();
    expect(agent.attests).toEqual({ workloads: [], yield: false, handoff: false, snapshot: false });
    const ended = agent.prompt('hello', promptContext(7));
    const { id } = await provider.next('session/prompt');
    provider.update(chunk('hi'));
    provider.send({ id: id as JsonValue, result: { stopReason: 'end_turn' } });
    expect(await ended).toEqual({ stopReason: 'end_turn' });
    await agent.close();
    await reader.ended;
    expect(reader.frames).toEqual([
      { type: 'prompt.accepted', generation: 7 },
      { type: 'output', generation: 7, text: 'hi', channel: 'message' },
      { type: 'turn.ended', generation: 7, stopReason: 'end_turn' },
    ]);
  });

  it('AOA2: is not accepted while its bytes wait to be written', async () => {
    const provider = new ScriptedAcp(V1_ANSWERS);
    let openGate = (): void => {};
    const gate = new Promise<void>((resolve) => {
      openGate = resolve;
    });
    const writer = provider.pair.host.input.getWriter();
    const isPrompt = (bytes: Uint8Array) => new TextDecoder().decode(bytes).includes('session/prompt');
    const input = new WritableStream<Uint8Array>({
      async write(bytes) {
        if (isPrompt(bytes)) await gate;
        await writer.write(bytes);
      },
    });
    const agent = await acpV1Agent({ input, output: provider.pair.host.output, cwd: '/srv' });
    const reader = new FrameReader(agent);
    agent.prompt('hello', promptContext(1)).catch(() => {});
    provider.update(chunk('not yours'));
    expect(await reader.until('output')).toMatchObject({ generation: 0 });
    expect(reader.frames.some(({ type }) => type === 'prompt.accepted')).toBe(false);
    openGate();
    await reader.until('prompt.accepted');
  });

  it.each<[string, JsonValue]>([
    ['an error', { error: { code: -32_603, message: 'model is gone' } }],
    ['garbage', { result: 'yes' }],
  ])('that is answered with %s has failed', async (_, answer) => {
    const { provider, agent } = await connect();
    const failed = agent.prompt('hello', promptContext(1));
    const { id } = await provider.next('session/prompt');
    provider.send({ id: id as JsonValue, ...(answer as object) });
    await expect(failed).rejects.toMatchObject({ code: 'agent.failed' });
  });

  it('G16: ends with its agent', async () => {
    const { provider, agent, reader } = await connect();
    const open = agent.prompt('hello', promptContext(1));
    await provider.next('session/prompt');
    await provider.end();
    await expect(open).rejects.toMatchObject({ code: 'agent.gone' });
    await reader.ended;
  });
});

describe('permission', () => {
  it('blocks until it is answered; a cancel takes all along', async () => {
    const { provider, agent, reader } = await connect();
    agent.prompt('hello', promptContext(1)).catch(() => {});
    await provider.next('session/prompt');
    const ask = (id: string, title?: string): void =>
      provider.send({
        id,
        method: 'session/request_permission',
        params: {
          sessionId: 'conversation-one',
          toolCall: { toolCallId: 'unknown', ...(title === undefined ? {} : { title }) },
          options: [{ optionId: 'yes', name: 'Yes', kind: 'allow_once' }],
        },
      });
    ask('p1', 'Remove build/');
    expect(await reader.until('permission.request')).toMatchObject({
      ...{ requestId: 'permission-1', generation: 1 },
      title: 'Remove build/',
    });
    await agent.answer?.('permission-1', 'yes');
    expect(await provider.next('answer')).toMatchObject({
      id: 'p1',
      result: { outcome: { outcome: 'selected', optionId: 'yes' } },
    });
    ask('p2');
    await reader.count('permission.request', 2);
    expect(reader.frames.at(-1)).not.toHaveProperty('title');
    await agent.cancel?.(1);
    expect(await provider.next('answer')).toMatchObject({ id: 'p2', result: { outcome: { outcome: 'cancelled' } } });
  });
});

describe('with Claude metadata', () => {
  it('L19, L115: what was said at connect is told first; the kinds are shown, and admit nothing', async () => {
    const { provider, agent, reader } = await connect({ metadata: 'claude' }, { initialize: CLAUDE });
    expect(agent.attests).toEqual({
      workloads: [],
      shown: ['subagent', 'shell', 'monitor'],
      yield: false,
      handoff: false,
      snapshot: false,
    });
    expect(await reader.until('capability')).toMatchObject({ handoff: true, snapshot: false });
    expect(await provider.next('initialize')).toMatchObject({
      params: { clientCapabilities: { _meta: { terminal_output: true } } },
    });
    const silent = await connect({ metadata: 'claude' });
    expect(await silent.reader.until('capability')).toMatchObject({ handoff: false, snapshot: false });
  });

  it('L112, L118: the next prompt reaches the provider while the request of the first is open, and each ends its own', async () => {
    const { provider, agent, reader } = await connect({ metadata: 'claude' }, { initialize: CLAUDE });
    const first = agent.prompt('launch', promptContext(41));
    const one = await provider.next('session/prompt');
    for (const step of fixturePair('acp-v1-claude-handoff').launch.steps) {
      if (step.step === 'told') provider.update(step.message as JsonValue);
    }
    expect(await reader.until('foreground.idle')).toMatchObject({ generation: 41 });
    const second = agent.prompt('follow up', promptContext(42));
    const two = await provider.next('session/prompt');
    expect(provider.requests.filter(({ method }) => method === 'session/prompt')).toHaveLength(2);
    provider.send({ id: one.id as JsonValue, result: { stopReason: 'end_turn' } });
    provider.update(chunk('second'));
    provider.send({ id: two.id as JsonValue, result: { stopReason: 'max_tokens' } });
    expect([await first, await second]).toEqual([{ stopReason: 'end_turn' }, { stopReason: 'max_tokens' }]);
    expect(reader.frames.at(-2)).toMatchObject({ type: 'output', generation: 42 });
  });

  it('L121: a cancel after a hand-off ends what is open', async () => {
    const { provider, agent, reader } = await connect({ metadata: 'claude' }, { initialize: CLAUDE });
    const first = agent.prompt('launch', promptContext(41));
    const one = await provider.next('session/prompt');
    provider.update(humanIdle);
    await reader.until('foreground.idle');
    const abort = new AbortController();
    const second = agent.prompt('follow up', promptContext(42, { signal: abort.signal }));
    const two = await provider.next('session/prompt');
    abort.abort();
    await provider.next('session/cancel');
    for (const { id } of [two, one]) provider.send({ id: id as JsonValue, result: { stopReason: 'cancelled' } });
    expect(await Promise.all([first, second])).toEqual([{ stopReason: 'cancelled' }, { stopReason: 'cancelled' }]);
  });
});

describe('conversations', () => {
  const resume = (provider: ScriptedAcp, metadata?: 'claude') =>
    acpV1Agent({ ...provider.pair.host, cwd: '/srv', conversationId: 'conversation-old', metadata });
  const able = (agentCapabilities: JsonValue): Record<string, JsonValue> => ({
    ...V1_ANSWERS,
    initialize: { protocolVersion: 1, agentCapabilities },
  });

  it('L117: are resumed at the start, whoever prompts first; what a synthetic prompt says passes through unchanged', async () => {
    const capabilities = { sessionCapabilities: { resume: {} } };
    const provider = new ScriptedAcp({ ...able(capabilities), 'session/resume': {} });
    const agent = await resume(provider);
    expect(agent.conversationId).toBe('conversation-old');
    agent.prompt('wake up', promptContext(1, { origin: 'synthetic' })).catch(() => {});
    expect(await provider.next('session/prompt')).toMatchObject({
      params: { sessionId: 'conversation-old', prompt: [{ type: 'text', text: 'wake up' }] },
    });
    expect(provider.requests.map(({ method }) => method)).toEqual(['initialize', 'session/resume', 'session/prompt']);
  });

  it('L124: are loaded without telling their history; what was at work in it has ended', async () => {
    const provider = new ScriptedAcp(able({ loadSession: true }));
    const starting = resume(provider, 'claude');
    const { id } = await provider.next('session/load');
    for (const step of fixturePair('acp-v1-claude-monitor').launch.steps) {
      if (step.step === 'told') provider.update(step.message as JsonValue, 'conversation-old');
    }
    provider.update(chunk('old words'), 'conversation-old');
    provider.send({ id: id as JsonValue, result: {} });
    const agent = await starting;
    const reader = new FrameReader(agent);
    await reader.until('tool.update');
    expect(reader.frames).toMatchObject([
      { type: 'capability' },
      { type: 'tool.update', generation: 0, toolCallId: 'toolu_monitor', status: 'cancelled' },
    ]);
  });

  const loads: JsonValue = { loadSession: true };
  const resumes: JsonValue = { sessionCapabilities: { resume: {} } };

  it('that nothing can resume begin anew', async () => {
    expect((await resume(new ScriptedAcp(able({})))).conversationId).toBe('conversation-one');
  });

  it.each(
    [-32_002, -32_601, -32_603].flatMap((code) => [
      { code, method: 'session/load', capabilities: loads },
      { code, method: 'session/resume', capabilities: resumes },
    ]),
  )('AST3: $method answered with $code begins anew', async ({ code, method, capabilities }) => {
    const provider = new ScriptedAcp({ initialize: { protocolVersion: 1, agentCapabilities: capabilities } });
    const starting = resume(provider);
    const { id } = await provider.next(method);
    provider.send({ id: id as JsonValue, error: { code, message: 'no' } });
    const { id: begun } = await provider.next('session/new');
    provider.update(chunk('welcome'));
    provider.send({ id: begun as JsonValue, result: { sessionId: 'conversation-one' } });
    const agent = await starting;
    expect(agent.conversationId).toBe('conversation-one');
    expect(await new FrameReader(agent).until('output')).toMatchObject({ text: 'welcome' });
  });

  it.each([
    ['session/load', loads],
    ['session/resume', resumes],
  ])('AST3: a connection that is lost during %s fails the start', async (method, capabilities) => {
    const provider = new ScriptedAcp(able(capabilities));
    const starting = resume(provider);
    await provider.next(method);
    await Promise.all([provider.end(), expect(starting).rejects.toMatchObject({ code: 'agent.start_failed' })]);
    expect(provider.requests.map((request) => request.method)).not.toContain('session/new');
  });

  it('AST3: a start that is given up meanwhile begins nothing', async () => {
    const provider = new ScriptedAcp(able(resumes));
    const controller = new AbortController();
    const starting = acpV1Agent({
      ...provider.pair.host,
      cwd: '/srv',
      conversationId: 'conversation-old',
      signal: controller.signal,
    });
    await provider.next('session/resume');
    const reason = new Error('not wanted');
    controller.abort(reason);
    await expect(starting).rejects.toBe(reason);
    await provider.inputEnded;
    expect(provider.requests.map(({ method }) => method)).not.toContain('session/new');
  });
});

it('a start whose agent speaks another version has failed', async () => {
  const provider = new ScriptedAcp({ initialize: { protocolVersion: 3, agentCapabilities: {} } });
  await expect(acpV1Agent({ ...provider.pair.host, cwd: '/srv' })).rejects.toMatchObject({
    code: 'agent.start_failed',
    details: { agentId: 'default' },
  });
});
