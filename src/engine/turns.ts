/**
 * Turns: from the call of the agent to whatever ends it (liveness 3 and 4).
 *
 * TRN1  Any end of a turn releases the foreground: return, throw, a missing agent, cancel, interrupt, a limit.
 * TRN2  A turn ends once; a completion belongs to its own generation, and repeated or late ones change nothing.
 * TRN3  Before the agent took a prompt its failure is rolled back, and its caller is told; afterwards it is the end of a turn.
 * TRN4  An interrupt that is ignored closes the turn by itself; prompts then wait until the agent answers or is gone.
 * TRN5  The end of a turn sweeps only what that turn opened in the foreground.
 */
import { currentTurn } from '../machines/session-activity.ts';
import type { TurnEnd } from '../model/agent.ts';
import type { StopTimer } from '../model/clock.ts';
import { isOffstageError, type OffstageError, offstageError } from '../model/errors.ts';
import type { JobError } from '../model/records.ts';
import type { AgentExecution } from './agent-execution.ts';
import type { Core } from './core.ts';
import { whenHeard } from './frame-pump.ts';
import type { LiveSession } from './live-session.ts';
import type { OpenPrompt } from './open-prompt.ts';
import { errorMessage, errorOf } from './outcome.ts';
import type { SessionStates } from './session-states.ts';
import { addUsage } from './usage.ts';

export interface TurnsHost {
  readonly states: SessionStates;
  /** The session is running: what its agent has asked is shown. */
  showRequests(session: LiveSession): void;
  /** What the agent asked in that turn, or at all, waits for no answer any more. */
  clearRequests(session: LiveSession, generation: number | 'all'): void;
  /** The foreground may be free. */
  onFree(session: LiveSession): void;
  /** The agent says, in answer to a prompt, that it has gone. */
  onGone(session: LiveSession, execution: AgentExecution, error: OffstageError): void;
}

/** A turn that the agent opened by itself. */
export interface ProviderTurn {
  readonly generation: number;
  readonly execution: AgentExecution;
  readonly startedAt: number;
  lastHeard: number;
  stopWatch: StopTimer | null;
  /** Not null: it was asked to end. */
  stopGrace: StopTimer | null;
}

const rest = (turn: ProviderTurn): void => {
  turn.stopWatch?.();
  turn.stopGrace?.();
};

export class Turns {
  readonly #core: Core;
  readonly #host: TurnsHost;
  readonly #byProvider = new WeakMap<LiveSession, ProviderTurn>();

  constructor(core: Core, host: TurnsHost) {
    this.#core = core;
    this.#host = host;
  }

  /** Calls the agent with a prompt that has begun, unless it was interrupted or its agent has gone meanwhile. */
  dispatch(session: LiveSession, prompt: OpenPrompt, execution: AgentExecution): void {
    if (prompt.hasEnded) return;
    if (prompt.signal.aborted) {
      session.forgetPrompt(prompt.generation);
      this.#rollBack(session, prompt, prompt.signal.reason as OffstageError);
      this.#afterTurn(session);
      return;
    }
    prompt.isDispatched = true;
    const { settings, timers } = this.#core;
    const { generation, signal, request } = prompt;
    prompt.lastHeard = settings.clock.monotonic();
    const { turnTimeoutMs } = settings;
    prompt.stopTimers.push(
      timers.after(turnTimeoutMs, () => this.interrupt(session, prompt, `the turn took longer than ${turnTimeoutMs} ms`)),
    );
    let turn: Promise<TurnEnd>;
    try {
      turn = Promise.resolve(
        execution.agent?.prompt(request.content, { generation, signal, origin: request.origin }) as Promise<TurnEnd>,
      );
    } catch (error) {
      turn = Promise.reject(error);
    }
    turn.then(
      (end) => this.#answered(session, prompt, execution, answerOf(end)),
      (error) => {
        const failure = agentError(error);
        // The same end, whether its frames or its answer tell of it first.
        if (failure.code === 'agent.gone')
          whenHeard(execution, settings.clock, () => this.#host.onGone(session, execution, failure));
        else this.#answered(session, prompt, execution, { stopReason: null, error: failure });
      },
    );
  }

  #answered(session: LiveSession, prompt: OpenPrompt, execution: AgentExecution, { stopReason, error }: Answer): void {
    const answer = (): void => this.#returned(session, prompt, stopReason, error);
    prompt.answer = answer;
    // What it told before is heard first: its frames wait in a line, its answer does not.
    whenHeard(execution, this.#core.settings.clock, answer);
  }

  /** The agent took the prompt; also said by any frame of its generation. */
  accepted(session: LiveSession, prompt: OpenPrompt): void {
    if (prompt.isAccepted || prompt.hasEnded) return;
    const superseded = this.#superseded(session, prompt.generation);
    this.#core.liveness.send(session, { type: 'turn.accept', generation: prompt.generation });
    for (const earlier of superseded) {
      this.#finalise(session, earlier);
      this.#tellEnd(session, earlier.generation, null, null);
    }
    if (session.claimant === prompt) session.claimant = null;
    // What a person has to be told of, a program does not use up.
    if (prompt.request.origin === 'human') this.#host.states.change(session, { type: 'turn.accepted' });
    if (session.requests.length > 0) this.#host.showRequests(session);
    prompt.accept();
  }

  /** The turn of a prompt is over, whoever says so. */
  ended(session: LiveSession, prompt: OpenPrompt, stopReason: string | null, error: JobError | null): void {
    if (prompt.hasEnded) return;
    this.accepted(session, prompt);
    this.#finalise(session, prompt);
    this.#core.liveness.send(session, { type: 'turn.end', generation: prompt.generation });
    this.#tellEnd(session, prompt.generation, stopReason, error);
    this.#afterTurn(session);
  }

  /** The session's agent speaks without having been asked. */
  openByProvider(session: LiveSession, execution: AgentExecution): void {
    const { liveness, settings } = this.#core;
    const generation = liveness.nextGeneration();
    if (!liveness.send(session, { type: 'turn.open', generation, executionId: execution.executionId })) return;
    const heardAt = settings.clock.monotonic();
    const startedAt = settings.clock.now();
    const turn: ProviderTurn = { generation, execution, startedAt, lastHeard: heardAt, stopWatch: null, stopGrace: null };
    this.#byProvider.set(session, turn);
    this.#host.states.change(session, { type: 'turn.opened' });
    this.#watchSilence(session, turn, settings.outOfTurnIdleMs);
  }

  /** Nobody holds the claim any more: what the agent said meanwhile, and no prompt explains, is a turn of its own. */
  resumeStray(session: LiveSession): void {
    const { record, agent } = session;
    if (record === null || agent === null || agent.phase !== 'current') return;
    if (record.context.sawStrayOutput && record.isForegroundIdle) this.openByProvider(session, agent);
  }

  /** The turn that the agent opened by itself, while it is open. */
  byProvider(session: LiveSession): ProviderTurn | null {
    return this.#byProvider.get(session) ?? null;
  }

  endByProvider(session: LiveSession, stopReason: string | null): void {
    const turn = this.#byProvider.get(session);
    if (turn === undefined) return;
    this.#byProvider.delete(session);
    rest(turn);
    session.record?.sweepTools(turn.execution.executionId, turn.generation);
    this.#host.clearRequests(session, turn.generation);
    this.#core.liveness.send(session, { type: 'turn.end', generation: turn.generation });
    this.#tellEnd(session, turn.generation, stopReason, null);
    this.#afterTurn(session);
  }

  /** Tells the agent to end the turn, and closes it without the agent when that takes too long. */
  interrupt(session: LiveSession, prompt: OpenPrompt, message: string): void {
    const reason = offstageError('prompt.interrupted', { message });
    if (prompt.hasEnded || prompt.signal.aborted) return;
    prompt.abort(reason);
    if (!prompt.isDispatched) return;
    this.#askToEnd(prompt.execution, prompt.generation);
    prompt.stopTimers.push(
      this.#core.timers.after(this.#core.settings.interruptGraceMs, () => this.#closeAlone(session, prompt, reason)),
    );
  }

  /** The same for a turn that the agent opened by itself. */
  interruptProvider(session: LiveSession): boolean {
    const turn = this.#byProvider.get(session);
    if (turn === undefined) return false;
    // Asked again it gets no more time.
    if (turn.stopGrace !== null) return true;
    this.#askToEnd(turn.execution, turn.generation);
    const { timers, settings } = this.#core;
    turn.stopGrace = timers.after(settings.interruptGraceMs, () => this.endByProvider(session, 'interrupted'));
    return true;
  }

  /** The agent is gone: what it was asked ends here. */
  executionGone(session: LiveSession, execution: AgentExecution, error: OffstageError): void {
    let isCutOff = false;
    const turn = this.#byProvider.get(session);
    if (turn?.execution === execution) {
      isCutOff = true;
      this.#byProvider.delete(session);
      rest(turn);
      this.#tellEnd(session, turn.generation, null, errorOf(error));
    }
    for (const prompt of [...session.prompts.values()]) {
      if (prompt.execution !== execution) continue;
      // It answered before it went.
      prompt.answer?.();
      // Whatever it still answers is answered to nobody.
      prompt.hasReturned = true;
      session.forgetPrompt(prompt.generation);
      if (prompt.hasEnded) continue;
      if (prompt.isAccepted) {
        isCutOff = true;
        this.#cutOff(session, prompt, error);
      } else {
        this.#rollBack(session, prompt, error);
      }
    }
    this.#host.clearRequests(session, 'all');
    // A prompt that was never taken leaves no turn that was cut off.
    if (!isCutOff && session.agent === null) this.#host.states.change(session, { type: 'turns.closed' });
  }

  #cutOff(session: LiveSession, prompt: OpenPrompt, error: OffstageError): void {
    this.#finalise(session, prompt);
    this.#core.liveness.send(session, { type: 'turn.end', generation: prompt.generation });
    this.#tellEnd(session, prompt.generation, null, errorOf(error));
  }

  /** The agent's answer, which may be long past the end of the turn. */
  #returned(session: LiveSession, prompt: OpenPrompt, stopReason: string | null, error: OffstageError | null): void {
    if (prompt.hasReturned) return;
    prompt.hasReturned = true;
    session.forgetPrompt(prompt.generation);
    const { liveness } = this.#core;
    if (prompt.hasEnded) {
      // Late; but an agent that answers at last takes prompts again.
      liveness.send(session, { type: 'turn.end', generation: prompt.generation });
      this.#host.onFree(session);
      liveness.settle();
    } else if (error !== null && !prompt.isAccepted) {
      this.#rollBack(session, prompt, prompt.signal.aborted ? (prompt.signal.reason as OffstageError) : error);
      this.#afterTurn(session);
    } else {
      this.ended(session, prompt, stopReason, error === null ? null : errorOf(error));
    }
  }

  #rollBack(session: LiveSession, prompt: OpenPrompt, error: OffstageError): void {
    prompt.hasEnded = true;
    prompt.rest();
    this.#core.liveness.send(session, { type: 'turn.rollback', generation: prompt.generation });
    if (session.claimant === prompt) session.claimant = null;
    this.resumeStray(session);
    prompt.refuse(error);
  }

  #closeAlone(session: LiveSession, prompt: OpenPrompt, reason: OffstageError): void {
    if (prompt.hasEnded) return;
    this.#core.settings.log('warn', 'turn.closed_alone', { sessionId: session.sessionId, generation: prompt.generation });
    this.#finalise(session, prompt);
    this.#core.liveness.send(session, { type: 'turn.close', generation: prompt.generation });
    if (session.claimant === prompt) session.claimant = null;
    if (!prompt.isAccepted) prompt.refuse(reason);
    this.#tellEnd(session, prompt.generation, null, errorOf(reason));
    this.#afterTurn(session);
  }

  /** Nothing of this generation counts any more. */
  #finalise(session: LiveSession, prompt: OpenPrompt): void {
    prompt.hasEnded = true;
    prompt.rest();
    if (prompt.usage !== null) session.usage = addUsage(session.usage, prompt.usage);
    const { execution, generation } = prompt;
    if (execution !== null) session.record?.sweepTools(execution.executionId, generation);
    this.#host.clearRequests(session, generation);
  }

  /** The prompts whose place this one takes. */
  #superseded(session: LiveSession, generation: number): readonly OpenPrompt[] {
    const turns = session.record?.context.turns ?? [];
    return turns.flatMap((turn) => {
      const prompt = turn.supersededBy === generation ? session.prompts.get(turn.generation) : undefined;
      return prompt === undefined ? [] : [prompt];
    });
  }

  /** Without a turn, and nobody on the way to one, the session is not running. */
  closeIfOver(session: LiveSession): void {
    const { record, row } = session;
    if (row?.state !== 'running' || (record !== null && (currentTurn(record.context) !== null || record.isClaimed))) return;
    this.#host.states.change(session, { type: 'turns.closed' });
    // What belongs to none of them, and waits for a person, is still asked.
    if (session.requests.length > 0) this.#host.showRequests(session);
  }

  #afterTurn(session: LiveSession): void {
    this.closeIfOver(session);
    // Whoever waits is served first: between two turns nothing is told.
    this.#host.onFree(session);
    this.#core.liveness.settle();
  }

  #askToEnd(execution: AgentExecution | null, generation: number): void {
    const failed = (error: unknown): void => this.#core.report('agent.cancel_failed', error);
    try {
      Promise.resolve(execution?.agent?.cancel?.(generation)).catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  /** Looks again when the last output is that long ago: output is frequent, timers are not free. */
  #watchSilence(session: LiveSession, turn: ProviderTurn, delayMs: number): void {
    const { settings, timers } = this.#core;
    turn.stopWatch = timers.after(delayMs, () => {
      const restMs = turn.lastHeard + settings.outOfTurnIdleMs - settings.clock.monotonic();
      if (restMs > 0) this.#watchSilence(session, turn, restMs);
      else if (this.#byProvider.get(session) === turn) this.endByProvider(session, null);
    });
  }

  #tellEnd(session: LiveSession, generation: number, stopReason: string | null, error: JobError | null): void {
    const { bus, loop, epoch, settings } = this.#core;
    if (!bus.hasObservers) return;
    bus.publish({
      type: 'session.turn_ended',
      seq: loop.toldSeq,
      epoch,
      at: settings.clock.now(),
      sessionId: session.sessionId,
      generation,
      stopReason,
      error,
    });
  }
}

interface Answer {
  readonly stopReason: string | null;
  readonly error: OffstageError | null;
}

/** Total: whatever an agent answers with may throw when it is looked at. */
function answerOf(end: unknown): Answer {
  try {
    const reason = (end as TurnEnd | null | undefined)?.stopReason;
    return { stopReason: typeof reason === 'string' ? reason : null, error: null };
  } catch (error) {
    return { stopReason: null, error: agentError(error) };
  }
}

const agentError = (cause: unknown): OffstageError =>
  isOffstageError(cause) ? cause : offstageError('agent.failed', { message: errorMessage(cause) }, { cause });
