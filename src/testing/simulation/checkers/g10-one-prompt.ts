/**
 * G10: of N concurrent prompts one is admitted; stale tokens change nothing.
 *
 * ONP1  Generations of a session grow, and none is used twice. Only the agent that is loaded is asked.
 * ONP2  A prompt stands beside an open one of the same agent only when that one is over by the provider's word, or was handed off to a person.
 * ONP3  What was taken reaches its agent once, what was refused does not; tickets are served once, in order (ASK1, TKB2).
 * ONP4  A turn ends once, for a reason of its own: what is said of another generation, or by another agent, ends nothing.
 * ONP5  Where nothing is under way nobody is told that the session is busy.
 */
import type { OffstageEvent } from '../../../model/events.ts';
import { type Check, type Checker, violating } from '../checker.ts';
import type { Fact, FactOf, RestView } from '../facts.ts';
import type { Known, KnownCall } from '../known.ts';
import { AskBook } from './ask-book.ts';
import { TicketBook } from './ticket-book.ts';
import { admissionOf, isLoaded, isOwn, type Page, TurnBook } from './turn-book.ts';
import { WriteWatch } from './write-watch.ts';

const violate = violating('G10');

export const onePrompt: Checker = {
  guarantee: 'G10',
  promise: 'of N concurrent prompts one is admitted; stale tokens change nothing',
  begin(): Check {
    const watch = new Watch();
    return (fact, known) => watch.take(fact, known);
  },
};

/** Verbs that end turns of whatever they cover. */
const ENDING: readonly string[] = ['tasks.stop', 'sessions.stop', 'tasks.remove', 'sessions.remove', 'close'];

class Watch {
  readonly #turns = new TurnBook();
  readonly #tickets = new TicketBook(violate);
  readonly #writes = new WriteWatch();
  readonly #asks = new AskBook(violate, this.#tickets);
  /** The highest generation of each session. */
  readonly #newest = new Map<string, number>();
  /** Whose end was told, with the session. */
  readonly #ended = new Map<number, string>();
  /** Ids of what somebody wanted stopped or removed in this life. */
  readonly #stopped = new Set<unknown>();
  #isClosing = false;
  /** Sessions in which nothing goes on since everything rested; the call that was first to ask, once there is one. */
  readonly #quiet = new Map<string, number | null>();

  take(fact: Fact, known: Known): void {
    if (fact.type === 'agent.prompted' && fact.jobId === null) this.#assertMayBeAsked(fact, known);
    this.#turns.note(fact, known);
    this.#writes.note(fact);
    switch (fact.type) {
      case 'crashed':
      case 'closed':
        this.#forget();
        break;
      case 'closing':
        this.#isClosing = true;
        break;
      case 'asked':
        this.#asked(fact);
        break;
      case 'answered':
        if (fact.verb === 'sessions.prompt') this.#asks.answered(fact, this.#turns.pages);
        else if (fact.verb === 'sessions.cancelTicket') this.#cancelled(fact, known);
        break;
      case 'refused':
        if (fact.verb === 'sessions.prompt') this.#refused(fact, known);
        break;
      case 'agent.prompted':
        if (fact.jobId === null) {
          this.#quiet.delete(fact.sessionId);
          this.#asks.prompted(this.#turns.pages.get(fact.generation) as Page, known.settings.notices);
        }
        break;
      case 'agent.said':
        this.#quiet.delete(fact.sessionId);
        break;
      case 'told':
        if (fact.observer === 0) this.#told(fact.event, fact.at, known);
        break;
      case 'rested':
        this.#rested(fact.view, known);
        break;
      default:
    }
  }

  #forget(): void {
    this.#tickets.forget();
    this.#asks.forget();
    for (const memory of [this.#newest, this.#ended, this.#stopped, this.#quiet]) memory.clear();
    this.#isClosing = false;
  }

  /** ONP1, ONP2. Before it is in the book. */
  #assertMayBeAsked({ agent, sessionId, generation, origin }: FactOf<'agent.prompted'>, known: Known): void {
    const name = `agent ${agent} of ${sessionId} is asked as generation ${generation}`;
    if (!Number.isSafeInteger(generation) || generation <= 0) violate(`${name}, which is none`);
    const other = this.#turns.pages.get(generation);
    if (other !== undefined)
      violate(`${name}, which agent ${other.prompted.agent} of ${other.prompted.sessionId} was asked as before`);
    if (this.#ended.has(generation)) violate(`${name}, whose end was told before`);
    const newest = this.#newest.get(sessionId) ?? 0;
    if (generation <= newest) violate(`${name} after ${newest}`);
    this.#newest.set(sessionId, generation);
    const asked = known.agents.get(agent);
    if (asked === undefined) return;
    if (asked.started.sessionId !== sessionId) violate(`${name}, and is the agent of ${asked.started.sessionId}`);
    if (asked.toldToEnd !== null) violate(`${name}, and was told to end before`);
    for (const [number, one] of known.agents)
      if (number !== agent && isOwn(one) && one.started.sessionId === sessionId && isLoaded(one))
        violate(`${name}, and agent ${number} of the same session is loaded`);
    for (const page of this.#turns.openOf(agent)) this.#assertLeavesRoom(page, name, origin, admissionOf(known, sessionId));
  }

  #assertLeavesRoom(page: Page, name: string, origin: 'human' | 'synthetic', admission: 'attested' | 'conservative'): void {
    const open = `generation ${page.prompted.generation}`;
    if (admission === 'conservative') violate(`${name}, and has not answered ${open}, beside which nothing is let in`);
    if (page.hasEnded || page.isSuperseded) return;
    if (!page.yielded.mayHold) violate(`${name}, and ${open} is neither over nor handed off`);
    if (origin !== 'human') violate(`${name}, and ${open} was handed off to a person only`);
  }

  #asked(fact: FactOf<'asked'>): void {
    const [id] = fact.args;
    if (ENDING.includes(fact.verb)) this.#stopped.add(fact.verb === 'close' ? null : id);
    if (fact.verb !== 'sessions.prompt') return;
    this.#asks.asked(fact);
    const sessionId = String(id);
    // Of two that ask at once either may be first.
    if (this.#quiet.get(sessionId) === null) this.#quiet.set(sessionId, fact.call);
    else this.#quiet.delete(sessionId);
  }

  #refused(fact: FactOf<'refused'>, known: Known): void {
    this.#asks.refused(fact);
    const sessionId = String(known.calls.get(fact.call)?.asked.args[0]);
    // ONP5.
    if (fact.code === 'prompt.busy' && this.#quiet.get(sessionId) === fact.call)
      violate(`call ${fact.call} is told that ${sessionId} is busy, and nothing is under way there`);
    this.#quiet.delete(sessionId);
  }

  #cancelled({ call, value }: FactOf<'answered'>, known: Known): void {
    const ticketId = String(known.calls.get(call)?.asked.args[0]);
    const ticket = this.#tickets.find(ticketId);
    const { changed } = value as { readonly changed: boolean };
    if (changed && ticket !== null && ticket.end !== 'cancelled')
      violate(`call ${call} has cancelled ticket ${ticketId}, which is told to be ${ticket.end ?? 'queued'}`);
  }

  #told(event: OffstageEvent, at: number, known: Known): void {
    if (event.type === 'session.ticket') {
      this.#quiet.delete(event.sessionId);
      this.#tickets.told(event, this.#asks.originOf(event.sessionId, event.promptId));
      if (event.status !== 'accepted') return;
      if (this.#ended.has(event.generation))
        violate(`ticket ${event.ticketId} is accepted as generation ${event.generation}, whose end was told before`);
      this.#asks.served(event, this.#turns.pages);
    } else if (event.type === 'session.turn_ended') this.#turnEnded(event, at, known);
    else if (event.type === 'session.removed') this.#asks.removed(event.sessionId);
    else if (event.type === 'session.activity_changed' && event.foregroundActivity === 'generating')
      this.#quiet.delete(event.sessionId);
  }

  /** ONP4. */
  #turnEnded({ sessionId, generation }: Extract<OffstageEvent, { type: 'session.turn_ended' }>, at: number, known: Known): void {
    const name = `generation ${generation} of ${sessionId} is told to have ended`;
    if (!(generation > 0)) violate(`${name}, and is none`);
    const before = this.#ended.get(generation);
    if (before !== undefined) violate(`${name}, and that of ${before} was told before`);
    this.#ended.set(generation, sessionId);
    const page = this.#turns.pages.get(generation);
    if (page === undefined) return;
    if (page.prompted.sessionId !== sessionId) violate(`${name}, and is that of ${page.prompted.sessionId}`);
    this.#turns.told(page);
    const agent = known.agents.get(page.prompted.agent);
    const isEnding = agent === undefined || !isLoaded(agent) || this.#isClosing || this.#isStopped(sessionId, known);
    const isOverdue = at - page.prompted.at >= known.settings.turnTimeoutMs;
    const hasStalled = this.#turns.mayHaveStalled(page.prompted.agent, at, known);
    const isCutOff = page.isInterrupted || isOverdue || hasStalled || isEnding;
    if (page.over === null && !page.hasEnded && !page.isSuperseded && !isCutOff)
      violate(`${name}; its agent has not answered and not said so, and nobody has asked for that`);
  }

  #isStopped(sessionId: string, { sessions }: Known): boolean {
    const session = sessions.get(sessionId);
    return session === undefined || [null, sessionId, session.taskId].some((id) => this.#stopped.has(id));
  }

  #rested(view: RestView, known: Known): void {
    if (!this.#writes.isCalm(view)) {
      this.#quiet.clear();
      return;
    }
    this.#tickets.rested(view);
    this.#assertEndsTold(known);
    this.#quiet.clear();
    const isAsked = new Set(
      [...known.agents.values()].flatMap((agent) =>
        isOwn(agent) && isLoaded(agent) && agent.openPrompts.size > 0 ? [agent.started.sessionId] : [],
      ),
    );
    const isOnItsWay = new Set([...known.calls.values()].flatMap(openPromptOf));
    for (const { sessionId, turn, foregroundActivity } of view.sessions) {
      const isBusy = turn !== null || foregroundActivity === 'generating' || isAsked.has(sessionId) || isOnItsWay.has(sessionId);
      if (!isBusy && (view.tickets.get(sessionId)?.length ?? 0) === 0) this.#quiet.set(sessionId, null);
    }
  }

  /** An agent that has answered, and is still there, has no open turn. */
  #assertEndsTold(known: Known): void {
    for (const { prompted, over, isTold } of this.#turns.pages.values()) {
      const agent = known.agents.get(prompted.agent);
      if (isTold || over?.how !== 'returned' || agent === undefined || !isLoaded(agent)) continue;
      violate(
        `agent ${prompted.agent} of ${prompted.sessionId} has answered generation ${prompted.generation}, and its end was not told`,
      );
    }
  }
}

/** The session of a prompt that nobody has answered yet. */
const openPromptOf = ({ asked, settled }: KnownCall): readonly string[] =>
  asked.verb === 'sessions.prompt' && settled === null ? [String(asked.args[0])] : [];
