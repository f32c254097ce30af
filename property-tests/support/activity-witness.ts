/**
 * Reads what is told of activity, as a client would, and objects (G12).
 *
 * AWI1  Per session and per task the numbers grow; a telling differs from the one before; epochs never go back.
 * AWI2  What a client makes of it is the last value it was told.
 */
import { type ActivityValue, isSameActivity, NO_ACTIVITY } from '../../src/model/activity.ts';
import type { OffstageEvent } from '../../src/model/events.ts';

export interface Announcement {
  readonly value: ActivityValue;
  readonly epoch: number;
}

interface Told {
  value: ActivityValue;
  /** Every value that was told, in order. */
  readonly history: ActivityValue[];
  /** The last telling that was only about activity. */
  announced: ActivityValue;
  seq: number;
  epoch: number;
}

export class ActivityWitness {
  readonly problems: string[] = [];
  readonly sessions = new Map<string, Told>();
  readonly tasks = new Map<string, Told>();
  /** Activity events of each session since the last `take`. */
  readonly #fresh = new Map<string, Announcement[]>();
  readonly tickets = new Map<string, string[]>();

  readonly observe = (event: OffstageEvent): void => {
    if (event.type === 'session.activity_changed') {
      const { sessionId, foregroundActivity, activeSubagentCount } = event;
      const value = { foregroundActivity, activeSubagentCount };
      this.#fresh.set(sessionId, [...(this.#fresh.get(sessionId) ?? []), { value, epoch: event.activityEpoch }]);
      this.#note(this.#of(this.sessions, sessionId), event, value, event.sessionSeq, event.activityEpoch, true);
    } else if (event.type === 'session.state_changed') {
      const { foregroundActivity, activeSubagentCount, sessionSeq, activityEpoch } = event;
      if (foregroundActivity === undefined || activeSubagentCount === undefined) this.#object('tells nothing', event);
      else
        this.#note(
          this.#of(this.sessions, event.sessionId),
          event,
          { foregroundActivity, activeSubagentCount },
          sessionSeq ?? -1,
          activityEpoch ?? -1,
          false,
        );
    } else if (event.type === 'task.updated' || event.type === 'task.created') {
      const { foregroundActivity = null, activeSubagentCount = 0, taskSeq = -1 } = event;
      const isAnnouncement = 'isVolatile' in event && event.isVolatile;
      this.#note(
        this.#of(this.tasks, event.taskId),
        event,
        { foregroundActivity, activeSubagentCount },
        taskSeq,
        0,
        isAnnouncement,
      );
    } else if (event.type === 'session.ticket') {
      this.tickets.set(event.promptId, [...(this.tickets.get(event.promptId) ?? []), event.status]);
    }
  };

  /** What was told of the session's activity since the last call. */
  take(sessionId: string): readonly Announcement[] {
    const fresh = this.#fresh.get(sessionId) ?? [];
    this.#fresh.delete(sessionId);
    return fresh;
  }

  /** What was told of a session so far. */
  history(sessionId: string): readonly ActivityValue[] {
    return this.sessions.get(sessionId)?.history ?? [];
  }

  valueOf(of: 'sessions' | 'tasks', id: string): ActivityValue {
    return this[of].get(id)?.value ?? NO_ACTIVITY;
  }

  #of(all: Map<string, Told>, id: string): Told {
    const told = all.get(id) ?? { value: NO_ACTIVITY, history: [], announced: NO_ACTIVITY, seq: 0, epoch: 0 };
    all.set(id, told);
    return told;
  }

  #note(told: Told, event: OffstageEvent, value: ActivityValue, seq: number, epoch: number, isAnnouncement: boolean): void {
    if (seq <= told.seq) this.#object(`is numbered ${seq} after ${told.seq}`, event);
    // Replayed rows have no epoch to compare; live ones of a session without a record say 0.
    if (isAnnouncement && epoch < told.epoch) this.#object(`is of epoch ${epoch} after ${told.epoch}`, event);
    if (isAnnouncement && isSameActivity(told.announced, value) && isSameActivity(told.value, value))
      this.#object('says what was said before', event);
    told.value = value;
    told.history.push(value);
    told.seq = seq;
    if (isAnnouncement) {
      told.announced = value;
      told.epoch = epoch;
    }
  }

  #object(problem: string, event: OffstageEvent): void {
    this.problems.push(`${problem}: ${JSON.stringify(event)}`);
  }
}
