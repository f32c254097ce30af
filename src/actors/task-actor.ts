/** Task charts brought to life (liveness 7, 10): one actor per task that something is told of. */
import { type ActorRefFrom, createActor } from 'xstate';
import { taskMachine } from '../machines/task.ts';
import { NO_ACTIVITY } from '../model/activity.ts';
import { TASK_STATES, type TaskState } from '../model/records.ts';
import type { Roster } from './supervisor-actor.ts';

export type TaskActor = ActorRefFrom<typeof taskMachine>;

const TEMPLATES = new Map(
  TASK_STATES.map((state) => [
    state,
    taskMachine.resolveState({ value: state, context: { told: NO_ACTIVITY, taskSeq: 0, stopEpoch: 0 } }),
  ]),
);

// Resolved already; XState would resolve it again for every task.
const resolvedMachine = Object.create(taskMachine, {
  restoreSnapshot: { value: (snapshot: unknown) => snapshot },
}) as typeof taskMachine;

/** Numbers go on where an earlier actor of the same task has stopped. */
export function startTaskActor(
  roster: Roster,
  state: TaskState,
  from: { readonly taskSeq: number; readonly stopEpoch: number },
): TaskActor {
  const snapshot = { ...TEMPLATES.get(state), context: { told: NO_ACTIVITY, ...from } } as ReturnType<TaskActor['getSnapshot']>;
  return createActor(resolvedMachine, { id: 'task', parent: roster, snapshot }).start();
}
