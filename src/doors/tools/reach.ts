/**
 * What is within reach of whoever calls a tool (spec 10).
 *
 * RCH1  A session reaches the jobs it hosts, those it asked for, and everything below them; what is not its own reads as unknown.
 * RCH2  The walk upwards ends after as many levels as a tree may have, also on a cycle.
 * RCH3  A job's body without a session reaches what is below it.
 */
import type { Offstage } from '../../engine/offstage.ts';
import { isOffstageError } from '../../model/errors.ts';
import type { JobContext } from '../../model/executor.ts';
import { LIMITS } from '../../model/limits.ts';
import type { JobView } from '../../model/records.ts';
import type { ToolContext } from './tool.ts';

/** The job; `expired` for one that was pruned; null for one that is unknown or out of reach. */
export async function reach(offstage: Offstage, jobId: string, context: ToolContext): Promise<JobView | 'expired' | null> {
  const { sessionId, jobId: bodyId } = context;
  const job = await find(offstage, jobId);
  if (job === null || job === 'expired' || (sessionId === undefined && bodyId === undefined)) return job;
  let above: JobView | 'expired' | null = job;
  for (let level = 0; level <= LIMITS.treeDepth; level += 1) {
    if (above === null || above === 'expired') return null;
    if (sessionId !== undefined && (above.sessionId === sessionId || above.callerSessionId === sessionId)) return job;
    if (sessionId === undefined && above.parentJobId === bodyId) return job;
    if (above.parentJobId === null) return null;
    above = await find(offstage, above.parentJobId);
  }
  return null;
}

/** Also for ids that are none: to a model they are as unknown as any other. */
async function find(offstage: Offstage, jobId: string): Promise<JobView | 'expired' | null> {
  try {
    return await offstage.get(jobId);
  } catch (error) {
    if (isOffstageError(error, 'job.expired')) return 'expired';
    if (isOffstageError(error, 'job.not_found') || isOffstageError(error, 'input.invalid')) return null;
    throw error;
  }
}

/** The verbs to call with: those of the calling body, whose waits give up its slot, or the engine's. */
export const verbsOf = (offstage: Offstage, { jobId }: ToolContext): Pick<JobContext, 'spawn' | 'run' | 'wait' | 'waitMany'> =>
  jobId === undefined ? offstage : offstage.contextOf(jobId);

/** The calling agent has got the end of the job here: no notice tells it again. */
export function noteReceived(
  offstage: Offstage,
  { sessionId }: ToolContext,
  { jobId, callerSessionId, sessionId: host }: JobView,
): void {
  if (sessionId !== undefined && (callerSessionId ?? host) === sessionId) offstage.notices.received(sessionId, jobId);
}
