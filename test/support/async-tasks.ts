/** A task manager under a virtual clock, with a store that records and executors that do what the test says. */
import {
  type AsyncTask,
  type AsyncTaskExecutor,
  AsyncTaskManager,
  type AsyncTaskStatus,
  type AsyncTaskStore,
} from '../../src/doors/async-tasks/index.ts';
import { type VirtualClock, virtualClock } from '../../src/testing/virtual-clock.ts';

export interface Put {
  readonly namespace: readonly string[];
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

export interface RecordingStore extends AsyncTaskStore {
  readonly puts: readonly Put[];
  /** Gets that were asked for. */
  readonly gets: number;
  /** The statuses of one task, in the order of the puts. */
  statuses(taskId: string): readonly unknown[];
}

export function recordingStore(onPut: (put: Put) => unknown = () => {}): RecordingStore {
  const puts: Put[] = [];
  const counts = { gets: 0 };
  return {
    puts,
    get gets() {
      return counts.gets;
    },
    statuses: (taskId) => puts.filter(({ key }) => key === taskId).map(({ value }) => value.status),
    async put(namespace, key, value) {
      const put = { namespace, key, value };
      puts.push(put);
      await onPut(put);
    },
    async get() {
      counts.gets += 1;
      return null;
    },
  };
}

export interface HeldCall {
  readonly taskId: string;
  readonly input: Record<string, unknown>;
  readonly signal: AbortSignal;
  resolve(result: Record<string, unknown>): void;
  reject(error: unknown): void;
}

export interface HeldExecutor extends AsyncTaskExecutor {
  readonly calls: readonly HeldCall[];
  /** The call of this task. */
  of(taskId: string): HeldCall;
}

/** Its tasks run until the test ends them; `more` are its optional verbs. */
export function heldExecutor(more: Omit<AsyncTaskExecutor, 'execute'> = {}): HeldExecutor {
  const calls: HeldCall[] = [];
  return {
    ...more,
    calls,
    of(taskId) {
      const call = calls.find((one) => one.taskId === taskId);
      if (call === undefined) throw new Error(`${taskId} was not executed`);
      return call;
    },
    execute: (taskId, input, { signal }) =>
      new Promise((resolve, reject) => {
        calls.push({ taskId, input, signal, resolve, reject });
      }),
  };
}

export interface Desk {
  readonly manager: AsyncTaskManager;
  readonly clock: VirtualClock;
  readonly store: RecordingStore;
  readonly log: readonly string[];
  /** Starts a task of type `held` and lets it begin. */
  running(options?: { readonly timeoutMs?: number; readonly threadId?: string }): Promise<string>;
  status(taskId: string): AsyncTaskStatus | undefined;
  task(taskId: string): AsyncTask;
}

/** A manager that has `executor` under the type `held`. */
export function desk(executor: AsyncTaskExecutor = heldExecutor(), store: RecordingStore = recordingStore()): Desk {
  const clock = virtualClock();
  const log: string[] = [];
  const manager = new AsyncTaskManager(store, { clock, log: (_level, event) => log.push(event) });
  manager.registerExecutor('held', executor);
  return {
    manager,
    clock,
    store,
    log,
    async running(options) {
      const { taskId } = await manager.start({ type: 'held', threadId: 'thread', input: {}, ...options });
      await clock.settle();
      return taskId;
    },
    status: (taskId) => manager.get(taskId)?.status,
    task(taskId) {
      const task = manager.get(taskId);
      if (task === null) throw new Error(`no task ${taskId}`);
      return task;
    },
  };
}
