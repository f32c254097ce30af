/**
 * Everything that really runs in this process, jobs and agents; the authority for what can be stopped (architecture 2, liveness 9).
 *
 * REG1  An entry leaves only when its body has settled, or its process tree or thread is verified gone.
 * REG2  Every AbortController of a body lives here; its signal fires at most once, with a typed error.
 * REG3  `detached` entries belong to records that have ended; they still hold what they hold.
 * REG4  Of a session's agents at most one is current: who takes the place says whom it expects to find there.
 * REG5  A snapshot is of one instant; whoever acts on it later goes by the execution ids in it.
 * REG6  The batch in which it is decided that a body ends says so in its process record, if it has one.
 */

import type { IdSource, StopTimer } from '../model/clock.ts';
import type { OffstageError } from '../model/errors.ts';
import type { JobContext } from '../model/executor.ts';
import type { JsonValue } from '../model/json.ts';
import { type LaunchedProcess, putProcess } from '../persistence/process-row.ts';
import type { StoreOperation } from '../persistence/store.ts';
import type { AgentExecution } from './agent-execution.ts';
import { fencedController } from './fenced-signal.ts';
import { ForcedEnd } from './forced-end.ts';
import type { LiveJob } from './live-job.ts';
import type { LiveSession } from './live-session.ts';
import type { OutputLog } from './output-log.ts';

export type ExecutionPhase = 'current' | 'retiring' | 'detached';

/** What an execution needs of its engine. */
export interface ExecutionHost {
  readonly settings: { readonly ids: IdSource };
  report(event: string, error: unknown): void;
}

/** One run of one job's body. */
export class Execution {
  readonly job: LiveJob;
  phase: ExecutionPhase = 'current';
  /** The body was called and has not settled. */
  isBodyLive = false;
  hasSettled = false;
  progress: JsonValue = null;
  partial: string | null = null;
  /** What its body was handed; null before it was called. */
  context: JobContext | null = null;
  output: OutputLog | null = null;
  /** What could not be ended, in words. */
  survivors: string | null = null;
  /** Monotonic milliseconds of the last sign of life. */
  lastHeard = 0;
  lastActivityAt: number | null = null;
  stopTimers: StopTimer[] | null = null;
  stopGrace: StopTimer | null = null;
  graceDueAt = Number.POSITIVE_INFINITY;
  /** A process record is stored, or on its way to the store. */
  hasProcessRow = false;
  /** What that record says was launched. */
  process: LaunchedProcess | null = null;
  /** Epoch milliseconds; see `ProcessRecord.teardownAt`. */
  teardownAt: number | null = null;
  /** Overrides the setting, where less time is left. */
  killAfterMs: number | null = null;
  #forced: ForcedEnd | null = null;
  #controller: AbortController | null = null;
  #abortReason: OffstageError | null = null;
  #onAbort: Set<(reason: OffstageError) => void> | null = null;
  #executionId: string | null = null;
  readonly #host: ExecutionHost;

  constructor(job: LiveJob, host: ExecutionHost) {
    this.job = job;
    this.#host = host;
  }

  /** The record of its process as it has to be stored now; `at` in epoch milliseconds. */
  processRow(at: number): StoreOperation {
    this.hasProcessRow = true;
    const { executionId, job, teardownAt } = this;
    return putProcess({ executionId, jobId: job.base.jobId, sessionId: null, at, teardownAt }, this.process);
  }

  /** It is decided that it ends. Answers what belongs in the batch of that decision; undefined: nothing. `at` in epoch milliseconds. */
  intentToEnd(at: number): StoreOperation | undefined {
    if (this.teardownAt !== null) return undefined;
    this.teardownAt = at;
    return this.hasProcessRow && !this.hasSettled ? this.processRow(at) : undefined;
  }

  /** Made when first asked for: most bodies never need one. */
  get executionId(): string {
    this.#executionId ??= this.#host.settings.ids.id('exec');
    return this.#executionId;
  }

  /** Made when first asked for: controllers are several per cent of a short job. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = fencedController((error) => this.#host.report('abort_listener.failed', error));
      if (this.#abortReason !== null) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  get abortReason(): OffstageError | null {
    return this.#abortReason;
  }

  /** Fires the signal, once. */
  abort(reason: OffstageError): void {
    if (this.#abortReason !== null) return;
    this.#abortReason = reason;
    const listeners = this.#onAbort;
    this.#onAbort = null;
    if (listeners !== null) for (const listener of listeners) listener(reason);
    this.#controller?.abort(reason);
  }

  /** Calls back when the signal fires; for the engine's own waits. */
  onAbort(listener: (reason: OffstageError) => void): () => void {
    this.#onAbort ??= new Set();
    this.#onAbort.add(listener);
    return () => this.#onAbort?.delete(listener);
  }

  /** Who ends what it has launched does it by force from now on. */
  killNow(): void {
    this.killAfterMs = 0;
    this.forced.fire();
  }

  /** Made when first asked for. */
  get forced(): ForcedEnd {
    this.#forced ??= new ForcedEnd();
    return this.#forced;
  }

  partialText(): string | null {
    return this.partial ?? this.output?.tail() ?? null;
  }
}

/** What runs of a task, at one instant. */
export interface RegistrySnapshot {
  /** Pairs of session and execution: each agent names both. */
  readonly agents: readonly AgentExecution[];
  /** Bodies, also of jobs whose record has ended. */
  readonly bodies: readonly Execution[];
}

export class ExecutionRegistry {
  readonly #entries = new Map<string, Execution>();
  readonly #agents = new Map<string, AgentExecution>();

  /** Of jobs and of agents. */
  get size(): number {
    return this.#entries.size + this.#agents.size;
  }

  /** Makes it the current agent of the session, if that is still `expected` (null: none). Answers whether it was (REG4). */
  swapAgent(session: LiveSession, expected: AgentExecution | null, execution: AgentExecution): boolean {
    if (!session.swapAgent(expected, execution)) return false;
    this.#agents.set(execution.executionId, execution);
    return true;
  }

  /** Everything that runs of one task. A walk over all of it: a stop is rare, and what runs at once is few. */
  ofTask(taskId: string): RegistrySnapshot {
    return {
      agents: [...this.#agents.values()].filter((execution) => execution.taskId === taskId),
      bodies: [...this.#entries.values()].filter(({ job }) => job.base.taskId === taskId),
    };
  }

  /** Agents that were not told to end, and those that were and are still here. */
  agentCounts(): { readonly live: number; readonly ending: number } {
    let ending = 0;
    for (const execution of this.#agents.values()) if (execution.hasRetired) ending += 1;
    return { live: this.#agents.size - ending, ending };
  }

  removeAgent(execution: AgentExecution): void {
    this.#agents.delete(execution.executionId);
  }

  agent(executionId: string): AgentExecution | undefined {
    return this.#agents.get(executionId);
  }

  /** Starting, current and retiring ones. */
  agents(): IterableIterator<AgentExecution> {
    return this.#agents.values();
  }

  add(execution: Execution): void {
    this.#entries.set(execution.job.base.jobId, execution);
  }

  remove(execution: Execution): void {
    const { jobId } = execution.job.base;
    if (this.#entries.get(jobId) === execution) this.#entries.delete(jobId);
  }

  get(jobId: string): Execution | undefined {
    return this.#entries.get(jobId);
  }

  values(): IterableIterator<Execution> {
    return this.#entries.values();
  }
}
