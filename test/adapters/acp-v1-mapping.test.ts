/** Rows of the cases on ACP v1 with and without Claude metadata, at the level of the adapter: what it tells, not what is made of it. */
import { describe, expect, it } from 'vitest';
import { AcpV1Mapping } from '../../src/adapters/acp-v1-mapping.ts';
import { FixtureReplay } from '../../src/adapters/adapter-fixture.ts';
import { claimsHandoff } from '../../src/adapters/claude-metadata.ts';
import type { MappingStep } from '../../src/adapters/frame-mapping.ts';
import type { Frame } from '../../src/model/agent.ts';
import { fixturePair, fixturePairs } from './fixture-files.ts';

type Update = Readonly<Record<string, unknown>>;

const told = (message: Update): MappingStep => ({ step: 'told', message });
const prompt = (generation: number): MappingStep[] => [
  { step: 'prompt', generation },
  { step: 'accepted', generation },
];
const answered = (generation: number, stopReason = 'end_turn'): MappingStep => ({ step: 'answered', generation, stopReason });
const call = (toolCallId: string, toolName: string, more: Update = {}, meta: Update = {}): MappingStep =>
  told({ sessionUpdate: 'tool_call', toolCallId, status: 'pending', ...more, _meta: { claudeCode: { toolName, ...meta } } });
const update = (toolCallId: string, more: Update, meta: Update = {}): MappingStep =>
  told({ sessionUpdate: 'tool_call_update', toolCallId, ...more, _meta: { claudeCode: meta } });
const say = (text: string): MappingStep => told({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
const usage = (origin: Update): MappingStep =>
  told({ sessionUpdate: 'usage_update', used: 10, size: 100, _meta: { '_claude/origin': origin } });

function frames(steps: readonly MappingStep[], metadata: 'claude' | null = 'claude'): Frame[] {
  const mapping = new AcpV1Mapping({ metadata: metadata ?? undefined });
  return steps.flatMap((step) => mapping.step(step));
}
const works = (all: readonly Frame[]) => all.flatMap((frame) => ('work' in frame && frame.work ? [frame.work] : []));
const ends = (all: readonly Frame[]) => all.filter(({ type }) => type === 'workload.ended');

describe('recognising background work by Claude metadata', () => {
  it('L15: a command is background work from the update on that carries its flag', () => {
    const [, callFrame, emptyFrame, flagged] = frames([
      ...prompt(1),
      call('bash', 'Bash', { rawInput: {} }),
      update('bash', { rawInput: { command: 'sleep 9' } }),
      update('bash', { rawInput: { command: 'sleep 9', run_in_background: true } }),
    ]);
    expect([callFrame, emptyFrame].every((frame) => frame !== undefined && !('work' in frame))).toBe(true);
    expect(flagged).toMatchObject({ type: 'tool.update', work: { kind: 'shell', isDetached: true } });
  });

  it('L16: the completed launch of a detached subagent is not its end', () => {
    const all = frames([
      ...prompt(1),
      call('agent', 'Agent', { rawInput: { run_in_background: true } }),
      update('agent', { status: 'completed' }, { toolResponse: { status: 'async_launched', agentId: 'a1' } }),
    ]);
    expect(all.at(-1)).toMatchObject({ status: 'completed', work: { kind: 'subagent', isDetached: true, workloadId: 'a1' } });
    expect(ends(all)).toEqual([]);
  });

  it('a launch that failed has launched nothing', () => {
    const all = frames([
      ...prompt(1),
      call('bash', 'Bash', { rawInput: { command: 'x', run_in_background: true } }),
      update('bash', { status: 'failed' }),
      update('bash', { status: 'failed' }),
    ]);
    expect(ends(all)).toEqual([{ type: 'workload.ended', generation: 0, toolCallId: 'bash' }]);
  });

  it('a command in the foreground, and its end, are no background work', () => {
    const all = frames([
      ...prompt(1),
      call('bash', 'Bash', { rawInput: { command: 'ls' } }),
      update('bash', { status: 'completed', _meta: { terminal_exit: {} } }, { toolResponse: { stdout: '', stderr: '' } }),
    ]);
    expect([works(all), ends(all)]).toEqual([[], []]);
  });

  it('a completion without an id carries the id of its delivery, and notices of other things are no completions', () => {
    const all = frames([
      usage({ kind: 'task-notification', runId: 'r1' }),
      usage({ kind: 'task-notification' }),
      usage({ kind: 'task-notification', subkind: 'scheduled-trigger' }),
      usage({ kind: 'peer' }),
    ]);
    expect(ends(all)).toEqual([
      { type: 'workload.ended', generation: 0, eventId: 'r1' },
      { type: 'workload.ended', generation: 0 },
    ]);
  });

  it('what a child says names its parent, and belongs to the generation of that', () => {
    const all = frames([
      ...prompt(1),
      call('agent', 'Agent'),
      answered(1),
      ...prompt(2),
      call('child', 'Bash', {}, { parentToolUseId: 'agent' }),
      told({
        sessionUpdate: 'agent_message_chunk',
        content: { type: 'text', text: 'child' },
        _meta: { claudeCode: { parentToolUseId: 'agent' } },
      }),
    ]);
    expect(all.slice(-2)).toMatchObject([
      { type: 'tool.call', generation: 1, parentToolCallId: 'agent' },
      { type: 'output', generation: 1, parentToolCallId: 'agent' },
    ]);
  });
});

describe('L21, L123: without the configured metadata nothing is recognised, whatever the agent says or is called', () => {
  const pairs = fixturePairs.filter(({ adapter }) => adapter === 'acp-v1-claude');

  it.each(pairs)('$name ($kind)', ({ launch, end }) => {
    const all = new FixtureReplay().frames({ adapter: 'acp-v1', steps: [...launch.steps, ...end.steps] });
    const types = new Set(all.map(({ type }) => type));
    expect(types.has('capability') || types.has('foreground.idle') || types.has('workload.ended')).toBe(false);
    expect(works(all)).toEqual([]);
    expect(all.some((frame) => 'parentToolCallId' in frame)).toBe(false);
  });

  it('L123: a name that looks like the right one changes nothing', () => {
    const named: MappingStep = {
      step: 'connected',
      message: {
        agentInfo: { name: '@agentclientprotocol/claude-agent-acp' },
        agentCapabilities: { _meta: { claudeCode: { promptQueueing: true } } },
      },
    };
    expect(frames([named, ...prompt(1), call('agent', 'Agent')], null)).toEqual([
      { type: 'prompt.accepted', generation: 1 },
      { type: 'tool.call', generation: 1, toolCallId: 'agent', status: 'pending' },
    ]);
  });
});

describe('hand-off', () => {
  it('L112: idle carries the generation of the open request; the next prompt is told while that is open', () => {
    const { launch, end } = fixturePair('acp-v1-claude-handoff');
    const replay = new FixtureReplay();
    const before = replay.frames({ adapter: 'acp-v1-claude', steps: launch.steps });
    expect(before[0]).toEqual({ type: 'capability', generation: 0, handoff: true, snapshot: false });
    expect(before.at(-1)).toEqual({ type: 'foreground.idle', generation: 41 });
    const after = replay.frames({ adapter: 'acp-v1-claude', steps: end.steps });
    expect(after.slice(0, 3)).toMatchObject([
      { type: 'prompt.accepted', generation: 42 },
      { type: 'turn.ended', generation: 41 },
      { type: 'tool.call', toolCallId: 'toolu_child', parentToolCallId: 'toolu_agent' },
    ]);
    expect(after.filter(({ type }) => type === 'output')).toMatchObject([{ generation: 42 }]);
  });

  it.each([
    ['no meta', { agentCapabilities: {} }],
    ['no namespace', { agentCapabilities: { _meta: {} } }],
    ['a namespace that is text', { agentCapabilities: { _meta: { claudeCode: 'yes' } } }],
    ['a namespace that is a list', { agentCapabilities: { _meta: { claudeCode: [{ promptQueueing: true }] } } }],
    ['a missing key', { agentCapabilities: { _meta: { claudeCode: {} } } }],
    ['text', { agentCapabilities: { _meta: { claudeCode: { promptQueueing: 'true' } } } }],
    ['a number', { agentCapabilities: { _meta: { claudeCode: { promptQueueing: 1 } } } }],
    ['false', { agentCapabilities: { _meta: { claudeCode: { promptQueueing: false } } } }],
    ['the key elsewhere', { _meta: { claudeCode: { promptQueueing: true } } }],
    ['nothing at all', undefined],
    ['a list', []],
  ])('L115: %s is no capability', (_, message) => {
    expect(claimsHandoff(message)).toBe(false);
    expect(frames([{ step: 'connected', message }])).toEqual([
      { type: 'capability', generation: 0, handoff: false, snapshot: false },
    ]);
  });

  it('with two requests open and no yield between them, output belongs to none that can be proven', () => {
    const all = frames([...prompt(1), ...prompt(2), say('whose?'), answered(1), say('mine')]);
    expect(all.filter(({ type }) => type === 'output').map(({ generation }) => generation)).toEqual([0, 2]);
  });

  it('after a yield output belongs to the later request, and idle to none while both are open', () => {
    const all = frames([...prompt(1), usage({ kind: 'human' }), ...prompt(2), say('two'), usage({ kind: 'human' })]);
    expect(all.slice(-4)).toMatchObject([
      { type: 'prompt.accepted', generation: 2 },
      { type: 'output', generation: 2 },
      { type: 'usage', generation: 2 },
      { type: 'foreground.idle', generation: 0 },
    ]);
  });

  it('a request that is not written yet has caused nothing', () => {
    const all = frames([{ step: 'prompt', generation: 1 }, say('not mine'), { step: 'accepted', generation: 1 }, say('mine')]);
    expect(all.filter(({ type }) => type === 'output').map(({ generation }) => generation)).toEqual([0, 1]);
  });

  it('L120: usage is told once for each cycle, and the late answer of the earlier request adds none', () => {
    const all = frames([...prompt(1), usage({ kind: 'human' }), ...prompt(2), answered(1), answered(1), answered(2)]);
    expect(all.filter(({ type }) => type === 'usage')).toEqual([
      { type: 'usage', generation: 1, usage: { used: 10, size: 100 } },
    ]);
    expect(all.filter(({ type }) => type === 'turn.ended').map(({ generation }) => generation)).toEqual([1, 2]);
  });
});

describe('L124: monitors', () => {
  const completed = (meta: Update = {}) => update('monitor', { status: 'completed' }, meta);
  const command = update('monitor', { rawInput: { command: 'tail -f log' } });

  it('need a command and a completed launch; neither alone will do', () => {
    const start = [...prompt(1), call('monitor', 'Monitor', { rawInput: {} })];
    expect(works(frames([...start, completed({ toolResponse: { taskId: 'm1' } })]))).toEqual([]);
    expect(works(frames([...start, command, update('monitor', { status: 'in_progress' })]))).toEqual([]);
    expect(works(frames([...start, command, completed({ toolResponse: { taskId: 'm1' } })]))).toEqual([
      { kind: 'monitor', isDetached: true, workloadId: 'm1' },
    ]);
  });

  it('a launch told again is no end; a completion is one, once', () => {
    const launched = completed({ toolResponse: { taskId: 'm1' } });
    const start = [...prompt(1), call('monitor', 'Monitor'), command, launched];
    expect(ends(frames([...start, launched]))).toEqual([]);
    expect(ends(frames([...start, completed(), completed()]))).toEqual([
      { type: 'workload.ended', generation: 0, toolCallId: 'monitor', workloadId: 'm1' },
    ]);
  });

  it('the banner of the tool names its task as well', () => {
    const banner = update('monitor', { status: 'completed', rawOutput: 'Monitor started (task m7, timeout 300000ms)' });
    expect(works(frames([...prompt(1), call('monitor', 'Monitor'), command, banner]))).toMatchObject([{ workloadId: 'm7' }]);
  });

  it('a launch that failed watches nothing', () => {
    const all = frames([...prompt(1), call('monitor', 'Monitor'), command, update('monitor', { status: 'failed' })]);
    expect([works(all), ends(all)]).toEqual([[], []]);
  });

  it('one that was at work in the history ended with the restart; one that had ended is left as it was', () => {
    const history = (steps: readonly MappingStep[]): MappingStep[] =>
      steps.map((step) => (step.step === 'told' ? { step: 'replayed', message: step.message } : step));
    const launched = completed({ toolResponse: { taskId: 'm1' } });
    const watching = history([call('monitor', 'Monitor'), command, launched]);
    expect(frames([...watching, ...history([say('old words')]), { step: 'resumed' }])).toEqual([
      {
        type: 'tool.update',
        generation: 0,
        toolCallId: 'monitor',
        status: 'cancelled',
        title: 'Ended with the restart of the agent',
      },
    ]);
    expect(frames([...watching, ...history([completed()]), { step: 'resumed' }])).toEqual([]);
  });
});

describe('G16: whatever is sent', () => {
  const garbage: readonly unknown[] = [
    undefined,
    null,
    7,
    'text',
    [],
    {},
    { sessionUpdate: 'from the future', toolCallId: 'x' },
    { sessionUpdate: 'tool_call' },
    { sessionUpdate: 'tool_call', toolCallId: 7, status: {} },
    { sessionUpdate: 'agent_message_chunk', content: 'text' },
    { sessionUpdate: 'agent_message_chunk', content: { type: 'image', data: '' } },
    { sessionUpdate: 'usage_update', used: 'many', size: null },
    { sessionUpdate: 'usage_update', _meta: { '_claude/origin': 'human' } },
  ];

  it.each(['claude', null] as const)('metadata %s: it gives no frame and does no harm', (metadata) => {
    expect(frames([...prompt(1), ...garbage.map((message): MappingStep => ({ step: 'told', message }))], metadata)).toEqual([
      { type: 'prompt.accepted', generation: 1 },
    ]);
  });

  it('a tool call with fields of the wrong types is a tool call without them', () => {
    const odd = told({ sessionUpdate: 'tool_call', toolCallId: 't', title: 7, status: 7, rawInput: 'x', content: 'y', _meta: 7 });
    expect(frames([...prompt(1), odd]).at(-1)).toEqual({
      type: 'tool.call',
      generation: 1,
      toolCallId: 't',
      status: 'pending',
    });
  });
});
