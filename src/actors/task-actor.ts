/** Task charts brought to life (liveness 7, 10): one actor per task that something is told of. */
import { type ActorRefFrom, createActor } from 'xstate';
import { taskMachine } from '../machines/task.ts';
import { NO_ACTIVITY } from '../model/activity.ts';
import type { TaskState } from '../model/records.ts';
import type { Roster } from './supervisor-actor.ts';

export type TaskActor = ActorRefFrom<typeof taskMachine>;

/** Numbers go on where an earlier actor of the same task has stopped. */
export function startTaskActor(
  roster: Roster,
  state: TaskState,
  from: { readonly taskSeq: number; readonly stopEpoch: number },
): TaskActor {
  const snapshot = taskMachine.resolveState({ value: state, context: { told: NO_ACTIVITY, ...from } });
  return createActor(taskMachine, { id: 'task', parent: roster, snapshot }).start();
}
