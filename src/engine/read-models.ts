/**
 * Read models for screens: the jobs that live, the pool's counters, what sessions and tasks show of their activity (@xstate/store).
 *
 * RMO1  They show committed states only, and are set before the events of the same commit, or of the same telling, are published.
 * RMO2  A throwing subscriber harms nobody: @xstate/store would skip the rest and throw to the publisher.
 * RMO3  An update costs what has changed, not what lives: `live` is one Map that is kept, `seq` says that it has changed.
 */
import { createStore } from '@xstate/store';
import { type ActivityValue, isSameActivity, NO_ACTIVITY } from '../model/activity.ts';
import type { JobView } from '../model/records.ts';
import { settleQuietly } from '../model/settle-quietly.ts';
import { isFinished } from '../persistence/job-codec.ts';
import type { Change } from './transaction.ts';

/** Unfinished jobs, as of one commit. */
export interface JobsModel {
  /** The record event these jobs are as of. */
  readonly seq: number;
  /** Unfinished jobs by id, oldest first. The Map is live; read it, never keep it. */
  readonly live: ReadonlyMap<string, LiveJobRow>;
}

/** A live job for lists: a record that is made when it is looked at. */
export interface LiveJobRow {
  readonly jobId: string;
  readonly status: JobView['status'];
  view(): JobView;
}

/** The pool's counters, as of one commit. */
export interface PoolModel {
  readonly workers: number | null;
  readonly running: number;
  readonly waiting: number;
  readonly queued: number;
  readonly detached: number;
}

/** What a session shows; only those that show anything have one. */
export interface SessionActivity extends ActivityValue {
  readonly sessionId: string;
  readonly taskId: string;
}

/** Sessions with activity, as of the last thing that was told of one. */
export interface SessionsModel {
  /** Grows with every change. */
  readonly version: number;
  /** By id. The Map is live; read it, never keep it. */
  readonly live: ReadonlyMap<string, SessionActivity>;
}

/** Tasks with activity: the aggregates of their sessions. */
export interface TasksModel {
  /** Grows with every change. */
  readonly version: number;
  /** By id. The Map is live; read it, never keep it. */
  readonly live: ReadonlyMap<string, ActivityValue>;
}

/** What outsiders may do with a read model. */
export interface ReadModel<T> {
  get(): T;
  /** Calls back after each commit that changed it; returns a function that ends it. */
  subscribe(callback: (value: T) => unknown): () => void;
}

interface PoolSource {
  poolCounters(): PoolModel;
}

export class ReadModels {
  readonly #live = new Map<string, LiveJobRow>();
  readonly #liveSessions = new Map<string, SessionActivity>();
  readonly #liveTasks = new Map<string, ActivityValue>();
  readonly #report: (error: unknown) => void;
  readonly #jobs;
  readonly #pool;
  readonly #sessions;
  readonly #tasks;

  constructor(report: (error: unknown) => void) {
    this.#report = report;
    const jobs: JobsModel = { seq: 0, live: this.#live };
    this.#jobs = createStore({
      context: jobs,
      on: { committed: (context: JobsModel, event: { seq: number }): JobsModel => ({ ...context, seq: event.seq }) },
    });
    const pool: PoolModel = { workers: null, running: 0, waiting: 0, queued: 0, detached: 0 };
    this.#pool = createStore({
      context: pool,
      on: { counted: (_: PoolModel, event: { pool: PoolModel }): PoolModel => event.pool },
    });
    const sessions: SessionsModel = { version: 0, live: this.#liveSessions };
    this.#sessions = createStore({
      context: sessions,
      on: { told: (context: SessionsModel): SessionsModel => ({ ...context, version: context.version + 1 }) },
    });
    const tasks: TasksModel = { version: 0, live: this.#liveTasks };
    this.#tasks = createStore({
      context: tasks,
      on: { told: (context: TasksModel): TasksModel => ({ ...context, version: context.version + 1 }) },
    });
  }

  get sessions(): ReadModel<SessionsModel> {
    return this.#fenced(this.#sessions);
  }

  get tasks(): ReadModel<TasksModel> {
    return this.#fenced(this.#tasks);
  }

  get jobs(): ReadModel<JobsModel> {
    return this.#fenced(this.#jobs);
  }

  get pool(): ReadModel<PoolModel> {
    return this.#fenced(this.#pool);
  }

  committed(changes: readonly Change[], seq: number, source: PoolSource): void {
    for (const { job, after } of changes) {
      if (isFinished(after.state)) this.#live.delete(job.base.jobId);
      else if (!this.#live.has(job.base.jobId)) this.#live.set(job.base.jobId, job);
    }
    this.#jobs.send({ type: 'committed', seq });
    this.#pool.send({ type: 'counted', pool: source.poolCounters() });
  }

  sessionTold(session: SessionActivity): void {
    set(this.#liveSessions, session.sessionId, session);
    this.#sessions.send({ type: 'told' });
  }

  taskTold(taskId: string, value: ActivityValue): void {
    set(this.#liveTasks, taskId, value);
    this.#tasks.send({ type: 'told' });
  }

  #fenced<T>(store: {
    getSnapshot(): { context: T };
    subscribe(callback: (snapshot: { context: T }) => void): { unsubscribe(): void };
  }): ReadModel<T> {
    return {
      get: () => store.getSnapshot().context,
      subscribe: (callback) => {
        const subscription = store.subscribe((snapshot) => {
          try {
            const answer = callback(snapshot.context);
            settleQuietly(answer, this.#report);
          } catch (error) {
            this.#report(error);
          }
        });
        return () => subscription.unsubscribe();
      },
    };
  }
}

function set<Value extends ActivityValue>(live: Map<string, Value>, id: string, value: Value): void {
  if (isSameActivity(value, NO_ACTIVITY)) live.delete(id);
  else live.set(id, value);
}
