/**
 * The durable words of Offstage: jobs, sessions and tasks as plain JSON (spec 1, 2 and 8).
 *
 * REC1  Records hold data only: no runtime object ever enters one.
 * REC2  `null` is known absence; times are epoch milliseconds.
 * REC3  created ≤ queued ≤ started ≤ completed, also when the wall clock jumps.
 */
import type { ErrorCode } from './errors.ts';
import type { JsonValue } from './json.ts';

/** Where a job stands on its chart (spec 2). */
export type JobStatus = 'pending' | 'queued' | 'running' | 'completed' | 'cancelled' | 'errored';
/** The ends. Nothing leads out of them. */
export type TerminalStatus = 'completed' | 'cancelled' | 'errored';
/** Whether an agent's job starts with its session's conversation or with none. */
export type ContextMode = 'inherit' | 'clean';

/**
 * All of them, in the order of a job's life.
 * @example
 * const isStatus = (text: string) => JOB_STATUSES.some((status) => status === text);
 */
export const JOB_STATUSES: readonly JobStatus[] = ['pending', 'queued', 'running', 'completed', 'cancelled', 'errored'];
/**
 * Whether a job of this status has ended.
 * @example
 * if (isTerminal(job.status)) show(job.resultText ?? job.error?.message);
 */
export const isTerminal = (status: JobStatus): status is TerminalStatus =>
  status === 'completed' || status === 'cancelled' || status === 'errored';

/** Why a job ended (spec 2). */
export type ReasonCode =
  | 'completed'
  | 'failed'
  | 'timed_out'
  | 'idle_timed_out'
  | 'cancel.user'
  | 'cancel.parent'
  | 'cancel.caller_gone'
  | 'cancel.stop'
  | 'cancel.timed_out'
  | 'abandoned.crash'
  | 'abandoned.shutdown'
  | 'worker_died';

/** What asked for a cancel; the `reasonCode` of a cancel that was not forced. */
export type CancelCode = 'cancel.user' | 'cancel.parent' | 'cancel.caller_gone' | 'cancel.stop';

/** Why a job did not complete: a code to branch on, a sentence to show. */
export interface JobError {
  readonly code: ErrorCode | (string & {});
  readonly message: string;
}

/** One request to run something in the background on exactly one session; exactly one end (seed 000 D1). */
export interface JobRecord {
  readonly jobId: string;
  readonly kind: string;
  readonly subject: string;
  readonly description: string;
  readonly agentId: string | null;
  readonly input: JsonValue;
  readonly status: JobStatus;
  readonly createdAt: number;
  readonly queuedAt: number | null;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
  readonly lastActivityAt: number | null;
  /** Where the job runs; never changes (G6). */
  readonly sessionId: string;
  /** Who asked for it; null when that is `sessionId` itself. */
  readonly callerSessionId: string | null;
  readonly taskId: string;
  readonly parentJobId: string | null;
  readonly parentMessageId: string | null;
  readonly contextMode: ContextMode;
  /** Someone blocks on it: a foreground job. */
  readonly wait: boolean;
  readonly headId: string | null;
  readonly sourceCommitId: string | null;
  readonly resultText: string | null;
  readonly result: JsonValue;
  readonly error: JobError | null;
  readonly reasonCode: ReasonCode | null;
  readonly cancelRequestedAt: number | null;
  readonly cancelReason: string | null;
  /** The record is terminal and the body was not seen to end. */
  readonly detached: boolean;
  readonly attempt: number;
  readonly timeoutMs: number | null;
  readonly idleTimeoutMs: number | null;
  /** Its placeholder in the conversation that asked for it: `cards.get(cardId)`. */
  readonly cardId: string;
  /** Grows by one with every committed change. */
  readonly revision: number;
}

/** Whose conversation has asked for the job: that its card stands in, and whose agent is told of its end. */
export const callerOf = ({ callerSessionId, sessionId }: Pick<JobRecord, 'callerSessionId' | 'sessionId'>): string =>
  callerSessionId ?? sessionId;

/** A record as `get`, `list`, `wait` and snapshots answer it: with what is only known while the process lives. */
export interface JobView extends JobRecord {
  /** The body is at work in this process, also after a detached end. */
  readonly bodyLive: boolean;
  /** The latest value given to `ctx.progress`; null before the first one and once the job has ended. */
  readonly progress: JsonValue;
  /** What a running job has reported so far; null once it has ended. */
  readonly partialText: string | null;
  /** Set by waits that ended before the job did. */
  readonly timedOut?: true;
  /** Set when the answer could not be stored yet (spec 6, degraded mode). */
  readonly durable?: false;
}

/** What a line of history tells. */
export type HistoryType =
  | 'transition'
  | 'cancel_requested'
  | 'ending'
  | 'late_result_dropped'
  | 'detached_settled'
  | 'process_launched'
  | 'note'
  /** How a live job stands at this moment, and what it waits for; made when asked, never stored. */
  | 'now';

/** One line of a job's history; together they answer why it is where it is. */
export interface HistoryEntry {
  readonly at: number;
  readonly type: HistoryType;
  readonly from?: JobStatus;
  readonly to?: JobStatus;
  readonly reasonCode?: ReasonCode;
  readonly detail?: string;
}

/** Where a task stands on the board; the host's to set (liveness 10). */
export type TaskState = 'open' | 'in_progress' | 'review' | 'done' | 'cancelled' | 'archived';

/** All of them. */
export const TASK_STATES: readonly TaskState[] = ['open', 'in_progress', 'review', 'done', 'cancelled', 'archived'];

/** A board item: owns sessions, runs nothing itself (liveness 10). */
export interface TaskRow {
  readonly taskId: string;
  readonly title: string;
  readonly state: TaskState;
  readonly createdAt: number;
  readonly revision: number;
}

/** The coarse, durable state of a session (liveness 1). */
export type SessionState =
  | 'created'
  | 'starting'
  | 'running'
  | 'waiting_for_input'
  | 'idle'
  | 'completed'
  | 'failed'
  | 'cancelled';

/** A question of the agent that waits for `sessions.answer`. */
export interface PendingRequest {
  readonly kind: 'permission' | 'clarification';
  readonly requestId: string;
  /** What it is about, in the agent's words, at most 1,000 characters; absent where it did not say. */
  readonly title?: string;
  readonly options: readonly JsonValue[];
}

/** One conversation with one agent; belongs to one task (liveness 1). */
export interface SessionRow {
  readonly sessionId: string;
  readonly taskId: string;
  readonly agentId: string | null;
  readonly state: SessionState;
  /** A turn was cut off by the end of its process; cleared by the next accepted prompt. */
  readonly interrupted: boolean;
  readonly pending: PendingRequest | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly revision: number;
}

/** What recovery needs to find, recognise and end a process of a dead host (spec 6). Times in the unit of the platform. */
export interface ProcessRecord {
  /** Also the launch token in the child's environment (`OFFSTAGE_EXECUTION`). */
  readonly executionId: string;
  /** The job it runs; null for a session's own agent. */
  readonly jobId: string | null;
  /** The session whose agent it is; null for a job's process. */
  readonly sessionId: string | null;
  /** Null between the commit of the token and the launch. */
  readonly pid: number | null;
  /** As the kernel tells it, opaque; compared for equality only. */
  readonly startTime: string | null;
  readonly bootId: string | null;
  readonly at: number;
  /** Epoch milliseconds at which it was decided to end it; null while it is wanted. The next start finishes what was decided. */
  readonly teardownAt: number | null;
}
