/**
 * Sessions and tasks as they are shown: the stored row, and what lives of it at this instant (liveness 2, 7, 10).
 *
 * SVW1  Activity and count are always there, null and 0 included.
 * SVW2  A page and an event of the same instant show the same: both come from the same functions.
 */
import {
  type ActivityValue,
  aggregateActivity,
  aggregatePending,
  type SessionView,
  type TaskView,
  type TurnView,
} from '../model/activity.ts';
import type { SessionRow, TaskRow } from '../model/records.ts';
import type { Core } from './core.ts';
import type { LiveSession } from './live-session.ts';
import { openTurnOf, waitsForOthers } from './open-turn.ts';
import type { Sessions } from './sessions.ts';
import type { Turns } from './turns.ts';
import { addUsage } from './usage.ts';

const NO_USAGE: Readonly<Record<string, number>> = {};

export class SessionViews {
  readonly #core: Core;
  readonly #sessions: Sessions;
  readonly #turns: Turns;

  constructor(core: Core, sessions: Sessions, turns: Turns) {
    this.#core = core;
    this.#sessions = sessions;
    this.#turns = turns;
  }

  session(read: SessionRow): SessionView {
    const row = this.#newest(read);
    const { liveness, settings } = this.#core;
    const live = liveness.find(row.sessionId);
    const isQuiet = (lastHeard: number): boolean => settings.clock.monotonic() - lastHeard >= settings.quietAfterMs;
    const works = live?.record?.providerWorks ?? [];
    return {
      ...row,
      ...this.#value(row),
      uncertainCount: live?.record?.uncertainCount ?? 0,
      quietCount: works.filter((work) => isQuiet(work.lastHeard)).length,
      queuedPrompts: live?.ticketCount ?? 0,
      turn: live === null ? null : this.#turn(live, isQuiet),
      executionId: live?.agent?.phase === 'current' ? live.agent.executionId : null,
      endingAgents: live?.retiringCount ?? 0,
      usage: live === null ? NO_USAGE : usageOf(live),
      sessionSeq: liveness.sessionSeq,
    };
  }

  async task(row: TaskRow): Promise<TaskView> {
    return this.#taskView(row, await this.#sessions.ofTask(row.taskId));
  }

  /** Reads what is needed; the views are made when they are asked for, all in one tick. */
  async tasks(rows: readonly TaskRow[]): Promise<() => readonly TaskView[]> {
    const sessions = await Promise.all(rows.map(({ taskId }) => this.#sessions.ofTask(taskId)));
    return () => rows.map((row, index) => this.#taskView(row, sessions[index] ?? []));
  }

  #taskView(row: TaskRow, stored: readonly SessionRow[]): TaskView {
    const sessions = stored.map((session) => this.#newest(session));
    const shown = sessions.map((session) => ({ ...session, ...this.#value(session) }));
    return {
      ...row,
      ...aggregateActivity(shown),
      pending: aggregatePending(shown),
      sessions: sessions.map(({ sessionId }) => sessionId),
      runningJobs: this.#runningJobs(row.taskId),
      taskSeq: this.#core.liveness.taskSeqOf(row.taskId),
    };
  }

  #value(row: SessionRow): ActivityValue {
    const { liveness } = this.#core;
    const live = liveness.find(row.sessionId);
    // As it is told: a row that is decided and not stored yet has ended its activity already, or begun it.
    return liveness.valueOf(live, live?.row ?? row);
  }

  /** Read a moment ago; what was stored since is known. */
  #newest(row: SessionRow): SessionRow {
    return this.#sessions.cached(row.sessionId) ?? row;
  }

  #runningJobs(taskId: string): number {
    let count = 0;
    for (const job of this.#core.jobs.values()) if (job.base.taskId === taskId && job.status === 'running') count += 1;
    return count;
  }

  #turn(session: LiveSession, isQuiet: (lastHeard: number) => boolean): TurnView | null {
    const open = openTurnOf(session, this.#turns);
    if (open === null) return null;
    const { generation, startedAt } = open.turn;
    const quiet = isQuiet(open.lastHeard) && !waitsForOthers(session);
    return { generation, origin: open.origin, startedAt, quiet };
  }
}

function usageOf(session: LiveSession): Readonly<Record<string, number>> {
  let usage = session.usage;
  if (session.promptCount > 0) {
    for (const prompt of session.prompts.values()) {
      if (!prompt.hasEnded && prompt.usage !== null) usage = addUsage(usage, prompt.usage);
    }
  }
  return usage === null ? NO_USAGE : { ...usage };
}
