/**
 * Reads what a snapshot does not show: page after page, as far as there is room (LRW5).
 *
 * PGR1  Live jobs come first: they are what one looks for, and what is counted.
 * PGR2  A kind that could not be read is read again, from its first page, while the connection stands; one that the token may not list has none.
 */
import type { ErrorCode } from '../../model/errors.ts';
import { isOffstageError } from '../../model/offstage-error.ts';
import { JOB_ROWS, type LiveSource, pause, type RowKind, readPages, SESSION_ROWS, TASK_ROWS } from './live-source.ts';

const PAUSE_MS = 1_000;
const LONGEST_MS = 10_000;
const LIVE_JOBS: RowKind = { ...JOB_ROWS, query: { ...JOB_ROWS.query, status_filter: ['running', 'queued', 'pending'] } };

/** Never rejects. */
export async function readEverything(source: LiveSource): Promise<void> {
  const { rows, signal, onChange } = source;
  const { tasks, sessions, jobs } = rows;
  const isOver = (): boolean => signal.aborted;
  const readJobs = !jobs.isRead;
  if (readJobs) await readKind(source, LIVE_JOBS, jobs.maximum);
  if (isOver()) return;
  if (readJobs) jobs.liveRead();
  await readKind(source, TASK_ROWS);
  if (isOver()) return;
  tasks.endReading();
  await readKind(source, SESSION_ROWS);
  if (isOver()) return;
  sessions.endReading();
  onChange();
  if (!readJobs) return;
  const isAll = await readKind(source, JOB_ROWS, jobs.maximum);
  if (isOver()) return;
  jobs.endReading(!isAll);
  onChange();
}

/** PGR2. */
async function readKind(source: LiveSource, kind: RowKind, most?: number): Promise<boolean> {
  const { clock, signal } = source;
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      return await readPages(source, kind, most);
    } catch (error) {
      if (isOffstageError(error, 'access.forbidden' as ErrorCode)) return true;
      await pause(clock, Math.min(PAUSE_MS * failures, LONGEST_MS), signal);
    }
  }
  return false;
}
