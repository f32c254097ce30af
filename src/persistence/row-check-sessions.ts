/**
 * The part of the check of rows that is about sessions, tasks and waiting prompts: their rows, and all that leads to them.
 *
 * RCS1  A session or a task that cannot be read counts as removed, and so does a session of which only a listing is left: their ids are never
 *       used again. The built-in ones are made again when they are needed.
 * RCS2  The row of a session says where it is listed and whether it is marked, never the other way round.
 */
import type { SessionRow } from '../model/records.ts';
import { decodeId } from './key-encoding.ts';
import { idOf, pagesOf, type RowCheckNotes, sessionIn, taskIn, ticketIn } from './row-check-notes.ts';
import { KEYS, RANGES } from './row-keys.ts';
import { isOpenSession, isRemoved, removedValue, taskOperations } from './session-rows.ts';
import type { Store, StoreEntry } from './store.ts';

export interface SessionRowCheckOptions {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Whether the store's format lists sessions at all. */
  readonly isIndexed: boolean;
}

export class SessionRowCheck {
  readonly #store: Store;
  readonly #notes: RowCheckNotes;
  readonly #options: SessionRowCheckOptions;

  constructor(store: Store, notes: RowCheckNotes, options: SessionRowCheckOptions) {
    this.#store = store;
    this.#notes = notes;
    this.#options = options;
  }

  /** After the jobs, which may have found out what sessions there have to be. */
  async run(): Promise<void> {
    await this.#walk(RANGES.sessions, (page) => this.#checkSessions(page));
    await this.#walk(RANGES.tasks, async (page) => {
      for (const { key, value } of page) if (taskIn(key, value) === null) this.#bury(key);
    });
    if (!this.#options.isIndexed) return;
    await this.#walk(RANGES.taskIndex, (page) => this.#checkLeads(page, listedIn, isListedBy));
    await this.#walk(RANGES.openSessions, (page) => this.#checkLeads(page, (key) => idOf(key), isOpenSession));
    await this.#walk(RANGES.tickets, async (page) => {
      for (const { key, value } of page) if (ticketIn(key, value) === null) this.#notes.drop('unreadable', key, [key]);
    });
  }

  async #walk(range: { gte: string; lt: string }, check: (page: readonly StoreEntry[]) => Promise<void>): Promise<void> {
    for await (const page of pagesOf(this.#store, range)) {
      await check(page);
      await this.#notes.flush();
    }
  }

  async #checkSessions(page: readonly StoreEntry[]): Promise<void> {
    const rows: SessionRow[] = [];
    for (const { key, value } of page) {
      const row = sessionIn(key, value);
      if (row === null) this.#bury(key);
      else if (!isRemoved(row)) rows.push(row);
    }
    const got = await this.#notes.read(rows.flatMap((row) => [KEYS.task(row.taskId), ...leadsTo(row)]));
    for (const row of rows) {
      this.#checkTaskOf(row, got.get(KEYS.task(row.taskId)));
      if (this.#options.isIndexed) this.#checkIndexOf(row, got);
    }
  }

  #checkTaskOf({ taskId, createdAt }: SessionRow, value: string | undefined): void {
    const key = KEYS.task(taskId);
    if ((value !== undefined && taskIn(key, value) !== null) || this.#notes.settledKeys.has(key)) return;
    this.#notes.settledKeys.add(key);
    this.#notes.find('session_lost', taskId);
    this.#notes.write(...taskOperations({ taskId, title: '', state: 'open', createdAt, revision: 1 }));
  }

  #checkIndexOf(row: SessionRow, got: ReadonlyMap<string, string>): void {
    const missing = leadsTo(row).filter((key) => !got.has(key));
    if (missing.length > 0) this.#notes.find('session_index_lost', row.sessionId);
    for (const key of missing) this.#notes.write({ type: 'put', key, value: '' });
  }

  /** RCS1. */
  #bury(key: string): void {
    if (this.#notes.settledKeys.has(key)) return;
    const id = idOf(key);
    if (id === null || id === 'default') this.#notes.drop('unreadable', key, [key]);
    else this.#notes.put('unreadable', key, key, removedValue(this.#options.at));
  }

  /** Rows that only lead to a session: they go where `belongs` does not hold for it (RCS2). */
  async #checkLeads(
    page: readonly StoreEntry[],
    sessionIdOf: (key: string) => string | null,
    belongs: (row: SessionRow, key: string) => boolean,
  ): Promise<void> {
    const notes = this.#notes;
    const leads = page.map(({ key }) => ({ key, sessionId: sessionIdOf(key) }));
    const got = await notes.read(leads.flatMap(({ sessionId }) => (sessionId === null ? [] : [KEYS.session(sessionId)])));
    for (const { key, sessionId } of leads) {
      if (notes.settledKeys.has(key)) continue;
      if (sessionId === null) {
        notes.drop('unreadable', key, [key]);
        continue;
      }
      const rowKey = KEYS.session(sessionId);
      const value = got.get(rowKey);
      const row = value === undefined ? null : sessionIn(rowKey, value);
      if (row !== null && !isRemoved(row) && belongs(row, key)) continue;
      notes.drop('left_over', key, [key]);
      if (value !== undefined || sessionId === 'default' || notes.settledKeys.has(rowKey)) continue;
      notes.write({ type: 'put', key: rowKey, value: removedValue(this.#options.at) });
    }
  }
}

const leadsTo = (row: SessionRow): readonly string[] => [
  KEYS.taskSession(row.taskId, row.sessionId),
  ...(isOpenSession(row) ? [KEYS.openSession(row.sessionId)] : []),
];

const isListedBy = ({ taskId, sessionId }: SessionRow, key: string): boolean => key === KEYS.taskSession(taskId, sessionId);

/** The session of a row of the index of tasks; null when it is no such row. */
function listedIn(key: string): string | null {
  const [, taskId, sessionId, ...rest] = key.split('/');
  if (taskId === undefined || sessionId === undefined || rest.length > 0 || idOf(`m/${taskId}`) === null) return null;
  try {
    return decodeId(sessionId);
  } catch {
    return null;
  }
}
