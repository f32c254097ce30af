/**
 * Starts and ends the agents of sessions, and listens to them (liveness 8 and 9).
 *
 * ARN1  At most one current agent per session; a start under way is joined, not doubled.
 * ARN2  The launch token is durable before the factory is called, and its row goes when the agent's `close` has resolved.
 * ARN3  A start that fails leaves the session as it was.
 * ARN4  An agent retires once: everything it owned goes in the same instant, and nothing of a successor's.
 * ARN5  Whatever an agent throws, rejects or never answers, reaches nobody but its own session (G16).
 */
import type { Agent, AgentContext, Frame } from '../model/agent.ts';
import { isOffstageError, type OffstageError, offstageError } from '../model/errors.ts';
import type { ExecutionHandle } from '../model/executor.ts';
import { LIMITS } from '../model/limits.ts';
import { type LaunchedProcess, removeProcess } from '../persistence/process-row.ts';
import { KEYS } from '../persistence/row-keys.ts';
import type { StoreOperation } from '../persistence/store.ts';
import { AgentExecution } from './agent-execution.ts';
import { checkAgent } from './check-agent.ts';
import type { Core } from './core.ts';
import { pumpFrames } from './frame-pump.ts';
import type { LiveSession } from './live-session.ts';
import { capText, errorMessage } from './outcome.ts';
import type { SessionStates } from './session-states.ts';
import { onAbortOf } from './signal-fan.ts';
import { DEFAULT_AGENT } from './spawn-request.ts';

export interface AgentRunnerHost {
  readonly states: SessionStates;
  /** A frame of an agent that has not retired. */
  onFrame(session: LiveSession, execution: AgentExecution, frame: Frame): void;
  /** The agent is about to retire: its prompts end here. */
  onRetire(session: LiveSession, execution: AgentExecution, error: OffstageError): void;
  /** The foreground may be free. */
  onFree(session: LiveSession): void;
}

export class AgentRunner {
  readonly #core: Core;
  readonly #host: AgentRunnerHost;
  #isClosed = false;

  constructor(core: Core, host: AgentRunnerHost) {
    this.#core = core;
    this.#host = host;
  }

  /** The session's agent, started if there is none. @throws OffstageError `agent.unknown`, `agent.start_failed`; the signal's reason */
  async ensure(session: LiveSession, signal: AbortSignal): Promise<AgentExecution> {
    for (;;) {
      signal.throwIfAborted();
      const { agent } = session;
      if (agent !== null && agent.phase === 'current') return agent;
      if (session.starting !== null && (agent === null || agent.controller.signal.aborted)) {
        // Somebody has given that start up, for reasons that are not this caller's.
        await unlessAborted(session.starting.catch(noop), signal);
        continue;
      }
      session.starting ??= this.#start(session).finally(() => {
        session.starting = null;
      });
      // One that has gone at once is the caller's to find out: it is not started over and over.
      return await unlessAborted(session.starting, signal);
    }
  }

  /** ARN4. */
  retire(session: LiveSession, execution: AgentExecution, error: OffstageError): void {
    if (execution.hasRetired) return;
    execution.phase = 'retiring';
    execution.end = error;
    session.retire(execution);
    if (session.agent === execution) session.agent = null;
    const { liveness } = this.#core;
    this.#host.onRetire(session, execution, error);
    session.record?.retireExecution(execution.executionId);
    // A predecessor that goes while another agent is current is no change of the session.
    if (session.agent === null) this.#host.states.change(session, { type: 'agent.gone' });
    liveness.touch(session);
    execution.abort(error);
    execution.closing = this.#close(session, execution, async () => execution.agent?.close());
    this.#host.onFree(session);
    liveness.settle();
  }

  /** Ends every agent; resolves when all have closed, or never do. */
  async closeAll(error: OffstageError): Promise<void> {
    this.#isClosed = true;
    const starts: Promise<unknown>[] = [];
    for (const session of [...this.#core.liveness.values()]) {
      const { agent } = session;
      // One that is still starting hears of it by its signal, and retires itself.
      if (agent !== null && agent.phase === 'starting') agent.abort(error);
      else if (agent !== null) this.retire(session, agent, error);
      if (session.starting !== null) starts.push(session.starting.catch(noop));
    }
    await Promise.all(starts);
    // Those whose start was given up just now among them.
    await Promise.all([...this.#core.registry.agents()].map(({ closing }) => closing));
  }

  async #start(session: LiveSession): Promise<AgentExecution> {
    const core = this.#core;
    const agentId = session.row?.agentId ?? DEFAULT_AGENT;
    const registered = core.settings.agents[agentId];
    if (registered === undefined) throw offstageError('agent.unknown', { agentId });
    const { sessionId, taskId } = session;
    const execution = new AgentExecution({ executionId: core.settings.ids.id('exec'), sessionId, taskId, agentId }, (error) =>
      core.report('abort_listener.failed', error),
    );
    session.agent = execution;
    core.registry.addAgent(execution);
    const { signal } = execution.controller;
    let starting: Promise<Agent> | null = null;
    try {
      await this.#commitLaunch(session, execution);
      if (this.#isClosed) throw offstageError('engine.closing', {});
      const conversationId = (await core.store.get(KEYS.conversation(sessionId))) ?? null;
      signal.throwIfAborted();
      starting = Promise.resolve(registered.start(this.#contextOf(execution, conversationId)));
      const agent = checkAgent(await unlessAborted(starting, signal));
      // Given up in the very instant in which it had started.
      signal.throwIfAborted();
      execution.agent = agent;
      this.#keepConversation(sessionId, agent.conversationId, conversationId);
    } catch (error) {
      this.#startFailed(session, execution, starting);
      throw asStartError(agentId, error);
    }
    execution.phase = 'current';
    void this.#listen(session, execution, execution.agent);
    return execution;
  }

  /** The session is `starting`, and the token is stored (ARN2). */
  #commitLaunch(session: LiveSession, execution: AgentExecution): Promise<void> {
    return new Promise((resolve, reject) => {
      const rows = [this.#processRow(execution, null)];
      const effects = (durable: boolean): void => {
        if (durable) resolve();
        else reject(offstageError('store.failed', { message: 'the start could not be noted, so nothing was started' }));
      };
      if (!this.#host.states.change(session, { type: 'session.launch' }, { rows, effects })) {
        // Running without an agent: it went, and a prompt of it is still being answered.
        this.#core.submit({ changes: [], rows, mustSync: true, effects });
      }
    });
  }

  /** The session is as it was. The execution stays until its factory has settled, and what came of it has closed (ARN2). */
  #startFailed(session: LiveSession, execution: AgentExecution, starting: Promise<Agent> | null): void {
    const { liveness } = this.#core;
    execution.phase = 'retiring';
    session.retire(execution);
    execution.abort(offstageError('agent.gone', { message: 'it has not started' }));
    if (session.agent === execution) session.agent = null;
    if (session.ticketCount > 0)
      for (const ticket of session.tickets) if (ticket.executionId === execution.executionId) ticket.executionId = null;
    this.#host.states.change(session, { type: 'launch.failed' });
    execution.closing = this.#closeLate(session, execution, starting);
    liveness.touch(session);
    liveness.settle();
  }

  /** An agent that came when nobody wanted it any more, or that is none, is closed too. */
  async #closeLate(session: LiveSession, execution: AgentExecution, starting: Promise<Agent> | null): Promise<void> {
    let late: Partial<Agent> | null = null;
    try {
      late = await starting;
    } catch {
      // A factory that fails leaves nothing behind; that is its part.
    }
    await this.#close(session, execution, async () => late?.close?.());
  }

  async #listen(session: LiveSession, execution: AgentExecution, agent: Agent): Promise<void> {
    // Made when it is needed: an error for every agent that lives is a tenth of what a session weighs.
    let error: OffstageError | null = null;
    try {
      await pumpFrames(agent.frames, {
        clock: this.#core.settings.clock,
        pace: execution,
        isOver: () => execution.hasRetired,
        take: (frame) => this.#host.onFrame(session, execution, frame),
        unreadable: (cause) => this.#core.report('frame.unreadable', cause),
      });
    } catch (cause) {
      error = isOffstageError(cause, 'agent.gone')
        ? cause
        : offstageError('agent.gone', { message: errorMessage(cause) }, { cause });
    }
    this.retire(session, execution, error ?? offstageError('agent.gone', { message: 'it has closed its connection' }));
  }

  async #close(session: LiveSession, execution: AgentExecution, close: () => Promise<unknown>): Promise<void> {
    try {
      await close();
    } catch (error) {
      // It may still be at work: its process record stays, and the next start looks after it.
      this.#core.report('agent.close_failed', error);
      return;
    }
    session.hasRetired(execution);
    this.#core.registry.removeAgent(execution);
    const rows = this.#goneRows(execution);
    if (rows.length > 0 && !this.#core.isClosed) this.#core.submit({ changes: [], rows });
    this.#core.liveness.touch(session);
    this.#core.liveness.settle();
  }

  #goneRows(execution: AgentExecution): readonly StoreOperation[] {
    if (!execution.hasProcessRow) return [];
    execution.hasProcessRow = false;
    return [removeProcess(execution.executionId)];
  }

  /** So that the next agent of the session, in this process or a later one, can take it up. */
  #keepConversation(sessionId: string, now: string | null | undefined, before: string | null): void {
    if (typeof now !== 'string' || now === before || Buffer.byteLength(now) > LIMITS.textBytes) return;
    this.#core.submit({ changes: [], rows: [{ type: 'put', key: KEYS.conversation(sessionId), value: now }] });
  }

  #contextOf(execution: AgentExecution, conversationId: string | null): AgentContext {
    const { agentId, sessionId, taskId } = execution;
    const { signal } = execution.controller;
    return { agentId, sessionId, taskId, jobId: null, conversationId, signal, execution: this.#handleOf(execution) };
  }

  #handleOf(execution: AgentExecution): ExecutionHandle {
    const core = this.#core;
    const { settings } = core;
    return {
      executionId: execution.executionId,
      get graceMs() {
        const graceMs = core.isClosing ? Math.min(settings.cancelGraceMs, settings.shutdownGraceMs) : settings.cancelGraceMs;
        return graceMs === Number.POSITIVE_INFINITY ? null : graceMs;
      },
      get killAfterMs() {
        return core.isClosing ? Math.min(settings.killAfterMs, settings.shutdownGraceMs / 2) : settings.killAfterMs;
      },
      launched: (process) => {
        if (!Number.isSafeInteger(process.pid) || process.pid <= 1) {
          return Promise.reject(offstageError('input.invalid', { argument: 'pid', message: 'it must be the id of a process' }));
        }
        if (core.isClosed) return Promise.resolve();
        const rows = [this.#processRow(execution, process)];
        return new Promise((resolve) => core.submit({ changes: [], rows, mustSync: true, acknowledge: () => resolve() }));
      },
      survivors(text) {
        execution.survivors = typeof text === 'string' ? capText(text, LIMITS.textBytes) : null;
      },
    };
  }

  #processRow(execution: AgentExecution, process: LaunchedProcess | null): StoreOperation {
    execution.process = process;
    return execution.processRow(this.#core.settings.clock.now());
  }
}

const noop = (): void => {};

/** What the promise comes to, or the signal's reason. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    const stop = onAbortOf(signal, () => reject(signal.reason));
    promise.then(resolve, reject).finally(stop);
  });
}

function asStartError(agentId: string, cause: unknown): OffstageError {
  if (isOffstageError(cause) && cause.code !== 'agent.failed') return cause;
  return offstageError('agent.start_failed', { agentId, message: errorMessage(cause) }, { cause });
}
