/**
 * Jobs in worker threads: bodies that may block, loop or crash without harm to the host (spec 17). Over the pool `piscina`.
 *
 * THR1  One body per thread at a time, and never fewer threads than bodies: Offstage's own pool decides who runs.
 * THR2  A body that is told to end is asked first; after `killAfterMs` its thread is terminated. `run` settles when the thread has
 *       exited, not when it was told to.
 * THR3  A thread that dies of itself ends its job with `job.worker_died`, also before the body was reached.
 * THR4  An idle thread neither keeps the process alive nor lives on for long.
 *
 * Threads are used again: what a module keeps in its variables, the next job of that thread finds. A body that leaves timers behind
 * may disturb, or by a late throw end, the job that follows it there. What must not share belongs in a `command`.
 */
import { fileURLToPath } from 'node:url';
import { MessageChannel, type MessagePort, type ResourceLimits, receiveMessageOnPort, type Worker } from 'node:worker_threads';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Piscina } from 'piscina';
import { systemClock } from '../actors/clock.ts';
import { errorMessage } from '../engine/outcome.ts';
import type { Clock } from '../model/clock.ts';
import { offstageError } from '../model/errors.ts';
import { type Executor, type JobContext, outcome } from '../model/executor.ts';
import { type JsonValue, toJson } from '../model/json.ts';
import { LIMITS } from '../model/limits.ts';
import { quietly } from './quietly.ts';
import { moduleUrl, type ThreadInput, threadInput } from './thread-input.ts';
import {
  ABORTED,
  SHARED_BYTES,
  type ThreadAbort,
  type ThreadAnswer,
  type ThreadReport,
  type ThreadTask,
  UNREAD,
} from './thread-messages.ts';

export type { ThreadInput } from './thread-input.ts';
export type { ThreadBody, ThreadContext } from './thread-worker.ts';

const IDLE_TIMEOUT_MS = 5_000;
/** Where the sources run as they are, the built worker is used: a thread loads plain JavaScript only. */
const WORKER_FILE = import.meta.url.endsWith('.ts')
  ? new URL('../../dist/executors/thread-worker.js', import.meta.url)
  : new URL('./thread-worker.js', import.meta.url);

/** Which export runs in the thread, and what the thread may use. */
export interface ThreadExecutorOptions {
  /** Binds the kind to one module: the job's input is then the data. Absent: each job names its module. */
  readonly module?: string | URL;
  /** With `module`: the exported function; default `default`. */
  readonly export?: string;
  /** Milliseconds that an idle thread is kept; default 5,000. */
  readonly idleTimeoutMs?: number;
  /** Limits of each thread; a body that exceeds one ends with `job.worker_died`. Heaps in MiB, at least 16 for the old generation. */
  readonly resourceLimits?: ResourceLimits;
  readonly clock?: Clock;
}

/**
 * An executor whose bodies run in worker threads and can be ended even when they block.
 * Errors of a job: what the body throws, thread.start_failed, job.worker_died, job.result_not_serializable.
 * @throws config.invalid
 * @example
 * await open({ dataDir, executors: { resize: threadExecutor({ module: new URL('./resize.js', import.meta.url), export: 'resize' }) } });
 */
export function threadExecutor<Data = JsonValue>(
  options: ThreadExecutorOptions & { readonly module: string | URL },
): Executor<Data, unknown>;
export function threadExecutor(options?: ThreadExecutorOptions & { readonly module?: never }): Executor<ThreadInput, unknown>;
export function threadExecutor(options: ThreadExecutorOptions = {}): Executor<never, unknown> {
  checkLimits(options.resourceLimits);
  const threads = new Threads(options);
  const fixed = options.module === undefined ? null : moduleUrl(options.module);
  if (options.module !== undefined && fixed === null) {
    throw offstageError('config.invalid', { option: 'module', message: 'give a path or a file: URL' });
  }
  return {
    capabilities: { abortable: true, killable: true, workload: 'shell' },
    ...(fixed === null ? { input: threadInput as StandardSchemaV1<unknown, never> } : {}),
    run(job, context) {
      if (fixed !== null)
        return threads.run({ module: fixed, exportName: options.export ?? 'default', data: toJson(job.input) }, context);
      const input: ThreadInput = job.input;
      const module = moduleUrl(input.module) ?? input.module;
      return threads.run({ module, exportName: input.export ?? 'default', data: input.data ?? null }, context);
    },
    close: () => threads.close(),
  };
}

/** A thread that cannot even start with its heap ends the whole process: V8 aborts. */
const SMALLEST_HEAP_MB = 16;

function checkLimits(limits: ResourceLimits | undefined): void {
  const heapMb = limits?.maxOldGenerationSizeMb;
  if (heapMb === undefined || heapMb >= SMALLEST_HEAP_MB) return;
  const message = `it must be ${SMALLEST_HEAP_MB} or more, or threads could not start`;
  throw offstageError('config.invalid', { option: 'resourceLimits.maxOldGenerationSizeMb', message });
}

type Target = Omit<ThreadTask, 'port' | 'shared'>;

/** A body between its hand-over and its end. */
interface LiveThread {
  readonly pool: Piscina;
  worker: Worker | null;
  /** Set when the thread is known to have died, or is terminated. */
  readonly stop: AbortController;
}

class Threads {
  readonly #options: ThreadExecutorOptions;
  readonly #clock: Clock;
  readonly #live = new Set<LiveThread>();
  #pool: Promise<Piscina> | null = null;

  constructor(options: ThreadExecutorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  async run(target: Target, context: JobContext): Promise<unknown> {
    const { signal, execution } = context;
    this.#pool ??= this.#open();
    const pool = await this.#pool;
    signal.throwIfAborted();
    const { port1: port, port2 } = new MessageChannel();
    const shared = new Int32Array(new SharedArrayBuffer(SHARED_BYTES));
    const live: LiveThread = { pool, worker: null, stop: new AbortController() };
    let onExit = (): void => {};
    const exited = new Promise<void>((resolve) => {
      onExit = resolve;
    });
    const take = (report: ThreadReport): void => {
      if (report.type === 'started') {
        live.worker = pool.threads.find((worker) => worker.threadId === report.threadId) ?? null;
        live.worker?.once('exit', onExit);
      } else if (report.type === 'progress') {
        quietly(() => context.progress(report.value));
      } else {
        quietly(() => (report.type === 'output' ? context.output(report.text) : context.partial(report.text)));
        Atomics.sub(shared, UNREAD, report.text.length);
        Atomics.notify(shared, UNREAD);
      }
    };
    const takeAll = (): void => {
      for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) take(next.message);
    };
    let stopTimer = (): void => {};
    const onAbort = (): void => {
      tellToEnd(port, shared, signal);
      const killAfterMs = Math.min(execution.killAfterMs, (execution.graceMs ?? Number.POSITIVE_INFINITY) / 2);
      const kill = (): void => {
        takeAll();
        if (live.worker !== null) execution.survivors(`worker thread ${live.worker.threadId}`);
        live.stop.abort();
      };
      stopTimer = this.#clock.schedule(killAfterMs, kill);
      execution.onForce(() => {
        if (this.#live.has(live)) kill();
      });
    };
    port.on('message', take);
    this.#live.add(live);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      const task: ThreadTask = { ...target, port: port2, shared };
      let answer: ThreadAnswer | null = null;
      let death: unknown = null;
      try {
        const options = { name: 'runInThread', signal: live.stop.signal, transferList: [port2 as unknown as ArrayBuffer] };
        answer = await pool.run(task, options);
      } catch (error) {
        // The pool's own word, with its exit code, beats our guess; of an abort of ours it only says that there was one.
        const isOurs = error instanceof Error && error.name === 'AbortError' && live.stop.signal.reason instanceof DiedEarly;
        death = isOurs ? live.stop.signal.reason : error;
      }
      takeAll();
      if (answer !== null) return conclude(answer);
      if (live.worker !== null) await exited;
      if (signal.aborted) throw signal.reason;
      throw offstageError('job.worker_died', { message: describeDeath(death) }, { cause: death });
    } finally {
      stopTimer();
      signal.removeEventListener('abort', onAbort);
      live.worker?.off('exit', onExit);
      this.#live.delete(live);
      port.close();
    }
  }

  async close(): Promise<void> {
    const pool = await this.#pool;
    this.#pool = null;
    await pool?.destroy();
  }

  async #open(): Promise<Piscina> {
    const { Piscina } = await import('piscina');
    const pool = new Piscina({
      filename: fileURLToPath(WORKER_FILE),
      name: 'runInThread',
      minThreads: 0,
      maxThreads: LIMITS.workers,
      concurrentTasksPerWorker: 1,
      idleTimeout: this.#options.idleTimeoutMs ?? IDLE_TIMEOUT_MS,
      // Else an idle thread blocks on an atomic, and what a body left behind can neither finish nor be heard to fail.
      atomics: 'disabled',
      recordTiming: false,
      ...(this.#options.resourceLimits === undefined ? {} : { resourceLimits: this.#options.resourceLimits }),
    });
    // An idle thread that dies harms no job.
    pool.on('error', () => {});
    // A turn later: by then the bodies of that thread have heard of its death from the pool, and are not waiting any more.
    pool.on('workerDestroy', () => this.#clock.nextTurn(() => this.#failUnreachable(pool)));
    return pool;
  }

  /** A thread that dies before it is ready leaves its body in the pool's queue for ever (THR3). */
  #failUnreachable(pool: Piscina): void {
    const free = new Set(pool.threads);
    // Only its own: a closed pool's successor has bodies too.
    const mine = [...this.#live].filter((live) => live.pool === pool);
    for (const { worker } of mine) if (worker !== null) free.delete(worker);
    const waiting = mine.filter((live) => live.worker === null && !live.stop.signal.aborted);
    for (const live of waiting.slice(free.size)) live.stop.abort(new DiedEarly('it ended before it was ready'));
  }
}

class DiedEarly extends Error {}

function describeDeath(death: unknown): string {
  if (death === null) return 'something threw null outside of the body';
  return death instanceof Error && ['Error', 'DiedEarly'].includes(death.constructor.name) ? death.message : errorMessage(death);
}

function tellToEnd(port: MessagePort, shared: Int32Array, signal: AbortSignal): void {
  Atomics.store(shared, ABORTED, 1);
  const abort: ThreadAbort = { message: signal.reason instanceof Error ? signal.reason.message : 'cancelled' };
  port.postMessage(abort);
}

function conclude(answer: ThreadAnswer): unknown {
  switch (answer.type) {
    case 'nothing':
      return undefined;
    case 'value':
      return answer.value;
    case 'outcome':
      return outcome(answer.fields);
    case 'error': {
      const error = new Error(answer.message);
      error.name = answer.name;
      if (answer.stack !== null) error.stack = answer.stack;
      throw error;
    }
    case 'thrown':
      throw answer.value;
    case 'not_json':
      throw offstageError('job.result_not_serializable', { message: answer.message });
    case 'not_started':
      throw offstageError('thread.start_failed', { message: answer.message });
  }
}
