/**
 * The prompts of a session that wait for their turn (liveness 3): put in line, listed, taken out, and what is told of them.
 *
 * TLN1  A ticket is in the line or it is not: whoever takes it out is the one who says what came of it.
 * TLN2  Nothing is told after its end: one that was taken out before its row was stored is refused, and never said to be queued.
 * TLN3  It is served only once its row is stored, and its row goes in the batch that says what came of it.
 */
import { type OffstageError, offstageError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import type { PromptAnswer, PromptTicket } from '../model/session-requests.ts';
import { removeTicketOperation, ticketOperation } from '../persistence/session-rows.ts';
import type { Core } from './core.ts';
import type { LiveSession } from './live-session.ts';
import type { PromptRequest } from './open-prompt.ts';
import { errorOf } from './outcome.ts';

/** What the line of a session holds. */
export interface WaitingPrompt {
  readonly ticketId: string;
  readonly request: PromptRequest;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** The agent that was loaded then, or starting; what the program asked of it is not for another one. Null again if it never came. */
  executionId: string | null;
  /** Its row is stored, and it may be served. */
  isStored: boolean;
  /** What came of it before its row was stored: a store that hangs holds up nobody who takes it out. */
  earlyEnd: { readonly error: unknown } | null;
  /** Not null: it is the engine's own, and its durable part lies elsewhere; told, once, what came of it (null: accepted). */
  readonly onOutcome: ((error: unknown, isWithdrawn: boolean) => void) | null;
}

export interface TicketLineHost {
  /** One more may be served. */
  onStored(session: LiveSession): void;
  /** Of the prompt nothing came. */
  onFailed(sessionId: string, promptId: string): void;
}

export class TicketLine {
  readonly #core: Core;
  readonly #host: TicketLineHost;

  constructor(core: Core, host: TicketLineHost) {
    this.#core = core;
    this.#host = host;
  }

  list({ sessionId, tickets }: LiveSession): readonly PromptTicket[] {
    return tickets.map(({ ticketId, request, createdAt }, index) => ({
      ticketId,
      promptId: request.promptId,
      sessionId,
      origin: request.origin,
      position: index + 1,
      createdAt,
    }));
  }

  /** Resolves with whether that is stored. @throws OffstageError `ticket.not_found` */
  cancel(ticketId: string): Promise<boolean> {
    for (const session of this.#core.liveness.values()) {
      if (session.ticketCount === 0) continue;
      const ticket = session.tickets.find((waiting) => waiting.ticketId === ticketId);
      if (ticket === undefined) continue;
      const error = offstageError('prompt.interrupted', { message: 'its ticket was cancelled' });
      return this.withdraw(session, ticket, 'cancelled', error);
    }
    throw offstageError('ticket.not_found', { ticketId });
  }

  /** Takes the prompts that wait out of the line, for good; their rows go with `removeTicketOperation`, and `tellStopped` says so. */
  takeAll(session: LiveSession): readonly WaitingPrompt[] {
    return session.ticketCount === 0 ? [] : session.tickets.splice(0);
  }

  tellStopped(session: LiveSession, tickets: readonly WaitingPrompt[], error: OffstageError): void {
    for (const ticket of tickets) this.tell(session, ticket, 'stopped', 0, error);
  }

  /** What the program asked of an agent that has been replaced since. */
  dropOrphans(session: LiveSession): void {
    for (const ticket of [...session.tickets]) {
      const { executionId, request } = ticket;
      if (
        request.origin !== 'synthetic' ||
        ticket.onOutcome !== null ||
        executionId === null ||
        executionId === session.agent?.executionId
      )
        continue;
      void this.withdraw(session, ticket, 'dropped', offstageError('agent.gone', { message: 'another agent has taken over' }));
    }
  }

  /** At the end of the line; resolves when that is stored. @throws OffstageError `limit.tickets`; why it could not be stored */
  add(session: LiveSession, request: PromptRequest): Promise<PromptAnswer> {
    const { sessionId } = session;
    if (session.ticketCount >= LIMITS.ticketsPerSession)
      throw offstageError('limit.tickets', { limit: LIMITS.ticketsPerSession });
    const ticket = this.#ticketOf(session, request);
    const { ticketId, createdAt } = ticket;
    session.tickets.push(ticket);
    const row = ticketOperation({ ticketId, promptId: request.promptId, sessionId, origin: request.origin, createdAt });
    return new Promise((resolve, reject) => {
      this.#core.submit({
        changes: [],
        rows: [row],
        mustSync: true,
        isCreation: true,
        retract: [removeTicketOperation(ticketId)],
        acknowledge: () => {
          if (ticket.earlyEnd !== null) {
            reject(ticket.earlyEnd.error);
            return;
          }
          ticket.isStored = true;
          const position = session.tickets.indexOf(ticket) + 1;
          resolve({ queued: true, promptId: request.promptId, ticketId, position: Math.max(1, position) });
          this.tell(session, ticket, 'queued', 0, null);
          this.#host.onStored(session);
        },
        refuse: (error) => {
          leave(session, ticket);
          reject(error);
        },
      });
    });
  }

  /** One of the engine's own: its durable part lies elsewhere, so it has no row here, and waits at once. */
  addOwn(session: LiveSession, request: PromptRequest, onOutcome: (error: unknown, isWithdrawn: boolean) => void): void {
    const ticket: WaitingPrompt = { ...this.#ticketOf(session, request), isStored: true, onOutcome };
    session.tickets.push(ticket);
    this.tell(session, ticket, 'queued', 0, null);
    this.#host.onStored(session);
  }

  #ticketOf(session: LiveSession, request: PromptRequest): WaitingPrompt {
    const { ids, clock } = this.#core.settings;
    return {
      ticketId: ids.id('ticket'),
      request,
      createdAt: clock.now(),
      executionId: session.agent?.executionId ?? null,
      isStored: false,
      earlyEnd: null,
      onOutcome: null,
    };
  }

  /** Resolves with whether that is stored, or the store refuses for now. */
  withdraw(session: LiveSession, ticket: WaitingPrompt, status: 'cancelled' | 'dropped', error: OffstageError): Promise<boolean> {
    leave(session, ticket);
    this.#core.liveness.touch(session);
    return new Promise((resolve) => {
      this.#core.submit({
        changes: [],
        rows: [removeTicketOperation(ticket.ticketId)],
        acknowledge: (durable) => {
          this.tell(session, ticket, status, 0, error);
          this.#core.liveness.settle();
          resolve(durable);
        },
      });
    });
  }

  tell(
    { sessionId }: LiveSession,
    ticket: WaitingPrompt,
    status: 'queued' | 'accepted' | 'failed' | 'cancelled' | 'dropped' | 'stopped',
    generation: number,
    error: unknown,
  ): void {
    const { bus, loop, epoch, settings } = this.#core;
    const { ticketId, request, onOutcome } = ticket;
    const { promptId } = request;
    if (status !== 'queued' && !ticket.isStored) ticket.earlyEnd = { error };
    if (error !== null) this.#host.onFailed(sessionId, promptId);
    if (status !== 'queued') onOutcome?.(error, status === 'cancelled');
    if (!bus.hasObservers) return;
    const head = { seq: loop.toldSeq, epoch, at: settings.clock.now() };
    const failure = error === null ? null : errorOf(error);
    bus.publish({ type: 'session.ticket', ...head, sessionId, ticketId, promptId, status, generation, error: failure });
  }
}

/** Takes the ticket out of the line, if it is still there. */
function leave(session: LiveSession, ticket: WaitingPrompt): void {
  const place = session.tickets.indexOf(ticket);
  if (place !== -1) session.tickets.splice(place, 1);
}
