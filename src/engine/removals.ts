/**
 * Removal of sessions and tasks, and putting tasks away (liveness 12).
 *
 * RMV1  Live work is told of first, and nothing is done; whoever has confirmed gets it stopped.
 * RMV2  From the decision on nothing new is let in; what was decided before is stopped with the rest.
 * RMV3  Of those that would remove the same, one does; the others wait for it.
 */
import { isOffstageError, type OffstageError, offstageError } from '../model/errors.ts';
import type { ConfirmedAnswer, ConfirmOptions, RemoveOptions, StopReport } from '../model/stop.ts';
import { KEYS } from '../persistence/row-keys.ts';
import { invalidInput, namesOf, readFlag, readOptions } from './check-options.ts';
import type { Core } from './core.ts';
import { lifeOf } from './live-work.ts';
import type { Prompts } from './prompts.ts';
import { readRows } from './removal-batch.ts';
import { commitRemoval } from './removal-commit.ts';
import { refused } from './removal-obstacles.ts';
import type { Sessions } from './sessions.ts';
import { checkId, checkText, DEFAULT_SESSION } from './spawn-request.ts';
import type { StopScope } from './stop-epochs.ts';
import type { Stops } from './stops.ts';

export interface RemovalsHost {
  readonly sessions: Sessions;
  readonly stops: Stops;
  readonly prompts: Prompts;
}

const REMOVE_NAMES = namesOf<RemoveOptions>({ confirm: true, reason: true, force: true });
const ARCHIVE_NAMES = namesOf<ConfirmOptions>({ confirm: true });

interface Removal {
  readonly scope: StopScope;
  /** Settles when its caller is answered. Never rejects. */
  over: Promise<unknown>;
  /** Its caller was answered, and nobody knows yet whether it was written. */
  isInDoubt: boolean;
  /** Lets requests in again. */
  release: () => void;
}

export class Removals {
  readonly #core: Core;
  readonly #host: RemovalsHost;
  readonly #underWay = new Set<Removal>();

  constructor(core: Core, host: RemovalsHost) {
    this.#core = core;
    this.#host = host;
  }

  /** See `Offstage.sessions.remove`. */
  async removeSession(sessionId: string, given?: RemoveOptions): Promise<ConfirmedAnswer> {
    const options = checked(given);
    if (checkId('sessionId', sessionId) === DEFAULT_SESSION) throw isBuiltIn('sessionId');
    this.#core.assertAccepting();
    const { taskId } = await this.#host.sessions.get(sessionId);
    return this.#oneByOne({ taskId, sessionId }, options);
  }

  /** See `Offstage.tasks.remove`. */
  async removeTask(taskId: string, given?: RemoveOptions): Promise<ConfirmedAnswer> {
    const options = checked(given);
    if (checkId('taskId', taskId) === DEFAULT_SESSION) throw isBuiltIn('taskId');
    this.#core.assertAccepting();
    return this.#oneByOne({ taskId, sessionId: null }, options);
  }

  /** See `Offstage.tasks.archive`. */
  async archiveTask(taskId: string, given?: ConfirmOptions): Promise<ConfirmedAnswer> {
    const isConfirmed = readFlag('confirm', readOptions('options', given, ARCHIVE_NAMES).confirm);
    const { sessions } = this.#host;
    checkId('taskId', taskId);
    this.#core.assertAccepting();
    await sessions.getTask(taskId);
    if (this.#core.settings.confirmArchive && !isConfirmed) {
      const { rows } = await sessions.readOfTask(taskId);
      const { work, isLive } = lifeOf(this.#core, { taskId, sessionId: null }, rows);
      if (isLive) return { done: false, warning: work };
    }
    await sessions.setTaskState(taskId, 'archived');
    return { done: true };
  }

  /** RMV3. */
  async #oneByOne(scope: StopScope, options: RemoveOptions): Promise<ConfirmedAnswer> {
    for (let other = this.#conflicting(scope); other !== undefined; other = this.#conflicting(scope)) {
      if (other.isInDoubt) throw offstageError('engine.degraded', {});
      await other.over;
    }
    const removal: Removal = { scope, over: Promise.resolve(), isInDoubt: false, release: noop };
    this.#underWay.add(removal);
    const answer = this.#remove(removal, options).finally(() => {
      if (!removal.isInDoubt) this.#done(removal);
    });
    removal.over = answer.catch(noop);
    return answer;
  }

  #conflicting({ taskId, sessionId }: StopScope): Removal | undefined {
    return [...this.#underWay].find(
      ({ scope }) => scope.taskId === taskId && (scope.sessionId === null || sessionId === null || scope.sessionId === sessionId),
    );
  }

  #done(removal: Removal): void {
    removal.release();
    this.#underWay.delete(removal);
  }

  async #remove(removal: Removal, { confirm = false, ...how }: RemoveOptions): Promise<ConfirmedAnswer> {
    const core = this.#core;
    const { sessions, prompts } = this.#host;
    const { scope } = removal;
    const { work, isLive } = lifeOf(core, scope, await readRows(sessions, scope));
    if (isLive && !confirm) return { done: false, warning: work };
    removal.release = core.epochs.hold(scope);
    await this.#stop(scope, how);
    const key = scope.sessionId === null ? KEYS.task(scope.taskId) : KEYS.session(scope.sessionId);
    const doubtful = (isCleared: Promise<void>): void => {
      removal.isInDoubt = true;
      isCleared.then(
        () => this.#done(removal),
        // What is asked of it stays refused: nobody knows what a write would meet.
        (error) => core.report('remove.undecided', error),
      );
    };
    await sessions.exclusively(key, () =>
      core.keptCards.inTurn(() => commitRemoval(core, scope, { sessions, prompts, doubtful })),
    );
    return { done: true };
  }

  /** Resolves when everything has ended that can be seen to end. @throws OffstageError `remove.refused` */
  async #stop(scope: StopScope, how: Omit<RemoveOptions, 'confirm'>): Promise<void> {
    const { stops } = this.#host;
    const { taskId, sessionId } = scope;
    let report: StopReport;
    try {
      const stopped = sessionId === null ? await stops.stopTask(taskId, how) : await stops.stopSession(sessionId, how);
      report = await stopped.settled;
    } catch (error) {
      if (isOffstageError(error, 'stop.nothing_running')) return;
      if (isOffstageError(error, 'stop.failed')) throw refused(scope, String(error.details.message), error);
      throw error;
    }
    const [first] = report.failed;
    if (first !== undefined) throw refused(scope, first.error?.message ?? `something of ${first.sessionId} has not ended.`);
  }
}

/** @throws OffstageError `input.invalid` */
function checked(given: RemoveOptions | undefined): RemoveOptions {
  const { confirm, reason, force } = readOptions('options', given, REMOVE_NAMES);
  return {
    confirm: readFlag('confirm', confirm),
    force: readFlag('force', force),
    ...(reason === undefined ? {} : { reason: checkText('reason', reason, '') }),
  };
}

const isBuiltIn = (argument: string): OffstageError =>
  invalidInput(argument, 'it is built in, for jobs that name no session, and cannot be removed');

const noop = (): void => {};
