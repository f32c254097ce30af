/**
 * What a session and a task show of their liveness: derived facts, never stored (liveness 2, 7, 10).
 *
 * ACV1  The tier is derived from two facts: foreground not idle → generating; else any workload → background; else null.
 * ACV2  One pure function makes a task's aggregate, for page loads and events alike: the most active wins, counts are summed.
 */
import type { WorkloadKind } from './executor.ts';
import type { PendingRequest, SessionRow, SessionState, TaskRow } from './records.ts';

/** `generating` > `background` > none. */
export type Activity = 'generating' | 'background' | null;

/** Tier and count, taken at one instant. */
export interface ActivityValue {
  readonly foregroundActivity: Activity;
  /** Live workloads of kind subagent. */
  readonly activeSubagentCount: number;
}

export const NO_ACTIVITY: ActivityValue = { foregroundActivity: null, activeSubagentCount: 0 };

export const isSameActivity = (a: ActivityValue, b: ActivityValue): boolean =>
  a.foregroundActivity === b.foregroundActivity && a.activeSubagentCount === b.activeSubagentCount;

/** ACV1. */
export const tierOf = (isForegroundIdle: boolean, hasWork: boolean): Activity =>
  isForegroundIdle ? (hasWork ? 'background' : null) : 'generating';

/** ACV2. */
export function aggregateActivity(values: Iterable<ActivityValue>): ActivityValue {
  let foregroundActivity: Activity = null;
  let activeSubagentCount = 0;
  for (const value of values) {
    activeSubagentCount += value.activeSubagentCount;
    if (value.foregroundActivity === 'generating') foregroundActivity = 'generating';
    else foregroundActivity ??= value.foregroundActivity;
  }
  return { foregroundActivity, activeSubagentCount };
}

/** What a task waits for, or does: the first of these that one of its sessions has. */
export type TaskPending = 'permission' | 'clarification' | 'work' | null;

/** Pending requests count only where somebody could answer them. */
export const isInputCapable = (state: SessionState): boolean => state === 'running' || state === 'waiting_for_input';

/** permission > clarification > work. */
export function aggregatePending(
  sessions: Iterable<{ readonly state: SessionState; readonly pending: PendingRequest | null } & ActivityValue>,
): TaskPending {
  let found: TaskPending = null;
  for (const session of sessions) {
    const kind = isInputCapable(session.state) ? (session.pending?.kind ?? null) : null;
    if (kind === 'permission') return 'permission';
    if (kind === 'clarification') found = 'clarification';
    else if (session.foregroundActivity !== null) found ??= 'work';
  }
  return found;
}

/** Background work of a session as lists show it. */
export interface WorkloadView {
  readonly sessionId: string;
  /** The provider's id, or the jobId. */
  readonly workloadId: string;
  readonly kind: WorkloadKind;
  /** `engine`: a job of this engine; `provider`: told by the agent. */
  readonly source: 'engine' | 'provider';
  /** A queued job makes its session `background` and is not counted. */
  readonly phase: 'queued' | 'live';
  /** Who owns it: the agent's execution; null for a job. */
  readonly executionId: string | null;
  readonly toolCallId: string | null;
  /** A job that another session asked for: shown here, counted there. */
  readonly hosted: boolean;
  /** Perhaps ended: a completion without an id might have meant it. */
  readonly uncertain: boolean;
  /** Nothing was heard of it for `quietAfterMs`. */
  readonly quiet: boolean;
  /** Epoch milliseconds. */
  readonly startedAt: number;
}

/** The turn that has the foreground. */
export interface TurnView {
  /** 0 while the prompt is on its way and has no generation yet. */
  readonly generation: number;
  /** `provider`: the agent speaks without having been asked. */
  readonly origin: 'prompt' | 'provider';
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Nothing was heard of it for `quietAfterMs`, and it waits neither for an answer nor for a foreground job. */
  readonly quiet: boolean;
}

/** A session's row with what is only known while the process lives. */
export interface SessionView extends SessionRow, ActivityValue {
  readonly uncertainCount: number;
  readonly quietCount: number;
  /** Prompts that wait for their turn. */
  readonly queuedPrompts: number;
  /** Null while the foreground is idle. */
  readonly turn: TurnView | null;
  /** The current agent execution; null while none is loaded. */
  readonly executionId: string | null;
  /** Agents of it that were told to end and were not seen to have ended: they may still be at work. */
  readonly endingAgents: number;
  /** What the provider said it has used, summed over the turns since the session came alive in this process. */
  readonly usage: Readonly<Record<string, number>>;
  /** Events of this session up to this number are part of what is shown here; later ones are news. */
  readonly sessionSeq: number;
}

/** A task's row with what its sessions do. */
export interface TaskView extends TaskRow, ActivityValue {
  readonly pending: TaskPending;
  /** Ids of its sessions, oldest first. */
  readonly sessions: readonly string[];
  /** Jobs whose status is running. */
  readonly runningJobs: number;
  /** Events of this task up to this number are part of what is shown here; later ones are news. */
  readonly taskSeq: number;
}
