/**
 * Processes of an earlier engine that its successor could not prove to be theirs, or to be gone (liveness 9, 13).
 *
 * LFT1  Absent is only what has no record, or whose process is gone or proven not ours; everything else is unknown, with its cause.
 * LFT2  What is provably ours is ended, whenever somebody asks.
 * LFT3  A record whose owner cannot be read is said, and hides none of the others.
 * LFT4  Only the start finds leftovers: what this process has launched is the registry's, until it is gone.
 */
import { type OffstageError, offstageError } from '../model/errors.ts';
import type { ProcessRecord } from '../model/records.ts';
import type { StopEntry } from '../model/stop.ts';
import { removeProcess } from '../persistence/process-row.ts';
import type { Core } from './core.ts';
import { errorMessage, errorOf, storeErrorOf } from './outcome.ts';
import type { StopScope } from './stop-epochs.ts';

export interface Leftovers {
  /** Ended just now. */
  readonly ended: readonly StopEntry[];
  /** Perhaps still at work; `error` says what is known. */
  readonly unknown: readonly StopEntry[];
  /** Why not all could be looked at; null: all were. */
  readonly failure: OffstageError | null;
}

export interface LeftoverQuery {
  readonly scope: StopScope;
  /** The sessions of the scope. */
  readonly sessionIds: ReadonlySet<string>;
  /** No grace. */
  readonly isForced: boolean;
}

/** Looks at what may be left of the scope, and ends what is ours. Never rejects. */
export async function endLeftovers(core: Core, query: LeftoverQuery): Promise<Leftovers> {
  const ended: StopEntry[] = [];
  const unknown: StopEntry[] = [];
  let failure: OffstageError | null = null;
  const look = async (record: ProcessRecord): Promise<void> => {
    const sessionId = await sessionOf(core, record, query);
    if (sessionId === null) return;
    const { executionId, jobId } = record;
    const entry: StopEntry = { sessionId, executionId, ...(jobId === null ? {} : { jobId }) };
    const { verdict, detail } = await verdictOf(core, record, query.isForced);
    if (verdict === 'unverified') {
      unknown.push({ ...entry, error: errorOf(offstageError('execution.unknown', { executionId, message: detail })) });
      return;
    }
    await forget(core, executionId);
    if (verdict === 'killed') ended.push(entry);
  };
  const failed = (error: unknown): void => {
    failure ??= storeErrorOf(error);
  };
  await Promise.all([...core.leftovers.values()].map((record) => look(record).catch(failed)));
  return { ended, unknown, failure };
}

async function verdictOf(core: Core, record: ProcessRecord, isForced: boolean): ReturnType<Core['reap']> {
  try {
    return await core.reap(record, { isForced });
  } catch (error) {
    return { verdict: 'unverified', detail: errorMessage(error) };
  }
}

/** Resolves when that is stored, or cannot be for now. */
function forget(core: Core, executionId: string): Promise<void> {
  core.leftovers.delete(executionId);
  if (core.isClosed) return Promise.resolve();
  return new Promise((resolve) => {
    core.submit({ changes: [], rows: [removeProcess(executionId)], acknowledge: () => resolve() });
  });
}

/** The session of the scope that it belongs to; null: none. */
async function sessionOf(
  core: Core,
  { sessionId, jobId }: ProcessRecord,
  { scope, sessionIds }: LeftoverQuery,
): Promise<string | null> {
  if (jobId === null) return sessionId !== null && sessionIds.has(sessionId) ? sessionId : null;
  const job = await core.rows.find(jobId);
  if (job === null || job === 'expired') return null;
  const { base } = job;
  const isInScope =
    scope.sessionId === null
      ? base.taskId === scope.taskId
      : base.sessionId === scope.sessionId || base.callerSessionId === scope.sessionId;
  return isInScope ? base.sessionId : null;
}
