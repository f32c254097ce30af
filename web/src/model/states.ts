/**
 * What a task, a session or a job shows: one state out of ten, with its words (liveness 2 and 7; seed 002).
 *
 * DSH1  Needs you first: permission, clarification, generating, background, queued, errored, cancelled, completed (`STATES` is the order).
 * DSH2  A pending question counts only for a session that can take input.
 * DSH3  Unknown activity of work in flight reads as generating, never as done.
 * DSH4  A state says what the record says: `cancelling` until the body has settled, whatever was asked for here.
 */
import { type Activity, isInputCapable, type SessionView, type TaskView } from '../../../src/model/activity.ts';
import type { JobRow } from './client.ts';

export type StateKey =
  | 'permission'
  | 'clarification'
  | 'generating'
  | 'background-running'
  | 'cancelling'
  | 'queued'
  | 'errored'
  | 'cancelled'
  | 'idle'
  | 'completed';

/** The order of attention, the word in a row, and the label of the icon. */
export const STATES: Readonly<Record<StateKey, { readonly rank: number; readonly word: string; readonly label: string }>> = {
  permission: { rank: 0, word: 'Needs permission', label: 'Permission is needed' },
  clarification: { rank: 1, word: 'Has a question', label: 'An answer is needed' },
  generating: { rank: 2, word: 'Generating', label: 'Agent is generating' },
  'background-running': { rank: 3, word: 'Background', label: 'Background work is running' },
  cancelling: { rank: 3, word: 'Cancelling…', label: 'Being cancelled, has not ended yet' },
  queued: { rank: 4, word: 'Queued', label: 'Waiting for its turn' },
  errored: { rank: 5, word: 'Failed', label: 'Failed' },
  cancelled: { rank: 6, word: 'Cancelled', label: 'Cancelled' },
  idle: { rank: 7, word: 'Ready', label: 'Ready for a prompt' },
  completed: { rank: 8, word: 'Completed', label: 'Completed' },
};

export const isWorking = (state: StateKey): boolean => STATES[state].rank <= STATES.queued.rank;

export function jobState({ status, cancelRequestedAt }: Pick<JobRow, 'status' | 'cancelRequestedAt'>): StateKey {
  switch (status) {
    case 'pending':
    case 'queued':
      return 'queued';
    case 'running':
      return cancelRequestedAt === null ? 'background-running' : 'cancelling';
    default:
      return status;
  }
}

const tierState = (tier: Activity | undefined, isInFlight: boolean): StateKey | null => {
  if (tier === 'generating' || (tier === undefined && isInFlight)) return 'generating';
  return tier === 'background' ? 'background-running' : null;
};

export function sessionState(session: SessionView): StateKey {
  const { state, pending, foregroundActivity } = session;
  if (isInputCapable(state) && pending) return pending.kind;
  const tier = tierState(foregroundActivity, state === 'running' || state === 'starting');
  if (tier !== null) return tier;
  if (state === 'starting') return 'queued';
  if (state === 'failed') return 'errored';
  return state === 'cancelled' || state === 'completed' ? state : 'idle';
}

/**
 * Of a task in which nothing lives: what the host says of it, else the first in order of what its sessions and jobs show.
 * @param within the states of everything in the task
 */
export function taskState(task: TaskView, within: ReadonlySet<StateKey>): StateKey {
  if (task.pending === 'permission' || task.pending === 'clarification') return task.pending;
  const tier = tierState(task.foregroundActivity, task.runningJobs > 0);
  if (tier !== null) return tier;
  if (within.has('queued')) return 'queued';
  if (task.state === 'done' || task.state === 'archived') return 'completed';
  if (task.state === 'cancelled') return 'cancelled';
  if (within.has('errored')) return 'errored';
  if (within.has('idle') || within.size === 0) return 'idle';
  return within.has('completed') ? 'completed' : 'cancelled';
}

/** Its record is over, and nobody has seen its body end. After a crash nobody can: the process that ran it is gone. */
export const mayStillRun = (job: Pick<JobRow, 'detached' | 'bodyLive' | 'reasonCode'>): boolean =>
  job.detached && (job.bodyLive || job.reasonCode === 'abandoned.crash');
