/**
 * Activity charts brought to life: one actor per session that has anything to show, started from a template (architecture 3).
 *
 * ACA1  All activity actors share one actor id; their sessions tell them apart in the engine, not in XState's caches.
 */
import { type ActorRefFrom, createActor } from 'xstate';
import { type ActivityContext, type ActivityEvent, NEW_ACTIVITY, sessionActivityMachine } from '../machines/session-activity.ts';
import type { Roster } from './supervisor-actor.ts';

export type ActivityActor = ActorRefFrom<typeof sessionActivityMachine>;
type ActivitySnapshot = ReturnType<ActivityActor['getSnapshot']>;

const TEMPLATES = {
  none: sessionActivityMachine.resolveState({ value: { foreground: 'idle', background: 'none' }, context: NEW_ACTIVITY }),
  present: sessionActivityMachine.resolveState({ value: { foreground: 'idle', background: 'present' }, context: NEW_ACTIVITY }),
};

// Resolved already; XState would resolve it again for every session.
const resolvedMachine = Object.create(sessionActivityMachine, {
  restoreSnapshot: { value: (snapshot: unknown) => snapshot },
}) as typeof sessionActivityMachine;

export function startActivityActor(roster: Roster, hasWork: boolean): ActivityActor {
  const template = hasWork ? TEMPLATES.present : TEMPLATES.none;
  return createActor(resolvedMachine, { id: 'activity', parent: roster, snapshot: { ...template } as ActivitySnapshot }).start();
}

/** Sends the event; whether the chart took it. */
export function takes(actor: ActivityActor, event: ActivityEvent): boolean {
  const before = actor.getSnapshot();
  actor.send(event);
  return actor.getSnapshot() !== before;
}

export const isForegroundIdle = (actor: ActivityActor): boolean => actor.getSnapshot().hasTag('foreground-idle');
export const isClaimed = (actor: ActivityActor): boolean => actor.getSnapshot().hasTag('claimed');
export const contextOf = (actor: ActivityActor): ActivityContext => actor.getSnapshot().context;
