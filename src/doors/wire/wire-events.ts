/**
 * Events on the wire (spec 13, liveness 7).
 *
 * WEV1  Activity and count go out whenever they are known, null and 0 included; a replayed event has neither, and gets none here.
 */
import { isVolatileEvent, type OffstageEvent } from '../../model/events.ts';
import { type KeysOfUnion, rename, renameBack, type WireFields } from './rename.ts';
import { errorFromWire, errorToWire } from './wire-names.ts';

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
  workloads: 'workloads',
  silentMs: 'silent_ms',
  cardId: 'card_id',
} as const satisfies Readonly<Record<Exclude<KeysOfUnion<OffstageEvent>, 'error'>, string>>;

const JOB_EVENT = { ...EVENT, sessionId: 'parent_session_id' };

/** The types of events, by ours. */
export const EVENT_TYPES = {
  'job.created': 'job_created',
  'job.status': 'job_status',
  'job.progress': 'job_progress',
  'job.output': 'job_output',
  'session.state_changed': 'session.state_changed',
  'session.activity_changed': 'session.activity_changed',
  'session.output': 'session.output',
  'session.turn_ended': 'session.turn_ended',
  'session.ticket': 'session.ticket',
  'session.quiet': 'session.quiet',
  'session.removed': 'session.removed',
  'card.updated': 'card_updated',
  'task.created': 'task.created',
  'task.updated': 'task.updated',
  'task.removed': 'task.removed',
  resync: 'resync',
} as const satisfies Readonly<Record<OffstageEvent['type'], string>>;

/** For subscribers that ask for `names: 'seed'`. */
const SEED_EVENT_TYPES: Readonly<Record<string, string>> = { job_created: 'task_created', job_progress: 'task_progress' };

const shownType = (type: string, names: 'ours' | 'seed'): string => (names === 'seed' ? (SEED_EVENT_TYPES[type] ?? type) : type);

/** Every type of frame that a subscription may bring, as this subscriber reads it. */
export const eventTypesOf = (names: 'ours' | 'seed'): ReadonlySet<string> =>
  new Set([...Object.values(EVENT_TYPES), 'running_task'].map((type) => shownType(type, names)));

export const wireTypeOf = (type: OffstageEvent['type'], names: 'ours' | 'seed'): string => shownType(EVENT_TYPES[type], names);

export function eventToWire(event: OffstageEvent, names: 'ours' | 'seed' = 'ours'): WireFields {
  const shown = wireTypeOf(event.type, names);
  const error = 'error' in event ? errorToWire(event.error) : {};
  return { ...rename(event, namesOf(event.type)), ...error, type: shown };
}

const namesOf = (type: OffstageEvent['type']): Readonly<Record<string, string>> => (type.startsWith('job.') ? JOB_EVENT : EVENT);

const OUR_EVENT_TYPES = new Map<unknown, OffstageEvent['type']>(
  Object.entries(EVENT_TYPES).map(([ours, theirs]) => [theirs, ours as OffstageEvent['type']]),
);

/** Null for frames that stand for no event of ours, such as `running_task`. */
export function eventFromWire(wire: WireFields): OffstageEvent | null {
  const type = OUR_EVENT_TYPES.get(wire.type);
  if (type === undefined) return null;
  const error = 'error' in wire ? { error: errorFromWire(wire) } : {};
  return { ...renameBack(wire, namesOf(type)), ...error, type } as unknown as OffstageEvent;
}

const SEED_NAMES = new Map<unknown, string>(Object.entries(SEED_EVENT_TYPES).map(([ours, seeds]) => [seeds, ours]));

/** Whether a frame is said once and kept nowhere, by whatever names its reader knows it. */
export function isVolatileFrame(frame: WireFields): boolean {
  const type = OUR_EVENT_TYPES.get(SEED_NAMES.get(frame.type) ?? frame.type);
  return type === undefined || frame.volatile === true || isVolatileEvent({ type } as OffstageEvent);
}
