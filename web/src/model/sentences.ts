/**
 * How a thing stands, in a sentence.
 *
 * DSH5  A time counts on only while its work does; after the end it stands still at `completedAt`.
 */
import type { SessionView, TaskView } from '../../../src/model/activity.ts';
import type { ReasonCode } from '../../../src/model/records.ts';
import type { JobRow } from './client.ts';
import { ago, duration, elapsed, listed } from './long-words.ts';
import { sessionNotes, silence } from './row-words.ts';
import { jobState, mayStillRun, STATES, type StateKey } from './states.ts';

const REASONS: Readonly<Partial<Record<ReasonCode, string>>> = {
  timed_out: 'Timed out',
  idle_timed_out: 'Timed out in silence',
  'cancel.parent': 'Cancelled with its parent',
  'cancel.caller_gone': 'Cancelled, as nobody waited for it any more',
  'cancel.stop': 'Cancelled by a stop',
  'cancel.timed_out': 'Cancelled by force',
  'abandoned.crash': 'Lost when the engine died',
  'abandoned.shutdown': 'Ended by the shutdown of the engine',
  worker_died: 'Its worker died',
};

export const reasonWord = (job: Pick<JobRow, 'reasonCode' | 'status' | 'cancelRequestedAt'>): string =>
  (job.reasonCode && REASONS[job.reasonCode]) || STATES[jobState(job)].word;

export function jobSentence(job: JobRow, now: number): string {
  const { status, createdAt, startedAt, completedAt, cancelRequestedAt } = job;
  if (status === 'pending' || status === 'queued') return `Waiting for a slot for ${elapsed(now - createdAt)}`;
  if (status === 'running') {
    if (cancelRequestedAt !== null) return `Cancelling… asked ${ago(now - cancelRequestedAt)}; it has not ended yet`;
    return [`Running for ${elapsed(now - (startedAt ?? createdAt))}`, silence(job, now)].filter(Boolean).join(', ');
  }
  const end = completedAt ?? now;
  const took =
    startedAt === null ? 'before it started' : `${status === 'completed' ? 'in' : 'after'} ${duration(end - startedAt)}`;
  return `${reasonWord(job)} ${took}, ${ago(now - end)}${mayStillRun(job) ? '; it may still be running' : ''}`;
}

const REST: Readonly<Record<SessionView['state'], string>> = {
  created: 'New: the first prompt starts its agent',
  starting: 'The agent is starting',
  running: 'Ready for a prompt',
  waiting_for_input: 'Ready for a prompt',
  idle: 'Resting: the next prompt starts its agent again',
  completed: 'Completed; a prompt takes it up again',
  failed: 'Failed; the conversation is over',
  cancelled: 'Cancelled; the conversation is over',
};

/** @param heardAt when its agent was last heard of, where it is known to be silent */
export function sessionSentence(session: SessionView, state: StateKey, now: number, heardAt?: number): string {
  const { turn, interrupted } = session;
  const parts: string[] = [];
  if (state === 'permission' || state === 'clarification') parts.push(STATES[state].label);
  else if (state === 'generating') {
    const since = turn ? ` for ${elapsed(now - turn.startedAt)}` : '';
    parts.push(turn?.origin === 'provider' ? `The agent speaks unasked${since}` : `${STATES[state].label}${since}`);
  } else if (state === 'background-running') parts.push(`${STATES[state].label}; the agent takes prompts`);
  else parts.push(interrupted ? 'Interrupted by a restart; a prompt takes it up again' : REST[session.state]);
  if (heardAt !== undefined && state !== 'idle') parts.push(`last heard ${ago(now - heardAt)}`);
  else if (turn?.quiet) parts.push('quiet for a while');
  return [...parts, ...sessionNotes(session)].join(', ');
}

export function taskSentence(task: TaskView, state: StateKey): string {
  const rest = listed([
    [task.sessions.length, 'session'],
    [task.runningJobs, 'running job'],
    [task.activeSubagentCount, 'subagent'],
  ]);
  const settled = state === 'idle' || state === 'completed' || state === 'errored' || state === 'cancelled';
  return [settled ? 'Nothing is running' : STATES[state].label, rest].filter(Boolean).join(', ');
}
