/**
 * Errors on the wire (spec 13): the sentence, its code, and the details that programs need beside it.
 *
 * WER1  Details go out under the names of the wire, and come back under ours; those of a new code cannot be forgotten: the compiler asks for them.
 */
import type { ErrorCode, ErrorDetails } from '../../model/errors.ts';
import { OffstageError } from '../../model/offstage-error.ts';
import type { StopEntry } from '../../model/stop.ts';
import { rename, renameBack, type WireFields } from './rename.ts';
import { entriesFromWire, entriesToWire } from './wire-stop-entries.ts';

type NamesIn<Details> = Details extends object ? (string extends keyof Details ? never : keyof Details) : never;
type DetailName = { [Code in ErrorCode]: NamesIn<ErrorDetails<Code>> }[ErrorCode];

const DETAILS = {
  agentId: 'agent_id',
  argument: 'argument',
  bytes: 'bytes',
  cardId: 'card_id',
  command: 'command',
  cwd: 'cwd',
  dataDir: 'data_dir',
  executionId: 'execution_id',
  exitCode: 'exit_code',
  folder: 'folder',
  id: 'id',
  idleTimeoutMs: 'idle_timeout_ms',
  jobId: 'job_id',
  kind: 'kind',
  lastLine: 'last_line',
  limit: 'limit',
  message: 'message',
  option: 'option',
  package: 'package',
  parentJobId: 'parent_job_id',
  parentMessageId: 'parent_msg_id',
  pid: 'pid',
  platform: 'platform',
  reason: 'reason',
  requestId: 'request_id',
  retryAfterMs: 'retry_after_ms',
  sessionId: 'session_id',
  signal: 'signal',
  stallFailMs: 'stall_fail_ms',
  state: 'state',
  taskId: 'task_id',
  ticketId: 'ticket_id',
  timeoutMs: 'timeout_ms',
  workloadId: 'workload_id',
} as const satisfies Readonly<Record<Exclude<DetailName, keyof typeof LISTS>, string>>;

/** Details that are parts of a report. */
const LISTS = { detached: 'detached', failed: 'failed', loadErrors: 'load_errors' } as const;

const lists = Object.entries(LISTS);

function detailsToWire(details: Readonly<Record<string, unknown>>): WireFields {
  const wire = rename(details, DETAILS);
  for (const [ours, theirs] of lists) {
    const entries = details[ours];
    if (entries !== undefined) wire[theirs] = entriesToWire(entries as readonly StopEntry[]);
  }
  return wire;
}

function detailsFromWire(wire: WireFields): Readonly<Record<string, unknown>> {
  const details: Record<string, unknown> = renameBack(wire, DETAILS);
  for (const [ours, theirs] of lists) if (wire[theirs] !== undefined) details[ours] = entriesFromWire(wire[theirs]);
  return details;
}

/** What an error says, as fields of a frame. */
export function failureToWire({ message, code, retryable, details: given }: OffstageError): WireFields {
  const details = detailsToWire(given);
  const isSilent = Object.keys(details).length === 0;
  return { error: message, error_code: code, retryable, ...(isSilent ? {} : { details }) };
}

const CODE = /^[a-z_]+\.[a-z_]+$/;

/**
 * An error as the other side raised it: with its code, its sentence and its details. The code may be one that only the other side knows, when it
 * is newer: then its own word is better than none.
 */
export function failureFromWire({ error, error_code: code, retryable, details }: WireFields): OffstageError {
  const isCode = typeof code === 'string' && CODE.test(code);
  const isObject = typeof details === 'object' && details !== null && !Array.isArray(details);
  const shown = isObject ? detailsFromWire(details as WireFields) : {};
  return new OffstageError(isCode ? (code as ErrorCode) : 'control.failed', String(error), shown, {
    retryable: retryable === true,
  });
}
