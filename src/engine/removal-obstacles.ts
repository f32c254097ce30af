/**
 * What keeps a session or a task from being removed, as of one instant (liveness 9 and 12).
 *
 * ROB1  Refused is what has not ended, and what may be at work in a process that was not seen to end. A body or an agent inside this process
 *       that ignores its end is neither: it is heard no more.
 */
import { type OffstageError, offstageError } from '../model/errors.ts';
import type { AgentExecution } from './agent-execution.ts';
import type { Core } from './core.ts';
import type { Execution } from './execution-registry.ts';
import { agentsOf, bodiesOf, isInScope } from './live-work.ts';
import type { StopScope } from './stop-epochs.ts';

export const refused = (scope: StopScope, message: string, cause?: unknown): OffstageError =>
  offstageError('remove.refused', { id: scope.sessionId ?? scope.taskId, message }, cause === undefined ? undefined : { cause });

/** @throws OffstageError `remove.refused` */
export function assertRemovable(core: Core, scope: StopScope): void {
  const obstacle = obstacleOf(core, scope);
  if (obstacle !== null) throw refused(scope, obstacle);
}

/** In words; null: there is none. */
function obstacleOf(core: Core, scope: StopScope): string | null {
  const { jobs, liveness } = core;
  const left = [
    ...agentsOf(core, scope).map(leftOfAgent),
    ...bodiesOf(core, scope).map((execution) => leftOfBody(core, execution)),
  ].find((words) => words !== null);
  if (left != null) return left;
  const job = [...jobs.values()].find(({ base, isDecidedEnd }) => isInScope(scope, base) && !isDecidedEnd);
  if (job !== undefined) return `its job ${job.base.jobId} has not ended.`;
  const session = [...liveness.values()].find(
    (live) => isInScope(scope, live) && (live.ticketCount > 0 || live.claimant !== null),
  );
  return session === undefined ? null : `a prompt for its session ${session.sessionId} is on its way.`;
}

function leftOfAgent({ executionId, hasRetired, process, survivors }: AgentExecution): string | null {
  if (!hasRetired) return `its agent ${executionId} has not ended.`;
  if (process === null) return null;
  return survivors ?? `process ${process.pid} of its agent was not seen to end.`;
}

function leftOfBody({ executors }: Core, { job, process, survivors }: Execution): string | null {
  const { jobId, kind } = job.base;
  if (!job.isDecidedEnd) return `its job ${jobId} has not ended.`;
  if (executors.get(kind)?.capabilities.killable !== true) return null;
  return (
    survivors ?? `what its job ${jobId} has started${process === null ? '' : ` (process ${process.pid})`} was not seen to end.`
  );
}
