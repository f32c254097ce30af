/**
 * The rows of sessions and tasks: made, read, listed, and found quickly by every spawn and prompt (spec 8, liveness 1 and 10).
 *
 * SES1  A session belongs to exactly one task, for good; without one it gets a task of its own.
 * SES2  Ids are never used twice; a row exists for others only once it is stored.
 * SES3  The session `default` of task `default` is made on first use.
 * SES4  What was removed is not remembered by a read that began before.
 */
import { offstageError } from '../model/errors.ts';
import type { UnnumberedEvent } from '../model/events.ts';
import { type SessionRow, TASK_STATES, type TaskRow, type TaskState } from '../model/records.ts';
import type { RowQuery, TaskQuery } from '../model/requests.ts';
import { KEYS, RANGES } from '../persistence/row-keys.ts';
import {
  isRemoved,
  type RemovedRow,
  readSessionRow,
  readTaskRow,
  sessionIdsOfTask,
  sessionOperations,
  taskOperations,
} from '../persistence/session-rows.ts';
import type { StoreOperation } from '../persistence/store.ts';
import { namesOf, readFlag, readOptions } from './check-options.ts';
import type { Core } from './core.ts';
import { checkListLimit } from './list-limit.ts';
import { livingTasks } from './live-work.ts';
import { checkId, checkText, DEFAULT_SESSION, invalidInput } from './spawn-request.ts';
import type { RequestStamp } from './stop-epochs.ts';

/** Ids that are not given are made up. */
export interface CreateTaskOptions {
  readonly taskId?: string;
  readonly title?: string;
}

/** Without a `taskId` the session gets a task of its own. */
export interface CreateSessionOptions {
  readonly sessionId?: string;
  readonly taskId?: string;
  readonly agentId?: string;
}

const TASK_NAMES = namesOf<CreateTaskOptions>({ taskId: true, title: true });
const SESSION_NAMES = namesOf<CreateSessionOptions>({ sessionId: true, taskId: true, agentId: true });
const QUERY_NAMES = namesOf<RowQuery>({ limit: true, before: true });
const TASK_QUERY_NAMES = namesOf<TaskQuery>({ limit: true, before: true, archived: true });

/** Rows kept in memory; more are read again when they are asked for. */
const CACHE_SIZE = 10_000;

/** The sessions of one task. */
export interface TaskSessions {
  /** Oldest first. */
  readonly rows: readonly SessionRow[];
  readonly unreadable: readonly { readonly sessionId: string; readonly error: unknown }[];
}

/** Oldest first, then by id. */
export const byAge = (a: SessionRow, b: SessionRow): number => a.createdAt - b.createdAt || (a.sessionId < b.sessionId ? -1 : 1);

export class Sessions {
  readonly #core: Core;
  readonly #cache = new Map<string, SessionRow>();
  /** Whatever is under way with a row, by key: the next one waits for it. */
  readonly #underWay = new Map<string, Promise<unknown>>();

  constructor(core: Core) {
    this.#core = core;
  }

  cached(sessionId: string): SessionRow | null {
    return this.#cache.get(sessionId) ?? null;
  }

  /** The stored session. @throws OffstageError `session.not_found`, `session.expired` */
  async resolve(sessionId: string): Promise<SessionRow> {
    const known = this.#cache.get(sessionId);
    if (known !== undefined) return known;
    const { epochs } = this.#core;
    const stamp = epochs.stamp();
    try {
      const row = await this.#readSession(sessionId);
      if (row !== null && !isRemoved(row) && !epochs.isGone(row, stamp)) return this.remember(row);
      if (row !== null) throw offstageError('session.not_found', { sessionId });
    } finally {
      epochs.release(stamp);
    }
    if (sessionId === DEFAULT_SESSION) return this.#createDefault();
    throw offstageError('session.not_found', { sessionId });
  }

  async get(sessionId: string): Promise<SessionRow> {
    checkId('sessionId', sessionId);
    const row = await this.#readSession(sessionId);
    if (row === null || isRemoved(row)) throw offstageError('session.not_found', { sessionId });
    return row;
  }

  async list(given?: RowQuery): Promise<readonly SessionRow[]> {
    const query = readOptions('query', given, QUERY_NAMES);
    return newestFirst(
      await this.#readAll<SessionRow>(RANGES.sessions, readSessionRow),
      (row) => row.sessionId,
      query,
      (sessionId) => offstageError('session.not_found', { sessionId }),
    );
  }

  async create(given?: CreateSessionOptions): Promise<SessionRow> {
    const options = readOptions('options', given, SESSION_NAMES);
    this.#core.assertAccepting();
    const stamp = this.#core.epochs.stamp();
    try {
      return await this.#create(options, stamp);
    } finally {
      this.#core.epochs.release(stamp);
    }
  }

  async #create(options: CreateSessionOptions, stamp: RequestStamp): Promise<SessionRow> {
    const sessionId =
      options.sessionId === undefined ? this.#core.settings.ids.id('session') : checkId('sessionId', options.sessionId);
    const agentId = options.agentId === undefined ? null : checkId('agentId', options.agentId);
    if (agentId !== null && this.#core.settings.agents[agentId] === undefined) throw offstageError('agent.unknown', { agentId });
    const task = options.taskId === undefined ? null : await this.getTask(options.taskId);
    return this.exclusively(KEYS.session(sessionId), async () => {
      const existing = await this.#readSession(sessionId);
      if (existing !== null && isRemoved(existing)) throw offstageError('session.expired', { sessionId });
      if (existing !== null) throw invalidInput('sessionId', `a session ${JSON.stringify(sessionId)} exists already`);
      const refusal = task === null ? null : this.#core.epochs.creationRefusal(task.taskId, stamp);
      if (refusal !== null) throw refusal;
      const at = this.#core.settings.clock.now();
      const own = task === null ? newTask(this.#core.settings.ids.id('task'), sessionId, at) : null;
      const row = newSession(sessionId, (task ?? own)?.taskId as string, agentId, at);
      await this.#store(own === null ? [] : [own], [row]);
      return this.remember(row);
    });
  }

  async createTask(given?: CreateTaskOptions): Promise<TaskRow> {
    const options = readOptions('options', given, TASK_NAMES);
    this.#core.assertAccepting();
    const taskId = options.taskId === undefined ? this.#core.settings.ids.id('task') : checkId('taskId', options.taskId);
    const title = checkText('title', options.title, '');
    return this.exclusively(KEYS.task(taskId), async () => {
      const existing = await this.#readTask(taskId);
      if (existing !== null && isRemoved(existing)) throw offstageError('task.expired', { taskId });
      if (existing !== null) throw invalidInput('taskId', `a task ${JSON.stringify(taskId)} exists already`);
      const row = newTask(taskId, title, this.#core.settings.clock.now());
      await this.#store([row], []);
      return row;
    });
  }

  async getTask(taskId: string): Promise<TaskRow> {
    checkId('taskId', taskId);
    const row = await this.#readTask(taskId);
    if (row === null || isRemoved(row)) throw offstageError('task.not_found', { taskId });
    return row;
  }

  /** The stored rows of a task's sessions, oldest first. One that cannot be read is said, and hides no others; `doctor` finds it. */
  async ofTask(taskId: string): Promise<readonly SessionRow[]> {
    const { rows, unreadable } = await this.readOfTask(taskId);
    for (const { sessionId, error } of unreadable)
      this.#core.settings.log('error', 'row.unreadable', { key: KEYS.session(sessionId), error: String(error) });
    return rows;
  }

  /** The same, for whoever has to know which could not be read. @throws OffstageError `store.failed`, `store.closed` */
  async readOfTask(taskId: string): Promise<TaskSessions> {
    const ids = await sessionIdsOfTask(this.#core.store, taskId);
    const rows: SessionRow[] = [];
    const unreadable: { sessionId: string; error: unknown }[] = [];
    await Promise.all(
      ids.map(async (sessionId) => {
        try {
          const row = this.#cache.get(sessionId) ?? (await this.#readSession(sessionId));
          if (row !== null && !isRemoved(row)) rows.push(row);
        } catch (error) {
          unreadable.push({ sessionId, error });
        }
      }),
    );
    return { rows: rows.sort(byAge), unreadable };
  }

  /** The host says where a task stands; with `from`, only if it stands there now. */
  async setTaskState(taskId: string, state: TaskState, from: TaskState | null = null): Promise<TaskRow> {
    checkId('taskId', taskId);
    if (!TASK_STATES.includes(state)) throw invalidInput('state', `it must be one of ${TASK_STATES.join(', ')}`);
    this.#core.assertOpen();
    return this.exclusively(KEYS.task(taskId), async () => {
      const before = await this.getTask(taskId);
      if (before.state === state || (from !== null && before.state !== from)) return before;
      const row: TaskRow = { ...before, state, revision: before.revision + 1 };
      const { title } = row;
      const event: UnnumberedEvent = { type: 'task.updated', at: this.#core.settings.clock.now(), taskId, title, state };
      await this.#core.storeRows(taskOperations(row), { events: [event], retract: taskOperations(before) });
      return row;
    });
  }

  /** Archived ones only where that is asked for, or while something of them lives. */
  async listTasks(given?: TaskQuery): Promise<readonly TaskRow[]> {
    const { archived, ...query } = readOptions('query', given, TASK_QUERY_NAMES);
    const isWhole = readFlag('archived', archived);
    const rows = await this.#readAll<TaskRow>(RANGES.tasks, readTaskRow);
    const living = livingTasks(this.#core);
    return newestFirst(
      rows,
      (row) => row.taskId,
      query,
      (taskId) => offstageError('task.not_found', { taskId }),
      ({ taskId, state }) => isWhole || state !== 'archived' || living.has(taskId),
    );
  }

  #createDefault(): Promise<SessionRow> {
    return this.exclusively(KEYS.session(DEFAULT_SESSION), async () => {
      const known = this.#cache.get(DEFAULT_SESSION);
      if (known !== undefined) return known;
      const at = this.#core.settings.clock.now();
      const row = newSession(DEFAULT_SESSION, DEFAULT_SESSION, null, at);
      const task = await this.#readTask(DEFAULT_SESSION);
      await this.#store(task === null ? [newTask(DEFAULT_SESSION, DEFAULT_SESSION, at)] : [], [row]);
      return this.remember(row);
    });
  }

  /** One after the other, for all that reads a row and then writes it. */
  async exclusively<T>(key: string, change: () => Promise<T>): Promise<T> {
    const before = this.#underWay.get(key) ?? Promise.resolve();
    const mine = before.catch(() => {}).then(change);
    this.#underWay.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#underWay.get(key) === mine) this.#underWay.delete(key);
    }
  }

  #store(tasks: readonly TaskRow[], sessions: readonly SessionRow[]): Promise<void> {
    const rows: StoreOperation[] = [];
    const events: UnnumberedEvent[] = [];
    for (const row of tasks) {
      rows.push(...taskOperations(row));
      events.push({ type: 'task.created', at: row.createdAt, taskId: row.taskId, title: row.title, state: row.state });
    }
    for (const row of sessions) {
      rows.push(...sessionOperations(row));
      events.push({
        type: 'session.state_changed',
        at: row.createdAt,
        sessionId: row.sessionId,
        taskId: row.taskId,
        oldState: null,
        newState: row.state,
      });
    }
    return this.#core.storeRows(rows, { events, retract: rows.map(({ key }) => ({ type: 'del', key })) });
  }

  /** The row as it is stored now. */
  remember(row: SessionRow): SessionRow {
    const known = this.#cache.get(row.sessionId);
    // A read that took long has not seen what was stored meanwhile.
    if (known !== undefined && known.revision > row.revision) return known;
    const oldest = this.#cache.size >= CACHE_SIZE ? this.#cache.keys().next().value : undefined;
    if (oldest !== undefined) this.#cache.delete(oldest);
    this.#cache.set(row.sessionId, row);
    return row;
  }

  /** They were removed. */
  forget(sessionIds: Iterable<string>): void {
    for (const sessionId of sessionIds) this.#cache.delete(sessionId);
  }

  async #readSession(sessionId: string): Promise<SessionRow | RemovedRow | null> {
    return readSessionRow(await this.#committed(KEYS.session(sessionId)));
  }

  async #readTask(taskId: string): Promise<TaskRow | RemovedRow | null> {
    return readTaskRow(await this.#committed(KEYS.task(taskId)));
  }

  /** What is stored and answered for; a row that was refused, or is being written, is as it was before. */
  async #committed(key: string): Promise<string | undefined> {
    const value = await this.#core.store.get(key);
    return valueAsOf(this.#core.loop.takenBack(key), value);
  }

  /** One row that cannot be read hides no others; `doctor` finds it. */
  #readable<Row>(key: string, read: () => Row | null): Row | null {
    try {
      return read();
    } catch (error) {
      this.#core.settings.log('error', 'row.unreadable', { key, error: String(error) });
      return null;
    }
  }

  async #readAll<Row extends object>(
    range: { readonly gte: string; readonly lt: string },
    read: (value: string) => Row | RemovedRow | null,
  ): Promise<Row[]> {
    const rows: Row[] = [];
    for await (const { key, value } of this.#core.store.range(range)) {
      const committed = valueAsOf(this.#core.loop.takenBack(key), value);
      const row = committed === undefined ? null : this.#readable(key, () => read(committed));
      if (row !== null && !isRemoved(row)) rows.push(row as Row);
    }
    return rows;
  }
}

const valueAsOf = (taken: StoreOperation | undefined, value: string | undefined): string | undefined => {
  if (taken === undefined) return value;
  return taken.type === 'put' ? taken.value : undefined;
};

const newTask = (taskId: string, title: string, createdAt: number): TaskRow => ({
  taskId,
  title,
  state: 'open',
  createdAt,
  revision: 1,
});

const newSession = (sessionId: string, taskId: string, agentId: string | null, at: number): SessionRow => ({
  sessionId,
  taskId,
  agentId,
  state: 'created',
  interrupted: false,
  pending: null,
  createdAt: at,
  updatedAt: at,
  revision: 1,
});

function newestFirst<Row extends { readonly createdAt: number }>(
  rows: readonly Row[],
  idOf: (row: Row) => string,
  query: RowQuery,
  notFound: (id: string) => Error,
  isListed: (row: Row) => boolean = () => true,
): readonly Row[] {
  const limit = checkListLimit(query.limit);
  const ordered = rows.toSorted((a, b) => b.createdAt - a.createdAt || (idOf(a) < idOf(b) ? 1 : -1));
  // Also one that is not listed any more tells where to go on.
  const index = query.before === undefined ? -1 : ordered.findIndex((row) => idOf(row) === query.before);
  if (query.before !== undefined && index === -1) throw notFound(checkId('before', query.before));
  return ordered
    .slice(index + 1)
    .filter(isListed)
    .slice(0, limit);
}
