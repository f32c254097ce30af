/** What a row says beside its title. */
import type { SessionView } from '../../../src/model/activity.ts';
import type { JobRow } from './client.ts';
import { ago, counted, shortDuration } from './words.ts';

/** Silence of so many milliseconds is worth a word. */
const SILENCE_MS = 60_000;

/** "last heard 3 min ago"; null while it is not silent. */
export function silence(job: JobRow, now: number): string | null {
  if (job.status !== 'running') return null;
  const heardAt = job.lastActivityAt ?? job.startedAt ?? now;
  return now - heardAt < SILENCE_MS ? null : `last heard ${ago(now - heardAt)}`;
}

/** The time in a job's row: growing while it works, then what it took. */
export function jobTime(job: JobRow, now: number): string {
  const { status, createdAt, startedAt, completedAt } = job;
  if (completedAt !== null) return startedAt === null ? '' : shortDuration(completedAt - startedAt);
  const from = status === 'running' ? (startedAt ?? createdAt) : createdAt;
  return shortDuration(Math.floor(Math.max(0, now - from) / 1_000) * 1_000)
    .replace(/^0ms$/, '0s')
    .replace('.0', '');
}

export const sessionNotes = (session: SessionView): readonly string[] => [
  ...(session.activeSubagentCount > 0 ? [counted(session.activeSubagentCount, 'subagent')] : []),
  ...(session.queuedPrompts > 0 ? [`${counted(session.queuedPrompts, 'prompt')} waiting`] : []),
  ...(session.quietCount > 0 ? [`${session.quietCount} quiet in the background`] : []),
  ...(session.uncertainCount > 0 ? [`${session.uncertainCount} perhaps ended`] : []),
  ...(session.endingAgents > 0 ? [`${counted(session.endingAgents, 'agent')} may still be running`] : []),
];
