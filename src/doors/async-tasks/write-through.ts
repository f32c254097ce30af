/**
 * Every change of a task on its way to the host's store.
 *
 * WTH1  The puts of one task are made one after the other, in the order of its changes.
 * WTH2  Nothing that the store does reaches the tasks: failures are logged and swallowed, and nobody has to wait.
 */
import { errorMessage } from '../../engine/outcome.ts';
import type { Log } from '../../model/requests.ts';
import type { AsyncTask, AsyncTaskStore } from './contract.ts';

export class WriteThrough {
  readonly #store: AsyncTaskStore | null;
  readonly #log: Log;
  /** By task: resolves when its last put has settled. */
  readonly #last = new Map<string, Promise<void>>();

  constructor(store: AsyncTaskStore | null, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Resolves once the put has settled; never rejects. */
  put(task: AsyncTask): Promise<void> {
    const store = this.#store;
    if (store === null) return Promise.resolve();
    const { taskId } = task;
    const before = this.#last.get(taskId) ?? Promise.resolve();
    const mine = before
      .then(() => this.#write(store, task))
      .then(() => {
        if (this.#last.get(taskId) === mine) this.#last.delete(taskId);
      });
    this.#last.set(taskId, mine);
    return mine;
  }

  async #write(store: AsyncTaskStore, task: AsyncTask): Promise<void> {
    try {
      await store.put(['async_tasks', task.threadId], task.taskId, { ...task });
    } catch (error) {
      this.#log('warn', 'async_task.put_failed', { taskId: task.taskId, error: errorMessage(error) });
    }
  }
}
