/**
 * Processes of an earlier engine that its successor could not prove to be theirs, or to be gone (liveness 9, 13).
 *
 * LFT1  Absent is only what has no record, or whose process is gone or proven not ours; everything else is unknown, with its cause.
 * LFT2  What is provably ours is ended, whenever somebody asks.
 */
import { offstageError } from '../model/errors.ts';
import type { ProcessRecord } from '../model/records.ts';
import type { StopEntry } from '../model/stop.ts';
import { removeProcess } from '../persistence/process-row.ts';
import type { Core } from './core.ts';
import { errorOf } from './outcome.ts';
import { readProcessRecords } from './process-records.ts';
import type { StopScope } from './stop-epochs.ts';

export interface Leftovers {
  /** Ended just now. */
  readonly ended: readonly StopEntry[];
  /** Perhaps still at work; `error` says what is known. */
  readonly unknown: readonly StopEntry[];
}

/** Looks at what may be left of the scope, and ends what is ours. @throws OffstageError `store.failed`, `store.closed` */
export async function endLeftovers(core: Core, scope: StopScope, sessionIds: ReadonlySet<string>): Promise<Leftovers> {
  const ended: StopEntry[] = [];
  const unknown: StopEntry[] = [];
  const records = (await readProcessRecords(core.store)).filter((record) => !isOurs(core, record));
  await Promise.all(
    records.map(async (record) => {
      const sessionId = await sessionOf(core, record, scope, sessionIds);
      if (sessionId === null) return;
      const { executionId, jobId } = record;
      const entry: StopEntry = { sessionId, executionId, ...(jobId === null ? {} : { jobId }) };
      const { verdict, detail } = await verdictOf(core, record);
      if (verdict === 'unverified') {
        unknown.push({ ...entry, error: errorOf(offstageError('execution.unknown', { executionId, message: detail })) });
        return;
      }
      core.submit({ changes: [], rows: [removeProcess(executionId)] });
      if (verdict === 'killed') ended.push(entry);
    }),
  );
  return { ended, unknown };
}

async function verdictOf(core: Core, record: ProcessRecord): ReturnType<Core['reap']> {
  try {
    return await core.reap(record);
  } catch (error) {
    return { verdict: 'unverified', detail: String((error as Error).message) };
  }
}

/** Launched by this process, which looks after it. */
function isOurs({ registry }: Core, { executionId, jobId }: ProcessRecord): boolean {
  if (jobId === null) return registry.agent(executionId) !== undefined;
  return registry.get(jobId)?.executionId === executionId;
}

/** The session of the scope that it belongs to; null: none. */
async function sessionOf(
  core: Core,
  { sessionId, jobId }: ProcessRecord,
  scope: StopScope,
  sessionIds: ReadonlySet<string>,
): Promise<string | null> {
  if (jobId === null) return sessionId !== null && sessionIds.has(sessionId) ? sessionId : null;
  const job = await core.rows.find(jobId);
  if (job === null || job === 'expired') return null;
  const { base } = job;
  const isInScope = scope.sessionId === null ? base.taskId === scope.taskId : base.sessionId === scope.sessionId;
  return isInScope ? base.sessionId : null;
}
