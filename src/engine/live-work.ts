/**
 * What still lives of a session or a task, for those who remove, archive or list it (liveness 12).
 *
 * LWK1  Live is what shows activity, what waits, what has not ended, and what was told to end and was not seen to. An agent that is loaded and
 *       has nothing to do is not.
 * LWK2  It is of one instant: whoever acts on it does so in the same tick.
 */
import type { SessionRow } from '../model/records.ts';
import type { LiveWork } from '../model/stop.ts';
import type { AgentExecution } from './agent-execution.ts';
import type { Core } from './core.ts';
import type { Execution } from './execution-registry.ts';
import type { LiveJob } from './live-job.ts';
import type { StopScope } from './stop-epochs.ts';

export interface Life {
  readonly work: LiveWork;
  /** Also of what `work` has no number for: prompts that wait, agents and bodies that are still ending. */
  readonly isLive: boolean;
}

export const isInScope = (scope: StopScope, { taskId, sessionId }: { readonly taskId: string; readonly sessionId: string }) =>
  taskId === scope.taskId && (scope.sessionId === null || sessionId === scope.sessionId);

/** `rows`: the stored rows of the scope. */
export function lifeOf(core: Core, scope: StopScope, rows: readonly SessionRow[]): Life {
  const { liveness, jobs } = core;
  let generating = 0;
  let background = 0;
  let activeSubagentCount = 0;
  let waiting = 0;
  const stored = new Map(rows.map((row) => [row.sessionId, row]));
  const live = [...liveness.values()].filter((session) => isInScope(scope, session));
  for (const sessionId of new Set([...stored.keys(), ...live.map((session) => session.sessionId)])) {
    const session = liveness.find(sessionId);
    const value = liveness.valueOf(session, session?.row ?? stored.get(sessionId) ?? null);
    if (value.foregroundActivity === 'generating') generating += 1;
    if (value.foregroundActivity === 'background') background += 1;
    activeSubagentCount += value.activeSubagentCount;
    waiting += session?.ticketCount ?? 0;
  }
  const unfinished = [...jobs.values()].filter((job) => !job.isDecidedEnd && isConcerned(scope, job)).length;
  const ending = agentsOf(core, scope).filter(isEnding).length + bodiesOf(core, scope).length;
  return {
    work: { generating, background, activeSubagentCount, jobs: unfinished },
    isLive: generating + background + activeSubagentCount + waiting + unfinished + ending > 0,
  };
}

/** The tasks of which anything lives, whatever state they are in. */
export function livingTasks({ liveness, jobs, registry }: Core): ReadonlySet<string> {
  const living = new Set<string>();
  for (const session of liveness.values()) {
    const { foregroundActivity } = liveness.valueOf(session, session.row);
    if (foregroundActivity !== null || session.ticketCount > 0) living.add(session.taskId);
  }
  for (const job of jobs.values()) if (!job.isDecidedEnd) living.add(job.base.taskId);
  for (const { job } of registry.values()) living.add(job.base.taskId);
  for (const execution of registry.agents()) if (isEnding(execution)) living.add(execution.taskId);
  return living;
}

/** Starting, current and retiring ones. */
export const agentsOf = ({ registry }: Core, scope: StopScope): readonly AgentExecution[] =>
  registry.ofTask(scope.taskId).agents.filter((execution) => isInScope(scope, execution));

/** What runs there, also of jobs whose record has ended. */
export const bodiesOf = ({ registry }: Core, scope: StopScope): readonly Execution[] =>
  registry.ofTask(scope.taskId).bodies.filter(({ job }) => isInScope(scope, job.base));

/** Those that it hosts, and those that it asked for: a stop ends both. */
const isConcerned = (scope: StopScope, { base }: LiveJob): boolean =>
  isInScope(scope, base) || (base.callerSessionId !== null && isInScope(scope, { ...base, sessionId: base.callerSessionId }));

const isEnding = ({ hasRetired, teardownAt }: AgentExecution): boolean => hasRetired || teardownAt !== null;
