/**
 * Starts and ends the agents of sessions, and listens to them (liveness 8 and 9).
 *
 * ARN1  At most one current agent per session; a start under way is joined, not doubled.
 * ARN2  The launch token is durable before the factory is called, and its row goes when the agent's `close` has resolved.
 * ARN3  A start that fails leaves the session as it was.
 * ARN4  An agent retires once: everything it owned goes in the same instant, and nothing of a successor's.
 * ARN5  Whatever an agent throws, rejects or never answers, reaches nobody but its own session (G16).
 * ARN6  An end that is a decision is stored, with the intent to tear down, before the agent hears of it; if the store refuses, it hears all the same.
 */
import type { SessionEvent } from '../machines/session.ts';
import type { Agent, AgentContext, Frame } from '../model/agent.ts';
import { isOffstageError, type OffstageError, offstageError } from '../model/errors.ts';
import type { ExecutionHandle } from '../model/executor.ts';
import { LIMITS } from '../model/limits.ts';
import type { LaunchedProcess } from '../persistence/process-row.ts';
import { KEYS } from '../persistence/row-keys.ts';
import type { StoreOperation } from '../persistence/store.ts';
import { AgentExecution } from './agent-execution.ts';
import { AgentTeardown } from './agent-teardown.ts';
import { checkAgent } from './check-agent.ts';
import type { Core } from './core.ts';
import { pumpFrames } from './frame-pump.ts';
import type { LiveSession } from './live-session.ts';
import { capText, errorMessage } from './outcome.ts';
import { pass } from './pause-points.ts';
import type { SessionStates } from './session-states.ts';
import { unlessAborted } from './signal-fan.ts';
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

/** How an end is decided, stored and told. */
export interface EndOptions {
  /** What its prompts are answered. */
  readonly error: OffstageError;
  /** What the session's chart is told; null: its state stays as it is. */
  readonly event: SessionEvent | null;
  /** No grace. */
  readonly isForced?: boolean;
  /** Further rows of the same batch. */
  readonly rows?: readonly StoreOperation[];
  /** In the reveal, before its events; once more where the store has refused before. */
  readonly committed?: () => void;
  /** When the teardown has begun. */
  readonly effects?: (durable: boolean) => void;
}

export class AgentRunner {
  readonly #core: Core;
  readonly #host: AgentRunnerHost;
  readonly teardown: AgentTeardown;
  #isClosed = false;

  constructor(core: Core, host: AgentRunnerHost) {
    this.#core = core;
    this.#host = host;
    this.teardown = new AgentTeardown(core);
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
    if (!this.#letGo(session, execution, error)) return;
    this.#close(session, execution, error);
    this.#host.onFree(session);
    this.#core.liveness.settle();
  }

  /**
   * Ends agents of the session, and with `event` its state, by a decision that is stored first (ARN6). Answers false when the chart refuses the
   * event: then nothing is done, because somebody else has decided meanwhile.
   */
  end(session: LiveSession, executions: readonly AgentExecution[], options: EndOptions): boolean {
    const { error, event, rows = [], isForced = false } = options;
    const at = this.#core.settings.clock.now();
    const intended = executions.filter(({ teardownAt }) => teardownAt === null);
    const intents = intended.flatMap((execution): readonly StoreOperation[] => {
      execution.teardownAt = at;
      return execution.hasProcessRow ? [execution.processRow(at)] : [];
    });
    const letGo = (): void => {
      for (const execution of executions) this.#letGo(session, execution, error);
      options.committed?.();
    };
    const more = {
      rows: [...intents, ...rows],
      committed: letGo,
      effects: (durable: boolean) =>
        pass(this.#core.points, 'terminal_write', () => {
          // A store that refuses keeps nothing alive.
          if (!durable) letGo();
          for (const execution of executions) {
            if (isForced) this.teardown.force(execution);
            this.#close(session, execution, error);
          }
          options.effects?.(durable);
          this.#host.onFree(session);
          this.#core.liveness.settle();
        }),
    };
    if (event === null) this.#core.submit({ changes: [], mustSync: true, ...more });
    else if (!this.#host.states.change(session, event, more)) {
      for (const execution of intended) execution.teardownAt = null;
      return false;
    }
    return true;
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
    // Those whose start was given up just now among them; and once more those that could not be closed before.
    const ending = [...this.#core.registry.agents()];
    for (const execution of ending) {
      this.teardown.retry(execution);
      this.teardown.hurry(execution, this.#core.settings.shutdownGraceMs);
    }
    await Promise.all(ending.map(({ teardown }) => teardown?.attempt));
  }

  /** Who still waits for an agent to end goes on: nobody looks after it any more. */
  abandon(): void {
    for (const execution of this.#core.registry.agents()) if (execution.outcome === null) execution.over('detached');
  }

  /** All that it owned goes in this instant; nothing of it is called yet. Answers false when it had gone before, or is only starting. */
  #letGo(session: LiveSession, execution: AgentExecution, error: OffstageError): boolean {
    if (execution.phase !== 'current') return false;
    execution.phase = 'retiring';
    execution.end = error;
    session.retire(execution);
    session.swapAgent(execution, null);
    this.#host.onRetire(session, execution, error);
    session.record?.retireExecution(execution.executionId);
    // A predecessor that goes while another agent is current is no change of the session.
    if (session.agent === null) this.#host.states.change(session, { type: 'agent.gone' });
    this.#core.liveness.touch(session);
    return true;
  }

  /** One that is starting gives up its start, and is closed by that. */
  #close(session: LiveSession, execution: AgentExecution, error: OffstageError): void {
    execution.abort(error);
    if (execution.phase !== 'starting') this.teardown.begin(session, execution, async () => execution.agent?.close());
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
    if (!core.registry.swapAgent(session, null, execution))
      throw offstageError('agent.gone', { message: 'another one has taken its place' });
    const { signal } = execution.controller;
    let starting: Promise<Agent> | null = null;
    try {
      await unlessAborted(this.#commitLaunch(session, execution), signal);
      if (this.#isClosed) throw offstageError('engine.closing', {});
      const conversationId = (await unlessAborted(core.store.get(KEYS.conversation(sessionId)), signal)) ?? null;
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
    session.swapAgent(execution, null);
    if (session.ticketCount > 0)
      for (const ticket of session.tickets) if (ticket.executionId === execution.executionId) ticket.executionId = null;
    this.#host.states.change(session, { type: 'launch.failed' });
    this.teardown.begin(session, execution, () => closeLate(starting));
    liveness.touch(session);
    liveness.settle();
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

  /** So that the next agent of the session, in this process or a later one, can take it up. */
  #keepConversation(sessionId: string, now: string | null | undefined, before: string | null): void {
    if (typeof now !== 'string' || now === before || Buffer.byteLength(now) > LIMITS.textBytes) return;
    this.#core.submit({ changes: [], rows: [{ type: 'put', key: KEYS.conversation(sessionId), value: now }] });
  }

  #contextOf(execution: AgentExecution, conversationId: string | null): AgentContext {
    const { agentId, sessionId, taskId } = execution;
    const { signal } = execution.controller;
    const handle = this.#handleOf(execution);
    return { agentId, sessionId, taskId, jobId: null, contextMode: null, conversationId, signal, execution: handle };
  }

  #handleOf(execution: AgentExecution): ExecutionHandle {
    const core = this.#core;
    const { settings } = core;
    return {
      executionId: execution.executionId,
      get graceMs() {
        const wholeMs = core.isClosing ? Math.min(settings.cancelGraceMs, settings.shutdownGraceMs) : settings.cancelGraceMs;
        const graceMs = Math.min(wholeMs, Math.max(0, execution.graceDueAt - settings.clock.monotonic()));
        return graceMs === Number.POSITIVE_INFINITY ? null : graceMs;
      },
      get killAfterMs() {
        if (execution.killAfterMs !== null) return execution.killAfterMs;
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
      onForce: (listener) => execution.forced.on(listener),
      survivors(text) {
        execution.survivors = typeof text === 'string' && text !== '' ? capText(text, LIMITS.textBytes) : null;
      },
    };
  }

  #processRow(execution: AgentExecution, process: LaunchedProcess | null): StoreOperation {
    execution.process = process;
    return execution.processRow(this.#core.settings.clock.now());
  }
}

const noop = (): void => {};

/** An agent that came when nobody wanted it any more, or that is none, is closed too. */
async function closeLate(starting: Promise<Agent> | null): Promise<void> {
  let late: Partial<Agent> | null = null;
  try {
    late = await starting;
  } catch {
    // A factory that fails leaves nothing behind; that is its part.
  }
  await late?.close?.();
}

function asStartError(agentId: string, cause: unknown): OffstageError {
  if (isOffstageError(cause) && cause.code !== 'agent.failed') return cause;
  return offstageError('agent.start_failed', { agentId, message: errorMessage(cause) }, { cause });
}
