/**
 * What the metadata `_meta.claudeCode` on ACP v1 tells of background work: subagents, shells, monitors (liveness 8). Pure.
 *
 * CLM1  Read only where the host has configured it. The name of an agent is never looked at (L123).
 * CLM2  Fail closed: what is missing or of the wrong type is not there (L115).
 * CLM3  The end of a launch is not the end of what it launched; a launch that failed has launched nothing.
 * CLM4  A monitor is at work once its command is known and its launch has completed; neither alone will do (L124).
 */
import type { ToolStatus, ToolWork } from '../model/agent.ts';
import type { WorkloadKind } from '../model/executor.ts';
import { isFinal } from './acp-frames.ts';
import { type Fields, fieldsOf, isFields, textOf } from './read-json.ts';

/** What is known of one tool call. */
export interface ClaudeCall {
  readonly kind: WorkloadKind | null;
  /** A monitor's command, or the address it watches, is known. */
  readonly hasTarget: boolean;
  readonly isDetached: boolean;
  /** Its launch has completed, and what it launched goes on. */
  readonly isLaunched: boolean;
  readonly isOver: boolean;
  readonly workloadId: string | undefined;
}

const UNKNOWN: ClaudeCall = {
  kind: null,
  hasTarget: false,
  isDetached: false,
  isLaunched: false,
  isOver: false,
  workloadId: undefined,
};

const KINDS: Readonly<Record<string, WorkloadKind>> = { Agent: 'subagent', Task: 'subagent', Bash: 'shell', Monitor: 'monitor' };
const STARTED_ELSEWHERE = ['async_launched', 'remote_launched'];
/** How the tool Monitor reports that it watches now. */
const MONITOR_BANNER = /^Monitor started \(task ([\w-]+)/;

const claudeMeta = (update: Fields): Fields => fieldsOf(fieldsOf(update._meta).claudeCode);

/** The tool call whose child this update belongs to. */
export const claudeParent = (update: Fields): string | undefined => textOf(claudeMeta(update).parentToolUseId);

/** What is known of a tool call after one more update of it. */
export function readClaudeCall(known: ClaudeCall | undefined, update: Fields, status: ToolStatus | undefined): ClaudeCall {
  const before = known ?? UNKNOWN;
  const meta = claudeMeta(update);
  const tool = textOf(meta.toolName);
  const kind = before.kind ?? (tool !== undefined && Object.hasOwn(KINDS, tool) ? (KINDS[tool] ?? null) : null);
  if (kind === null) return before;
  const input = fieldsOf(update.rawInput);
  const response = fieldsOf(meta.toolResponse);
  const call = { ...before, kind, workloadId: before.workloadId ?? workIdOf(kind, response, update) };
  if (kind === 'monitor') return monitorCall(call, input, status, workIdOf(kind, response, update));
  const isDetached = before.isDetached || input.run_in_background === true || wasSentOff(kind, response);
  const isLaunched = before.isLaunched || (isDetached && status === 'completed');
  const isOver = before.isOver || (isDetached && hasEnded(before, update, response, status));
  return { ...call, isDetached, isLaunched, isOver };
}

function workIdOf(kind: WorkloadKind, response: Fields, update: Fields): string | undefined {
  if (kind === 'subagent') return textOf(response.agentId) ?? textOf(response.taskId);
  if (kind === 'shell') return textOf(response.backgroundTaskId);
  const banner = typeof update.rawOutput === 'string' ? MONITOR_BANNER.exec(update.rawOutput) : null;
  return textOf(response.taskId) ?? banner?.[1];
}

function wasSentOff(kind: WorkloadKind, response: Fields): boolean {
  if (kind === 'shell') return textOf(response.backgroundTaskId) !== undefined;
  return STARTED_ELSEWHERE.includes(textOf(response.status) ?? '') || response.isAsync === true;
}

/** Whether what was detached has ended: its launch failed, it ran to its end after all, or its terminal was told to have exited. */
function hasEnded(before: ClaudeCall, update: Fields, response: Fields, status: ToolStatus | undefined): boolean {
  if (isFields(fieldsOf(update._meta).terminal_exit)) return true;
  if (response.status === 'completed') return true;
  return !before.isLaunched && (status === 'failed' || status === 'cancelled');
}

function monitorCall(call: ClaudeCall, input: Fields, status: ToolStatus | undefined, workId: string | undefined): ClaudeCall {
  const hasTarget = call.hasTarget || textOf(input.command) !== undefined || textOf(fieldsOf(input.ws).url) !== undefined;
  const watching = { ...call, hasTarget };
  if (!call.isLaunched) {
    const isLaunched = hasTarget && status === 'completed';
    return { ...watching, isDetached: isLaunched, isLaunched };
  }
  // The same launch told twice is not its end.
  const isToldAgain = workId !== undefined && workId === call.workloadId;
  return { ...watching, isOver: call.isOver || (isFinal(status) && !isToldAgain) };
}

/** What a frame says of it: nothing while it is no background work. */
export function claudeWork(call: ClaudeCall): ToolWork | undefined {
  const { kind, isDetached, workloadId } = call;
  if (kind === null || (kind !== 'subagent' && !isDetached)) return undefined;
  return { kind, isDetached, ...(workloadId === undefined ? {} : { workloadId }) };
}

/**
 * Why a model cycle came about, as told with the usage at its end: the person's own prompt, whose foreground is idle now, or the notice
 * of a background task, which names none. Deliveries with a subkind are notices of something else.
 */
export function claudeOrigin(update: Fields): { readonly kind: 'human' | 'completion'; readonly eventId?: string } | null {
  const origin = fieldsOf(fieldsOf(update._meta)['_claude/origin']);
  if (origin.kind === 'human') return { kind: 'human' };
  if (origin.kind !== 'task-notification' || origin.subkind !== undefined) return null;
  const eventId = textOf(origin.runId);
  return { kind: 'completion', ...(eventId === undefined ? {} : { eventId }) };
}

/** Whether the provider said at connect that it takes a prompt while another is open. Anything but `true` is no. */
export function claimsHandoff(initializeResponse: unknown): boolean {
  const { agentCapabilities } = fieldsOf(initializeResponse);
  return claudeMeta(fieldsOf(agentCapabilities)).promptQueueing === true;
}
