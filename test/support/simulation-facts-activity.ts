/** A simulated world of one session and its task, written by hand: what comes before, and its rests with what both show. */
import type { SessionView, TaskView, WorkloadView } from '../../src/model/activity.ts';
import {
  able,
  activity,
  aggregate,
  job,
  opened,
  prompted,
  rested,
  said,
  session,
  sessionView,
  started,
  type Told,
  task,
  taskView,
  told,
  work,
} from './simulation-facts-sessions.ts';

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

export type Story = readonly (Told | readonly Told[])[];

export const OPEN = [opened(), task(), session()];
export const turn = (generation: number, origin: 'prompt' | 'provider' = 'prompt') => ({
  generation,
  origin,
  startedAt: 0,
  quiet: false,
});
export const ASKED = [session('s', 't', 'running'), started(1), able(1), prompted(1, 1, 'a')];
export const RUNNING = [...OPEN, ...ASKED, ...tell(1, 'generating')];
export const running = { state: 'running', foregroundActivity: 'generating', turn: turn(1), executionId: 'exec 1' } as const;
export const loaded = { executionId: 'exec 1' };
export const background = { foregroundActivity: 'background', activeSubagentCount: 1 } as const;
export const provided = (id: string, more: Partial<WorkloadView> = {}) =>
  work(id, { source: 'provider', executionId: 'exec 1', ...more });
export const LAUNCHED = [
  ...OPEN,
  started(1),
  said(1, 'workload.started', 0, { kind: 'subagent', workloadId: 'w' }),
  ...tell(1, 'background', 1),
];
export const live = job({ jobId: 'j', state: 'active' });
export const WORKING = [...OPEN, live, ...tell(1, 'background', 1)];
export const oneRuns = { runningJobs: 1 };
