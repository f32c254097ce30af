/** Where the rows of each kind are read, page by page: what the reader of pages and the refresher have in common. */

import type { WireFields } from '../wire/rename.ts';
import { jobFromWire } from '../wire/wire-names.ts';
import { sessionFromWire, taskFromWire } from '../wire/wire-sessions.ts';
import type { Asking } from './asking.ts';
import type { ClientClock } from './client-clock.ts';
import type { LiveRows } from './live-rows.ts';
import type { WireConnection } from './wire-connection.ts';

export interface LiveSource {
  readonly rows: LiveRows;
  readonly connection: WireConnection;
  readonly clock: ClientClock;
  /** Fires when the connection has gone, or another snapshot takes the place of this one. */
  readonly signal: AbortSignal;
  /** Rows have changed. */
  readonly onChange: () => void;
}

/** How the rows of one kind are asked for. */
export interface RowKind {
  readonly list: string;
  readonly get: string;
  readonly idName: string;
  /** Under which they stand in an answer. */
  readonly name: string;
  readonly query: WireFields;
  readonly ask: <Answer>(rows: LiveRows, question: (asking: Asking) => Promise<Answer>) => Promise<Answer>;
  readonly apply: (rows: LiveRows, page: readonly WireFields[], asking: Asking) => void;
}

export const TASK_ROWS: RowKind = {
  list: 'list_tasks',
  get: 'get_task',
  idName: 'task_id',
  name: 'tasks',
  query: { archived: true },
  ask: (rows, question) => rows.tasks.ask(question),
  apply: (rows, page, asking) => rows.applyTasks(page.map(taskFromWire), asking),
};

export const SESSION_ROWS: RowKind = {
  list: 'list_sessions',
  get: 'get_session',
  idName: 'session_id',
  name: 'sessions',
  query: {},
  ask: (rows, question) => rows.sessions.ask(question),
  apply: (rows, page, asking) => rows.applySessions(page.map(sessionFromWire), asking),
};

export const JOB_ROWS: RowKind = {
  list: 'list_jobs',
  get: 'get_job',
  idName: 'job_id',
  name: 'tasks',
  query: { brief: true },
  ask: (rows, question) => rows.jobs.ask(question),
  apply: (rows, page, asking) => rows.applyJobs(page.map(jobFromWire), asking),
};

export const PAGE_ROWS = 1_000;

/**
 * Reads up to `most` rows. Answers whether that were all there are; false also when it was stopped.
 * @throws OffstageError what a request throws
 */
export async function readPages(
  { connection, rows, signal, onChange }: LiveSource,
  { list, query, name, ask, apply }: RowKind,
  most = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  let before: WireFields = {};
  for (let rest = most; rest > 0; ) {
    const wanted = { ...query, ...before, limit: Math.min(rest, PAGE_ROWS) };
    const { page, next } = await ask(rows, async (asking) => {
      const answer = await connection.request(list, wanted);
      const shown = (answer[name] ?? []) as unknown as readonly WireFields[];
      if (!signal.aborted) apply(rows, shown, asking);
      return { page: shown, next: answer.next_before };
    });
    if (signal.aborted) return false;
    onChange();
    if (next === null || next === undefined || page.length === 0) return true;
    before = { before: next };
    rest -= page.length;
  }
  return false;
}

/** Resolves after so long, or when the signal fires. */
export function pause(clock: ClientClock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const over = (): void => {
      stop();
      signal.removeEventListener('abort', over);
      resolve();
    };
    const stop = clock.schedule(ms, over, { background: true });
    signal.addEventListener('abort', over);
  });
}
