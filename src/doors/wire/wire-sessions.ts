/**
 * Sessions, tasks, their prompts and their work on the wire (spec 13, liveness 7).
 *
 * WSE1  `foreground_activity` and `active_subagent_count` are in every record that we send, null and 0 included.
 * WSE2  A name that is missing in what we are sent is unknown: it stays missing, and no value is made up for it.
 */
import type { SessionView, TaskView, TurnView, WorkloadView } from '../../model/activity.ts';
import type { PendingRequest } from '../../model/records.ts';
import type { Changed, PromptAnswer, PromptTicket } from '../../model/session-requests.ts';
import { type KeysOfUnion, type Names, rename, renameBack, type WireFields } from './rename.ts';

const SESSION = {
  sessionId: 'session_id',
  taskId: 'task_id',
  agentId: 'agent_id',
  state: 'state',
  interrupted: 'interrupted',
  foregroundActivity: 'foreground_activity',
  activeSubagentCount: 'active_subagent_count',
  uncertainCount: 'uncertain_count',
  quietCount: 'quiet_count',
  queuedPrompts: 'queued_prompts',
  sessionSeq: 'session_seq',
  executionId: 'execution_id',
  endingAgents: 'ending_agents',
  // The names inside are the provider's.
  usage: 'usage',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  revision: 'revision',
} as const satisfies Names<Omit<SessionView, 'pending' | 'turn'>>;

const PENDING = {
  kind: 'kind',
  // In a request of its own, which has a `request_id` too, it is the `pending_request_id`.
  requestId: 'request_id',
  title: 'title',
  options: 'options',
} as const satisfies Names<PendingRequest>;

const TURN = {
  generation: 'generation',
  origin: 'origin',
  startedAt: 'started_at',
  quiet: 'quiet',
} as const satisfies Names<TurnView>;

const TASK = {
  taskId: 'task_id',
  title: 'title',
  state: 'state',
  foregroundActivity: 'foreground_activity',
  activeSubagentCount: 'active_subagent_count',
  pending: 'pending',
  sessions: 'sessions',
  runningJobs: 'running_jobs',
  taskSeq: 'task_seq',
  createdAt: 'created_at',
  revision: 'revision',
} as const satisfies Names<TaskView>;

const WORKLOAD = {
  sessionId: 'session_id',
  workloadId: 'workload_id',
  kind: 'kind',
  source: 'source',
  phase: 'phase',
  executionId: 'execution_id',
  toolCallId: 'tool_call_id',
  hosted: 'hosted',
  uncertain: 'uncertain',
  quiet: 'quiet',
  startedAt: 'started_at',
} as const satisfies Names<WorkloadView>;

const TICKET = {
  ticketId: 'ticket_id',
  promptId: 'prompt_id',
  sessionId: 'session_id',
  origin: 'origin',
  position: 'position',
  createdAt: 'created_at',
} as const satisfies Names<PromptTicket>;

const PROMPT_ANSWER = {
  accepted: 'accepted',
  queued: 'queued',
  promptId: 'prompt_id',
  generation: 'generation',
  ticketId: 'ticket_id',
  position: 'position',
  durable: 'durable',
} as const satisfies Readonly<Record<KeysOfUnion<PromptAnswer>, string>>;

const CHANGED = { changed: 'changed', durable: 'durable' } as const satisfies Names<Changed>;

/** A part with names of its own; null stays null, and one that is not there stays away (WSE2). */
function part(
  fields: object,
  name: 'pending' | 'turn',
  translate: (value: WireFields, names: Readonly<Record<string, string>>) => WireFields,
  names: Readonly<Record<string, string>>,
): WireFields {
  const value = (fields as Partial<WireFields>)[name];
  if (value === undefined) return {};
  return { [name]: value === null ? null : translate(value as WireFields, names) };
}

export const sessionToWire = (view: SessionView): WireFields => ({
  ...rename(view, SESSION),
  ...part(view, 'pending', rename, PENDING),
  ...part(view, 'turn', rename, TURN),
});

export const sessionFromWire = (wire: WireFields): SessionView =>
  ({
    ...renameBack(wire, SESSION),
    ...part(wire, 'pending', renameBack, PENDING),
    ...part(wire, 'turn', renameBack, TURN),
  }) as unknown as SessionView;

export const taskToWire = (view: TaskView): WireFields => rename(view, TASK);
export const taskFromWire = (wire: WireFields): TaskView => renameBack(wire, TASK) as unknown as TaskView;

export const workloadToWire = (view: WorkloadView): WireFields => rename(view, WORKLOAD);
export const workloadFromWire = (wire: WireFields): WorkloadView => renameBack(wire, WORKLOAD) as unknown as WorkloadView;

export const ticketToWire = (ticket: PromptTicket): WireFields => rename(ticket, TICKET);
export const ticketFromWire = (wire: WireFields): PromptTicket => renameBack(wire, TICKET) as unknown as PromptTicket;

export const promptAnswerToWire = (answer: PromptAnswer): WireFields => rename(answer, PROMPT_ANSWER);
export const promptAnswerFromWire = (wire: WireFields): PromptAnswer =>
  renameBack(wire, PROMPT_ANSWER) as unknown as PromptAnswer;

export const changedToWire = (answer: Changed): WireFields => rename(answer, CHANGED);
export const changedFromWire = (wire: WireFields): Changed => renameBack(wire, CHANGED) as unknown as Changed;
