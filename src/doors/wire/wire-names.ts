/**
 * The table between our words and those of the wire (spec 13), for jobs and for what hangs on them: camelCase inside, snake_case outside, and
 * the seed's names where they differ. Sessions and tasks are in `wire-sessions.ts`, events in `wire-events.ts`.
 *
 * WIR1  Only names of ours change. What users put into `input`, `result`, `progress` and the like passes as it is.
 * WIR2  A record that goes out and comes back is the same record; a field that is new here cannot be forgotten: the compiler asks for it.
 * WIR3  `error` is a string on the wire; its code stands beside it as `error_code`.
 */
import type { Card } from '../../model/cards.ts';
import type { HistoryEntry, JobError, JobView, ProcessRecord } from '../../model/records.ts';
import type { CancelManyResult, Health, SpawnOptions } from '../../model/requests.ts';
import { type Names, rename, renameBack, type WireFields } from './rename.ts';

/** Records of jobs. The seed calls the session a job runs on its parent session. */
const JOB = {
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

/** What a request to spawn says. There `description` is the short line, and the prompt is the long text. */
const SPAWN = {
  jobId: 'job_id',
  kind: 'kind',
  input: 'input',
  subject: 'description',
  description: 'prompt',
  agentId: 'agent_id',
  sessionId: 'session_id',
  callerSessionId: 'caller_session_id',
  parentJobId: 'parent_job_id',
  parentMessageId: 'parent_msg_id',
  contextMode: 'context',
  wait: 'wait',
  timeoutMs: 'timeout_ms',
  idleTimeoutMs: 'idle_timeout_ms',
  toolCallId: 'tool_call_id',
} as const satisfies Names<SpawnOptions>;

const HISTORY = {
  at: 'at',
  type: 'type',
  from: 'from',
  to: 'to',
  reasonCode: 'reason_code',
  detail: 'detail',
} as const satisfies Names<HistoryEntry>;

const PROCESS = {
  executionId: 'execution_id',
  jobId: 'job_id',
  sessionId: 'session_id',
  pid: 'pid',
  startTime: 'start_time',
  bootId: 'boot_id',
  at: 'at',
  teardownAt: 'teardown_at',
} as const satisfies Names<ProcessRecord>;

const CANCELLED_MANY = {
  cancelled: 'cancelled',
  cancelling: 'cancelling',
  alreadyTerminal: 'already_terminal',
  notFound: 'not_found',
} as const satisfies Names<CancelManyResult>;

const STORE_HEALTH = {
  durability: 'durability',
  pendingWrites: 'pending_writes',
  lastError: 'last_error',
} as const satisfies Names<Health['store']>;

/** WIR3. */
export const errorToWire = (error: JobError | null): WireFields => ({
  error: error?.message ?? null,
  error_code: error?.code ?? null,
});

export function errorFromWire({ error, error_code: code }: WireFields): JobError | null {
  return typeof error === 'string' && typeof code === 'string' ? { code, message: error } : null;
}

export const jobToWire = (job: JobView): WireFields => ({ ...rename(job, JOB), ...errorToWire(job.error) });

/** What rows of long lists leave out: the parts that may be large. */
const LARGE = ['input', 'description', 'result', 'resultText', 'partialText'] as const satisfies readonly (keyof JobView)[];
const BRIEF: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(JOB).filter(([ours]) => !LARGE.some((name) => name === ours)),
);

export const briefJobToWire = (job: JobView): WireFields => ({ ...rename(job, BRIEF), ...errorToWire(job.error) });

export const jobFromWire = (wire: WireFields): JobView =>
  ({ ...renameBack(wire, JOB), error: errorFromWire(wire) }) as unknown as JobView;

export const spawnToWire = (options: SpawnOptions): WireFields => rename(options, SPAWN);
export const spawnFromWire = (wire: WireFields): Partial<SpawnOptions> => renameBack(wire, SPAWN);

export const historyToWire = (entry: HistoryEntry): WireFields => rename(entry, HISTORY);
export const historyFromWire = (wire: WireFields): HistoryEntry => renameBack(wire, HISTORY) as unknown as HistoryEntry;

/** Names inside `attach` are those of the conversation already. */
const CARD = {
  cardId: 'card_id',
  sessionId: 'session_id',
  function: 'function',
  content: 'content',
  attach: 'attach',
} as const satisfies Names<Card>;

export const cardToWire = (card: Card): WireFields => rename(card, CARD);
export const cardFromWire = (wire: WireFields): Card => renameBack(wire, CARD) as unknown as Card;

export const processToWire = (record: ProcessRecord): WireFields => rename(record, PROCESS);
export const processFromWire = (wire: WireFields): ProcessRecord => renameBack(wire, PROCESS) as unknown as ProcessRecord;

export const cancelledManyToWire = (result: CancelManyResult): WireFields => rename(result, CANCELLED_MANY);

export const cancelledManyFromWire = (wire: WireFields): CancelManyResult =>
  renameBack(wire, CANCELLED_MANY) as unknown as CancelManyResult;

export const healthToWire = (health: Health): WireFields => ({
  status: health.status,
  pool: { ...health.pool },
  agents: { ...health.agents },
  store: rename(health.store, STORE_HEALTH),
});

export const healthFromWire = (wire: WireFields): Health =>
  ({
    status: wire.status,
    pool: wire.pool,
    agents: wire.agents,
    store: renameBack(wire.store as WireFields, STORE_HEALTH),
  }) as unknown as Health;
