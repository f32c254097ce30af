/**
 * What the removal of a session or a task writes and tells, read before it is decided (liveness 12).
 *
 * RMB1  Everything goes in one batch: rows and all that leads to them, the jobs that ran there, the prompts that waited, cards and notices.
 *       Ids stay spent.
 * RMB2  A job that ran in another session stays with that one, whoever asked for it; the card of one that ran here, with whoever asked for it.
 * RMB3  The record of a process that is not seen to be gone stays: the next start looks after it.
 */
import type { UnnumberedEvent } from '../model/events.ts';
import { callerOf, type SessionRow } from '../model/records.ts';
import { removeCardsOperations } from '../persistence/card-rows.ts';
import { pruneOperations } from '../persistence/job-rows.ts';
import { removeNoticesOperations } from '../persistence/notice-rows.ts';
import { removeSessionOperations, removeTaskOperations, removeTicketsOf } from '../persistence/session-rows.ts';
import type { StoreOperation } from '../persistence/store.ts';
import type { Core } from './core.ts';
import { refused } from './removal-obstacles.ts';
import type { Sessions } from './sessions.ts';
import type { StopScope } from './stop-epochs.ts';

export interface RemovalBatch {
  readonly scope: StopScope;
  readonly sessionIds: ReadonlySet<string>;
  readonly operations: readonly StoreOperation[];
  readonly events: readonly UnnumberedEvent[];
  /** Of the jobs that go: what their outputs are found by. */
  readonly ordinals: readonly number[];
  /** The execution of a process that an earlier engine has left, if there is one: it is not proven to be gone. */
  readonly unproven: string | null;
}

/** All sessions of the scope. @throws OffstageError `session.not_found`, `task.not_found`, `remove.refused` (one cannot be read), `store.*` */
export async function readRows(sessions: Sessions, scope: StopScope): Promise<readonly SessionRow[]> {
  const { taskId, sessionId } = scope;
  if (sessionId !== null) return [await sessions.get(sessionId)];
  await sessions.getTask(taskId);
  const { rows, unreadable } = await sessions.readOfTask(taskId);
  const [first] = unreadable;
  if (first !== undefined) throw refused(scope, `the record of its session ${first.sessionId} cannot be read.`, first.error);
  return rows;
}

/** In the turn of kept cards (KCD1). @throws like `readRows` */
export async function readRemoval(core: Core, sessions: Sessions, scope: StopScope): Promise<RemovalBatch> {
  const rows = await readRows(sessions, scope);
  const at = core.settings.clock.now();
  const sessionIds = new Set(rows.map(({ sessionId }) => sessionId));
  const records = [...core.leftovers.values()];
  const ofJobs = new Map(records.map(({ jobId, executionId }) => [jobId, executionId]));
  const ofAgent = records.find(({ jobId, sessionId }) => jobId === null && sessionId !== null && sessionIds.has(sessionId));
  let unproven = ofAgent?.executionId ?? null;
  const operations: StoreOperation[] = await removeTicketsOf(core.store, sessionIds);
  const events: UnnumberedEvent[] = [];
  const ordinals: number[] = [];
  for (const row of rows) {
    const { sessionId, taskId } = row;
    for await (const jobs of core.rows.hostedBy(sessionId)) {
      for (const { base } of jobs) {
        operations.push(...pruneOperations(base, at));
        ordinals.push(base.ordinal);
        unproven ??= ofJobs.get(base.jobId) ?? null;
      }
      // Whoever asked for one keeps its card.
      const others = jobs.filter(({ base }) => !sessionIds.has(callerOf(base)));
      operations.push(...(await core.keptCards.operationsFor(others)));
    }
    operations.push(...(await removeCardsOperations(core.store, sessionId)));
    operations.push(...(await removeNoticesOperations(core.store, sessionId)));
    operations.push(...removeSessionOperations(row, at));
    events.push({ type: 'session.removed', at, sessionId, taskId });
  }
  if (scope.sessionId === null) {
    const { taskId, title, state } = await sessions.getTask(scope.taskId);
    operations.push(...removeTaskOperations(taskId, at));
    events.push({ type: 'task.removed', at, taskId, title, state });
  }
  return { scope, sessionIds, operations, events, ordinals, unproven };
}
