import { describe, expect, it } from 'vitest';
import { AcpV2Mapping } from '../../src/adapters/acp-v2-mapping.ts';
import type { MappingStep } from '../../src/adapters/frame-mapping.ts';
import type { Frame } from '../../src/model/agent.ts';

type Update = Readonly<Record<string, unknown>>;

const told = (message: unknown): MappingStep => ({ step: 'told', message });
const state = (name: string, more: Update = {}): MappingStep => told({ sessionUpdate: 'state_update', state: name, ...more });
const sent = (generation: number): MappingStep => ({ step: 'prompt', generation });
const accepted = (generation: number): MappingStep => ({ step: 'accepted', generation });
const say = (text: string): MappingStep =>
  told({ sessionUpdate: 'agent_message_chunk', messageId: 'm1', content: { type: 'text', text } });
const tool = (toolCallId: string, more: Update = {}): MappingStep =>
  told({ sessionUpdate: 'tool_call_update', toolCallId, ...more });
const end = { stopReason: 'end_turn' };

function frames(...steps: MappingStep[]): Frame[] {
  const mapping = new AcpV2Mapping();
  return steps.flatMap((step) => mapping.step(step));
}
const last = (...steps: MappingStep[]): Frame | undefined => frames(...steps).at(-1);

describe('AVM2: which idle ends a turn', () => {
  const ended = { type: 'turn.ended', generation: 1, stopReason: 'end_turn' };
  const idle = { type: 'foreground.idle', generation: 0 };

  it('the change to idle of an accepted prompt', () => {
    expect(last(sent(1), accepted(1), state('running'), state('idle', end))).toEqual(ended);
    expect(last(sent(1), state('running'), accepted(1), state('idle', end))).toEqual(ended);
    expect(last(sent(1), accepted(1), state('requires_action'), state('idle', end))).toEqual(ended);
  });

  it('not idle told again, for example because background work has ended', () => {
    const all = frames(sent(1), accepted(1), state('idle', end), state('running'), state('idle', end), state('idle', end));
    expect(all).toEqual([{ type: 'prompt.accepted', generation: 1 }, idle, ended, idle]);
  });

  it('not that of work which went on when the prompt was sent and ended before it was accepted', () => {
    const all = frames(state('running'), sent(1), state('idle', end), accepted(1));
    expect(all.at(-1)).toEqual({ type: 'prompt.accepted', generation: 1 });
    expect(last(state('running'), sent(1), state('idle', end), accepted(1), state('running'), state('idle', end))).toEqual(ended);
  });

  it('that of a turn which lay between the prompt and its answer', () => {
    expect(last(sent(1), state('running'), state('idle', end), accepted(1))).toEqual(ended);
  });

  it('none without a prompt', () => {
    expect(frames(state('running'), state('idle', end))).toEqual([idle]);
  });

  it('any idle once it was cancelled', () => {
    expect(
      last(sent(1), accepted(1), { step: 'cancelled', generation: 1 }, state('idle', { stopReason: 'cancelled' })),
    ).toMatchObject({ type: 'turn.ended', stopReason: 'cancelled' });
  });

  it('none of a prompt that was refused', () => {
    expect(last(sent(1), state('running'), { step: 'refused', generation: 1 }, state('idle', end))).toEqual(idle);
  });

  it('a stop reason that is left out is unspecified; a state that is not known is no idle', () => {
    expect(last(sent(1), accepted(1), state('running'), state('idle'))).toMatchObject({ stopReason: 'unspecified' });
    expect(frames(sent(1), accepted(1), state('_dreaming', { background: [] }))).toHaveLength(1);
  });
});

describe('AVM3: lists of background work', () => {
  const listed = (background: unknown, ...before: MappingStep[]) =>
    frames(...before, state('running', { background })).filter(({ type }) => type === 'workload.snapshot');

  it('left out says nothing, [] says that nothing runs', () => {
    expect(listed(undefined)).toEqual([]);
    expect(listed(null)).toEqual([]);
    expect(listed([])).toEqual([{ type: 'workload.snapshot', generation: 0, workloads: [] }]);
  });

  it.each([['text'], [{}], [[7]], [[{ type: 'terminal' }]], [[{ type: 'tool_call', toolCallId: 7 }]], [[{ terminalId: 't' }]]])(
    'a malformed list says nothing: %j',
    (background) => {
      expect(listed(background)).toEqual([]);
    },
  );

  it.each([
    ['Agent', 'subagent'],
    ['subagent', 'subagent'],
    ['Monitor', 'monitor'],
    ['workflow', 'shell'],
    ['constructor', 'shell'],
    [undefined, 'shell'],
  ])('the tool %s launches work of kind %s', (name, kind) => {
    expect(listed([{ type: 'tool_call', toolCallId: 't' }], tool('t', { name }))).toMatchObject([
      { workloads: [{ workloadId: 't', kind, toolCallId: 't' }] },
    ]);
  });

  it('terminals are shells; what was never announced has no kind; what is not known is something all the same', () => {
    const announced = told({ sessionUpdate: 'terminal_update', terminalId: 'one' });
    const embedded = tool('t', { content: [{ type: 'terminal', terminalId: 'two' }] });
    const background = [
      { type: 'terminal', terminalId: 'one' },
      { type: 'terminal', terminalId: 'two' },
      { type: 'terminal', terminalId: 'three' },
      { type: 'tool_call', toolCallId: 'four' },
      { type: '_elsewhere', id: 'five' },
      { type: '_nowhere' },
    ];
    expect(listed(background, announced, embedded)).toMatchObject([
      {
        workloads: [
          { workloadId: 'one', kind: 'shell' },
          { workloadId: 'two', kind: 'shell' },
          { workloadId: 'three' },
          { workloadId: 'four', toolCallId: 'four' },
          { workloadId: 'five' },
          { workloadId: '_nowhere#5' },
        ],
      },
    ]);
  });

  it('the end of listed work is told by its id, once; output of it is a sign of life', () => {
    const start = [
      told({ sessionUpdate: 'terminal_update', terminalId: 't' }),
      state('running', { background: [{ type: 'terminal', terminalId: 't' }] }),
    ];
    const exit = told({ sessionUpdate: 'terminal_update', terminalId: 't', exitStatus: {} });
    const output = told({ sessionUpdate: 'terminal_output_chunk', terminalId: 't', data: '' });
    expect(frames(...start, output, exit, exit, output).slice(1)).toEqual([
      { type: 'workload.started', generation: 0, kind: 'shell', workloadId: 't' },
      { type: 'workload.ended', generation: 0, workloadId: 't' },
    ]);
  });
});

describe('generations', () => {
  it('output is of the accepted prompt; before that of none', () => {
    const all = frames(sent(3), say('early'), accepted(3), state('running'), say('mine'), state('idle', end), say('late'));
    expect(all.flatMap((frame) => (frame.type === 'output' ? [frame.generation] : []))).toEqual([0, 3, 0]);
  });

  it('a tool call keeps the generation of its announcement', () => {
    const first = [sent(1), accepted(1), state('running'), tool('t', { status: 'in_progress' }), state('idle', end)];
    const second = [sent(2), accepted(2), state('running')];
    expect(last(...first, ...second, tool('t', { status: 'completed' }))).toEqual({
      type: 'tool.update',
      generation: 1,
      toolCallId: 't',
      status: 'completed',
    });
  });

  it('AVM4: a tool that is announced while idle is no foreground', () => {
    expect(last(tool('t', { status: 'in_progress' }))).toMatchObject({ type: 'tool.update', generation: 0 });
    expect(last(state('running'), tool('t', { status: 'in_progress' }))).toMatchObject({ type: 'tool.call', generation: 0 });
  });
});

describe('messages', () => {
  const whole = told({ sessionUpdate: 'agent_message', messageId: 'm1', content: [{ type: 'text', text: 'whole' }] });

  it('as a whole are told once', () => {
    expect(frames(whole, whole)).toMatchObject([{ type: 'output', text: 'whole', channel: 'message' }]);
  });

  it('that were told in pieces are not told again as a whole', () => {
    expect(frames(say('wh'), say('ole'), whole)).toHaveLength(2);
  });
});

it.each([
  ['pending', 'pending'],
  ['in_progress', 'running'],
  ['paused', 'pending'],
  ['completed', 'completed'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
  ['_resting', 'running'],
  [null, 'pending'],
])('the status %s is %s', (status, expected) => {
  expect(last(tool('t', { status }))).toMatchObject({ status: expected });
});

it('G16: whatever is sent gives no frame and does no harm', () => {
  const garbage = [
    undefined,
    null,
    7,
    'text',
    [],
    {},
    { sessionUpdate: 7 },
    { sessionUpdate: 'toString' },
    { sessionUpdate: 'tool_call_update' },
    { sessionUpdate: 'tool_call_update', toolCallId: {} },
    { sessionUpdate: 'tool_call_content_chunk', content: {} },
    { sessionUpdate: 'terminal_update', terminalId: 7, exitStatus: {} },
    { sessionUpdate: 'agent_message', messageId: 'x', content: 'text' },
    { sessionUpdate: 'agent_message_chunk' },
    { sessionUpdate: 'usage_update' },
  ];
  expect(frames(...garbage.map(told))).toEqual([]);
});
