/** What a factory is given, for tests of adapters alone. */
import type { AgentContext, PromptContext } from '../../src/model/agent.ts';

export function agentContext(overrides: Partial<AgentContext> = {}): AgentContext {
  return {
    agentId: 'default',
    sessionId: 'session-one',
    taskId: 'task-one',
    jobId: null,
    contextMode: null,
    conversationId: null,
    signal: new AbortController().signal,
    execution: {
      executionId: 'execution-one',
      launched: async () => {},
      graceMs: null,
      killAfterMs: 1000,
      onForce: () => {},
      survivors: () => {},
    },
    ...overrides,
  };
}

export function promptContext(generation: number, overrides: Partial<PromptContext> = {}): PromptContext {
  return { generation, origin: 'human', signal: new AbortController().signal, ...overrides };
}
