/**
 * What a session or a task is doing, in words: never by colour alone.
 *
 * ACW1  What waits for a person comes first, then what works, then how it stands; a value that is not known is said to be unknown.
 */
import { type Activity, isInputCapable, type SessionView, type TaskPending, type TaskView } from '../../model/activity.ts';
import type { SessionState } from '../../model/records.ts';
import type { Style } from './terminal.ts';
import { counted, durationInWords } from './words.ts';

export interface Word {
  readonly text: string;
  readonly style?: Style;
}

const TIER_STYLES = { generating: 'cyan', background: 'blue' } as const;

/** How a session stands in which nothing works. */
const REST: Readonly<Record<SessionState, Word>> = {
  created: { text: 'new', style: 'dim' },
  starting: { text: 'starting', style: 'dim' },
  running: { text: 'done', style: 'green' },
  waiting_for_input: { text: 'done', style: 'green' },
  idle: { text: 'done', style: 'green' },
  completed: { text: 'done', style: 'green' },
  failed: { text: 'failed', style: 'red' },
  cancelled: { text: 'cancelled', style: 'yellow' },
};

/** "generating", "background (2)"; the number is that of live subagents. Null when nothing works. */
export function tierWord(value: { readonly foregroundActivity: Activity; readonly activeSubagentCount: number }): Word | null {
  const { foregroundActivity: tier, activeSubagentCount: count } = value;
  // Of an owner that does not tell it.
  if (tier === undefined) return { text: 'unknown' };
  if (tier === null) return null;
  return { text: count > 0 ? `${tier} (${count})` : tier, style: TIER_STYLES[tier] };
}

/** "permission needed" and "answer needed" ask for a person; null where nobody is asked. */
export function neededWord(pending: TaskPending): Word | null {
  if (pending === 'permission') return { text: 'permission needed', style: 'yellow' };
  return pending === 'clarification' ? { text: 'answer needed', style: 'yellow' } : null;
}

export function sessionWord(view: SessionView): Word {
  const asked = isInputCapable(view.state) ? (view.pending?.kind ?? null) : null;
  const rest = view.interrupted ? { text: 'interrupted', style: 'yellow' as const } : REST[view.state];
  return neededWord(asked) ?? tierWord(view) ?? rest;
}

export const taskWord = (view: TaskView): Word =>
  neededWord(view.pending) ?? tierWord(view) ?? { text: 'nothing runs', style: 'dim' };

/** What else there is to say of a session, in short: its turn, prompts that wait, work of which is little known. */
export function sessionNotes(view: SessionView, now: number): readonly string[] {
  const { turn, queuedPrompts, uncertainCount, quietCount, endingAgents } = view;
  const notes: string[] = [];
  const tier = tierWord(view);
  // The place of the tier is taken by what waits for a person.
  if (tier !== null && sessionWord(view).text !== tier.text) notes.push(tier.text);
  if (turn) notes.push(`${turn.origin === 'provider' ? 'unasked ' : ''}for ${durationInWords(now - turn.startedAt)}`);
  if (turn?.quiet === true) notes.push('quiet');
  if (queuedPrompts > 0) notes.push(`${counted(queuedPrompts, 'prompt')} waiting`);
  if (quietCount > 0) notes.push(`${quietCount} quiet in the background`);
  if (uncertainCount > 0) notes.push(`${uncertainCount} uncertain`);
  if (endingAgents > 0) notes.push(`${counted(endingAgents, 'agent')} ending`);
  return notes;
}
