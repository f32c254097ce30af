/**
 * Questions of agents that a person has to answer (liveness 1).
 *
 * SRQ1  One is shown at a time, in the order of asking; each is answered once.
 * SRQ2  None outlives its turn or its agent.
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
import { checkId, isId } from './spawn-request.ts';

export class SessionRequests {
  readonly #core: Core;
  readonly #states: SessionStates;
  readonly #answering = new WeakSet<PendingRequest>();

  constructor(core: Core, states: SessionStates) {
    this.#core = core;
    this.#states = states;
  }

  ask(session: LiveSession, execution: AgentExecution, frame: Extract<Frame, { type: 'permission.request' }>): void {
    const { requestId, kind, options } = frame;
    if (session.agent !== execution) return;
    if (!isId(requestId)) throw new TypeError('a request has no id');
    if (session.requests.some((request) => request.requestId === requestId)) return;
    const request: PendingRequest = {
      requestId,
      kind: kind === 'clarification' ? 'clarification' : 'permission',
      options: optionsOf(options),
    };
    session.requests = [...session.requests, request];
    if (session.requests.length === 1) this.#states.change(session, { type: 'request.asked', request });
  }

  /** @throws OffstageError `session.not_found`, `request.not_found`, `agent.failed`, `input.invalid` */
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
    const request = session?.requests.find((candidate) => candidate.requestId === requestId);
    const agent = session?.agent?.agent;
    // Two callers are not both right: while one answer is on its way, there is nothing to answer.
    if (session === null || request === undefined || agent == null || this.#answering.has(request)) {
      throw offstageError('request.not_found', { requestId });
    }
    this.#answering.add(request);
    try {
      await agent.answer?.(requestId, given);
    } catch (error) {
      // The agent did not take it: it still waits, and so does the person's question.
      if (isOffstageError(error)) throw error;
      throw offstageError('agent.failed', { message: errorMessage(error) }, { cause: error });
    } finally {
      this.#answering.delete(request);
    }
    session.requests = session.requests.filter((candidate) => candidate !== request);
    this.show(session);
  }

  clear(session: LiveSession): void {
    if (session.requests.length === 0) return;
    session.requests = [];
    this.show(session);
  }

  /** The row shows the first request that waits, or none; asked again when the row begins to take any. */
  show(session: LiveSession): void {
    const [request] = session.requests;
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
