import { describe, expect, it } from 'vitest';
import {
  type ClaudePermission,
  type ClaudeQueryParts,
  type ClaudeUserMessage,
  claudeAgentSdkAgent,
} from '../../src/adapters/claude-agent-sdk.ts';
import { claudeMessageFrames, claudeStreamMapping, claudeStreamState } from '../../src/adapters/claude-agent-sdk-mapping.ts';
import type { MappingStep } from '../../src/adapters/frame-mapping.ts';
import type { Frame } from '../../src/model/agent.ts';
import { promptContext } from './agent-context.ts';
import { FrameReader } from './read-frames.ts';

type Message = Readonly<Record<string, unknown>>;

const system = (subtype: string, more: Message): Message => ({ type: 'system', subtype, ...more });
const started = (task_id: string, more: Message = {}): Message =>
  system('task_started', { task_id, task_type: 'local_bash', is_backgrounded: true, ...more });
const level = (...tasks: Message[]): Message => system('background_tasks_changed', { tasks });
const text = (words: string, more: Message = {}): Message => ({
  type: 'assistant',
  message: { id: 'msg', content: [{ type: 'text', text: words }] },
  parent_tool_use_id: null,
  ...more,
});
const toolUse = (id: string, name: string): Message => ({
  type: 'assistant',
  message: { content: [{ type: 'tool_use', id, name, input: {} }] },
  parent_tool_use_id: null,
});
const toolResult = (id: string, result: unknown = {}): Message => ({
  type: 'user',
  message: { content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] },
  parent_tool_use_id: null,
  tool_use_result: result,
});
const result = (more: Message = {}): Message => ({ type: 'result', subtype: 'success', stop_reason: 'end_turn', ...more });

const frames = (...messages: unknown[]): Frame[] => {
  const state = claudeStreamState();
  return messages.flatMap((message) => claudeMessageFrames(state, message));
};
const startOf = (workloadId: string, kind: string, more: Message = {}) => ({
  type: 'workload.started',
  generation: 0,
  kind,
  workloadId,
  ...more,
});
const endOf = (workloadId: string, more: Message = {}) => ({ type: 'workload.ended', generation: 0, workloadId, ...more });

describe('tasks', () => {
  it('CST1: a message of an older run does nothing', () => {
    const all = frames(
      started('t', { run_id: 'r2' }),
      system('task_notification', { task_id: 't', run_id: 'r1', status: 'completed' }),
      system('task_updated', { task_id: 't', run_id: 'r1', patch: { status: 'killed' } }),
      started('t', { run_id: 'r1' }),
      level({ task_id: 't', run_id: 'r1', task_type: 'local_bash' }),
    );
    expect(all.filter(({ type }) => type !== 'capability')).toEqual([
      startOf('t', 'shell'),
      { type: 'workload.snapshot', generation: 0, workloads: [] },
    ]);
  });

  it('CST2: a task that runs again is other work, and its earlier run is over', () => {
    expect(
      frames(
        started('t', { run_id: 'r1' }),
        started('t', { run_id: 'r2' }),
        system('task_notification', { task_id: 't', run_id: 'r2', status: 'stopped', uuid: 'u' }),
      ),
    ).toEqual([startOf('t', 'shell'), endOf('t'), startOf('t@r2', 'shell'), endOf('t@r2', { eventId: 'u' })]);
  });

  it('CST3: ambient tasks are no activity', () => {
    const ambient = { ambient: true };
    const all = frames(started('t', ambient), started('u', { skip_transcript: true }), level({ task_id: 'v', ...ambient }));
    expect(all).toMatchObject([{ type: 'capability' }, { type: 'workload.snapshot', workloads: [] }]);
  });

  it('CST4: a command is work once it is in the background; a subagent from its start until its call returns', () => {
    expect(frames(started('t', { is_backgrounded: false }), toolResult('bash'))).toMatchObject([{ type: 'tool.update' }]);
    const moved = system('task_updated', { task_id: 't', patch: { is_backgrounded: true } });
    expect(frames(started('t', { is_backgrounded: false }), moved)).toEqual([startOf('t', 'shell')]);
    const subagent = started('a', { task_type: 'local_agent', is_backgrounded: false, tool_use_id: 'agent' });
    expect(frames(subagent, toolResult('agent'), toolResult('agent'))).toMatchObject([
      startOf('a', 'subagent', { toolCallId: 'agent' }),
      { type: 'tool.update' },
      endOf('a'),
      { type: 'tool.update' },
    ]);
  });

  it('CST5: a level ends what it leaves out, but no subagent that its call waits for', () => {
    const waiting = started('a', { task_type: 'local_agent', is_backgrounded: false });
    const all = frames(started('t'), started('u'), waiting, level({ task_id: 'u', task_type: 'local_bash' }));
    expect(all.at(-1)).toMatchObject({
      workloads: [
        { workloadId: 'u', kind: 'shell' },
        { workloadId: 'a', kind: 'subagent' },
      ],
    });
  });

  it('an end that was told beats a level that still lists it', () => {
    const ended = system('task_notification', { task_id: 't', status: 'failed' });
    expect(frames(started('t'), ended, level({ task_id: 't' })).at(-1)).toMatchObject({ workloads: [] });
  });

  it('CST6: a command is listed from its second sight on, a subagent at once', () => {
    const tasks = [
      { task_id: 't', task_type: 'local_bash' },
      { task_id: 'a', task_type: 'local_agent' },
    ];
    const lists = frames(level(...tasks), level(...tasks)).filter(({ type }) => type === 'workload.snapshot');
    const subagent = { workloadId: 'a', kind: 'subagent' };
    expect(lists).toMatchObject([{ workloads: [subagent] }, { workloads: [{ workloadId: 't', kind: 'shell' }, subagent] }]);
  });

  it.each([[undefined], ['many'], [[7]], [[{}]], [[{ task_id: 7 }]]])('a malformed level says nothing: %j', (tasks) => {
    expect(frames(system('background_tasks_changed', { tasks }))).toEqual([]);
  });

  it('progress is a sign of life of what is known, and of nothing else', () => {
    const progress = system('task_progress', { task_id: 't' });
    expect(frames(progress, started('t'), progress)).toEqual([startOf('t', 'shell'), startOf('t', 'shell')]);
  });

  it('a result says what goes on in the background where no task was told', () => {
    const all = frames(toolUse('bash', 'Bash'), toolResult('bash', { backgroundTaskId: 'b' }), toolResult('bash'));
    expect(all).toMatchObject([
      { type: 'tool.call' },
      { type: 'tool.update' },
      startOf('b', 'shell', { toolCallId: 'bash' }),
      { type: 'tool.update' },
    ]);
  });
});

describe('turns', () => {
  function run(...steps: (MappingStep | Message)[]): Frame[] {
    const mapping = claudeStreamMapping((generation) => `message-${generation}`);
    return steps.flatMap((step) => mapping.step('step' in step ? (step as MappingStep) : { step: 'told', message: step }));
  }
  const taken = (generation: number): MappingStep[] => [
    { step: 'prompt', generation },
    { step: 'accepted', generation },
  ];
  const generations = (all: readonly Frame[], type: Frame['type']) =>
    all.flatMap((frame) => (frame.type === type ? [frame.generation] : []));

  it('CSM2: echoes prove what belongs to whom', () => {
    const all = run(
      ...taken(1),
      ...taken(2),
      text('one', { user_message_uuid: 'message-1' }),
      text('still one'),
      text('two', { user_message_uuid: 'message-2' }),
      text('still two'),
    );
    expect(generations(all, 'output')).toEqual([1, 1, 2, 2]);
  });

  it('CSM2: from a provider that echoes, words without any belong to none before the first', () => {
    const all = run(
      ...taken(1),
      text('one', { user_message_uuid: 'message-1' }),
      result({ user_message_uuid: 'message-1' }),
      ...taken(2),
      text('by itself'),
      text('two', { user_message_uuid: 'message-2' }),
    );
    expect(generations(all, 'output')).toEqual([1, 0, 2]);
  });

  it('CSM2: without echoes they belong to the prompt at work', () => {
    const all = run(...taken(1), ...taken(2), text('one'), result(), text('two'), result());
    expect([generations(all, 'output'), generations(all, 'turn.ended')]).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  it('CSM3: a result ends the prompts that it echoes, and none when it is of another origin', () => {
    const merged = { user_message_uuid: 'message-2', user_message_uuids: ['message-1', 'message-2'] };
    expect(generations(run(...taken(1), ...taken(2), result(merged)), 'turn.ended')).toEqual([1, 2]);
    const other = run(...taken(1), result({ origin: { kind: 'task-notification' } }));
    expect(other.at(-1)).toEqual({ type: 'foreground.idle', generation: 0 });
  });

  it('CSM4: idle is told with a generation only when that has spoken', () => {
    const idle = system('session_state_changed', { state: 'idle' });
    expect(run(...taken(1), idle).at(-1)).toEqual({ type: 'foreground.idle', generation: 0 });
    expect(run(...taken(1), text('hi'), idle).at(-1)).toEqual({ type: 'foreground.idle', generation: 1 });
    expect(run(system('session_state_changed', { state: 'running' }))).toEqual([]);
  });

  it('usage comes once, with the result', () => {
    const all = run(...taken(1), result({ usage: { input_tokens: 3, service_tier: 'standard' }, total_cost_usd: 0.5 }));
    expect(all.filter(({ type }) => type === 'usage')).toEqual([
      { type: 'usage', generation: 1, usage: { input_tokens: 3, total_cost_usd: 0.5 } },
    ]);
  });

  it('how it ended', () => {
    const reason = (...steps: (MappingStep | Message)[]) => run(...taken(1), ...steps).at(-1);
    expect(reason(result({ stop_reason: 'refusal' }))).toMatchObject({ stopReason: 'refusal' });
    expect(reason(result({ subtype: 'error_max_turns' }))).toMatchObject({ stopReason: 'error_max_turns' });
    expect(reason({ step: 'cancelled', generation: 1 }, result({ subtype: 'error_during_execution' }))).toMatchObject({
      stopReason: 'cancelled',
    });
  });

  it('words that came in pieces are not told again as a whole', () => {
    const piece = (event: Message): Message => ({ type: 'stream_event', event, parent_tool_use_id: null });
    const all = run(
      ...taken(1),
      piece({ type: 'message_start', message: { id: 'msg' } }),
      piece({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'who' } }),
      piece({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'le' } }),
      text('whole'),
      text('another', { message: { id: 'other', content: [{ type: 'text', text: 'another' }] } }),
    );
    expect(all.flatMap((frame) => (frame.type === 'output' ? [frame.text] : []))).toEqual(['who', 'le', 'another']);
  });

  it('a child names its parent, and belongs to the generation of that', () => {
    const child = text('child', { parent_tool_use_id: 'agent' });
    expect(run(...taken(1), toolUse('agent', 'Agent'), result(), child).at(-1)).toEqual({
      type: 'output',
      generation: 1,
      text: 'child',
      channel: 'message',
      parentToolCallId: 'agent',
    });
  });
});

it('G16: whatever is sent gives no frame and does no harm', () => {
  const garbage = [
    undefined,
    null,
    7,
    [],
    {},
    { type: 'assistant' },
    { type: 'assistant', message: { content: 'text' } },
    { type: 'assistant', message: { content: [null, 7, { type: 'tool_use' }, { type: 'text', text: 7 }] } },
    { type: 'user', message: { content: [{ type: 'tool_result' }] } },
    { type: 'stream_event', event: null },
    { type: 'system' },
    system('task_started', {}),
    system('task_updated', { task_id: 't', patch: 'none' }),
    system('from the future', {}),
  ];
  expect(frames(...garbage)).toEqual([]);
});

/** The SDK's side by hand. */
class ScriptedQuery {
  parts: ClaudeQueryParts | null = null;
  interrupts = 0;
  closes = 0;
  readonly #messages: unknown[] = [];
  #ending: { error: unknown } | 'ended' | null = null;
  #wake: () => void = () => {};
  #input: AsyncIterator<ClaudeUserMessage> | null = null;

  readonly start = (parts: ClaudeQueryParts) => {
    this.parts = parts;
    this.#input = parts.input[Symbol.asyncIterator]();
    return Object.assign(this.#read(), {
      interrupt: async () => {
        this.interrupts += 1;
      },
      close: () => {
        this.closes += 1;
        this.end();
      },
    });
  };

  async *#read(): AsyncGenerator<unknown> {
    for (;;) {
      while (this.#messages.length > 0) yield this.#messages.shift();
      if (this.#ending !== null) {
        if (this.#ending === 'ended') return;
        throw this.#ending.error;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  take(): Promise<IteratorResult<ClaudeUserMessage>> {
    return (this.#input as AsyncIterator<ClaudeUserMessage>).next();
  }
  say(message: unknown): void {
    this.#messages.push(message);
    this.#wake();
  }
  end(error?: unknown): void {
    this.#ending = error === undefined ? 'ended' : { error };
    this.#wake();
  }
}

describe('the agent', () => {
  function begin(signal?: AbortSignal) {
    const sdk = new ScriptedQuery();
    const agent = claudeAgentSdkAgent({ query: sdk.start, executionId: 'execution-one', signal });
    return { sdk, agent, reader: new FrameReader(agent) };
  }

  it('CAS1: a prompt is accepted when its message is taken, and ended by its result', async () => {
    const { sdk, agent, reader } = begin();
    const ended = agent.prompt('hello', promptContext(3));
    expect(reader.frames).toEqual([]);
    const { value } = await sdk.take();
    expect(value).toMatchObject({
      type: 'user',
      message: { role: 'user', content: 'hello' },
      parent_tool_use_id: null,
      origin: { kind: 'human' },
      uuid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/),
    });
    await reader.until('prompt.accepted');
    sdk.say(text('hi', { user_message_uuid: value.uuid }));
    sdk.say(result({ user_message_uuid: value.uuid }));
    expect(await ended).toEqual({ stopReason: 'end_turn' });
    expect(reader.frames).toMatchObject([
      { type: 'prompt.accepted', generation: 3 },
      { type: 'output', generation: 3 },
      { type: 'turn.ended', generation: 3 },
    ]);
  });

  it('a synthetic prompt is not told to be a person; blocks pass through', async () => {
    const { sdk, agent } = begin();
    agent.prompt([{ type: 'text', text: 'wake' }], promptContext(1, { origin: 'synthetic' })).catch(() => {});
    const { value } = await sdk.take();
    expect(value.origin).toBeUndefined();
    expect(value.message.content).toEqual([{ type: 'text', text: 'wake' }]);
  });

  it('a cancel withdraws what was not taken, and interrupts what was, once', async () => {
    const { sdk, agent } = begin();
    const untaken = agent.prompt('one', promptContext(1));
    await agent.cancel?.(1);
    await expect(untaken).rejects.toMatchObject({ code: 'prompt.interrupted' });
    expect(sdk.interrupts).toBe(0);
    const abort = new AbortController();
    const taken = agent.prompt('two', promptContext(2, { signal: abort.signal }));
    expect((await sdk.take()).value.message.content).toBe('two');
    abort.abort();
    await agent.cancel?.(2);
    expect(sdk.interrupts).toBe(1);
    sdk.say(result({ subtype: 'error_during_execution' }));
    expect(await taken).toEqual({ stopReason: 'cancelled' });
  });

  it('CAS3: a tool is used when a person allows it', async () => {
    const { sdk, agent, reader } = begin();
    const title = 'Claude wants to list the files';
    const ask = (signal?: AbortSignal): Promise<ClaudePermission> =>
      (sdk.parts as ClaudeQueryParts).canUseTool('Bash', { command: 'ls' }, { ...(signal && { signal }), toolUseID: 't', title });
    const allowed = ask();
    expect(await reader.until('permission.request')).toMatchObject({
      requestId: 'permission-1',
      title,
      options: [{ optionId: 'allow', tool: 'Bash', input: { command: 'ls' } }, { optionId: 'deny' }],
    });
    await agent.answer?.('permission-1', { optionId: 'allow' });
    expect(await allowed).toEqual({ behavior: 'allow', updatedInput: { command: 'ls' } });
    const denied = ask();
    await agent.answer?.('permission-2', { optionId: 'deny', message: 'not here' });
    expect(await denied).toEqual({ behavior: 'deny', message: 'not here' });
    const abort = new AbortController();
    const withdrawn = ask(abort.signal);
    abort.abort();
    expect(await withdrawn).toMatchObject({ behavior: 'deny' });
    expect(() => agent.answer?.('permission-3', 'allow')).toThrow(expect.objectContaining({ code: 'request.not_found' }));
  });

  it.each([
    ['returns', undefined],
    ['throws', new Error('process exited')],
  ])('G16: a stream that %s in mid-turn takes its prompts along', async (_, error) => {
    const { sdk, agent, reader } = begin();
    const open = agent.prompt('one', promptContext(1));
    await sdk.take();
    sdk.end(error);
    await expect(open).rejects.toMatchObject({ code: 'agent.gone' });
    if (error === undefined) await reader.ended;
    else await expect(reader.ended).rejects.toMatchObject({ code: 'agent.gone' });
    await expect(agent.prompt('two', promptContext(2))).rejects.toMatchObject({ code: 'agent.gone' });
  });

  it('ends by close or by its signal: input, stream and query', async () => {
    const abort = new AbortController();
    const { sdk, agent, reader } = begin(abort.signal);
    const waiting = sdk.take();
    abort.abort();
    await reader.ended;
    expect(await waiting).toEqual({ done: true, value: undefined });
    await agent.close();
    expect(sdk.closes).toBeGreaterThan(0);
  });

  it('that cannot be made has failed to start', () => {
    const query = () => {
      throw new Error('no binary');
    };
    expect(() => claudeAgentSdkAgent({ query, agentId: 'claude' })).toThrow(
      expect.objectContaining({ code: 'agent.start_failed', details: { agentId: 'claude', message: 'no binary' } }),
    );
    const reason = new Error('not wanted');
    expect(() => claudeAgentSdkAgent({ query, signal: AbortSignal.abort(reason) })).toThrow(reason);
  });
});
