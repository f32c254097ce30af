/** Which work of an agent is registered at all (liveness 5 W3, 6, 8), and which jobs a turn waits for (liveness 3). */
import { BoundedMap } from '../model/bounded-map.ts';
import type { WorkloadKind } from '../model/executor.ts';
import { LIMITS } from '../model/limits.ts';
import type { AgentExecution } from './agent-execution.ts';
import type { LiveJob } from './live-job.ts';
import type { LiveSession } from './live-session.ts';

/** How far the agent vouches for work of this kind; null: not at all, so none is registered. */
export function workKind({ agent }: AgentExecution, kind: WorkloadKind): { readonly admits: boolean } | null {
  if (agent === null) return null;
  if (agent.attests.workloads.includes(kind)) return { admits: true };
  return agent.attests.shown?.includes(kind) === true ? { admits: false } : null;
}

const keyOf = (executionId: string, toolCallId: string): string => `${executionId}\0${toolCallId}`;

/** Whether the tool call has not become a job, which is a workload of its own. */
export const isNotDispatched = (session: LiveSession, executionId: string, toolCallId: string): boolean =>
  session.dispatched?.has(keyOf(executionId, toolCallId)) !== true;

/** Whether the turn of the session that asked for it waits for it; what no job of its own waits for is not its turn's. */
export const isForegroundJob = ({ base }: LiveJob): boolean => base.wait && base.parentJobId === null;

/** The tool call has become a job: what the provider says of it registers nothing, and what it said before is taken back. */
export function noteDispatched(session: LiveSession, executionId: string, toolCallId: string): void {
  session.dispatched ??= new BoundedMap(LIMITS.toolCallsPerExecution);
  session.dispatched.set(keyOf(executionId, toolCallId), true);
  session.record?.provider.complete({ executionId, workloadId: null, toolCallId, kind: null, eventId: null });
}
