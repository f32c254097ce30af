/** What a row says beside its title. */
import type { SessionView } from '../../../src/model/activity.ts';
import type { JobRow } from './client.ts';
import type { Row } from './rows.ts';
import { mayStillRun } from './states.ts';
import { counted, shortElapsed } from './words.ts';

/** Silence of this long is worth a word. */
const MINUTE_MS = 60_000;

/** "last heard 3 min ago"; null while it is not silent. */
export function silence(job: JobRow, now: number): string | null {
  if (job.status !== 'running') return null;
  const heardAt = job.lastActivityAt ?? job.startedAt ?? now;
  const minutes = Math.floor((now - heardAt) / MINUTE_MS);
  return minutes < 1 ? null : `last heard ${minutes < 60 ? `${minutes} min` : shortElapsed(now - heardAt)} ago`;
}

export const sessionNotes = (session: SessionView): readonly string[] => [
  ...(session.activeSubagentCount > 0 ? [counted(session.activeSubagentCount, 'subagent')] : []),
  ...(session.queuedPrompts > 0 ? [`${counted(session.queuedPrompts, 'prompt')} waiting`] : []),
  ...(session.quietCount > 0 ? [`${session.quietCount} quiet in the background`] : []),
  ...(session.uncertainCount > 0 ? [`${session.uncertainCount} perhaps ended`] : []),
  ...(session.endingAgents > 0 ? [`${counted(session.endingAgents, 'agent')} may still be running`] : []),
];

/** Beside the title, as far as there is room. */
export function rowNote(row: Row, now: number): string {
  if (row.kind === 'job') return mayStillRun(row.item) ? '' : [silence(row.item, now), row.item.kind].filter(Boolean).join(', ');
  if (row.kind === 'session')
    return [row.item.agentId, row.item.interrupted && 'interrupted', ...sessionNotes(row.item)].filter(Boolean).join(', ');
  return row.isOpen || row.item.sessions.length === 0 ? '' : counted(row.item.sessions.length, 'session');
}
