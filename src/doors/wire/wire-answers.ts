/**
 * What verbs about jobs take and answer beside their records (spec 13), under the names of the wire (WIR1, WIR2). Apart from the records, because
 * whoever only follows what happens has no use for it.
 */
import type { Card } from '../../model/cards.ts';
import type { HistoryEntry, JobView, ProcessRecord } from '../../model/records.ts';
import type { CancelManyResult, Health, SpawnOptions } from '../../model/requests.ts';
import { type Names, rename, renameBack, type WireFields } from './rename.ts';
import { errorToWire, JOB } from './wire-names.ts';

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

/** Of the record, what a cancel acknowledges. */
const CANCELLED = {
  jobId: 'job_id',
  status: 'status',
  cancelRequestedAt: 'cancel_requested_at',
  durable: 'durable',
} as const satisfies Partial<Names<JobView>>;

const CANCELLED_MANY = {
  cancelled: 'cancelled',
  cancelling: 'cancelling',
  alreadyTerminal: 'already_terminal',
  notFound: 'not_found',
  durable: 'durable',
} as const satisfies Names<CancelManyResult>;

const STORE_HEALTH = {
  durability: 'durability',
  pendingWrites: 'pending_writes',
  lastError: 'last_error',
} as const satisfies Names<Health['store']>;

/** What rows of long lists leave out: the parts that may be large. */
const LARGE = ['input', 'description', 'result', 'resultText', 'partialText'] as const satisfies readonly (keyof JobView)[];
const BRIEF: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(JOB).filter(([ours]) => !LARGE.some((name) => name === ours)),
);

export const briefJobToWire = (job: JobView): WireFields => ({ ...rename(job, BRIEF), ...errorToWire(job.error) });

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

export const cancelledToWire = (job: JobView): WireFields => rename(job, CANCELLED);
export const cancelledFromWire = (wire: WireFields): Pick<JobView, keyof typeof CANCELLED> =>
  renameBack(wire, CANCELLED) as unknown as Pick<JobView, keyof typeof CANCELLED>;

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
