/**
 * What a stop is about, read before it decides: rows, what is left of earlier engines, and what could not be read (liveness 11).
 *
 * SSO1  A source that fails is said, and hides none of the others.
 * SSO2  A session that only the registry knows of has its row read anew; one that cannot be read keeps its executions and its error.
 */
import { SESSION_STATES } from '../machines/session.ts';
import type { OffstageError } from '../model/errors.ts';
import type { SessionRow } from '../model/records.ts';
import type { StopEntry } from '../model/stop.ts';
import type { Core } from './core.ts';
import { endLeftovers, type Leftovers } from './leftovers.ts';
import { errorOf, storeErrorOf } from './outcome.ts';
import type { Sessions } from './sessions.ts';
import type { StopScope } from './stop-epochs.ts';

export interface StopSources {
  readonly scope: StopScope;
  /** By session id; as stored. */
  readonly rows: ReadonlyMap<string, SessionRow>;
  readonly loadErrors: readonly StopEntry[];
  /** Why a whole source could not be read; null: all were. */
  readonly failure: OffstageError | null;
  /** Being looked at; what lives is not kept waiting for it. Never rejects. */
  readonly leftovers: Promise<Leftovers>;
}

/** @throws OffstageError `task.not_found`; `store.*` when the store fails and nothing runs */
export async function sourcesOfTask(core: Core, sessions: Sessions, taskId: string, isForced: boolean): Promise<StopSources> {
  const scope: StopScope = { taskId, sessionId: null };
  const found = new Findings(core, sessions);
  const isLive = (): boolean => {
    const { agents, bodies } = core.registry.ofTask(taskId);
    return agents.length + bodies.length > 0 || [...core.jobs.values()].some(({ base }) => base.taskId === taskId);
  };
  try {
    await sessions.getTask(taskId);
  } catch (error) {
    if (!isLive()) throw error;
    found.fail(error);
  }
  try {
    const { rows, unreadable } = await sessions.readOfTask(taskId);
    for (const row of rows) found.add(row);
    for (const { sessionId, error } of unreadable) found.cannotLoad(sessionId, error);
  } catch (error) {
    found.fail(error);
  }
  await found.readRegistered(taskId, () => true);
  return found.close(scope, isForced);
}

/** @throws OffstageError `session.not_found`; `store.*` when the store fails and nothing runs */
export async function sourcesOfSession(
  core: Core,
  sessions: Sessions,
  sessionId: string,
  isForced: boolean,
): Promise<StopSources> {
  const found = new Findings(core, sessions);
  // What lives of it knows its task, whatever becomes of its row.
  const live = core.liveness.find(sessionId);
  let taskId = live?.taskId ?? null;
  try {
    const row = live?.row ?? sessions.cached(sessionId) ?? (await sessions.get(sessionId));
    found.add(row);
    taskId = row.taskId;
  } catch (error) {
    if (taskId === null) throw error;
    found.cannotLoad(sessionId, error);
  }
  await found.readRegistered(taskId, (one) => one === sessionId);
  return found.close({ taskId, sessionId }, isForced);
}

class Findings {
  readonly #core: Core;
  readonly #sessions: Sessions;
  readonly #rows = new Map<string, SessionRow>();
  readonly #errors = new Map<string, unknown>();
  #failure: OffstageError | null = null;

  constructor(core: Core, sessions: Sessions) {
    this.#core = core;
    this.#sessions = sessions;
  }

  add(row: SessionRow): void {
    this.#rows.set(row.sessionId, row);
  }

  cannotLoad(sessionId: string, error: unknown): void {
    this.#errors.set(sessionId, error);
  }

  fail(error: unknown): void {
    this.#failure ??= storeErrorOf(error);
  }

  /** SSO2. */
  async readRegistered(taskId: string, isWanted: (sessionId: string) => boolean): Promise<void> {
    const { agents, bodies } = this.#core.registry.ofTask(taskId);
    const ids = new Set([...agents.map(({ sessionId }) => sessionId), ...bodies.map(({ job }) => job.base.sessionId)]);
    await Promise.all(
      [...ids].map(async (sessionId) => {
        const row = this.#rows.get(sessionId);
        if (!isWanted(sessionId) || (row !== undefined && SESSION_STATES[row.state].active)) return;
        try {
          this.add(await this.#sessions.get(sessionId));
        } catch (error) {
          this.#rows.delete(sessionId);
          this.cannotLoad(sessionId, error);
        }
      }),
    );
  }

  close(scope: StopScope, isForced: boolean): StopSources {
    const sessionIds = new Set(scope.sessionId === null ? [...this.#rows.keys(), ...this.#errors.keys()] : [scope.sessionId]);
    const leftovers = endLeftovers(this.#core, { scope, sessionIds, isForced });
    const { agents } = this.#core.registry.ofTask(scope.taskId);
    const loadErrors = [...this.#errors].map(([sessionId, error]): StopEntry => {
      const executionId = agents.find((execution) => execution.sessionId === sessionId)?.executionId;
      return { sessionId, ...(executionId === undefined ? {} : { executionId }), error: errorOf(error) };
    });
    return { scope, rows: this.#rows, loadErrors, failure: this.#failure, leftovers };
  }
}
