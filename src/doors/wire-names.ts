/**
 * The one table between our words and those of the wire (spec 13): camelCase inside, snake_case outside, and the seed's names where they differ.
 *
 * WIR1  Only names of ours change. What users put into `input`, `result`, `progress` and the like passes as it is.
 * WIR2  A record that goes out and comes back is the same record; a field that is new here cannot be forgotten: the compiler asks for it.
 * WIR3  `error` is a string on the wire; its code stands beside it as `error_code`.
 */
import type { OffstageEvent } from '../model/events.ts';
import type { JsonValue } from '../model/json.ts';
import type { HistoryEntry, JobError, JobView, ProcessRecord, SessionRow, TaskRow } from '../model/records.ts';
import type { CancelManyResult, Health, SpawnOptions } from '../model/requests.ts';

export type WireFields = { readonly [name: string]: JsonValue };

type Names<Ours> = Readonly<Record<keyof Ours, string>>;
type KeysOfUnion<Union> = Union extends unknown ? keyof Union : never;

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

const SESSION = {
  sessionId: 'session_id',
  taskId: 'task_id',
  agentId: 'agent_id',
  state: 'state',
  interrupted: 'interrupted',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  revision: 'revision',
} as const satisfies Names<Omit<SessionRow, 'pending'>>;

const PENDING = {
  kind: 'kind',
  requestId: 'request_id',
  options: 'options',
} as const satisfies Names<NonNullable<SessionRow['pending']>>;

const TASK = {
  taskId: 'task_id',
  title: 'title',
  state: 'state',
  createdAt: 'created_at',
  revision: 'revision',
} as const satisfies Names<TaskRow>;

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

/** Fields of events. Those of jobs name their session as records of jobs do. */
const EVENT = {
  type: 'type',
  seq: 'seq',
  epoch: 'epoch',
  at: 'at',
  jobId: 'job_id',
  sessionId: 'session_id',
  callerSessionId: 'caller_session_id',
  taskId: 'task_id',
  parentJobId: 'parent_job_id',
  status: 'status',
  reasonCode: 'reason_code',
  cancelRequestedAt: 'cancel_requested_at',
  completedAt: 'completed_at',
  detached: 'detached',
  revision: 'revision',
  oldState: 'old_state',
  newState: 'new_state',
  title: 'title',
  state: 'state',
  progress: 'progress',
  text: 'text',
  stream: 'stream',
  offset: 'offset',
  foregroundActivity: 'foreground_activity',
  activeSubagentCount: 'active_subagent_count',
  activityEpoch: 'activity_epoch',
  sessionSeq: 'session_seq',
  taskSeq: 'task_seq',
  isVolatile: 'volatile',
  generation: 'generation',
  channel: 'channel',
  stopReason: 'stop_reason',
  ticketId: 'ticket_id',
  promptId: 'prompt_id',
  error: 'error',
} as const satisfies Readonly<Record<KeysOfUnion<OffstageEvent>, string>>;

const JOB_EVENT = { ...EVENT, sessionId: JOB.sessionId };

const EVENT_TYPES = {
  'job.created': 'job_created',
  'job.status': 'job_status',
  'job.progress': 'job_progress',
  'job.output': 'job_output',
  'session.state_changed': 'session.state_changed',
  'session.activity_changed': 'session.activity_changed',
  'session.output': 'session.output',
  'session.turn_ended': 'session.turn_ended',
  'session.ticket': 'session.ticket',
  'task.created': 'task.created',
  'task.updated': 'task.updated',
  'task.removed': 'task.removed',
  resync: 'resync',
} as const satisfies Readonly<Record<OffstageEvent['type'], string>>;

/** For subscribers that ask for `names: 'seed'`. */
const SEED_EVENT_TYPES: Readonly<Record<string, string>> = { job_created: 'task_created', job_progress: 'task_progress' };

function rename(value: object, names: Readonly<Record<string, string>>): Record<string, JsonValue> {
  const renamed: Record<string, JsonValue> = {};
  for (const [ours, theirs] of Object.entries(names)) {
    const part = (value as Record<string, JsonValue | undefined>)[ours];
    if (part !== undefined) renamed[theirs] = part;
  }
  return renamed;
}

const inverted = new Map<object, Readonly<Record<string, string>>>();

function renameBack(value: WireFields, names: Readonly<Record<string, string>>): Record<string, JsonValue> {
  let back = inverted.get(names);
  if (back === undefined) {
    back = Object.fromEntries(Object.entries(names).map(([ours, theirs]) => [theirs, ours]));
    inverted.set(names, back);
  }
  return rename(value, back);
}

export const jobToWire = (job: JobView): WireFields => ({
  ...rename(job, JOB),
  error: job.error?.message ?? null,
  error_code: job.error?.code ?? null,
});

export function jobFromWire(wire: WireFields): JobView {
  const { error, error_code: code } = wire;
  const failure = typeof error === 'string' && typeof code === 'string' ? ({ code, message: error } as JobError) : null;
  return { ...renameBack(wire, JOB), error: failure } as unknown as JobView;
}

export const spawnToWire = (options: SpawnOptions): WireFields => rename(options, SPAWN);
export const spawnFromWire = (wire: WireFields): Partial<SpawnOptions> => renameBack(wire, SPAWN);

export const sessionToWire = (row: SessionRow): WireFields => ({
  ...rename(row, SESSION),
  pending: row.pending === null ? null : rename(row.pending, PENDING),
});

export function sessionFromWire(wire: WireFields): SessionRow {
  const pending = wire.pending === null || wire.pending === undefined ? null : renameBack(wire.pending as WireFields, PENDING);
  return { ...renameBack(wire, SESSION), pending } as unknown as SessionRow;
}

export const taskToWire = (row: TaskRow): WireFields => rename(row, TASK);
export const taskFromWire = (wire: WireFields): TaskRow => renameBack(wire, TASK) as unknown as TaskRow;

export const historyToWire = (entry: HistoryEntry): WireFields => rename(entry, HISTORY);
export const historyFromWire = (wire: WireFields): HistoryEntry => renameBack(wire, HISTORY) as unknown as HistoryEntry;

export const processToWire = (record: ProcessRecord): WireFields => rename(record, PROCESS);
export const processFromWire = (wire: WireFields): ProcessRecord => renameBack(wire, PROCESS) as unknown as ProcessRecord;

export const cancelledManyToWire = (result: CancelManyResult): WireFields => rename(result, CANCELLED_MANY);

export const healthToWire = (health: Health): WireFields => ({
  status: health.status,
  pool: { ...health.pool },
  store: rename(health.store, STORE_HEALTH),
});

export const healthFromWire = (wire: WireFields): Health =>
  ({ status: wire.status, pool: wire.pool, store: renameBack(wire.store as WireFields, STORE_HEALTH) }) as unknown as Health;

export function eventToWire(event: OffstageEvent, names: 'ours' | 'seed' = 'ours'): WireFields {
  const type = EVENT_TYPES[event.type];
  const shown = names === 'seed' ? (SEED_EVENT_TYPES[type] ?? type) : type;
  return { ...rename(event, event.type.startsWith('job.') ? JOB_EVENT : EVENT), type: shown };
}

const OUR_EVENT_TYPES = new Map<unknown, OffstageEvent['type']>(
  Object.entries(EVENT_TYPES).map(([ours, theirs]) => [theirs, ours as OffstageEvent['type']]),
);

/** Null for frames that stand for no event of ours, such as `running_task`. */
export function eventFromWire(wire: WireFields): OffstageEvent | null {
  const type = OUR_EVENT_TYPES.get(wire.type);
  if (type === undefined) return null;
  return { ...renameBack(wire, type.startsWith('job.') ? JOB_EVENT : EVENT), type } as unknown as OffstageEvent;
}
