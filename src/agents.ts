/** offstage/agents: agents as programs, adapters for what providers speak, and a mock for tests. Everything public, by name. */

export { type AcpProgramOptions, acpAgent } from './acp-agent.ts';
export type { AcpAgent } from './adapters/acp-session.ts';
export type { AcpAgentOptions } from './adapters/acp-start.ts';
export { type AcpV1AgentOptions, acpV1Agent } from './adapters/acp-v1-agent.ts';
export { acpV2Agent } from './adapters/acp-v2-agent.ts';
export { type AdapterFixture, type AdapterName, FixtureReplay } from './adapters/adapter-fixture.ts';
export {
  type ClaudeAgentSdkOptions,
  type ClaudePermission,
  type ClaudeQuery,
  type ClaudeQueryParts,
  type ClaudeUserMessage,
  claudeAgentSdkAgent,
} from './adapters/claude-agent-sdk.ts';
export { type ClaudeStreamState, claudeMessageFrames, claudeStreamState } from './adapters/claude-agent-sdk-mapping.ts';
export type { MappingStep } from './adapters/frame-mapping.ts';
export {
  type MockAgent,
  type MockAgentScript,
  type MockPrompt,
  type MockRunningAgent,
  mockAgent,
} from './adapters/mock-agent.ts';
export type { AgentProgram } from './executors/agent-process.ts';
export type {
  Agent,
  AgentContext,
  AgentFactory,
  AgentProfile,
  Agents,
  Attestation,
  Frame,
  PromptContent,
  PromptContext,
  PromptOrigin,
  ToolStatus,
  ToolWork,
  TurnEnd,
} from './model/agent.ts';
