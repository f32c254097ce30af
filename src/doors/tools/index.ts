/** Tools with which a model hands work off, looks at it, waits for it and stops it (spec 10). */
import type { Offstage } from '../../engine/offstage.ts';
import { agentTool } from './agent.ts';
import { awaitTasksTool } from './await-tasks.ts';
import { jobOutputTool } from './job-output.ts';
import { jobStopTool } from './job-stop.ts';
import { listJobsTool } from './list-jobs.ts';
import type { AgentTool } from './tool.ts';

export { type AiSdkTool, toAiSdkTools } from './ai-sdk.ts';
export type { AgentTool, ToolContext, ToolParameters } from './tool.ts';

/**
 * For an agent: `agent`, `job_output`, `job_stop`, `list_jobs`.
 * @example
 * const [agent] = agentTools(offstage);
 * const text = await agent.execute({ prompt: 'Find out why the build fails.', description: 'probe the build' }, { sessionId });
 */
export const agentTools = (offstage: Offstage): readonly AgentTool[] => [
  agentTool(offstage),
  jobOutputTool(offstage),
  jobStopTool(offstage),
  listJobsTool(offstage),
];

/**
 * For a planner: the tools of an agent, and `await_tasks`.
 * @example
 * const tools = plannerTools(offstage);
 * const wait = tools.find(({ name }) => name === 'await_tasks');
 */
export const plannerTools = (offstage: Offstage): readonly AgentTool[] => [...agentTools(offstage), awaitTasksTool(offstage)];
