/** Rests of a simulated world written by hand: one session, its task, and what both show. */
import type { SessionView, TaskView, WorkloadView } from '../../src/model/activity.ts';
import { activity, aggregate, rested, sessionView, type Told, taskView, told } from './simulation-facts-sessions.ts';

interface Shown {
  readonly session?: Partial<SessionView>;
  readonly works?: readonly WorkloadView[];
  readonly task?: Partial<TaskView>;
  readonly isLast?: boolean;
  readonly canStore?: boolean;
}

/** The session `s` and its task as they are shown; what the task shows follows from it. */
export const shows = ({ session: one = {}, works = [], task: whole = {}, ...more }: Shown): Told => {
  const view = sessionView(one);
  const { foregroundActivity, activeSubagentCount } = view;
  const pending = foregroundActivity === null ? null : 'work';
  return rested({
    sessions: [view],
    tasks: [taskView({ foregroundActivity, activeSubagentCount, pending, ...whole })],
    workloads: new Map([['s', works]]),
    ...more,
  });
};

/** Told of the session and of its task. */
export const tell = (seq: number, tier: 'generating' | 'background' | null, count = 0): readonly Told[] => [
  told(activity(seq, tier, count)),
  told(aggregate(seq, tier, count)),
];
