/**
 * Questions of agents that a person has to answer (liveness 1).
 *
 * SRQ1  One is shown at a time, in the order of asking; each is answered once.
 * SRQ2  None outlives its own turn or its agent; the end of another turn is no end of it. One that belongs to no turn waits for its answer.
 * SRQ3  One that the agent refused to take the answer of still waits, unless the agent says that it waits no more.
 */
import type { Frame } from '../model/agent.ts';
import { isOffstageError, offstageError } from '../model/errors.ts';
import { type JsonValue, toJson } from '../model/json.ts';
import type { PendingRequest } from '../model/records.ts';
import type { AgentExecution } from './agent-execution.ts';
import { invalidInput } from './check-options.ts';
import type { Core } from './core.ts';
import type { LiveSession } from './live-session.ts';
import { errorMessage } from './outcome.ts';
import type { SessionStates } from './session-states.ts';
import { unlessAborted } from './signal-fan.ts';
import { checkId, isId } from './spawn-request.ts';

/** It stands in the session's row, which is written with every change: longer ones are cut. */
const TITLE_CHARACTERS = 1_000;

/** A question and the turn that it belongs to; 0: none that could be proven. */
export interface AskedRequest {
  readonly request: PendingRequest;
  readonly generation: number;
}

export class SessionRequests {
  readonly #core: Core;
  readonly #states: SessionStates;
  readonly #answering = new WeakSet<PendingRequest>();

  constructor(core: Core, states: SessionStates) {
    this.#core = core;
    this.#states = states;
  }

  /** `generation`: the turn that it belongs to; 0 for none that could be proven. */
  ask(
    session: LiveSession,
    execution: AgentExecution,
    frame: Extract<Frame, { type: 'permission.request' }>,
    generation: number,
  ): void {
    const { requestId, kind, title, options } = frame;
    if (session.agent !== execution) return;
    if (!isId(requestId)) throw new TypeError('a request has no id');
    if (session.requests.some(({ request }) => request.requestId === requestId)) return;
    const request: PendingRequest = {
      requestId,
      kind: kind === 'clarification' ? 'clarification' : 'permission',
      ...(typeof title === 'string' && title !== '' ? { title: title.slice(0, TITLE_CHARACTERS).toWellFormed() } : {}),
      options: optionsOf(options),
    };
    session.requests = [...session.requests, { request, generation }];
    if (session.requests.length === 1) this.#states.change(session, { type: 'request.asked', request });
  }

  /** @throws OffstageError `session.not_found`, `request.not_found`, `agent.failed`, `input.invalid`; why the agent was ended meanwhile */
  async answer(sessionId: string, requestId: string, choice: JsonValue): Promise<void> {
    checkId('sessionId', sessionId);
    checkId('requestId', requestId);
    let given: JsonValue;
    try {
      given = toJson(choice ?? null);
    } catch (error) {
      throw invalidInput('choice', errorMessage(error), error);
    }
    const session = this.#core.liveness.find(sessionId);
    const request = session?.requests.find((asked) => asked.request.requestId === requestId)?.request;
    const execution = session?.agent;
    const agent = execution?.agent;
    // Two callers are not both right: while one answer is on its way, there is nothing to answer.
    if (session === null || request === undefined || execution == null || agent == null || this.#answering.has(request)) {
      throw offstageError('request.not_found', { requestId });
    }
    this.#answering.add(request);
    try {
      // An agent that is told to end may never take it.
      await unlessAborted(Promise.resolve(agent.answer?.(requestId, given)), execution.controller.signal);
    } catch (error) {
      if (isOffstageError(error, 'request.not_found')) this.#drop(session, (asked) => asked.request === request);
      if (isOffstageError(error)) throw error;
      throw offstageError('agent.failed', { message: errorMessage(error) }, { cause: error });
    } finally {
      this.#answering.delete(request);
    }
    this.#drop(session, (asked) => asked.request === request);
  }

  /** Those of one turn, or all of them. */
  clear(session: LiveSession, generation: number | 'all'): void {
    this.#drop(session, (asked) => generation === 'all' || asked.generation === generation);
  }

  #drop(session: LiveSession, isOver: (asked: AskedRequest) => boolean): void {
    const left = session.requests.filter((asked) => !isOver(asked));
    if (left.length === session.requests.length) return;
    session.requests = left;
    session.lastWaited = this.#core.settings.clock.monotonic();
    this.show(session);
  }

  /** The row shows the first request that waits, or none; asked again when the row begins to take any. */
  show(session: LiveSession): void {
    const request = session.requests[0]?.request;
    const shown = session.row?.pending?.requestId;
    if (request === undefined) {
      if (shown !== undefined) this.#states.change(session, { type: 'request.settled' });
    } else if (request.requestId !== shown) {
      this.#states.change(session, { type: 'request.asked', request });
    }
  }
}

/** A question is shown even where what one may choose from cannot be. */
function optionsOf(given: unknown): readonly JsonValue[] {
  try {
    return Array.isArray(given) ? given.map((option) => toJson(option)) : [];
  } catch {
    return [];
  }
}
