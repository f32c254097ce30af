/**
 * Reads again what events have touched: they say less than a row has (LRW6).
 *
 * RRF1  What is touched meanwhile is read together in the next round; jobs have rounds of their own, since they change most.
 * RRF2  A round that fails leaves everything touched, for a later one, or for the next connection.
 * RRF3  A round is bounded: few rows of a kind are read by id, many by one list where one page holds them all.
 */
import { isOffstageError } from '../../model/offstage-error.ts';
import type { WireFields } from '../wire/rename.ts';
import { jobFromWire } from '../wire/wire-names.ts';
import { type LiveSource, PAGE_ROWS, pause, type RowKind, readPages, SESSION_ROWS, TASK_ROWS } from './live-source.ts';
import type { JobRow } from './live-state.ts';
import type { RowTable } from './row-table.ts';

const JOBS_AT_ONCE = 500;
const ROWS_BY_ID = 32;
const JOBS_PACE_MS = 50;
const ROWS_PACE_MS = 250;
/** After a failure. */
const PAUSE_MS = 1_000;

/** It is not there, or not for this token. */
const GONE = /^(?:access\.forbidden|\w+\.(?:not_found|expired))$/;

interface Round {
  readonly paceMs: number;
  readonly dirty: ReadonlySet<string>;
  readonly read: () => Promise<void>;
  isUnderWay: boolean;
}

export class RowRefresher {
  readonly #source: LiveSource;
  readonly #rounds: readonly Round[];

  constructor(source: LiveSource) {
    this.#source = source;
    const { tasks, sessions, jobs } = source.rows;
    this.#rounds = [
      { paceMs: JOBS_PACE_MS, dirty: jobs.dirty, read: () => this.#readJobs(), isUnderWay: false },
      { paceMs: ROWS_PACE_MS, dirty: tasks.dirty, read: () => this.#readRows(tasks, TASK_ROWS), isUnderWay: false },
      { paceMs: ROWS_PACE_MS, dirty: sessions.dirty, read: () => this.#readRows(sessions, SESSION_ROWS), isUnderWay: false },
    ];
  }

  /** Something may have been touched. */
  wake(): void {
    for (const round of this.#rounds) if (!round.isUnderWay && round.dirty.size > 0) void this.#go(round);
  }

  async #go(round: Round): Promise<void> {
    const { clock, signal, onChange } = this.#source;
    round.isUnderWay = true;
    for (let delayMs = round.paceMs; round.dirty.size > 0; ) {
      await pause(clock, delayMs, signal);
      if (signal.aborted) return;
      try {
        await round.read();
        delayMs = round.paceMs;
        onChange();
      } catch {
        // RRF2. Whatever it was, it is asked again.
        delayMs = PAUSE_MS;
      }
    }
    round.isUnderWay = false;
  }

  async #readJobs(): Promise<void> {
    const { rows, connection } = this.#source;
    const ids = rows.jobs.takeDirty(JOBS_AT_ONCE);
    try {
      await rows.jobs.ask(async (asking) => {
        const { tasks } = await connection.request('await_jobs', { job_ids: ids, timeout: 0, mode: 'any', brief: true });
        const entries = (tasks ?? []) as unknown as readonly WireFields[];
        rows.applyJobs(entries.filter((entry) => 'status' in entry).map(rowOfWait), asking);
        for (const entry of entries) if (!('status' in entry)) rows.jobs.remove(entry.job_id as string);
      });
    } catch (error) {
      for (const id of ids) rows.jobs.dirty.add(id);
      throw error;
    }
  }

  async #readRows<Row>(table: RowTable<Row>, kind: RowKind): Promise<void> {
    const hasManyPages = table.rows.size > PAGE_ROWS;
    const ids = table.takeDirty(hasManyPages ? ROWS_BY_ID : Number.POSITIVE_INFINITY);
    try {
      if (ids.length > ROWS_BY_ID) await readPages(this.#source, kind);
      else await Promise.all(ids.map((id) => this.#readRow(table, kind, id)));
    } catch (error) {
      for (const id of ids) table.dirty.add(id);
      throw error;
    }
  }

  async #readRow<Row>(table: RowTable<Row>, { get, idName, ask, apply }: RowKind, id: string): Promise<void> {
    const { connection, rows } = this.#source;
    try {
      await ask(rows, async (asking) => apply(rows, [await connection.request(get, { [idName]: id })], asking));
    } catch (error) {
      if (!isOffstageError(error) || !GONE.test(error.code)) throw error;
      table.remove(id);
    }
  }
}

/** That nobody waits says nothing of the job. */
function rowOfWait(entry: WireFields): JobRow {
  const { timedOut: _, ...row } = jobFromWire(entry);
  return row;
}
