import { describe, expect, it, vi } from 'vitest';
import type { AcpAgentOptions } from '../../src/adapters/acp-start.ts';
import { acpV2Agent } from '../../src/adapters/acp-v2-agent.ts';
import type { JsonValue } from '../../src/model/json.ts';
import { promptContext } from './agent-context.ts';
import { FrameReader } from './read-frames.ts';
import { ScriptedAcp, V2_ANSWERS } from './scripted-acp.ts';

async function connect(options: Partial<AcpAgentOptions> = {}, answers: Record<string, JsonValue> = V2_ANSWERS) {
  const provider = new ScriptedAcp(answers);
  const agent = await acpV2Agent({ ...provider.pair.host, cwd: '/srv', agentId: 'example', ...options });
  return { provider, agent, reader: new FrameReader(agent) };
}

/** A prompt that the provider has taken. */
async function openTurn(generation: number, signal = new AbortController().signal) {
  const connected = await connect();
  const ended = connected.agent.prompt('hello', promptContext(generation, { signal }));
  ended.catch(() => {});
  const { id } = await connected.provider.next('session/prompt');
  connected.provider.send({ id: id as JsonValue, result: { messageId: 'u1' } });
  connected.provider.update(state('running'));
  await connected.reader.until('prompt.accepted');
  return { ...connected, ended };
}

const start = (provider: ScriptedAcp, signal?: AbortSignal) =>
  acpV2Agent({ ...provider.pair.host, cwd: '/srv', agentId: 'example', signal });
const withoutInitialize: Record<string, JsonValue> = { 'session/new': { sessionId: 'conversation-one' } };

const state = (name: string, more: Record<string, JsonValue> = {}): JsonValue => ({
  sessionUpdate: 'state_update',
  state: name,
  ...more,
});
const chunk = (text: string): JsonValue => ({
  sessionUpdate: 'agent_message_chunk',
  messageId: 'm1',
  content: { type: 'text', text },
});

describe('a turn', () => {
  it('is accepted by its message id and ended by idle', async () => {
    const { provider, agent, reader } = await connect();
    expect(agent.attests).toEqual({ workloads: ['subagent', 'shell', 'monitor'], yield: true, handoff: false, snapshot: true });
    expect(agent.conversationId).toBe('conversation-one');
    const ended = agent.prompt('hello', promptContext(7));
    const { id, params } = await provider.next('session/prompt');
    expect(params).toEqual({ sessionId: 'conversation-one', prompt: [{ type: 'text', text: 'hello' }] });
    provider.send({ id: id as JsonValue, result: { messageId: 'u1' } });
    provider.update(state('running', { background: [] }));
    provider.update(chunk('hi'));
    provider.update(state('idle', { background: [], stopReason: 'end_turn' }));
    expect(await ended).toEqual({ stopReason: 'end_turn' });
    await agent.close();
    await reader.ended;
    expect(reader.frames).toEqual([
      { type: 'capability', generation: 0, handoff: false, snapshot: true },
      { type: 'prompt.accepted', generation: 7 },
      { type: 'workload.snapshot', generation: 0, workloads: [] },
      { type: 'output', generation: 7, text: 'hi', channel: 'message' },
      { type: 'workload.snapshot', generation: 0, workloads: [] },
      { type: 'turn.ended', generation: 7, stopReason: 'end_turn' },
    ]);
  });

  it('ACS1: is over although its end came in one breath with the answer', async () => {
    const { provider, agent } = await connect();
    const ended = agent.prompt('hello', promptContext(1));
    const { id } = await provider.next('session/prompt');
    const lines = [
      { id, result: { messageId: 'u1' } },
      ...[state('running'), state('idle', { stopReason: 'end_turn' })].map((update) => ({
        method: 'session/update',
        params: { sessionId: 'conversation-one', update },
      })),
    ];
    provider.raw(lines.map((line) => `${JSON.stringify({ jsonrpc: '2.0', ...line })}\n`).join(''));
    expect(await ended).toEqual({ stopReason: 'end_turn' });
  });

  it('that is refused rejects before it was accepted, and the next one is taken', async () => {
    const { provider, agent, reader } = await connect();
    const refused = agent.prompt('no', promptContext(1));
    const first = await provider.next('session/prompt');
    provider.send({ id: first.id as JsonValue, error: { code: -32_000, message: 'not now' } });
    await expect(refused).rejects.toMatchObject({ code: 'agent.failed', details: { message: 'not now' } });
    const taken = agent.prompt('yes', promptContext(2));
    const second = await provider.next('session/prompt');
    provider.send({ id: second.id as JsonValue, result: { messageId: 'u2' } });
    provider.update(state('running'));
    provider.update(state('idle', { stopReason: 'refusal' }));
    expect(await taken).toEqual({ stopReason: 'refusal' });
    expect(reader.frames.filter(({ type }) => type === 'prompt.accepted')).toEqual([{ type: 'prompt.accepted', generation: 2 }]);
  });

  it('whose answer is malformed has failed', async () => {
    const { provider, agent } = await connect();
    const failed = agent.prompt('hello', promptContext(1));
    const { id } = await provider.next('session/prompt');
    provider.send({ id: id as JsonValue, result: { messageId: null } });
    await expect(failed).rejects.toMatchObject({ code: 'agent.failed' });
  });

  it.each([
    ['text', 'hi', [{ type: 'text', text: 'hi' }]],
    ['a block', { type: 'text', text: 'hi' }, [{ type: 'text', text: 'hi' }]],
    [
      'blocks',
      [{ type: 'resource_link', uri: 'file:///a', name: 'a' }],
      [{ type: 'resource_link', uri: 'file:///a', name: 'a' }],
    ],
    ['other JSON', { question: 7 }, [{ type: 'text', text: '{"question":7}' }]],
  ])('passes on %s', async (_, content, blocks) => {
    const { provider, agent } = await connect();
    agent.prompt(content as JsonValue, promptContext(1)).catch(() => {});
    expect(await provider.next('session/prompt')).toMatchObject({ params: { prompt: blocks } });
  });

  it('without any content is refused here', async () => {
    const { agent } = await connect();
    await expect(agent.prompt([], promptContext(1))).rejects.toMatchObject({ code: 'input.invalid' });
  });

  it('whose signal has fired already is not sent', async () => {
    const { provider, agent } = await connect();
    const reason = new Error('too late');
    await expect(agent.prompt('hello', promptContext(1, { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
    expect(provider.requests.some(({ method }) => method === 'session/prompt')).toBe(false);
  });
});

describe('cancel', () => {
  it('is asked for once, by signal or by call, and the provider decides when the turn is over', async () => {
    const abort = new AbortController();
    const { provider, agent, ended } = await openTurn(1, abort.signal);
    abort.abort();
    await provider.next('session/cancel');
    await agent.cancel?.(1);
    await agent.cancel?.(2);
    provider.update(state('idle', { stopReason: 'cancelled' }));
    expect(await ended).toEqual({ stopReason: 'cancelled' });
    expect(provider.requests.filter(({ method }) => method === 'session/cancel')).toHaveLength(1);
  });
});

describe('permission', () => {
  const options = [
    { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
    { optionId: 'no', name: 'No', kind: 'reject_once' },
  ];
  async function asked() {
    const turn = await openTurn(4);
    turn.provider.send({
      id: 'p1',
      method: 'session/request_permission',
      params: { sessionId: 'conversation-one', title: 'May I?', options },
    });
    return { ...turn, request: await turn.reader.until('permission.request') };
  }

  it('blocks until it is answered', async () => {
    const { provider, agent, request } = await asked();
    expect(request).toEqual({
      type: 'permission.request',
      generation: 4,
      requestId: 'permission-1',
      kind: 'permission',
      title: 'May I?',
      options,
    });
    expect(provider.requests.some(({ id }) => id === 'p1')).toBe(false);
    await agent.answer?.('permission-1', { optionId: 'yes' });
    expect(await provider.next('answer')).toMatchObject({
      id: 'p1',
      result: { outcome: { outcome: 'selected', optionId: 'yes' } },
    });
    expect(() => agent.answer?.('permission-1', 'yes')).toThrow(expect.objectContaining({ code: 'request.not_found' }));
  });

  it('takes an id alone, or null for none, and nothing that is no option', async () => {
    const { provider, agent } = await asked();
    expect(() => agent.answer?.('permission-1', 'maybe')).toThrow(expect.objectContaining({ code: 'input.invalid' }));
    expect(() => agent.answer?.('permission-1', 7)).toThrow(expect.objectContaining({ code: 'input.invalid' }));
    await agent.answer?.('permission-1', null);
    expect(await provider.next('answer')).toMatchObject({ result: { outcome: { outcome: 'cancelled' } } });
  });

  it.each([
    ['the turn is cancelled', ({ agent }: Awaited<ReturnType<typeof asked>>) => agent.cancel?.(4)],
    [
      'the provider waits no longer',
      ({ provider }: Awaited<ReturnType<typeof asked>>) =>
        provider.send({ method: '$/cancel_request', params: { requestId: 'p1' } }),
    ],
  ])('is cancelled when %s', async (_, act) => {
    const turn = await asked();
    await act(turn);
    expect(await turn.provider.next('answer')).toMatchObject({ id: 'p1', result: { outcome: { outcome: 'cancelled' } } });
  });

  it('does not outlive the agent', async () => {
    const { agent } = await asked();
    await agent.close();
    expect(() => agent.answer?.('permission-1', 'yes')).toThrow(expect.objectContaining({ code: 'request.not_found' }));
  });
});

describe('G16: a provider that misbehaves', () => {
  it('and sends garbage harms nobody', async () => {
    const printed = vi.spyOn(console, 'error');
    const { provider, reader, ended } = await openTurn(1);
    provider.raw('this is no JSON\n[1,2]\n7\n"text"\n\n{"jsonrpc":"1.0"}\n');
    provider.send({ method: 'session/update', params: 'nothing' });
    provider.send({ method: 'session/update' });
    provider.send({ method: 'session/unheard_of', params: {} });
    provider.send({ id: 'odd', method: 'fs/read_text_file', params: {} });
    provider.send({ id: 999, result: {} });
    provider.update({ sessionUpdate: 'state_update', state: 7, background: 'many' });
    provider.update(state('running', { background: [{ type: 'terminal' }] }));
    provider.update(chunk('of another conversation'), 'conversation-two');
    provider.update(chunk('fine'));
    provider.update(state('idle', { stopReason: 'end_turn' }));
    expect(await ended).toEqual({ stopReason: 'end_turn' });
    expect(reader.frames.filter(({ type }) => type === 'output')).toMatchObject([{ text: 'fine' }]);
    expect(printed).not.toHaveBeenCalled();
    printed.mockRestore();
  });

  it('and ends in mid-turn is gone: its frames end, its prompts reject', async () => {
    const { provider, agent, reader, ended } = await openTurn(1);
    provider.update(chunk('last words'));
    await provider.end();
    await expect(ended).rejects.toMatchObject({ code: 'agent.gone' });
    await reader.ended;
    expect(reader.frames.at(-1)).toMatchObject({ type: 'output', text: 'last words' });
    await expect(agent.prompt('again', promptContext(2))).rejects.toMatchObject({ code: 'agent.gone' });
    await agent.close();
  });

  it('and whose output breaks throws in its frames', async () => {
    let breakOff: (error: unknown) => void = () => {};
    const broken = new TransformStream<Uint8Array, Uint8Array>({
      start: (controller) => {
        breakOff = (error) => controller.error(error);
      },
    });
    const provider = new ScriptedAcp(V2_ANSWERS);
    provider.pair.host.output.pipeTo(broken.writable).catch(() => {});
    const agent = await acpV2Agent({ input: provider.pair.host.input, output: broken.readable, cwd: '/srv' });
    const reader = new FrameReader(agent);
    breakOff(new Error('pipe broke'));
    await expect(reader.ended).rejects.toMatchObject({
      code: 'agent.gone',
      cause: expect.objectContaining({ message: 'pipe broke' }),
    });
  });

  it('and never answers keeps nobody waiting for ever: the signal ends the start', async () => {
    const abort = new AbortController();
    const provider = new ScriptedAcp({});
    const starting = start(provider, abort.signal);
    await provider.next('initialize');
    const reason = new Error('not wanted any more');
    abort.abort(reason);
    await expect(starting).rejects.toBe(reason);
    await expect(start(new ScriptedAcp(V2_ANSWERS), abort.signal)).rejects.toBe(reason);
  });

  it.each<[string, (provider: ScriptedAcp, id: JsonValue) => unknown]>([
    ['another version', (p, id) => p.send({ id, result: { protocolVersion: 1, info: { name: 'x', version: '1' } } })],
    ['an error', (p, id) => p.send({ id, error: { code: -32_022, message: 'no such version' } })],
    ['garbage', (p, id) => p.send({ id, result: 7 })],
    ['nothing, and ends', (p) => p.end()],
  ])('and answers initialize with %s has failed to start', async (_, act) => {
    const provider = new ScriptedAcp(withoutInitialize);
    const starting = start(provider);
    starting.catch(() => {});
    await act(provider, (await provider.next('initialize')).id as JsonValue);
    await expect(starting).rejects.toMatchObject({ code: 'agent.start_failed', details: { agentId: 'example' } });
  });
});

describe('conversations', () => {
  it('are resumed by their id, with the state that is told meanwhile', async () => {
    const provider = new ScriptedAcp(V2_ANSWERS);
    const starting = acpV2Agent({ ...provider.pair.host, cwd: '/srv', conversationId: 'conversation-old' });
    const { id, params } = await provider.next('session/resume');
    expect(params).toMatchObject({ sessionId: 'conversation-old', cwd: '/srv' });
    provider.update(state('idle', { background: [{ type: 'terminal', terminalId: 't' }] }), 'conversation-old');
    provider.send({ id: id as JsonValue, result: {} });
    const agent = await starting;
    expect(agent.conversationId).toBe('conversation-old');
    expect(await new FrameReader(agent).until('workload.snapshot')).toMatchObject({ workloads: [{ workloadId: 't' }] });
  });

  it.each([-32_002, -32_601, -32_603])('AST3: that the provider does not take up (%d) begin anew', async (code) => {
    const provider = new ScriptedAcp({ initialize: V2_ANSWERS.initialize as JsonValue });
    const starting = acpV2Agent({ ...provider.pair.host, cwd: '/srv', conversationId: 'conversation-old' });
    const { id } = await provider.next('session/resume');
    provider.send({ id: id as JsonValue, error: { code, message: 'no' } });
    const { id: begun } = await provider.next('session/new');
    provider.update(state('running', { background: [] }));
    provider.send({ id: begun as JsonValue, result: { sessionId: 'conversation-one' } });
    const agent = await starting;
    expect(agent.conversationId).toBe('conversation-one');
    await new FrameReader(agent).until('workload.snapshot');
  });

  it('AST3: a connection that is lost while they are taken up fails the start', async () => {
    const provider = new ScriptedAcp(V2_ANSWERS);
    const starting = acpV2Agent({ ...provider.pair.host, cwd: '/srv', conversationId: 'conversation-old' });
    await provider.next('session/resume');
    await Promise.all([provider.end(), expect(starting).rejects.toMatchObject({ code: 'agent.start_failed' })]);
    expect(provider.requests.map(({ method }) => method)).not.toContain('session/new');
  });

  it('updates that come before the id are told too', async () => {
    const provider = new ScriptedAcp({ initialize: V2_ANSWERS.initialize as JsonValue });
    const starting = start(provider);
    const { id } = await provider.next('session/new');
    provider.update(state('running', { background: [] }));
    provider.send({ id: id as JsonValue, result: { sessionId: 'conversation-one' } });
    await new FrameReader(await starting).until('workload.snapshot');
  });
});

describe('the end', () => {
  it('comes by close, more than once, and ends what the agent reads', async () => {
    const { provider, agent, reader, ended } = await openTurn(1);
    await agent.close();
    await agent.close();
    await expect(ended).rejects.toMatchObject({ code: 'agent.gone' });
    await reader.ended;
    await provider.inputEnded;
  });

  it('comes by the signal of the agent', async () => {
    const abort = new AbortController();
    const { reader } = await connect({ signal: abort.signal });
    abort.abort(new Error('stop'));
    await reader.ended;
  });
});
