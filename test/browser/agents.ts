/** Sessions whose agents do what a test says. */
import { type MockAgent, type MockAgentScript, type MockPrompt, mockAgent } from '../../src/adapters/mock-agent.ts';
import type { Attestation } from '../../src/model/agent.ts';
import type { JsonValue } from '../../src/model/json.ts';
import type { Dashboard } from './open-page.ts';

const ATTESTS: Attestation = { workloads: ['subagent', 'shell', 'monitor'], yield: true, handoff: true, snapshot: true };

/** A mock that vouches for everything. */
export const vouchingAgent = (script: MockAgentScript = {}): MockAgent => mockAgent({ attests: ATTESTS, ...script });

/** A session, in a task of its own, in the middle of its first turn. */
export async function generate(
  { offstage }: Pick<Dashboard, 'offstage'>,
  mock: MockAgent,
  { sessionId = 's1', taskId = 't1', title = 'Find the fault' } = {},
): Promise<MockPrompt> {
  await offstage.tasks.create({ taskId, title });
  await offstage.sessions.create({ sessionId, taskId });
  const taken = mock.nextPrompt();
  await offstage.sessions.prompt(sessionId, { content: 'begin' });
  const prompt = await taken;
  prompt.agent.emit({ type: 'capability', generation: 0, handoff: true, snapshot: true });
  return prompt;
}

/** Something goes on behind the turn. */
export const launch = (
  { agent, generation }: MockPrompt,
  workloadId = 'w1',
  kind: 'subagent' | 'shell' | 'monitor' = 'subagent',
): void => void agent.emit({ type: 'workload.started', generation, kind, workloadId });

export const finish = ({ agent }: MockPrompt, workloadId = 'w1'): void =>
  void agent.emit({ type: 'workload.ended', generation: 0, workloadId });

/** A session whose agent is free, with a subagent behind it. */
export async function workBehind(dashboard: Pick<Dashboard, 'offstage'>, mock: MockAgent, where = {}): Promise<MockPrompt> {
  const prompt = await generate(dashboard, mock, where);
  launch(prompt);
  prompt.end();
  return prompt;
}

const CHOICES: readonly JsonValue[] = [
  { optionId: 'allow', name: 'Allow' },
  { optionId: 'deny', name: 'Deny' },
];

/** The agent asks a person. */
export const ask = (
  { agent, generation }: MockPrompt,
  kind: 'permission' | 'clarification',
  options: readonly JsonValue[] = CHOICES,
  { requestId = 'r1', ...about }: { readonly requestId?: string; readonly title?: string } = {},
): void => void agent.emit({ type: 'permission.request', generation, requestId, kind, ...about, options });
