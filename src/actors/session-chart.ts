/**
 * What the chart of a session makes of an event (liveness 1). A session's coarse state changes a few times per turn, so no actor is kept for
 * it: it is decided from the row, and the row is what lives on.
 */
import { createActor } from 'xstate';
import { type LaunchOrigin, type SessionEvent, sessionMachine } from '../machines/session.ts';
import type { SessionRow } from '../model/records.ts';

export interface DecidedSession extends Pick<SessionRow, 'state' | 'interrupted' | 'pending'> {
  readonly launchedFrom: LaunchOrigin | null;
}

/** Null when the chart refuses the event. */
export function decideSession(session: DecidedSession, event: SessionEvent): DecidedSession | null {
  const { state, interrupted, pending, launchedFrom } = session;
  const snapshot = sessionMachine.resolveState({ value: state, context: { interrupted, pending, launchedFrom } });
  if (snapshot.status !== 'active') return null;
  const actor = createActor(sessionMachine, { snapshot, input: snapshot.context }).start();
  const before = actor.getSnapshot();
  actor.send(event);
  const after = actor.getSnapshot();
  actor.stop();
  return after === before ? null : { ...after.context, state: after.value };
}
