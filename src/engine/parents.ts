/**
 * What a spawn has to know of its parent, and what it holds until it is admitted.
 *
 * PAR1  A parent, and the nearest living ancestor of one that has ended, is held from the look-up to the admission, so that no end or cancel in between
 *       is missed (LIN4). Whoever gets the facts gives them back with `lineage.release`.
 */
import { offstageError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import type { StoredJob } from '../persistence/job-codec.ts';
import type { Core } from './core.ts';
import type { LiveJob } from './live-job.ts';

export interface ParentFacts {
  readonly jobId: string;
  readonly taskId: string;
  readonly depth: number;
}

/** The parent and, where it has ended, the chain above it, so that a cascade from any living ancestor finds the child. */
export async function findParent(core: Core, jobId: string): Promise<ParentFacts> {
  const { jobs, rows, lineage } = core;
  let facts: ParentFacts | null = null;
  try {
    let id: string | null = jobId;
    for (let level = 0; id !== null && level <= LIMITS.treeDepth; level++) {
      const live: LiveJob | undefined = jobs.get(id);
      if (live !== undefined && !live.isDecidedEnd) {
        const held = heldLive(core, live, facts === null);
        return facts ?? held;
      }
      const stored: Pick<StoredJob, 'base' | 'snapshot'> | 'expired' | null =
        live === undefined ? await rows.find(id) : { base: live.base, snapshot: live.decided };
      if (stored === null || stored === 'expired') {
        if (facts !== null) break;
        throw offstageError(stored === null ? 'job.not_found' : 'job.expired', { jobId: id });
      }
      const { state, context } = stored.snapshot;
      lineage.addEnded(id, stored.base.parentJobId, state === 'cancelled' || context.cancelRequestedAt !== null);
      if (facts === null) {
        facts = { jobId: id, taskId: stored.base.taskId, depth: stored.base.depth };
        lineage.hold(id);
      }
      id = stored.base.parentJobId;
    }
    return facts as ParentFacts;
  } catch (error) {
    if (facts !== null) lineage.release(facts.jobId);
    throw error;
  }
}

/** A living ancestor; held, so that its end or cancel before the child is admitted is not missed (LIN4). */
export function heldLive(core: Core, job: LiveJob, isParent = true): ParentFacts {
  const { lineage } = core;
  const { jobId, taskId, parentJobId, depth } = job.base;
  lineage.markLive(jobId, parentJobId);
  if (job.decided.context.cancelRequestedAt !== null) lineage.markCancelled(jobId);
  if (isParent) lineage.hold(jobId);
  return { jobId, taskId, depth };
}
