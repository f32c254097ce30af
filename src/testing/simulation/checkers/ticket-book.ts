/**
 * Prompts that wait for their turn, by what is told of them (`session.ticket`).
 *
 * TKB1  A ticket is told to be queued once, and to have come to an end once; what was never queued is never served.
 * TKB2  They are served in order; only a person's passes a program's, at a hand-off. What the engine itself has to tell has its own place in line.
 * TKB3  At rest those that wait are those that are listed, but for the one that is on its way to its agent.
 */
import type { OffstageEvent } from '../../../model/events.ts';
import type { Violate } from '../checker.ts';
import type { RestView } from '../facts.ts';

type TicketEvent = Extract<OffstageEvent, { readonly type: 'session.ticket' }>;

export interface Ticket {
  readonly ticketId: string;
  readonly sessionId: string;
  readonly promptId: string;
  /** Null: the engine's own. */
  readonly origin: 'human' | 'synthetic' | null;
  /** What came of it. */
  end: TicketEvent['status'] | null;
}

/** A follow-up of the engine itself. */
export const isNoticeId = (promptId: string): boolean => promptId.startsWith('notice_');

export class TicketBook {
  readonly #violate: Violate;
  /** In the order in which they were told to be queued. */
  readonly #tickets = new Map<string, Ticket>();

  constructor(violate: Violate) {
    this.#violate = violate;
  }

  forget(): void {
    this.#tickets.clear();
  }

  find(ticketId: string): Ticket | null {
    return this.#tickets.get(ticketId) ?? null;
  }

  /** `origin`: of the call that it is from; null: nobody's. */
  told(event: TicketEvent, origin: Ticket['origin']): void {
    const { ticketId, sessionId, promptId, status, generation } = event;
    const known = this.find(ticketId);
    const name = `ticket ${ticketId} (prompt ${promptId} of ${sessionId})`;
    if (status === 'queued') {
      if (known !== null) this.#violate(`${name} is queued, and was told of before (${known.end ?? 'queued'})`);
      this.#tickets.set(ticketId, { ticketId, sessionId, promptId, origin, end: null });
      return;
    }
    if (known !== null && known.end !== null) this.#violate(`${name} is ${status}, and was ${known.end} before`);
    if (known !== null && (known.sessionId !== sessionId || known.promptId !== promptId))
      this.#violate(`${name} was queued for prompt ${known.promptId} of ${known.sessionId}`);
    if (status === 'accepted') {
      if (known === null) this.#violate(`${name} is accepted, and never was queued`);
      else this.#assertInOrder(known, name);
      if (!(generation > 0)) this.#violate(`${name} is accepted as generation ${generation}`);
    } else if (generation !== 0) this.#violate(`${name} is ${status}, and has the generation ${generation}`);
    if (known !== null) known.end = status;
    // It was taken out of the line before it was stored, or an earlier process has left it.
    else this.#tickets.set(ticketId, { ticketId, sessionId, promptId, origin, end: status });
  }

  /** TKB2. Nobody who came later was served before. */
  #assertInOrder(ticket: Ticket, name: string): void {
    let isLater = false;
    for (const other of this.#tickets.values()) {
      if (other === ticket) isLater = true;
      else if (isLater && other.sessionId === ticket.sessionId && other.end === 'accepted' && mustFollow(ticket, other))
        this.#violate(`${name} is served after ${other.ticketId}, which was queued later`);
    }
  }

  /** TKB3. */
  rested({ tickets, isLast }: RestView): void {
    const waiting = new Map<string, Ticket[]>();
    for (const ticket of this.#tickets.values())
      if (ticket.end === null) waiting.set(ticket.sessionId, [...(waiting.get(ticket.sessionId) ?? []), ticket]);
    for (const [sessionId, listed] of tickets) {
      for (const { ticketId, promptId } of listed) {
        const ticket = this.find(ticketId);
        if (ticket === null || ticket.end !== null)
          this.#violate(
            `ticket ${ticketId} (prompt ${promptId} of ${sessionId}) is listed, and was told to be ${ticket?.end ?? 'nothing'}`,
          );
      }
    }
    for (const [sessionId, owed] of waiting) {
      const listed = new Set(tickets.get(sessionId)?.map(({ ticketId }) => ticketId));
      const unlisted = owed.filter(({ ticketId }) => !listed.has(ticketId));
      const ids = unlisted.map(({ ticketId, promptId }) => `${ticketId} (prompt ${promptId})`).join(', ');
      if (unlisted.length > 1) this.#violate(`${ids} of ${sessionId} have come to no end, and wait nowhere`);
      if (isLast)
        this.#violate(
          `${owed.map(({ ticketId }) => ticketId).join(', ')} of ${sessionId} have come to no end, and nothing is left to wait for`,
        );
    }
  }
}

/** `later` was queued later: whether it has to be served later, too. */
function mustFollow(ticket: Ticket, later: Ticket): boolean {
  if (ticket.origin === null || later.origin === null) return false;
  return !(ticket.origin === 'synthetic' && later.origin === 'human');
}
