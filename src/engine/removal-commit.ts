/**
 * The step in which a session or a task goes (liveness 12): seen once more to be dead, written in one batch, then forgotten.
 *
 * RMC1  That nothing lives is seen in the tick that submits the batch, when everything that was decided before is stored.
 * RMC2  A batch that the store refuses removes nothing. Whether it was written all the same shows once the store answers again; then it counts,
 *       and until then nothing is let in.
 * RMC3  Once it is stored nothing is remembered, told or written of it any more, whatever is still ending.
 */
import { offstageError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import { KEYS } from '../persistence/row-keys.ts';
import { isRemoved, readSessionRow, readTaskRow } from '../persistence/session-rows.ts';
import type { Core } from './core.ts';
import type { LiveJob } from './live-job.ts';
import { isInScope } from './live-work.ts';
import { removeOutputFile } from './output-log.ts';
import type { Prompts } from './prompts.ts';
import { type RemovalBatch, readRemoval } from './removal-batch.ts';
import { assertRemovable, refused } from './removal-obstacles.ts';
import type { Sessions } from './sessions.ts';
import type { StopScope } from './stop-epochs.ts';

export interface RemovalHost {
  readonly sessions: Sessions;
  readonly prompts: Prompts;
  /** The batch was refused; the promise settles when it is known what came of it (RMC2). */
  doubtful(isCleared: Promise<void>): void;
}

/** @throws OffstageError `remove.refused`, `engine.closing`, `engine.degraded`, `store.failed`, `store.corrupt` */
export async function commitRemoval(core: Core, scope: StopScope, host: RemovalHost): Promise<void> {
  for (;;) {
    // Nothing is let in any more: when this has passed, only what is on its way to the store can still come.
    assertRemovable(core, scope);
    await allStored(core);
    const batch = await readRemoval(core, host.sessions, scope);
    assertRemovable(core, scope);
    if (isSomethingOnItsWay(core, scope)) continue;
    if (batch.unproven !== null) throw refused(scope, `nobody can say whether its execution ${batch.unproven} is still at work.`);
    await store(core, batch, host);
    return;
  }
}

/** Everything that was decided before is in the store. @throws OffstageError `engine.closing`, `engine.degraded` */
function allStored(core: Core): Promise<void> {
  return new Promise((resolve, reject) => {
    core.submit({
      changes: [],
      acknowledge: (durable) => {
        if (durable) resolve();
        else reject(core.isClosing ? offstageError('engine.closing', {}) : offstageError('engine.degraded', {}));
      },
    });
  });
}

function isSomethingOnItsWay({ liveness, jobs }: Core, scope: StopScope): boolean {
  for (const session of liveness.values()) if (isInScope(scope, session) && session.unstored > 0) return true;
  for (const job of jobs.values()) if (isInScope(scope, job.base) && job.committed !== job.decided) return true;
  return false;
}

async function store(core: Core, batch: RemovalBatch, host: RemovalHost): Promise<void> {
  const { scope, operations, events } = batch;
  // Their records have ended and their bodies have not: one that settles from here on writes nothing.
  const jobs = [...core.jobs.values()].filter((job) => isInScope(scope, job.base));
  for (const job of jobs) job.isDropped = true;
  const committed = (): void => forget(core, batch, jobs, host);
  try {
    await core.storeRows(operations, { events, committed });
  } catch (error) {
    host.doubtful(clearDoubt(core, batch, jobs, committed));
    throw error;
  }
  removeOutputs(core, batch);
}

/** RMC2. */
async function clearDoubt(core: Core, batch: RemovalBatch, jobs: readonly LiveJob[], committed: () => void): Promise<void> {
  await answersAgain(core);
  if (await wasWritten(core, batch)) {
    await answersAgain(core, { events: batch.events, committed });
    removeOutputs(core, batch);
    return;
  }
  for (const job of jobs) {
    job.isDropped = false;
    // It has settled meanwhile, and that was not written.
    if (job.execution?.hasSettled !== true) continue;
    core.submit({ changes: [core.note(job, { at: core.stamp(job), type: 'detached_settled' })] });
  }
}

/** Resolves when the store has written something, and that with it, however long it takes. */
function answersAgain(
  core: Core,
  more: { readonly events?: RemovalBatch['events']; readonly committed?: () => void } = {},
): Promise<void> {
  return new Promise((resolve) => {
    core.submit({
      changes: [],
      events: more.events ?? [],
      committed: () => {
        more.committed?.();
        resolve();
      },
    });
  });
}

/** Asked until the store has an answer. */
async function wasWritten(core: Core, batch: RemovalBatch): Promise<boolean> {
  for (;;) {
    try {
      return await isMarked(core, batch);
    } catch (error) {
      core.report('remove.unreadable', error);
      if (core.isClosing) throw error;
      await new Promise<void>((resolve) => core.timers.after(LIMITS.doubtRetryMs, resolve));
    }
  }
}

async function isMarked({ store: rows }: Core, { scope }: RemovalBatch): Promise<boolean> {
  const { taskId, sessionId } = scope;
  const row =
    sessionId === null ? readTaskRow(await rows.get(KEYS.task(taskId))) : readSessionRow(await rows.get(KEYS.session(sessionId)));
  return row !== null && isRemoved(row);
}

/** In the reveal of the batch, before its events (RMC3). */
function forget(
  core: Core,
  { scope, sessionIds }: RemovalBatch,
  jobs: readonly LiveJob[],
  { sessions, prompts }: RemovalHost,
): void {
  const { taskId } = scope;
  core.epochs.remove(scope);
  sessions.forget(sessionIds);
  prompts.forget(sessionIds);
  for (const job of jobs) {
    job.execution?.output?.close();
    core.jobs.delete(job.base.jobId);
  }
  for (const sessionId of sessionIds) core.liveness.sessionRemoved(sessionId, taskId);
  if (scope.sessionId === null) core.liveness.taskRemoved(taskId);
}

function removeOutputs(core: Core, { ordinals }: RemovalBatch): void {
  const { spillDirectory } = core.settings;
  if (spillDirectory === null) return;
  try {
    for (const ordinal of ordinals) removeOutputFile(spillDirectory, ordinal);
  } catch (error) {
    // It is removed all the same; files that nothing leads to harm nobody.
    core.report('output.remove_failed', error);
  }
}
