/**
 * One run of one session's agent: an entry of the execution registry (liveness 9).
 *
 * AEX1  Its signal fires at most once, with a typed error.
 * AEX2  What the provider said of itself at connect limits what its adapter attests; nothing said is nothing attested.
 */
import type { Agent } from '../model/agent.ts';
import type { OffstageError } from '../model/errors.ts';
import { type LaunchedProcess, putProcess } from '../persistence/process-row.ts';
import type { StoreOperation } from '../persistence/store.ts';
import type { Teardown } from './agent-teardown.ts';
import { fencedController } from './fenced-signal.ts';
import { ForcedEnd } from './forced-end.ts';
import type { FramePace } from './frame-pump.ts';

/** `detached`: told to end, and not seen to within the grace. */
export type AgentPhase = 'starting' | 'current' | 'retiring' | 'detached';

export type AgentEnd = 'gone' | 'detached' | 'failed';

export interface AgentIdentity {
  readonly executionId: string;
  readonly sessionId: string;
  readonly taskId: string;
  readonly agentId: string;
}

export class AgentExecution implements AgentIdentity, FramePace {
  readonly executionId: string;
  readonly sessionId: string;
  readonly taskId: string;
  readonly agentId: string;
  readonly role = 'agent';
  phase: AgentPhase = 'starting';
  /** Null until it has started. */
  agent: Agent | null = null;
  hasHandoff = false;
  hasSnapshot = false;
  /** An idle frame of it did not count, and that was said. */
  hasIgnoredIdle = false;
  /** Monotonic milliseconds of its last frame, whatever that said. */
  lastHeard = Number.NEGATIVE_INFINITY;
  hasProcessRow = false;
  /** What was launched for it, if anything was; null for an agent inside this process. */
  process: LaunchedProcess | null = null;
  /** Epoch milliseconds; see `ProcessRecord.teardownAt`. */
  teardownAt: number | null = null;
  /** As `FramePace` has it; kept by the pump of its frames. */
  isResting = false;
  /** Why it has gone. */
  end: OffstageError | null = null;
  /** What could not be ended, in words. */
  survivors: string | null = null;
  readonly controller: AbortController;
  /** Its end, once that has begun. */
  teardown: Teardown | null = null;
  /** Monotonic milliseconds by which it has ended, or is detached. */
  graceDueAt = Number.POSITIVE_INFINITY;
  /** Overrides the setting, where there is no time left to ask. */
  killAfterMs: number | null = null;
  /** What came of its end by the end of its grace; `gone` is the last word. */
  outcome: AgentEnd | null = null;
  #onOver: ((end: AgentEnd) => void)[] | null = null;
  #forced: ForcedEnd | null = null;

  constructor(identity: AgentIdentity, onListenerError: (error: unknown) => void) {
    this.executionId = identity.executionId;
    this.sessionId = identity.sessionId;
    this.taskId = identity.taskId;
    this.agentId = identity.agentId;
    this.controller = fencedController(onListenerError);
  }

  /** The record of its process as it has to be stored now; `at` in epoch milliseconds. */
  processRow(at: number): StoreOperation {
    this.hasProcessRow = true;
    const { executionId, sessionId, teardownAt } = this;
    return putProcess({ executionId, jobId: null, sessionId, at, teardownAt }, this.process);
  }

  get hasRetired(): boolean {
    return this.phase === 'retiring' || this.phase === 'detached';
  }

  /** Who ends its processes does it by force from now on. */
  killNow(): void {
    this.killAfterMs = 0;
    this.forced.fire();
  }

  /** Made when first asked for. */
  get forced(): ForcedEnd {
    this.#forced ??= new ForcedEnd();
    return this.#forced;
  }

  /** Resolves when it has gone, or its grace is over. */
  whenOver(): Promise<AgentEnd> {
    const { outcome } = this;
    if (outcome !== null) return Promise.resolve(outcome);
    return new Promise((resolve) => {
      this.#onOver ??= [];
      this.#onOver.push(resolve);
    });
  }

  over(end: AgentEnd): void {
    this.outcome = end;
    const waiting = this.#onOver ?? [];
    this.#onOver = null;
    for (const resolve of waiting) resolve(end);
  }

  abort(reason: OffstageError): void {
    if (!this.controller.signal.aborted) this.controller.abort(reason);
  }
}
