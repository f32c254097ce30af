/**
 * The reference for sessions: who has the foreground, who waits, what is told (liveness 1, 2, 3, 4, 7). Plain values, one step after the other.
 *
 * MSE1  It knows the specification only, and nothing of how the engine does it. Jobs are facts that are given to it.
 * MSE2  What several at once ask for is asked first, in order; what follows from it comes after.
 */
import type { SessionState } from '../../src/model/records.ts';
import {
  activityOf,
  admits,
  claimOf,
  hasLostTicket,
  isOwn,
  isRefused,
  type ModelAsk,
  type ModelExecution,
  type ModelPrompt,
  ModelSession,
  type Rules,
  type Start,
} from './session-facts.ts';
import { WorkModel } from './work-model.ts';

const INTERRUPT_GRACE_MS = 10_000;
const CANCEL_GRACE_MS = 30_000;
const OUT_OF_TURN_MS = 5_000;
/** The states that a stop moves, if anything is live. */
const MOVED: readonly SessionState[] = ['starting', 'running', 'waiting_for_input'];

export class SessionModel {
  now = 0;
  readonly rules: Rules;
  readonly sessions: ReadonlyMap<string, ModelSession>;
  /** Every start of an agent, and every prompt an agent was called with, in order. */
  readonly starts: ModelExecution[] = [];
  readonly called: ModelPrompt[] = [];
  readonly asks: ModelAsk[] = [];
  #queue: (() => void)[] = [];

  constructor(ids: readonly string[], rules: Rules) {
    this.rules = rules;
    this.sessions = new Map(ids.map((id) => [id, new ModelSession(id, new WorkModel(rules.attests))]));
  }

  at(id: string): ModelSession {
    return this.sessions.get(id) as ModelSession;
  }

  /** Everything that follows. */
  settle(): void {
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) next();
  }

  ask(session: ModelSession, given: Pick<ModelAsk, 'promptId' | 'origin' | 'whenBusy'>): ModelAsk {
    const known = this.asks.find(({ promptId }) => promptId === given.promptId);
    if (known !== undefined && !isRefused(known) && !hasLostTicket(known)) return known;
    // What was told of an earlier ticket of the same promptId stays told.
    const ask: ModelAsk = { ...given, answer: 'pending', told: known?.told ?? [] };
    this.asks.splice(known === undefined ? this.asks.length : this.asks.indexOf(known), known === undefined ? 0 : 1, ask);
    this.#try(session, ask);
    return ask;
  }

  cancelTicket(session: ModelSession, ask: ModelAsk): void {
    session.tickets.splice(
      session.tickets.findIndex((ticket) => ticket.ask === ask),
      1,
    );
    ask.told.push('cancelled');
  }

  /** The start under way has succeeded or failed. */
  started(session: ModelSession, isWell: boolean): void {
    const { start, claim } = session;
    if (start === null) return;
    session.start = null;
    if (isWell) {
      session.execution = start.execution;
      if (claim === null) session.state = 'waiting_for_input';
      else this.#begin(session, claim);
    } else {
      this.#startFailed(session, start);
      if (claim !== null) this.#release(session, claim, 'agent.start_failed');
    }
    const waiting = session.waiting.splice(0);
    this.#later(() => {
      for (const ask of waiting) this.#try(session, ask);
    });
  }

  accept(session: ModelSession, prompt: ModelPrompt): void {
    if (prompt.phase !== 'called') return;
    for (const earlier of session.turns) this.#finalise(session, earlier);
    prompt.phase = 'open';
    session.turns = [prompt];
    session.claim = null;
    if (prompt.ask.origin === 'human') session.isInterrupted = false;
    prompt.ask.answer = prompt.isTicket ? 'queued' : { accepted: prompt };
    if (prompt.isTicket) prompt.ask.told.push('accepted');
    this.note(session);
  }

  /** The agent's answer. */
  returned(session: ModelSession, prompt: ModelPrompt, isWell: boolean): void {
    if (!prompt.isRpcOpen) return;
    prompt.isRpcOpen = false;
    if (prompt.phase === 'over') {
      session.stuck.delete(prompt);
      this.#serve(session);
    } else if (!isWell && prompt.phase === 'called') {
      this.#rollBack(session, prompt, prompt.isInterrupted ? 'prompt.interrupted' : 'agent.failed');
      this.#afterTurn(session);
    } else {
      this.end(session, prompt);
    }
  }

  end(session: ModelSession, prompt: ModelPrompt): void {
    if (prompt.phase === 'over') return;
    this.accept(session, prompt);
    this.#finalise(session, prompt);
    session.turns = session.turns.filter((turn) => turn !== prompt);
    this.#afterTurn(session);
  }

  /** Answers whether there was something to interrupt. `isHeeded`: the agent ends what it is told to end. */
  interrupt(session: ModelSession, isHeeded: boolean): boolean {
    const { claim, own, turns } = session;
    const speaking = turns.filter(({ hasYielded }) => !hasYielded);
    if (claim !== null) speaking.push(claim);
    for (const prompt of speaking) {
      if (prompt.phase === 'claimed') {
        this.#giveUp(session);
        this.#release(session, prompt, 'prompt.interrupted');
        const waiting = session.waiting.splice(0);
        this.#later(() => {
          for (const ask of waiting) this.#try(session, ask);
        });
      } else if (!prompt.isInterrupted) {
        prompt.isInterrupted = true;
        prompt.closesAt = this.now + INTERRUPT_GRACE_MS;
        if (isHeeded) this.#later(() => this.returned(session, prompt, true));
      }
    }
    if (own !== null) own.endsAt ??= this.now + INTERRUPT_GRACE_MS;
    return speaking.length > 0 || own !== null;
  }

  /** The agent is gone. */
  gone(session: ModelSession): void {
    if (session.execution === null) return;
    const isCutOff = this.#cutOff(session, 'agent.gone');
    if (isCutOff) session.isInterrupted = true;
    session.state = isCutOff ? 'waiting_for_input' : 'idle';
    this.#serve(session);
    this.note(session);
  }

  /** Somebody stops the session, alone or with its task. What was asked before and is on its way is refused with the `code`. */
  stop(session: ModelSession, code: string, isForced: boolean): void {
    const { claim, tickets } = session;
    if (isForced) session.ending = session.ending.map(() => this.now);
    for (const { ask } of tickets.splice(0)) ask.told.push('stopped');
    const isMoved = MOVED.includes(session.state);
    this.#giveUp(session, isForced ? 0 : CANCEL_GRACE_MS);
    if (isMoved) session.state = 'cancelled';
    this.#cutOff(session, 'session.stopped');
    if (claim?.phase === 'claimed') this.#rollBack(session, claim, 'session.stopped');
    for (const ask of session.waiting.splice(0)) ask.answer = { refused: code };
    this.note(session);
  }

  /** What the agent was asked ends with it. Answers whether a turn was cut off. */
  #cutOff(session: ModelSession, code: string): boolean {
    const { execution } = session;
    let isCutOff = session.own !== null;
    if (execution === null) return isCutOff;
    session.execution = null;
    session.own = null;
    for (const prompt of session.prompts.filter((one) => one.execution === execution && one.isRpcOpen)) {
      prompt.isRpcOpen = false;
      if (prompt.phase === 'open') {
        isCutOff = true;
        this.#finalise(session, prompt);
      } else if (prompt.phase === 'called') {
        this.#rollBack(session, prompt, code);
      }
    }
    session.turns = [];
    session.stuck.clear();
    session.work.retire(execution.id);
    return isCutOff;
  }

  /** A start under way is wanted no more; its factory never comes to an end. */
  #giveUp(session: ModelSession, graceMs = CANCEL_GRACE_MS): void {
    const { start } = session;
    if (start === null) return;
    session.start = null;
    session.givenUp += 1;
    session.ending.push(this.now + graceMs);
    this.#startFailed(session, start);
  }

  /** Its work has changed. */
  settled(session: ModelSession): void {
    this.#serve(session);
    this.note(session);
  }

  advance(ms: number): void {
    const until = this.now + ms;
    for (;;) {
      const [next] = [...this.sessions.values()].flatMap((session) => this.#dues(session)).sort((a, b) => a.at - b.at);
      if (next === undefined || next.at > until) break;
      this.now = next.at;
      next.act();
      this.settle();
    }
    this.now = until;
    for (const session of this.sessions.values()) session.ending = session.ending.filter((at) => at > until);
  }

  /** What is to be told of it, if it differs from what was told last. */
  note(session: ModelSession): void {
    const value = activityOf(session, this.rules);
    if (JSON.stringify(value) === JSON.stringify(session.told)) return;
    session.told = value;
    session.published.push(value);
  }

  #dues(session: ModelSession): { readonly at: number; readonly act: () => void }[] {
    const { own } = session;
    const dues = session.prompts
      .filter(({ phase, closesAt }) => phase !== 'over' && closesAt < Number.POSITIVE_INFINITY)
      .map((prompt) => ({ at: prompt.closesAt, act: () => this.#closeAlone(session, prompt) }));
    if (own !== null)
      dues.push({
        at: Math.min(own.endsAt ?? Number.POSITIVE_INFINITY, own.heardAt + OUT_OF_TURN_MS),
        act: () => this.endOwn(session),
      });
    return dues;
  }

  #later(act: () => void): void {
    this.#queue.push(act);
  }

  #try(session: ModelSession, ask: ModelAsk): void {
    const { tickets, hasHandoff } = session;
    if (session.state === 'cancelled') {
      ask.answer = { refused: 'session.not_promptable' };
      return;
    }
    const passes = hasHandoff && ask.origin === 'human' && tickets.every((ticket) => ticket.ask.origin !== 'human');
    const isBehind = tickets.length > 0 && !passes;
    if (!isBehind && admits(session, ask.origin, this.rules)) this.#claim(session, ask, false);
    else if (ask.whenBusy === 'queue') {
      tickets.push({ ask, execution: session.execution ?? session.start?.execution ?? null });
      ask.answer = 'queued';
      ask.told.push('queued');
      this.#later(() => this.#serve(session));
    } else if (session.start !== null) session.waiting.push(ask);
    else ask.answer = { refused: 'prompt.busy' };
  }

  #claim(session: ModelSession, ask: ModelAsk, isTicket: boolean): void {
    const prompt = claimOf(ask, isTicket);
    session.prompts.push(prompt);
    session.claim = prompt;
    session.hasStray = false;
    this.note(session);
    if (session.execution !== null) this.#later(() => this.#begin(session, prompt));
    else if (session.start === null) this.#launch(session);
  }

  #launch(session: ModelSession): void {
    const { isCapable } = this.rules;
    const execution = { id: `e${this.starts.length}`, hasHandoff: isCapable, hasSnapshot: isCapable };
    this.starts.push(execution);
    session.start = { execution, from: session.state };
    session.state = 'starting';
    const { startsAs } = session;
    if (startsAs !== 'later') this.#later(() => this.started(session, startsAs === 'at once'));
  }

  #startFailed(session: ModelSession, { execution, from }: Start): void {
    session.state = from;
    for (const ticket of session.tickets) if (ticket.execution === execution) ticket.execution = null;
  }

  #begin(session: ModelSession, prompt: ModelPrompt): void {
    prompt.execution = session.execution;
    prompt.phase = 'called';
    prompt.isRpcOpen = true;
    session.state = 'running';
    this.called.push(prompt);
    if (session.acceptsAtOnce) this.accept(session, prompt);
  }

  /** It was claimed, and will not begin. */
  #release(session: ModelSession, prompt: ModelPrompt, code: string): void {
    this.#rollBack(session, prompt, code);
    this.note(session);
    this.#serve(session);
  }

  /** The agent has not taken it. */
  #rollBack(session: ModelSession, prompt: ModelPrompt, code: string): void {
    prompt.phase = 'over';
    session.claim = null;
    if (prompt.isTicket) prompt.ask.told.push(code === 'session.stopped' ? 'stopped' : 'failed');
    else prompt.ask.answer = { refused: code };
    if (session.hasStray && !session.hasHandoff && session.execution !== null) this.#openOwn(session);
    session.hasStray = false;
  }

  #finalise(session: ModelSession, prompt: ModelPrompt): void {
    prompt.phase = 'over';
    if (prompt.execution !== null) session.work.sweep(prompt.execution.id, prompt.generation);
  }

  #afterTurn(session: ModelSession): void {
    if (session.state === 'running' && session.claim === null && !session.hasHandoff) session.state = 'waiting_for_input';
    this.#serve(session);
    this.note(session);
  }

  #closeAlone(session: ModelSession, prompt: ModelPrompt): void {
    if (prompt.phase === 'called') {
      session.claim = null;
      if (prompt.isTicket) prompt.ask.told.push('failed');
      else prompt.ask.answer = { refused: 'prompt.interrupted' };
    }
    this.#finalise(session, prompt);
    session.turns = session.turns.filter((turn) => turn !== prompt);
    session.stuck.add(prompt);
    this.#afterTurn(session);
  }

  /** The foreground speaks; `mayOpen`: outside of any turn that is a turn of its own. */
  speak(session: ModelSession, generation: number, mayOpen: boolean): void {
    const { own, turns } = session;
    const turn = generation > 0 ? turns.find((open) => open.generation === generation) : turns.at(-1);
    if (turn !== undefined) turn.hasYielded = false;
    else if (own !== null && isOwn(session, generation)) own.heardAt = this.now;
    else if (generation === 0 && mayOpen && session.claim === null) this.#openOwn(session);
    else if (generation === 0 && mayOpen) session.hasStray = true;
  }

  #openOwn(session: ModelSession): void {
    session.own = { generation: 0, heardAt: this.now, endsAt: null };
    session.state = 'running';
  }

  endOwn(session: ModelSession): void {
    const { own, execution } = session;
    session.own = null;
    if (own !== null && execution !== null) session.work.sweep(execution.id, own.generation);
    this.#afterTurn(session);
  }

  /** The provider says that the foreground is free. */
  yields(session: ModelSession, generation: number): void {
    if (isOwn(session, generation)) {
      this.endOwn(session);
      return;
    }
    const { attests } = this.rules;
    const turn = session.turns.at(-1);
    const counts =
      attests.yield && attests.handoff && session.execution?.hasHandoff === true && session.claim?.phase !== 'called';
    if (!counts || turn === undefined || turn.generation !== generation) return;
    turn.hasYielded = true;
    this.note(session);
  }

  #serve(session: ModelSession): void {
    const { tickets } = session;
    const loaded = session.execution ?? session.start?.execution ?? null;
    for (const ticket of [...tickets]) {
      if (ticket.ask.origin !== 'synthetic' || ticket.execution === null || ticket.execution === loaded) continue;
      tickets.splice(tickets.indexOf(ticket), 1);
      ticket.ask.told.push('dropped');
    }
    const ticket = session.hasHandoff ? tickets.find(({ ask }) => ask.origin === 'human') : tickets[0];
    if (ticket === undefined || !admits(session, ticket.ask.origin, this.rules)) return;
    tickets.splice(tickets.indexOf(ticket), 1);
    this.#claim(session, ticket.ask, true);
  }
}
