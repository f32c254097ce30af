/**
 * The engine that runs the tasks of one manager: in memory, without a limit, opened with the first task.
 *
 * PEN1  It keeps nothing: neither events nor finished jobs. The manager's catalog is what is remembered.
 * PEN2  Idle, it holds no timer and no handle that would keep the process alive; it installs no signal handlers.
 * PEN3  Told to end, a job ends at once for the engine; its body settles whenever it does, and nobody looks.
 */
import type { Offstage } from '../../engine/offstage.ts';
import { type Settings, settingsFrom } from '../../engine/settings.ts';
import { startEngine } from '../../engine/start.ts';
import { resolveExecutor } from '../../executors/inline.ts';
import type { Clock, IdSource } from '../../model/clock.ts';
import { offstageError } from '../../model/errors.ts';
import type { Executors, JobContext } from '../../model/executor.ts';
import type { Log } from '../../model/requests.ts';
import { memoryStore } from '../../persistence/memory-store.ts';
import type { Store } from '../../persistence/store.ts';

const KIND = 'async-task';

export interface PrivateEngineOptions {
  readonly clock?: Clock | undefined;
  readonly ids?: IdSource | undefined;
  readonly log?: Log | undefined;
  readonly store?: Store;
  /** The body of a task. */
  run(taskId: string, context: JobContext): Promise<void>;
}

export class PrivateEngine {
  readonly settings: Settings;
  readonly #options: PrivateEngineOptions;
  #engine: Promise<Offstage<Executors>> | null = null;
  #isClosed = false;

  /** @throws OffstageError `config.invalid` */
  constructor(options: PrivateEngineOptions) {
    const { clock, ids, log = () => {} } = options;
    const given = { ...(clock === undefined ? {} : { clock }), ...(ids === undefined ? {} : { ids }), log };
    const rules = { workers: null, durability: 'process', cancelGraceMs: 0, shutdownGraceMs: 0, retention: null } as const;
    this.settings = { ...settingsFrom({ ...given, ...rules }, {}, null), keepsHistory: false };
    this.#options = options;
  }

  /** Resolves once the task's job is accepted. @throws OffstageError `engine.closing`, `limit.queue_full` */
  async submit(taskId: string, timeoutMs: number | null): Promise<void> {
    this.#engine ??= this.#open();
    const engine = await this.#engine;
    if (this.#isClosed) throw offstageError('engine.closing', {});
    await engine.spawn({ kind: KIND, input: taskId, timeoutMs });
  }

  /** The manager is done with the job: no timer of it is left, whatever its body does. */
  release(jobId: string): void {
    // It may have ended by itself meanwhile.
    void this.#engine?.then((engine) => engine.cancel(jobId)).catch(() => {});
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#engine)?.close();
  }

  #open(): Promise<Offstage<Executors>> {
    const { run, store = memoryStore() } = this.#options;
    return startEngine<Executors>({
      settings: this.settings,
      store,
      executors: new Map([[KIND, resolveExecutor(KIND, (job, context) => run(String(job.input), context))]]),
      // A new store in memory knows no process of an earlier engine.
      reap: () => Promise.resolve({ verdict: 'gone', detail: '' }),
    });
  }
}
