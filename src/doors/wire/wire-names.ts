/**
 * The table between our words and those of the wire (spec 13), for jobs: camelCase inside, snake_case outside, and
 * the seed's names where they differ. What verbs take and answer beside them is in `wire-answers.ts`, sessions and tasks are in
 * `wire-sessions.ts`, events in `wire-events.ts`.
 *
 * WIR1  Only names of ours change. What users put into `input`, `result`, `progress` and the like passes as it is.
 * WIR2  A record that goes out and comes back is the same record; a field that is new here cannot be forgotten: the compiler asks for it.
 * WIR3  `error` is a string on the wire; its code stands beside it as `error_code`.
 */
import type { JobError, JobView } from '../../model/records.ts';
import { type Names, rename, renameBack, type WireFields } from './rename.ts';

/** Records of jobs. The seed calls the session a job runs on its parent session. */
export const JOB = {
  jobId: 'job_id',
  kind: 'kind',
  subject: 'subject',
  description: 'description',
  agentId: 'agent_id',
  input: 'input',
  status: 'status',
  createdAt: 'created_at',
  queuedAt: 'queued_at',
  startedAt: 'started_at',
  completedAt: 'completed_at',
  lastActivityAt: 'last_activity_at',
  sessionId: 'parent_session_id',
  callerSessionId: 'caller_session_id',
  taskId: 'task_id',
  parentJobId: 'parent_job_id',
  parentMessageId: 'parent_msg_id',
  contextMode: 'context_mode',
  wait: 'wait',
  headId: 'head_id',
  sourceCommitId: 'source_commit_id',
  resultText: 'result_text',
  result: 'result',
  reasonCode: 'reason_code',
  cancelRequestedAt: 'cancel_requested_at',
  cancelReason: 'cancel_reason',
  detached: 'detached',
  attempt: 'attempt',
  timeoutMs: 'timeout_ms',
  idleTimeoutMs: 'idle_timeout_ms',
  cardId: 'card_id',
  revision: 'revision',
  bodyLive: 'body_live',
  progress: 'progress',
  partialText: 'partial_result',
  timedOut: 'timed_out',
  durable: 'durable',
} as const satisfies Names<Omit<JobView, 'error'>>;

/** WIR3. */
export const errorToWire = (error: JobError | null): WireFields => ({
  error: error?.message ?? null,
  error_code: error?.code ?? null,
});

export function errorFromWire({ error, error_code: code }: WireFields): JobError | null {
  return typeof error === 'string' && typeof code === 'string' ? { code, message: error } : null;
}

export const jobToWire = (job: JobView): WireFields => ({ ...rename(job, JOB), ...errorToWire(job.error) });

export const jobFromWire = (wire: WireFields): JobView =>
  ({ ...renameBack(wire, JOB), error: errorFromWire(wire) }) as unknown as JobView;
