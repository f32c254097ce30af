/**
 * The coarse state of sessions: decided by the chart, stored, then shown (liveness 1).
 *
 * SST1  Every write is compared with the state it was decided on: the chart refuses the loser, which publishes nothing.
 * SST2  Reads show the stored row, and show it before its event is published.
 */
import { decideSession } from '../actors/session-chart.ts';
import type { LaunchOrigin, SessionEvent } from '../machines/session.ts';
import type { UnnumberedEvent } from '../model/events.ts';
import type { SessionRow } from '../model/records.ts';
import { sessionOperations } from '../persistence/session-rows.ts';
import type { StoreOperation } from '../persistence/store.ts';
import type { Core } from './core.ts';
import type { LiveSession } from './live-session.ts';
import type { Sessions } from './sessions.ts';

export interface StateChange {
  /** Further rows of the same batch. */
  readonly rows?: readonly StoreOperation[];
  /** When it is stored, late or not, before anything of it is shown. */
  readonly committed?: () => void;
  /** After the commit; `durable: false` when the store refuses for now. */
  readonly effects?: (durable: boolean) => void;
}

export class SessionStates {
  readonly #core: Core;
  readonly #sessions: Sessions;
  readonly #launchedFrom = new WeakMap<LiveSession, LaunchOrigin>();
  /** Events that a chart refused; counted, never acted upon. */
  refused = 0;

  constructor(core: Core, sessions: Sessions) {
    this.#core = core;
    this.#sessions = sessions;
  }

  /** The row as decided. @throws OffstageError `session.not_found`, `store.failed` */
  async load(session: LiveSession): Promise<SessionRow> {
    if (session.row !== null) return session.row;
    const row = await this.#sessions.resolve(session.sessionId);
    // Somebody else may have loaded it, and decided on, meanwhile.
    session.row ??= row;
    return session.row;
  }

  /** Whether the chart took the event; that of a removed session takes none. The row must be loaded. */
  change(session: LiveSession, event: SessionEvent, more: StateChange = {}): boolean {
    const before = session.row;
    if (before === null || session.isRemoved) return false;
    const decided = decideSession({ ...before, launchedFrom: this.#launchedFrom.get(session) ?? null }, event);
    if (decided === null) {
      this.refused += 1;
      return false;
    }
    const { launchedFrom, state, interrupted, pending } = decided;
    if (launchedFrom === null) this.#launchedFrom.delete(session);
    else this.#launchedFrom.set(session, launchedFrom);
    const at = Math.max(before.updatedAt, this.#core.settings.clock.now());
    const row: SessionRow = { ...before, state, interrupted, pending, updatedAt: at, revision: before.revision + 1 };
    session.row = row;
    session.unstored += 1;
    const announcement: UnnumberedEvent = {
      type: 'session.state_changed',
      at,
      sessionId: row.sessionId,
      taskId: row.taskId,
      oldState: before.state,
      newState: row.state,
    };
    this.#core.submit({
      changes: [],
      rows: more.rows === undefined ? sessionOperations(row) : [...sessionOperations(row), ...more.rows],
      events: [announcement],
      committed: () => {
        session.unstored -= 1;
        this.#sessions.remember(row);
        more.committed?.();
        this.#core.liveness.touch(session);
      },
      ...(more.effects === undefined ? {} : { effects: more.effects }),
    });
    return true;
  }
}
