/**
 * Ends the agents that have retired, and does not let go of one before it is seen to have ended (liveness 9).
 *
 * ATD1  It goes by the execution, never by the session: a successor is not touched.
 * ATD2  `close` is called until one call has resolved; after one that failed, again, each time later.
 * ATD3  The execution leaves the registry, and its process record the store, only when `close` has resolved.
 * ATD4  When the grace is over it is detached: that is said, whoever waited goes on, and it is looked after further.
 * ATD5  Ending the same one again begins nothing anew; by force it takes the rest of the grace away. A grace that somebody waits for does not
 *       grow.
 */
import type { StopTimer } from '../model/clock.ts';
import { LIMITS } from '../model/limits.ts';
import { removeProcess } from '../persistence/process-row.ts';
import type { AgentExecution } from './agent-execution.ts';
import type { Core } from './core.ts';
import type { LiveSession } from './live-session.ts';
import { errorMessage } from './outcome.ts';

/** What is known of an end under way. */
export class Teardown {
  readonly session: LiveSession;
  readonly close: () => Promise<unknown>;
  /** Somebody waits for its end, and was told by when to expect it. */
  isAwaited: boolean;
  /** A call of `close` has not settled. */
  isClosing = false;
  /** Why the last call failed, in words; null while it has not. */
  failure: string | null = null;
  /** Settles with the last call of `close`. Never rejects. */
  attempt: Promise<void> = Promise.resolve();
  retryMs: number = LIMITS.firstTeardownRetryMs;
  stopRetry: StopTimer = noop;
  stopGrace: StopTimer = noop;

  constructor(session: LiveSession, isAwaited: boolean, close: () => Promise<unknown>) {
    this.session = session;
    this.isAwaited = isAwaited;
    this.close = close;
  }
}

export class AgentTeardown {
  readonly #core: Core;

  constructor(core: Core) {
    this.#core = core;
  }

  /** Its signal fires with `reason` where it has not yet; then `close` is called. */
  begin(session: LiveSession, execution: AgentExecution, close: () => Promise<unknown>): void {
    if (execution.teardown !== null) return;
    execution.teardown = new Teardown(session, execution.teardownAt !== null, close);
    const { clock, cancelGraceMs, shutdownGraceMs } = this.#core.settings;
    const graceMs = this.#core.isClosing ? Math.min(cancelGraceMs, shutdownGraceMs) : cancelGraceMs;
    execution.graceDueAt = Math.min(execution.graceDueAt, clock.monotonic() + graceMs);
    this.#armGrace(execution, execution.teardown);
    this.#try(execution, execution.teardown);
  }

  /**
   * One whose `close` has failed is closed again at once, with a new grace, unless somebody waits for the end of the last one. Answers whether
   * it was such a one.
   */
  retry(execution: AgentExecution): boolean {
    const { teardown } = execution;
    if (teardown === null) return false;
    const isAwaited = teardown.isAwaited && execution.outcome === null;
    teardown.isAwaited = true;
    if (teardown.isClosing || execution.outcome === 'gone') return false;
    teardown.stopRetry();
    const dueAt = isAwaited ? execution.graceDueAt : Number.POSITIVE_INFINITY;
    execution.outcome = null;
    if (execution.phase === 'detached') {
      execution.phase = 'retiring';
      this.#core.countDetachedAgents(-1);
    }
    const { clock, cancelGraceMs } = this.#core.settings;
    execution.graceDueAt = Math.min(dueAt, clock.monotonic() + cancelGraceMs);
    this.#armGrace(execution, teardown);
    this.#try(execution, teardown);
    return true;
  }

  /** No grace any more, also for one that is yet to begin. Without a process of its own it is not waited for at all. */
  force(execution: AgentExecution): void {
    this.hurry(execution, execution.process === null ? 0 : LIMITS.forcedEndMs);
    execution.killNow();
  }

  /** At most so many milliseconds are left of its grace. */
  hurry(execution: AgentExecution, restMs: number): void {
    execution.graceDueAt = Math.min(execution.graceDueAt, this.#core.settings.clock.monotonic() + restMs);
    if (execution.teardown !== null && execution.phase === 'retiring' && execution.outcome !== 'gone')
      this.#armGrace(execution, execution.teardown);
  }

  #try(execution: AgentExecution, teardown: Teardown): void {
    teardown.isClosing = true;
    teardown.failure = null;
    teardown.attempt = Promise.resolve()
      .then(teardown.close)
      .then(
        () => this.#gone(execution, teardown),
        (error) => this.#failed(execution, teardown, error),
      );
  }

  #gone(execution: AgentExecution, teardown: Teardown): void {
    const core = this.#core;
    const { session } = teardown;
    teardown.isClosing = false;
    teardown.failure = null;
    teardown.stopGrace();
    session.hasRetired(execution);
    core.registry.removeAgent(execution);
    if (execution.phase === 'detached') core.countDetachedAgents(-1);
    if (execution.hasProcessRow && !core.isClosed) core.submit({ changes: [], rows: [removeProcess(execution.executionId)] });
    execution.hasProcessRow = false;
    execution.over('gone');
    core.liveness.touch(session);
    core.liveness.settle();
  }

  /** It may still be at work: its process record stays, and the next start looks after it if this process does not get to it. */
  #failed(execution: AgentExecution, teardown: Teardown, error: unknown): void {
    const core = this.#core;
    teardown.isClosing = false;
    teardown.failure = errorMessage(error);
    core.report('agent.close_failed', error);
    if (core.isClosed) return;
    // Without a grace nothing else would ever tell who waits.
    if (execution.graceDueAt === Number.POSITIVE_INFINITY) execution.over('failed');
    teardown.stopRetry = core.timers.after(teardown.retryMs, () => this.#try(execution, teardown));
    teardown.retryMs = Math.min(LIMITS.lastTeardownRetryMs, teardown.retryMs * 2);
  }

  #armGrace(execution: AgentExecution, teardown: Teardown): void {
    const { timers, settings } = this.#core;
    teardown.stopGrace();
    const restMs = execution.graceDueAt - settings.clock.monotonic();
    teardown.stopGrace = timers.after(restMs, () => this.#graceOver(execution, teardown));
  }

  #graceOver(execution: AgentExecution, teardown: Teardown): void {
    const { sessionId, executionId, survivors } = execution;
    execution.phase = 'detached';
    this.#core.countDetachedAgents(1);
    this.#core.settings.log('warn', 'agent.detached', { sessionId, executionId, survivors, failure: teardown.failure });
    execution.over(teardown.failure === null ? 'detached' : 'failed');
    this.#core.liveness.touch(teardown.session);
    this.#core.liveness.settle();
  }
}

function noop(): void {}
