/**
 * `AsyncTaskManager`: the catalog of long-running tasks of one process (docs/async-tasks.md). Each task runs as a job of a private engine,
 * and its entry here is what counts.
 *
 * ATM1  A task ends once, in the call that ends it; what its executor says or does afterwards is dropped.
 * ATM2  Nothing that an executor, a store or a listener throws reaches anybody but the task it belongs to.
 * ATM3  Every entry is frozen before anybody sees it; a change is a new entry.
 * ATM4  No verb waits for a store or for an executor's `cancel` longer than `PATIENCE_MS`.
 */
import { namesOf, readOptions } from '../../engine/check-options.ts';
import { fencedController } from '../../engine/fenced-signal.ts';
import { errorMessage } from '../../engine/outcome.ts';
import { invalidOption } from '../../engine/settings.ts';
import { invalidInput } from '../../engine/spawn-request.ts';
import type { Clock, IdSource } from '../../model/clock.ts';
import { offstageError } from '../../model/errors.ts';
import type { JobContext } from '../../model/executor.ts';
import type { Log } from '../../model/requests.ts';
import { atMost } from './at-most.ts';
import type {
  AsyncTask,
  AsyncTaskExecutor,
  AsyncTaskFilter,
  AsyncTaskLaunch,
  AsyncTaskStartOptions,
  AsyncTaskStatus,
  AsyncTaskStore,
} from './contract.ts';
import { looseCopy } from './plain-copy.ts';
import { PrivateEngine } from './private-engine.ts';
import { subagentExecutor } from './subagent-executor.ts';
import { checkedTask, type Ending, isFinal, movedTask, seededTask } from './task-rows.ts';
import { WriteThrough } from './write-through.ts';

const PATIENCE_MS = 5_000;

/** What a manager runs on; all of it is optional. */
export interface AsyncTaskManagerOptions {
  readonly clock?: Clock;
  readonly ids?: IdSource;
  /** Is told what is swallowed: failures of the store, of an executor's `cancel` and `checkStatus`, of listeners. Default: nobody. */
  readonly log?: Log;
}

const OPTION_NAMES = namesOf<AsyncTaskManagerOptions>({ clock: true, ids: true, log: true });

/** A task that has not ended. */
interface LiveTask {
  readonly taskId: string;
  readonly executor: AsyncTaskExecutor;
  readonly controller: AbortController;
  /** Of its job, once that runs. */
  jobId: string | null;
}

/**
 * Runs tasks by executors of the host, and remembers them for as long as the process lives.
 * @example
 * const manager = new AsyncTaskManager(store);
 * manager.registerExecutor('echo', { execute: async (taskId, input) => ({ said: input.text }) });
 * const { taskId } = manager.startBackground({ type: 'echo', threadId: 'a', input: { text: 'hi' } });
 * // … a later turn:
 * if (manager.getTaskSync(taskId)?.status === 'success') console.log(manager.getTaskSync(taskId)?.result);
 */
export class AsyncTaskManager {
  readonly #executors = new Map<string, AsyncTaskExecutor>([['subagent', subagentExecutor]]);
  readonly #tasks = new Map<string, AsyncTask>();
  readonly #live = new Map<string, LiveTask>();
  readonly #engine: PrivateEngine;
  readonly #writes: WriteThrough;
  #closing: Promise<void> | null = null;

  /** @throws OffstageError `config.invalid` */
  constructor(store?: AsyncTaskStore, options?: AsyncTaskManagerOptions) {
    const { clock, ids, log } = readOptions('options', options, OPTION_NAMES, invalidOption);
    this.#engine = new PrivateEngine({ clock, ids, log, run: (taskId, context) => this.#run(taskId, context) });
    this.#writes = new WriteThrough(store ?? null, this.#engine.settings.log);
  }

  /** Says what runs tasks of this type from now on; the last one counts. @throws OffstageError `input.invalid` */
  registerExecutor(type: string, executor: AsyncTaskExecutor): void {
    if (typeof executor?.execute !== 'function') throw invalidInput('executor', 'it must have a function execute');
    this.#executors.set(type, executor);
  }

  /**
   * Starts a task. Resolves with its first entry (`queued`) once that is persisted and handed over; never waits for `execute`.
   * @throws OffstageError `executor.unknown`, `input.invalid`, `engine.closing`
   */
  async start(options: AsyncTaskStartOptions): Promise<AsyncTask> {
    const executor = this.#executorFor(options);
    const { clock, ids } = this.#engine.settings;
    const task = seededTask(ids.id('task'), options, clock.now());
    await atMost(clock, PATIENCE_MS, this.#launch(task, executor));
    return task;
  }

  /** The same at once, in the same tick. What `start` would reject with is answered as `error`, and kept as a task that has ended so. */
  startBackground(options: AsyncTaskStartOptions): AsyncTaskLaunch {
    const { clock, ids } = this.#engine.settings;
    const task = seededTask(ids.id('task'), options, clock.now());
    const { taskId } = task;
    try {
      this.#launch(task, this.#executorFor(options));
      return { taskId, status: 'queued' };
    } catch (refusal) {
      const error = messageOf(refusal);
      void this.#keep(movedTask(task, 'error', clock.now(), { error }));
      return { taskId, status: 'error', error };
    }
  }

  /**
   * Asks the executor how the task is, if it can be asked; resolves with the task as it then stands, null for an unknown one. A
   * `checkStatus` that fails changes nothing.
   */
  async check(taskId: string): Promise<AsyncTask | null> {
    const live = this.#live.get(taskId);
    if (live?.executor.checkStatus === undefined) return this.get(taskId);
    const { clock } = this.#engine.settings;
    try {
      const answer: unknown = await live.executor.checkStatus(taskId);
      // It may have ended while the executor was asked.
      if (this.#live.has(taskId)) {
        const task = checkedTask(this.#entry(taskId), answer, clock.now());
        if (isFinal(task.status)) this.#release(live);
        await atMost(clock, PATIENCE_MS, [this.#keep(task)]);
      }
    } catch (error) {
      this.#note('async_task.check_failed', taskId, error);
    }
    return this.get(taskId);
  }

  /** As it stands now; null for an unknown one. Never asks the executor. */
  getTaskSync(taskId: string): AsyncTask | null {
    return this.#tasks.get(taskId) ?? null;
  }

  /** The same. */
  get(taskId: string): AsyncTask | null {
    return this.getTaskSync(taskId);
  }

  /** Hands a message to the executor of a task that has not ended. Resolves whether it was; rejects with what `sendUpdate` rejects with. */
  async update(taskId: string, message: string): Promise<boolean> {
    const live = this.#live.get(taskId);
    if (live?.executor.sendUpdate === undefined) return false;
    return (await live.executor.sendUpdate(taskId, message)) !== false;
  }

  /** Ends the task: signal, the executor's `cancel`, then `cancelled`, all at once. False where it had ended, or is unknown. */
  async cancel(taskId: string): Promise<boolean> {
    const live = this.#live.get(taskId);
    if (live === undefined) return false;
    this.#release(live);
    live.controller.abort(offstageError('job.cancelled', { reason: 'cancelled' }));
    const told = this.#tellExecutor(live);
    const { clock } = this.#engine.settings;
    const kept = this.#keep(movedTask(this.#entry(taskId), 'cancelled', clock.now()));
    await atMost(clock, PATIENCE_MS, [told, kept]);
    return true;
  }

  /** In the order in which they were started. */
  list(filter: AsyncTaskFilter = {}): AsyncTask[] {
    const { threadId, type, status } = filter;
    return [...this.#tasks.values()].filter(
      (task) =>
        (threadId === undefined || task.threadId === threadId) &&
        (type === undefined || task.type === type) &&
        (status === undefined || task.status === status),
    );
  }

  /** Cancels what has not ended, and accepts nothing more; what is known stays readable. Nobody has to call it. */
  close(): Promise<void> {
    this.#closing ??= Promise.all([...this.#live.keys()].map((taskId) => this.cancel(taskId))).then(() => this.#engine.close());
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #executorFor({ type, timeoutMs }: AsyncTaskStartOptions): AsyncTaskExecutor {
    if (this.#closing !== null) throw offstageError('engine.closing', {});
    const executor = this.#executors.get(type);
    if (executor === undefined) throw offstageError('executor.unknown', { kind: String(type) });
    if (timeoutMs === undefined || timeoutMs === null || (typeof timeoutMs === 'number' && timeoutMs >= 0)) return executor;
    throw invalidInput('timeoutMs', 'it must be milliseconds of 0 or more');
  }

  /** From here on it is found. What is answered never rejects. */
  #launch(task: AsyncTask, executor: AsyncTaskExecutor): readonly Promise<void>[] {
    const { taskId, timeoutMs = null } = task;
    const report = (error: unknown): void => this.#note('async_task.listener_failed', taskId, error);
    this.#live.set(taskId, { taskId, executor, controller: fencedController(report), jobId: null });
    const kept = this.#keep(task);
    const accepted = this.#engine.submit(taskId, timeoutMs).catch((error) => {
      this.#end(taskId, 'error', { error: messageOf(error) });
    });
    return [kept, accepted];
  }

  /** The body of its job. */
  async #run(taskId: string, context: JobContext): Promise<void> {
    const live = this.#live.get(taskId);
    // Ended while it was queued: its executor never hears of it.
    if (live === undefined) return;
    live.jobId = context.jobId;
    const { signal } = live.controller;
    // Of a task that has not ended only its time limit ends the job.
    context.signal.addEventListener('abort', () => this.#timeOut(live, context.signal.reason));
    const task = this.#entry(taskId);
    if (task.status === 'queued') void this.#keep(movedTask(task, 'running', this.#engine.settings.clock.now()));
    let ending: readonly [AsyncTaskStatus, Ending];
    try {
      ending = ['success', { result: await live.executor.execute(taskId, looseCopy(task.input), { signal }) }];
    } catch (error) {
      ending = ['error', { error: messageOf(error) }];
    }
    this.#end(taskId, ...ending);
  }

  #timeOut(live: LiveTask, reason: unknown): void {
    const { taskId } = live;
    const { timeoutMs } = this.#entry(taskId);
    if (this.#end(taskId, 'timeout', { error: `timed out after ${timeoutMs} ms` })) live.controller.abort(reason);
  }

  /** Whether it had not ended before. */
  #end(taskId: string, status: AsyncTaskStatus, ending: Ending): boolean {
    if (!this.#live.delete(taskId)) return false;
    void this.#keep(movedTask(this.#entry(taskId), status, this.#engine.settings.clock.now(), ending));
    return true;
  }

  /** It ends here and now, and not by its body: what that still does is for nobody. */
  #release({ taskId, jobId }: LiveTask): void {
    this.#live.delete(taskId);
    if (jobId !== null) this.#engine.release(jobId);
  }

  async #tellExecutor({ taskId, executor }: LiveTask): Promise<void> {
    try {
      await executor.cancel?.(taskId);
    } catch (error) {
      this.#note('async_task.cancel_failed', taskId, error);
    }
  }

  #entry(taskId: string): AsyncTask {
    return this.#tasks.get(taskId) as AsyncTask;
  }

  /** Resolves once the store has it, or has failed. */
  #keep(task: AsyncTask): Promise<void> {
    this.#tasks.set(task.taskId, task);
    return this.#writes.put(task);
  }

  #note(event: string, taskId: string, error: unknown): void {
    this.#engine.settings.log('warn', event, { taskId, error: errorMessage(error) });
  }
}

/** The bare message, as the manager's `error` has it; whatever was thrown, it is a text and not empty. */
function messageOf(thrown: unknown): string {
  try {
    const text = thrown instanceof Error ? thrown.message : thrown;
    if (typeof text === 'string' && text !== '') return text;
  } catch {
    // It cannot even be looked at.
  }
  return errorMessage(thrown);
}
