/** The words of the task manager: what hosts hand in and get back. The shapes are those of the manager it stands in for. */

/** Where a task stands. The last four are final. */
export type AsyncTaskStatus = 'queued' | 'running' | 'success' | 'error' | 'cancelled' | 'timeout';

/** One task as it stood when it was read. Frozen, and so is the plain data in it; what was read does not change later. */
export interface AsyncTask {
  /** `task_` and 26 random characters. */
  readonly taskId: string;
  /** Names the executor. */
  readonly type: string;
  /** The session that it belongs to; part of the namespace in the store. */
  readonly threadId: string;
  readonly status: AsyncTaskStatus;
  /** For the executor; the manager never looks inside. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Only with `success`. */
  readonly result?: Readonly<Record<string, unknown>>;
  /** Only with `error` and `timeout`. */
  readonly error?: string;
  /** ISO 8601; never changes. */
  readonly createdAt: string;
  /** ISO 8601; later with every change of `status`. */
  readonly updatedAt?: string;
  /** ISO 8601; when the executor last answered `check`. */
  readonly checkedAt?: string;
  readonly agentName?: string;
  readonly jobType?: string;
  /** Milliseconds from the call of `execute`. */
  readonly timeoutMs?: number;
}

/** What `execute` is handed beside the task. */
export interface AsyncTaskContext {
  /** Fires once, when the task is cancelled or runs out of time. */
  readonly signal: AbortSignal;
}

/**
 * What runs the tasks of one type; only `execute` is required. Promises may resolve with anything where nothing is asked for.
 * @example
 * manager.registerExecutor('fetch', {
 *   async execute(taskId, input, { signal }) {
 *     const answer = await fetch(String(input.url), { signal });
 *     return { status: answer.status, body: await answer.text() };
 *   },
 * });
 */
export interface AsyncTaskExecutor {
  /** Called at most once per task. What it resolves with becomes `result`; the message of what it throws becomes `error`. */
  execute(taskId: string, input: Record<string, unknown>, context: AsyncTaskContext): Promise<Record<string, unknown>>;
  /** The fields of the task that have changed, as seen by the executor. */
  checkStatus?(taskId: string): Promise<Partial<AsyncTask> | Record<string, unknown>>;
  sendUpdate?(taskId: string, message: string): Promise<unknown>;
  /** Called after `signal` fired; what it throws is swallowed. */
  cancel?(taskId: string): Promise<unknown>;
}

/** Where every change is written, and never read from. `namespace` is `['async_tasks', threadId]`, `key` the taskId. */
export interface AsyncTaskStore {
  put(namespace: string[], key: string, value: Record<string, unknown>): Promise<unknown>;
  get(namespace: string[], key: string): Promise<Record<string, unknown> | null>;
}

/** What to run, and for whom. */
export interface AsyncTaskStartOptions {
  readonly type: string;
  readonly threadId: string;
  /** Default empty. */
  readonly input?: Record<string, unknown> | undefined;
  readonly agentName?: string | undefined;
  readonly jobType?: string | undefined;
  /** Milliseconds of 0 or more; absent: no limit. */
  readonly timeoutMs?: number | undefined;
}

/** What `startBackground` answers. */
export interface AsyncTaskLaunch {
  readonly taskId: string;
  readonly status: 'queued' | 'error';
  /** Why nothing was started; only with `error`. */
  readonly error?: string;
}

/** Which tasks `list` shows: those that match all that is given. */
export interface AsyncTaskFilter {
  readonly threadId?: string | undefined;
  readonly type?: string | undefined;
  readonly status?: AsyncTaskStatus | undefined;
}
