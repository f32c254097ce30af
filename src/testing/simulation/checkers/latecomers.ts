/**
 * What was asked for before a stop and begins after it: that must not be (liveness 11).
 *
 * LTC1  Older is what was asked for, stored or queued before the stop was asked for; after it is what happens once the stop was answered. What lies
 *       between may be either.
 */
import type { OffstageEvent } from '../../../model/events.ts';
import { isTerminal } from '../../../model/records.ts';
import type { PromptAnswer } from '../../../model/session-requests.ts';
import type { Violate } from '../checker.ts';
import type { Fact, FactOf } from '../facts.ts';
import type { Known } from '../known.ts';
import { coversJob, type EndReasons } from './end-reasons.ts';
import type { Stop } from './stop-scope.ts';

type TicketEvent = Extract<OffstageEvent, { readonly type: 'session.ticket' }>;

interface QueuedTicket {
  readonly sessionId: string;
  readonly at: number;
}

/** Times count facts. */
export class Latecomers {
  readonly #violate: Violate;
  readonly #reasons: EndReasons;
  /** Answered ones of this life. */
  #stops: Stop[] = [];
  readonly #asked = new Map<number, number>();
  /** When somebody has asked for a job of that id last. */
  readonly #namedAt = new Map<string, number>();
  /** When each job was stored first, and when it had ended. */
  readonly #createdAt = new Map<string, number>();
  readonly #endedAt = new Map<string, number>();
  readonly #calledAt = new Map<string, number>();
  /** By generation. */
  readonly #promptedAt = new Map<number, { readonly sessionId: string; readonly at: number }>();
  /** Those that have come to no end. */
  readonly #tickets = new Map<string, QueuedTicket>();

  constructor(violate: Violate, reasons: EndReasons) {
    this.#violate = violate;
    this.#reasons = reasons;
  }

  stopped(stop: Stop): void {
    this.#stops.push(stop);
  }

  note(fact: Fact, now: number, known: Known): void {
    for (const { jobId, before, after } of known.changes) {
      if (before === null) this.#createdAt.set(jobId, now);
      // A power loss may take a job, and its id may be given again.
      if (before === null || after === null) this.#endedAt.delete(jobId);
      if (after !== null && isTerminal(after.record.status) && !this.#endedAt.has(jobId)) this.#endedAt.set(jobId, now);
    }
    switch (fact.type) {
      case 'crashed':
      case 'closed':
        this.#stops = [];
        for (const memory of [this.#asked, this.#namedAt, this.#calledAt, this.#promptedAt, this.#tickets]) memory.clear();
        break;
      case 'asked':
        this.#asked.set(fact.call, now);
        if (fact.verb === 'spawn' || fact.verb === 'run') this.#named(fact, now);
        break;
      case 'answered':
        this.#answered(fact, known);
        break;
      case 'body.called':
        this.#calledAt.set(fact.jobId, now);
        this.#assertInTime(fact.jobId, Math.min(this.#createdAt.get(fact.jobId) ?? now, this.#namedAt.get(fact.jobId) ?? now));
        break;
      case 'agent.prompted':
        if (fact.jobId === null) this.#prompted(fact, now, known);
        break;
      case 'told':
        if (fact.observer === 0 && fact.event.type === 'session.ticket') this.#ticket(fact.event, now, known);
        break;
      default:
    }
  }

  #named({ args }: FactOf<'asked'>, now: number): void {
    const { jobId } = (args[0] ?? {}) as { readonly jobId?: unknown };
    if (typeof jobId === 'string') this.#namedAt.set(jobId, now);
  }

  #answered({ call, verb, value }: FactOf<'answered'>, known: Known): void {
    const asked = known.calls.get(call)?.asked;
    const askedAt = this.#asked.get(call);
    if (asked === undefined || askedAt === undefined) return;
    if (verb === 'spawn' || verb === 'run') {
      const given = asked.args[0] as { readonly jobId?: string } | undefined;
      // Under an id of its own it may be another one's job that it is answered with.
      if (given?.jobId === undefined) this.#assertInTime((value as { readonly jobId: string }).jobId, askedAt);
    } else if (verb === 'sessions.prompt') {
      const answer = value as PromptAnswer;
      if ('accepted' in answer)
        this.#assertPrompted(answer.generation, askedAt, `prompt ${answer.promptId} (call ${call})`, known);
    }
  }

  /** The body of the job was not called after a stop that is newer than `askedAt`. */
  #assertInTime(jobId: string, askedAt: number): void {
    const calledAt = this.#calledAt.get(jobId);
    const record = this.#reasons.records.get(jobId);
    if (calledAt === undefined || record === undefined) return;
    for (const { scope, askedAt: stoppedAt, answeredAt, name } of this.#stops)
      if (askedAt < stoppedAt && calledAt > answeredAt && coversJob(scope, record))
        this.#violate(`${jobId} was asked for before ${name}, and its body is called after that was answered`);
  }

  #assertPrompted(generation: number, askedAt: number, what: string, known: Known): void {
    const prompted = this.#promptedAt.get(generation);
    if (prompted === undefined) return;
    for (const { scope, askedAt: stoppedAt, answeredAt, name } of this.#stops)
      if (askedAt < stoppedAt && prompted.at > answeredAt && this.#reasons.covers(scope, prompted.sessionId, known))
        this.#violate(`${what} of ${prompted.sessionId} is older than ${name}, and reaches an agent after that was answered`);
  }

  #prompted({ sessionId, generation, content }: FactOf<'agent.prompted'>, now: number, known: Known): void {
    this.#promptedAt.set(generation, { sessionId, at: now });
    const jobId = typeof content === 'string' ? /^\[task (\S+) (?:completed|cancelled|errored)\]/.exec(content)?.[1] : undefined;
    const endedAt = jobId === undefined ? undefined : this.#endedAt.get(jobId);
    if (endedAt !== undefined) this.#assertPrompted(generation, endedAt, `the notice of ${jobId}`, known);
  }

  #ticket({ ticketId, sessionId, status, generation }: TicketEvent, now: number, known: Known): void {
    const ticket = this.#tickets.get(ticketId);
    if (status === 'queued') this.#tickets.set(ticketId, { sessionId, at: now });
    else this.#tickets.delete(ticketId);
    if (status === 'accepted' && ticket !== undefined) this.#assertPrompted(generation, ticket.at, `ticket ${ticketId}`, known);
  }

  /** Everything rests, and all is stored. */
  rested(known: Known): void {
    for (const [ticketId, { sessionId, at }] of this.#tickets)
      for (const { scope, askedAt, name } of this.#stops)
        if (at < askedAt && this.#reasons.covers(scope, sessionId, known))
          this.#violate(`ticket ${ticketId} of ${sessionId} is older than ${name}, and still waits`);
  }
}
