/** Who a tool call belongs to (liveness 6). */
import { describe, expect, it } from 'vitest';
import { ToolCalls } from '../../src/engine/tool-calls.ts';
import { LIMITS } from '../../src/model/limits.ts';

type Evidence = Parameters<ToolCalls['note']>[2];
const CALL: Evidence = { hasParent: false, isWork: false, isCall: true, generation: 1 };
const UPDATE: Evidence = { ...CALL, isCall: false };

describe('the first frame decides', () => {
  it.each([
    ['a call', CALL, 'foreground'],
    ['a call that is work', { ...CALL, isWork: true }, 'background'],
    ['a call with a parent', { ...CALL, hasParent: true }, 'child'],
    ['a call with a parent that is work', { ...CALL, hasParent: true, isWork: true }, 'child'],
    ['an update', UPDATE, null],
    ['an update that is work', { ...UPDATE, isWork: true }, 'background'],
    ['an update with a parent', { ...UPDATE, hasParent: true }, 'child'],
  ] as const)('TCL1: %s -> %s', (_, evidence, owner) => {
    const tools = new ToolCalls();
    expect([tools.note('e', 't', evidence), tools.ownerOf('e', 't')]).toEqual([owner, owner]);
  });

  it('an update of an unknown call makes it no better known for the next one', () => {
    const tools = new ToolCalls();
    tools.note('e', 't', UPDATE);
    expect([tools.note('e', 't', UPDATE), tools.note('e', 't', CALL)]).toEqual([null, 'foreground']);
  });
});

describe('later frames', () => {
  it.each([
    ['foreground', CALL, UPDATE, 'foreground'],
    ['foreground', CALL, { ...UPDATE, isWork: true }, 'background'],
    ['foreground', CALL, { ...UPDATE, hasParent: true }, 'child'],
    ['background', { ...CALL, isWork: true }, UPDATE, 'background'],
    ['background', { ...CALL, isWork: true }, CALL, 'background'],
    ['background', { ...CALL, isWork: true }, { ...UPDATE, hasParent: true }, 'child'],
    ['child', { ...CALL, hasParent: true }, UPDATE, 'child'],
    ['child', { ...CALL, hasParent: true }, CALL, 'child'],
    ['child', { ...CALL, hasParent: true }, { ...UPDATE, isWork: true }, 'child'],
  ] as const)('TCL1, TCL2: %s stays what it was, or becomes what the frame proves (%#)', (first, initial, later, owner) => {
    const tools = new ToolCalls();
    expect(tools.note('e', 't', initial)).toBe(first);
    expect([tools.note('e', 't', later), tools.note('e', 't', UPDATE), tools.ownerOf('e', 't')]).toEqual([owner, owner, owner]);
  });

  it('TCL3: of another execution prove nothing', () => {
    const tools = new ToolCalls();
    tools.note('e', 't', CALL);
    expect([tools.ownerOf('f', 't'), tools.note('f', 't', UPDATE)]).toEqual([null, null]);
    tools.note('f', 't', { ...CALL, hasParent: true });
    expect([tools.ownerOf('e', 't'), tools.ownerOf('f', 't')]).toEqual(['foreground', 'child']);
  });
});

describe('a mere launch', () => {
  it('is told of a known call and of one that was never told; neither is the foreground’s', () => {
    const tools = new ToolCalls();
    tools.note('e', 'known', { ...CALL, isWork: true });
    tools.noteDetached('e', 'known');
    tools.noteDetached('e', 'new');
    expect([tools.isDetached('e', 'known'), tools.isDetached('e', 'new'), tools.isDetached('f', 'new')]).toEqual([
      true,
      true,
      false,
    ]);
    expect([tools.note('e', 'known', CALL), tools.note('e', 'new', CALL)]).toEqual(['background', 'background']);
  });

  it('TCL5: is remembered beyond the end of its call, and not beyond its execution', () => {
    const tools = new ToolCalls();
    tools.noteDetached('e', 't');
    tools.forget('e', 't');
    expect(tools.isDetached('e', 't')).toBe(true);
    tools.retireExecution('e');
    expect([tools.isDetached('e', 't'), tools.note('e', 't', CALL)]).toEqual([false, 'foreground']);
  });

  it('is no foreground call, also when it looked like one', () => {
    const tools = new ToolCalls();
    tools.note('e', 't', CALL);
    tools.noteDetached('e', 't');
    expect(tools.note('e', 't', UPDATE)).toBe('background');
  });
});

describe('TCL4: what is forgotten', () => {
  it('one call at its end, all at the end of their execution', () => {
    const tools = new ToolCalls();
    for (const id of ['a', 'b']) tools.note('e', id, CALL);
    tools.note('f', 'a', CALL);
    tools.forget('e', 'a');
    tools.forget('z', 'a');
    expect([tools.ownerOf('e', 'a'), tools.ownerOf('e', 'b'), tools.ownerOf('f', 'a')]).toEqual([
      null,
      'foreground',
      'foreground',
    ]);
    tools.retireExecution('e');
    expect([tools.ownerOf('e', 'b'), tools.ownerOf('f', 'a')]).toEqual([null, 'foreground']);
  });

  it('a turn sweeps the foreground calls it has opened, and no others', () => {
    const tools = new ToolCalls();
    tools.note('e', 'mine', CALL);
    tools.note('e', 'earlier', { ...CALL, generation: 0 });
    tools.note('e', 'work', { ...CALL, isWork: true });
    tools.note('e', 'child', { ...CALL, hasParent: true });
    tools.note('f', 'other', CALL);
    tools.sweep('e', 1);
    tools.sweep('z', 1);
    expect(['mine', 'earlier', 'work', 'child'].map((id) => tools.ownerOf('e', id))).toEqual([
      null,
      'foreground',
      'background',
      'child',
    ]);
    expect(tools.ownerOf('f', 'other')).toBe('foreground');
  });

  it('the oldest, when an execution calls more tools than are remembered', () => {
    const tools = new ToolCalls();
    for (let index = 0; index <= LIMITS.toolCallsPerExecution; index++) tools.note('e', `t${index}`, CALL);
    expect([tools.ownerOf('e', 't0'), tools.ownerOf('e', 't1')]).toEqual([null, 'foreground']);
  });
});
