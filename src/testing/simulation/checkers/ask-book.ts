/**
 * Who has asked sessions for what in this life (`sessions.prompt`), what they were answered, and what of it has reached an agent.
 *
 * ASK1  A prompt reaches an agent once for each time that it was taken: what was refused, or is over, never does.
 * ASK2  The same promptId gets the same answer, as long as what it asked for is under way or was taken.
 * ASK3  What nobody has asked for reaches nobody, but for what the engine itself has to tell of jobs.
 */
import { isDeepStrictEqual } from 'node:util';
import type { PromptAnswer } from '../../../model/session-requests.ts';
import type { Violate } from '../checker.ts';
import type { FactOf } from '../facts.ts';
import { isNoticeId, type TicketBook } from './ticket-book.ts';
import type { Page } from './turn-book.ts';

/** Refusals that come before anything of the prompt was given to anybody. */
const NEVER_TAKEN: readonly string[] = [
  'prompt.busy',
  'session.not_promptable',
  'session.not_found',
  'session.expired',
  'agent.unknown',
  'input.invalid',
  'limit.tickets',
  'limit.input_bytes',
  'task.stopping',
  'engine.degraded',
];

/** What a repeated promptId may be refused although its prompt was taken: it is looked at before. */
const LOOKED_AT_FIRST: readonly string[] = ['engine.closing', 'engine.degraded', 'input.invalid', 'limit.input_bytes'];

interface Ask {
  readonly call: number;
  readonly sessionId: string;
  /** Null: the engine makes one up. */
  readonly promptId: string | null;
  readonly origin: 'human' | 'synthetic';
  readonly mayQueue: boolean;
  readonly content: string;
  /** The same was asked and answered before: this has to get the same answer. */
  readonly joined: Ask | null;
  answer: PromptAnswer | null;
  refused: string | null;
}

const textOf = (content: unknown): string => JSON.stringify(content) ?? '';

export class AskBook {
  readonly #violate: Violate;
  readonly #tickets: TicketBook;
  readonly #asks = new Map<number, Ask>();
  /** By session and content: which agent was asked for it when. */
  readonly #reached = new Map<string, number>();
  /** By generation: whose it is. */
  readonly #owners = new Map<number, string>();
  readonly #removed = new Set<string>();

  constructor(violate: Violate, tickets: TicketBook) {
    this.#violate = violate;
    this.#tickets = tickets;
  }

  forget(): void {
    this.#asks.clear();
    this.#reached.clear();
    this.#owners.clear();
    this.#removed.clear();
  }

  removed(sessionId: string): void {
    this.#removed.add(sessionId);
  }

  asked({ call, args }: FactOf<'asked'>): void {
    const [sessionId, given] = args;
    const { content, promptId, origin, whenBusy } = (given ?? {}) as { readonly [name: string]: unknown };
    const id = typeof promptId === 'string' ? promptId : null;
    const earlier = [...this.#asks.values()].findLast(
      (ask) => id !== null && ask.sessionId === sessionId && ask.promptId === id && ask.answer !== null,
    );
    this.#asks.set(call, {
      call,
      sessionId: String(sessionId),
      promptId: id,
      origin: origin === 'synthetic' ? 'synthetic' : 'human',
      mayQueue: whenBusy === 'queue',
      content: textOf(content),
      joined: earlier === undefined ? null : (earlier.joined ?? earlier),
      answer: null,
      refused: null,
    });
  }

  /** An agent is called. */
  prompted({ prompted }: Page, tellsNotices: boolean): void {
    const { sessionId, generation, origin, agent } = prompted;
    const content = textOf(prompted.content);
    const asks = this.#askedFor(sessionId, content);
    const name = `agent ${agent} of ${sessionId} is asked ${content} (${origin}, generation ${generation})`;
    if (asks.length === 0) {
      const isNotice = tellsNotices && origin === 'synthetic' && content.startsWith('"[task ');
      if (!isNotice) this.#violate(`${name}, and nobody wanted it`);
      return;
    }
    if (!asks.some((ask) => ask.origin === origin)) this.#violate(`${name}, and whoever wanted it was ${asks[0]?.origin}`);
    if (!asks.some((ask) => this.#isUnderWay(ask))) this.#violate(`${name}, and all who wanted it have their answer`);
    const key = JSON.stringify([sessionId, content]);
    this.#reached.set(key, (this.#reached.get(key) ?? 0) + 1);
    this.#assertNotTooOften(sessionId, content, name);
  }

  refused({ call, code }: FactOf<'refused'>): void {
    const ask = this.#asks.get(call);
    if (ask === undefined) return;
    ask.refused = code;
    const name = `call ${call} for prompt ${ask.promptId} of ${ask.sessionId} is refused ${code}`;
    if (ask.joined !== null && this.#isTaken(ask.joined) && !LOOKED_AT_FIRST.includes(code))
      this.#violate(`${name}, and call ${ask.joined.call} was answered ${JSON.stringify(ask.joined.answer)}`);
    if (NEVER_TAKEN.includes(code)) this.#assertNotTooOften(ask.sessionId, ask.content, name);
  }

  answered({ call, value }: FactOf<'answered'>, pages: ReadonlyMap<number, Page>): void {
    const ask = this.#asks.get(call);
    if (ask === undefined) return;
    const answer = value as PromptAnswer;
    ask.answer = answer;
    const name = `call ${call} for prompt ${ask.promptId} of ${ask.sessionId} is answered ${JSON.stringify(answer)}`;
    if (ask.promptId !== null && answer.promptId !== ask.promptId) this.#violate(`${name}, which is another prompt`);
    if (ask.joined !== null && this.#isTaken(ask.joined) && !isDeepStrictEqual(ask.joined.answer, answer))
      this.#violate(`${name}, and call ${ask.joined.call} was answered ${JSON.stringify(ask.joined.answer)}`);
    const same = this.#sameAs(ask);
    if ('queued' in answer) {
      if (!same.some(({ mayQueue }) => mayQueue)) this.#violate(`${name}, and was not to wait`);
      if (this.#tickets.find(answer.ticketId) === null) this.#violate(`${name}, and nothing was told of that ticket`);
    } else this.#own(ask.sessionId, answer.promptId, answer.generation, pages, name);
  }

  /** A ticket was served. */
  served(
    event: { readonly sessionId: string; readonly promptId: string; readonly ticketId: string; readonly generation: number },
    pages: ReadonlyMap<number, Page>,
  ): void {
    const { sessionId, promptId, generation } = event;
    this.#own(
      sessionId,
      promptId,
      generation,
      pages,
      `ticket ${event.ticketId} (prompt ${promptId} of ${sessionId}) is accepted`,
    );
  }

  /** Of the prompt that waits under that id; null: nobody has asked for it. */
  originOf(sessionId: string, promptId: string): 'human' | 'synthetic' | null {
    const asks = [...this.#asks.values()].filter((ask) => ask.sessionId === sessionId);
    // One that was refused may have been asked for again, by somebody else.
    const named = asks.filter((one) => one.promptId === promptId);
    const ask = named.find(({ refused }) => refused === null) ?? named[0];
    if (ask !== undefined) return ask.origin;
    if (isNoticeId(promptId)) return null;
    const nameless = new Set(asks.filter((one) => one.promptId === null && one.mayQueue).map(({ origin }) => origin));
    const [only] = nameless;
    return nameless.size === 1 ? (only ?? null) : null;
  }

  /** A generation is one prompt's, and that prompt has reached its agent with it. */
  #own(sessionId: string, promptId: string, generation: number, pages: ReadonlyMap<number, Page>, name: string): void {
    const page = pages.get(generation);
    if (page === undefined || page.prompted.sessionId !== sessionId) {
      this.#violate(`${name} as generation ${generation}, with which no agent of the session was called`);
      return;
    }
    const owner = JSON.stringify([sessionId, promptId]);
    const known = this.#owners.get(generation);
    if (known !== undefined && known !== owner) this.#violate(`${name} as generation ${generation}, which is that of ${known}`);
    this.#owners.set(generation, owner);
    if (isNoticeId(promptId)) return;
    const asks = [...this.#asks.values()].filter((ask) => ask.sessionId === sessionId);
    const named = asks.filter((ask) => ask.promptId === promptId);
    const wanted = named.length > 0 ? named : asks.filter((ask) => ask.promptId === null);
    if (!wanted.some(({ content }) => content === textOf(page.prompted.content)))
      this.#violate(`${name} as generation ${generation}, with which its agent was asked something else`);
  }

  /** Nobody was told yet what came of it. */
  #isUnderWay({ answer, refused }: Ask): boolean {
    if (refused !== null) return false;
    return answer === null || ('queued' in answer && this.#tickets.find(answer.ticketId)?.end === null);
  }

  /** Nothing came in the way of its being remembered. */
  #isTaken({ sessionId, answer }: Ask): boolean {
    if (answer === null || this.#removed.has(sessionId)) return false;
    if (!('queued' in answer)) return true;
    const end = this.#tickets.find(answer.ticketId)?.end ?? null;
    return end === null || end === 'accepted';
  }

  #askedFor(sessionId: string, content: string): readonly Ask[] {
    return [...this.#asks.values()].filter((ask) => ask.sessionId === sessionId && ask.content === content);
  }

  #sameAs(ask: Ask): readonly Ask[] {
    if (ask.promptId === null) return [ask];
    return [...this.#asks.values()].filter((one) => one.sessionId === ask.sessionId && one.promptId === ask.promptId);
  }

  /** ASK1. */
  #assertNotTooOften(sessionId: string, content: string, name: string): void {
    const reached = this.#reached.get(JSON.stringify([sessionId, content])) ?? 0;
    if (reached === 0) return;
    const asks = this.#askedFor(sessionId, content);
    let most = 0;
    for (const id of new Set(asks.map((ask) => ask.promptId ?? ask.call))) {
      const group = asks.filter((ask) => (ask.promptId ?? ask.call) === id);
      const taken = group.filter(({ refused }) => refused === null || !NEVER_TAKEN.includes(refused));
      // Each time that it came to nothing it may be asked for again.
      const failed = taken.filter((ask) => ask.refused !== null || (ask.answer !== null && !this.#isTaken(ask))).length;
      most += Math.min(taken.length, failed + 1);
    }
    if (reached > most)
      this.#violate(`${name}: that content has reached agents ${reached} times, and was asked for and not refused ${most} times`);
  }
}
