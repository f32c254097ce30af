/**
 * An executor whose bodies do what a test says, when it says so.
 *
 * CEX1  `started` resolves when the body is called, never before.
 * CEX2  A body ends only by `release`, `fail`, or, unless it is stubborn, by its signal.
 */
import type { Executor, ExecutorCapabilities, JobContext, JobOf } from '../model/executor.ts';

export interface ControlledRun {
  readonly job: JobOf;
  readonly context: JobContext;
}

interface Body extends ControlledRun {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

export interface ControlledExecutor extends Executor {
  /** Resolves with the run of this job once its body has been called. */
  started(jobId: string): Promise<ControlledRun>;
  /** Makes the body return. */
  release(jobId: string, value?: unknown): Promise<void>;
  /** Makes the body throw. */
  fail(jobId: string, error: unknown): Promise<void>;
  /** Every body called so far, in order, by jobId. */
  readonly calls: readonly string[];
  /** Bodies at work now. */
  readonly live: ReadonlySet<string>;
}

/** How its bodies behave. */
export interface ControlledExecutorOptions {
  /** Ignores its signal. */
  readonly stubborn?: boolean;
  readonly capabilities?: Partial<ExecutorCapabilities>;
}

/**
 * Bodies that start, return and throw when the test says so.
 * @example
 * const gate = controlledExecutor();
 * const job = await offstage.spawn({ kind: 'gate' });
 * await gate.started(job.jobId);
 * await gate.release(job.jobId, 'done');
 */
export function controlledExecutor(options: ControlledExecutorOptions = {}): ControlledExecutor {
  const calls: string[] = [];
  const live = new Set<string>();
  const bodies = new Map<string, Body>();
  const waiting = new Map<string, ((run: ControlledRun) => void)[]>();
  const started = (jobId: string): Promise<Body> => {
    const body = bodies.get(jobId);
    if (body !== undefined) return Promise.resolve(body);
    return new Promise((resolve) => {
      waiting.set(jobId, [...(waiting.get(jobId) ?? []), resolve as (run: ControlledRun) => void]);
    });
  };
  return {
    capabilities: {
      abortable: options.stubborn !== true,
      killable: false,
      workload: 'subagent',
      strictStart: false,
      ...options.capabilities,
    },
    calls,
    live,
    started,
    run(job, context) {
      calls.push(job.jobId);
      live.add(job.jobId);
      const ended = new Promise((resolve, reject) => {
        const body: Body = { job, context, resolve, reject };
        bodies.set(job.jobId, body);
        for (const callback of waiting.get(job.jobId) ?? []) callback(body);
        waiting.delete(job.jobId);
        if (options.stubborn !== true)
          context.signal.addEventListener('abort', () => reject(context.signal.reason), { once: true });
      });
      return ended.finally(() => live.delete(job.jobId));
    },
    async release(jobId, value) {
      (await started(jobId)).resolve(value);
    },
    async fail(jobId, error) {
      (await started(jobId)).reject(error);
    },
  };
}
