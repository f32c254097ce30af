/**
 * G12: per session and per task, publications in order, none stale.
 *
 * PUB1  To every observer: numbers grow, epochs of a session never fall, a telling of activity differs from the one before.
 * PUB2  A state follows from the state that was told before, also over a restart; a session that has ended stays so.
 * PUB3  Nothing is told of what was removed.
 * PUB4  All observers are told the same in the same order.
 */
import { type ActivityValue, isSameActivity, NO_ACTIVITY } from '../../../model/activity.ts';
import type { OffstageEvent } from '../../../model/events.ts';
import type { SessionState } from '../../../model/records.ts';
import { type Check, type Checker, violating } from '../checker.ts';
import type { Fact } from '../facts.ts';
import type { Known } from '../known.ts';
import { ToldMirror } from './told-mirror.ts';

const violate = violating('G12');

export const orderedPublications: Checker = {
  guarantee: 'G12',
  promise: 'per session and per task, publications in order, none stale',
  begin(): Check {
    const mirror = new ToldMirror();
    const listeners = new Map<number, Listener>([[0, new Listener('observer 0', NO_ACTIVITY)]]);
    const epochs = new Epochs();
    return (fact, known) => {
      const problem = mirror.note(fact);
      if (problem !== null) violate(problem);
      epochs.note(fact);
      if (fact.type === 'attached') {
        if (fact.observer > 0) listeners.set(fact.observer, new Listener(`observer ${fact.observer}`, null));
      } else if (fact.type === 'detached') {
        listeners.delete(fact.observer);
      } else if (fact.type === 'told') {
        listeners.get(fact.observer)?.take(fact.event);
      } else if (fact.type === 'crashed' || fact.type === 'closed') {
        for (const observer of [...listeners.keys()]) if (observer > 0) listeners.delete(observer);
      } else if (fact.type === 'opened') {
        // What the start of the new process changed was told before anybody could listen.
        const first = listeners.get(0);
        if (first !== undefined) listeners.set(0, first.nextLife(known));
      }
    };
  },
};

/** Each process has a name of its own, which all that it tells carries. */
class Epochs {
  readonly #past = new Set<string>();
  #now: string | null = null;

  note(fact: Fact): void {
    if (fact.type === 'opened') this.#take(fact.epoch);
    else if (fact.type === 'told') this.#take(fact.event.epoch);
    else if ((fact.type === 'crashed' || fact.type === 'closed') && this.#now !== null) {
      this.#past.add(this.#now);
      this.#now = null;
    }
  }

  #take(epoch: string): void {
    this.#now ??= epoch;
    if (this.#past.has(epoch)) violate(`epoch ${epoch} is that of an earlier process`);
    if (this.#now !== epoch) violate(`epoch ${epoch} is told by a process that is called ${this.#now}`);
  }
}

interface Told {
  seq: number;
  /** Of sessions only. */
  epoch: number;
  /** What the last event of any kind said; null: not known. */
  shown: ActivityValue | null;
  /** What the last event that was only about activity said; null: not known. */
  announced: ActivityValue | null;
}

/** What one observer was told. */
class Listener {
  readonly #name: string;
  /** What holds of something that nothing was told of yet; null: it attached in the middle. */
  readonly #initial: ActivityValue | null;
  readonly #sessions = new Map<string, Told>();
  readonly #tasks = new Map<string, Told>();
  readonly #states = new Map<string, SessionState>();
  readonly #removedSessions = new Set<string>();
  readonly #removedTasks = new Set<string>();

  constructor(name: string, initial: ActivityValue | null) {
    this.#name = name;
    this.#initial = initial;
  }

  /** The same observer of the next process: activity begins anew, what is stored does not. */
  nextLife({ sessions, tasks }: Known): Listener {
    const next = new Listener(this.#name, NO_ACTIVITY);
    for (const id of this.#removedSessions) if (!sessions.has(id)) next.#removedSessions.add(id);
    for (const id of this.#removedTasks) if (!tasks.has(id)) next.#removedTasks.add(id);
    for (const [id, { state }] of sessions) next.#states.set(id, state);
    return next;
  }

  take(event: OffstageEvent): void {
    this.#assertThere(event);
    switch (event.type) {
      case 'resync':
        // Something was missed.
        this.#states.clear();
        for (const told of [...this.#sessions.values(), ...this.#tasks.values()]) {
          told.shown = null;
          told.announced = null;
        }
        return;
      case 'session.activity_changed':
        this.#announced(event, this.#of(this.#sessions, event.sessionId), event.sessionSeq, event.activityEpoch);
        return;
      case 'session.state_changed':
        this.#moved(event);
        return;
      case 'session.removed':
        this.#removedSessions.add(event.sessionId);
        this.#states.delete(event.sessionId);
        return;
      case 'task.removed':
        this.#removedTasks.add(event.taskId);
        return;
      case 'task.created':
      case 'task.updated': {
        const told = this.#of(this.#tasks, event.taskId);
        if ('isVolatile' in event) this.#announced(event, told, event.taskSeq, 0);
        else this.#decorated(event, told, event.taskSeq, 0);
        return;
      }
      default:
    }
  }

  #announced(event: OffstageEvent & ActivityValue, told: Told, seq: number, epoch: number): void {
    this.#number(event, told, seq, epoch);
    const value = activityIn(event);
    const isSaid = (said: ActivityValue | null): boolean => said !== null && isSameActivity(said, value);
    if (isSaid(told.shown) && isSaid(told.announced)) this.#object('says what was said before', event);
    told.shown = value;
    told.announced = value;
  }

  /** A stored event with what lives as of its reveal; replayed it has nothing of that. */
  #decorated(event: OffstageEvent & Partial<ActivityValue>, told: Told, seq: number | undefined, epoch: number): void {
    if (seq === undefined) {
      told.shown = null;
      return;
    }
    this.#number(event, told, seq, epoch);
    const { foregroundActivity, activeSubagentCount } = event;
    if (foregroundActivity === undefined || activeSubagentCount === undefined)
      this.#object('has a number and no activity', event);
    else told.shown = { foregroundActivity, activeSubagentCount };
    // Nothing but this is told of it when it changes back.
    if (event.type !== 'session.state_changed') told.announced = told.shown;
  }

  #moved(event: Extract<OffstageEvent, { type: 'session.state_changed' }>): void {
    const { sessionId, oldState, newState, sessionSeq, activityEpoch = 0 } = event;
    const before = this.#states.get(sessionId);
    if (before !== undefined && before !== oldState)
      this.#object(`was told to be ${before}, and is now said to have been another`, event);
    if (before === undefined && this.#initial !== null && oldState !== null) this.#object('was never told to be there', event);
    if ((oldState === 'failed' || oldState === 'cancelled') && newState !== oldState)
      this.#object('goes on after its end', event);
    this.#states.set(sessionId, newState);
    this.#decorated(event, this.#of(this.#sessions, sessionId), sessionSeq, activityEpoch);
  }

  #number(event: OffstageEvent, told: Told, seq: number, epoch: number): void {
    if (seq <= told.seq) this.#object(`is numbered ${seq} after ${told.seq}`, event);
    if (epoch < told.epoch) this.#object(`is of activity epoch ${epoch} after ${told.epoch}`, event);
    told.seq = seq;
    told.epoch = epoch;
  }

  /** PUB3. */
  #assertThere(event: OffstageEvent): void {
    if ('sessionId' in event && this.#removedSessions.has(event.sessionId))
      this.#object('is of a session that was removed', event);
    if ('taskId' in event && this.#removedTasks.has(event.taskId)) this.#object('is of a task that was removed', event);
  }

  #of(all: Map<string, Told>, id: string): Told {
    let told = all.get(id);
    if (told === undefined) {
      told = { seq: 0, epoch: 0, shown: this.#initial, announced: this.#initial };
      all.set(id, told);
    }
    return told;
  }

  #object(problem: string, event: OffstageEvent): never {
    return violate(`to ${this.#name}: ${problem}: ${JSON.stringify(event)}`);
  }
}

const activityIn = ({ foregroundActivity, activeSubagentCount }: ActivityValue): ActivityValue => ({
  foregroundActivity,
  activeSubagentCount,
});
