import { describe, expect, it } from 'vitest';
import { acpV2Agent } from '../../src/adapters/acp-v2-agent.ts';
import type { JsonValue } from '../../src/model/json.ts';
import { promptContext } from './agent-context.ts';
import { FrameReader } from './read-frames.ts';
import { ScriptedAcp, V2_ANSWERS } from './scripted-acp.ts';

async function connect(answers: Record<string, JsonValue> = {}, options: { conversationId?: string } = {}) {
  const provider = new ScriptedAcp({ ...V2_ANSWERS, ...answers });
  const agent = await acpV2Agent({ ...provider.pair.host, cwd: '/srv', agentId: 'example', ...options });
  return { provider, agent, reader: new FrameReader(agent) };
}

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
});
