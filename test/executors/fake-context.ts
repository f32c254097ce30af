/** A JobContext made by hand: the test drives the AbortController and reads what the body told. */
import { randomUUID } from 'node:crypto';
import { offstageError } from '../../src/model/errors.ts';
import type { ExecutionHandle, JobContext, JobOf } from '../../src/model/executor.ts';

export interface FakeContext {
  readonly context: JobContext;
  readonly executionId: string;
  /** What `output`, `partial` and `progress` were given, in order. */
  readonly outputs: string[];
  readonly partials: string[];
  readonly progress: unknown[];
  readonly survivors: string[];
  readonly launches: { pid: number; startTime: string | null; bootId: string | null }[];
  /** Listeners on the signal that were not taken away. */
  listenerCount(): number;
  readonly reason: Error;
  abort(): void;
  /** Resolves once the output contains `text`. */
  untilOutput(text: string): Promise<void>;
  untilLaunched(): Promise<number>;
}

export function fakeContext(options: { graceMs?: number | null; killAfterMs?: number; executionId?: string } = {}): FakeContext {
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const add = signal.addEventListener.bind(signal) as AbortSignal['addEventListener'];
  const remove = signal.removeEventListener.bind(signal) as AbortSignal['removeEventListener'];
  signal.addEventListener = ((...args: Parameters<typeof add>) => {
    listeners += 1;
    add(...args);
  }) as AbortSignal['addEventListener'];
  signal.removeEventListener = ((...args: Parameters<typeof remove>) => {
    listeners -= 1;
    remove(...args);
  }) as AbortSignal['removeEventListener'];
  const executionId = options.executionId ?? `exe_${randomUUID()}`;
  const outputs: string[] = [];
  const partials: string[] = [];
  const progress: unknown[] = [];
  const survivors: string[] = [];
  const forced: (() => void)[] = [];
  const launches: FakeContext['launches'] = [];
  const checks = new Set<() => void>();
  const changed = (): void => {
    for (const check of [...checks]) check();
  };
  const until = (isTrue: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const check = (): void => {
        if (!isTrue()) return;
        checks.delete(check);
        resolve();
      };
      checks.add(check);
      check();
    });
  const execution: ExecutionHandle = {
    executionId,
    graceMs: options.graceMs === undefined ? 30_000 : options.graceMs,
    killAfterMs: options.killAfterMs ?? 5_000,
    async launched(process) {
      launches.push(process);
      changed();
    },
    onForce: (listener) => void forced.push(listener),
    survivors(text) {
      survivors.push(text);
      changed();
    },
  };
  const refuse = (): never => {
    throw new Error('not part of this context');
  };
  const reason = offstageError('job.cancelled', { reason: 'cancelled by the test' });
  return {
    context: {
      jobId: 'job_1',
      sessionId: 'session_1',
      callerSessionId: null,
      taskId: 'task_1',
      contextMode: 'inherit',
      signal,
      execution,
      spawn: refuse,
      run: refuse,
      wait: refuse,
      waitMany: refuse,
      progress(value) {
        progress.push(value);
        changed();
      },
      output(text) {
        outputs.push(text);
        changed();
      },
      partial(text) {
        partials.push(text);
      },
    },
    executionId,
    outputs,
    partials,
    progress,
    survivors,
    launches,
    listenerCount: () => listeners,
    reason,
    abort: () => controller.abort(reason),
    untilOutput: (text) => until(() => outputs.join('').includes(text)),
    async untilLaunched() {
      await until(() => launches.length > 0);
      return launches[0]?.pid ?? 0;
    },
  };
}

export function fakeJob<Input>(input: Input, kind = 'command'): JobOf<Input> {
  return {
    jobId: 'job_1',
    kind,
    subject: 'job',
    description: '',
    agentId: null,
    input,
    status: 'running',
    createdAt: 1,
    queuedAt: 1,
    startedAt: 1,
    completedAt: null,
    lastActivityAt: 1,
    sessionId: 'session_1',
    callerSessionId: null,
    taskId: 'task_1',
    parentJobId: null,
    parentMessageId: null,
    contextMode: 'inherit',
    wait: false,
    headId: null,
    sourceCommitId: null,
    resultText: null,
    result: null,
    error: null,
    reasonCode: null,
    cancelRequestedAt: null,
    cancelReason: null,
    detached: false,
    attempt: 0,
    timeoutMs: null,
    idleTimeoutMs: null,
    cardId: 'card_job_1',
    revision: 1,
  };
}
