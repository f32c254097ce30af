/**
 * Prompt admission: who gets the foreground, and who waits (liveness 3 and 4).
 *
 * PRM1  Of N concurrent prompts exactly one takes the claim; that a prompt seemed possible before is never trusted.
 * PRM2  While a claim is held nothing else opens a turn; it is released by whatever ends it before the turn begins.
 * PRM3  The same promptId gets the same answer while it is remembered; one that was refused was not taken, and may be tried again.
 * PRM4  Tickets are served at most once, in order; only a person's passes others, and only at a hand-off.
 * PRM5  A synthetic prompt waits for the agent that was there; a replaced one takes it along.
 * PRM6  A prompt that fails before its agent took it is told so; nothing of it stays queued.
 */
import { SESSION_STATES } from '../machines/session.ts';
import { BoundedMap } from '../model/bounded-map.ts';
import { isOffstageError, type OffstageError, offstageError } from '../model/errors.ts';
import { toJson } from '../model/json.ts';
import { LIMITS } from '../model/limits.ts';
import type { Changed, PromptAnswer, PromptOptions, PromptTicket } from '../model/session-requests.ts';
import { removeTicketOperation } from '../persistence/session-rows.ts';
import type { AgentExecution } from './agent-execution.ts';
import type { AgentRunner } from './agent-runner.ts';
import { invalidInput, namesOf, readOptions } from './check-options.ts';
import type { Core } from './core.ts';
import type { LiveSession } from './live-session.ts';
import { OpenPrompt, type PromptRequest } from './open-prompt.ts';
import { errorMessage } from './outcome.ts';
import type { SessionStates } from './session-states.ts';
import type { Sessions } from './sessions.ts';
import { checkId, DEFAULT_AGENT } from './spawn-request.ts';
import type { RequestStamp } from './stop-epochs.ts';
import { TicketLine, type WaitingPrompt } from './ticket-line.ts';
import type { Turns } from './turns.ts';

const PROMPT_NAMES = namesOf<PromptOptions>({ content: true, origin: true, whenBusy: true, promptId: true });

type Accepted = Extract<PromptAnswer, { accepted: true }>;

const recalled = (): OffstageError =>
  offstageError('prompt.interrupted', { message: 'what it would have told is known already' });

const answerKey = (sessionId: string, promptId: string): string => JSON.stringify([sessionId, promptId]);

export interface PromptsHost {
  readonly sessions: Sessions;
  readonly states: SessionStates;
  readonly agents: AgentRunner;
  readonly turns: Turns;
}

export class Prompts {
  readonly #core: Core;
  readonly #host: PromptsHost;
  /** By session and promptId. */
  readonly #answers = new BoundedMap<string, Promise<PromptAnswer>>(LIMITS.promptAnswers);
  readonly line: TicketLine;

  constructor(core: Core, host: PromptsHost) {
    this.#core = core;
    this.#host = host;
    this.line = new TicketLine(core, {
      onStored: (session) => this.serve(session),
      // A prompt that was never taken may be tried again under its id (PRM3).
      onFailed: (sessionId, promptId) => this.#answers.delete(answerKey(sessionId, promptId)),
    });
  }

  /** See `Offstage.sessions.prompt`. */
  prompt(sessionId: string, given: PromptOptions): Promise<PromptAnswer> {
    let request: PromptRequest;
    let whenBusy: 'reject' | 'queue';
    try {
      this.#core.assertAccepting();
      checkId('sessionId', sessionId);
      [request, whenBusy] = this.#checked(given);
    } catch (error) {
      return Promise.reject(error);
    }
    const key = answerKey(sessionId, request.promptId);
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const stamp = this.#core.epochs.stamp();
    const queue = whenBusy === 'queue' ? (session: LiveSession) => this.line.add(session, request) : null;
    const answer = this.#ask(sessionId, request, queue, stamp).finally(() => this.#core.epochs.release(stamp));
    this.#answers.set(key, answer);
    answer.catch(() => {
      if (this.#answers.get(key) === answer) this.#answers.delete(key);
    });
    return answer;
  }

  /** The prompts of the session that wait, in their order. @throws OffstageError `session.not_found` */
  async tickets(sessionId: string): Promise<readonly PromptTicket[]> {
    await this.#host.sessions.get(sessionId);
    const session = this.#core.liveness.find(sessionId);
    return session === null ? [] : this.line.list(session);
  }

  /** @throws OffstageError `ticket.not_found` */
  async cancelTicket(ticketId: string): Promise<Changed> {
    const isStored = await this.line.cancel(checkId('ticketId', ticketId));
    return isStored ? { changed: true } : { changed: true, durable: false };
  }

  /**
   * A prompt of the engine itself: resolves when the agent has taken it, now or in its turn. It outlives the agent that is there now.
   * `isWanted` is asked before it is put in line; afterwards it is `recall`ed.
   * @throws OffstageError why it was not taken
   */
  async deliver(sessionId: string, request: PromptRequest, isWanted: () => boolean): Promise<void> {
    const stamp = this.#core.epochs.stamp();
    let inLine: Promise<void> | null = null;
    const queue = (session: LiveSession): void => {
      if (!isWanted()) throw recalled();
      inLine = new Promise((resolve, reject) => {
        // Whoever cancels its ticket wants it so.
        this.line.addOwn(session, request, (error, isWithdrawn) => (error === null || isWithdrawn ? resolve() : reject(error)));
      });
      // Looked at below, and perhaps told before that.
      inLine.catch(() => {});
    };
    try {
      await this.#ask(sessionId, request, queue, stamp);
    } finally {
      this.#core.epochs.release(stamp);
    }
    await inLine;
  }

  /** Takes such a prompt back, if it still waits. */
  recall(sessionId: string, promptId: string): void {
    const session = this.#core.liveness.find(sessionId);
    const ticket = session?.tickets.find(({ request, onOutcome }) => onOutcome !== null && request.promptId === promptId);
    if (session != null && ticket !== undefined) void this.line.withdraw(session, ticket, 'dropped', recalled());
  }

  /** A prompt that is on its way and has not begun ends here, in this instant; one that has begun ends with its agent, one that is over has ended. */
  endClaim(session: LiveSession, claimant: OpenPrompt, error: OffstageError): void {
    if (session.claimant !== claimant || claimant.generation !== 0) return;
    claimant.abort(error);
    claimant.hasEnded = true;
    session.claimant = null;
    if (claimant.ticketId !== null) this.#core.submit({ changes: [], rows: [removeTicketOperation(claimant.ticketId)] });
    this.#core.liveness.send(session, { type: 'claim.release', claimId: claimant.claimId });
  }

  /** The sessions were removed: what was answered to prompts of them is remembered no more. */
  forget(sessionIds: ReadonlySet<string>): void {
    for (const key of [...this.#answers.keys()]) {
      const [sessionId] = JSON.parse(key) as [string, string];
      if (sessionIds.has(sessionId)) this.#answers.delete(key);
    }
  }

  /** Ends what waits and what is on its way, for an engine that closes. */
  refuseAll(error: OffstageError): void {
    for (const session of [...this.#core.liveness.values()]) {
      if (session.ticketCount > 0)
        for (const ticket of [...session.tickets]) void this.line.withdraw(session, ticket, 'dropped', error);
      session.claimant?.abort(error);
    }
  }

  /** The foreground may be free: serves who waits. */
  serve(session: LiveSession): void {
    if (session.ticketCount > 0) this.line.dropOrphans(session);
    while (session.ticketCount > 0 && !this.#core.isClosing) {
      const human = session.tickets.find(({ request, isStored }) => isStored && request.origin === 'human');
      const first = session.tickets[0];
      // At a hand-off only a person's prompt is let in; else it is strictly one after the other.
      const ticket = this.#isHandoff(session) ? human : first;
      if (ticket === undefined || !ticket.isStored) return;
      // Out of the line before anything is told: whoever reacts to the claim by cancelling it comes too late.
      const place = session.tickets.indexOf(ticket);
      session.tickets.splice(place, 1);
      const prompt = this.#claim(session, ticket.request);
      if (prompt === null) {
        session.tickets.splice(place, 0, ticket);
        return;
      }
      this.#serveTicket(session, ticket, prompt);
    }
  }

  /** `queue` is what to do with it when the session is busy; null: it is refused. */
  async #ask<Queued>(
    sessionId: string,
    request: PromptRequest,
    queue: ((session: LiveSession) => Queued) | null,
    stamp: RequestStamp,
  ): Promise<Accepted | Awaited<Queued>> {
    const { sessions, states } = this.#host;
    const stored = this.#core.liveness.find(sessionId)?.row ?? sessions.cached(sessionId) ?? (await sessions.resolve(sessionId));
    const session = this.#core.liveness.at(sessionId, stored.taskId);
    session.holds += 1;
    try {
      await states.load(session);
      for (;;) {
        // It may have closed since this was asked.
        this.#core.assertOpen();
        const refusal = this.#core.epochs.refusal(session, stamp);
        if (refusal !== null) throw refusal;
        this.#assertPromptable(session);
        const prompt = this.#isBehind(session, request) ? null : this.#claim(session, request);
        if (prompt !== null) {
          await this.#run(session, prompt, null);
          const answer = { accepted: true, promptId: request.promptId, generation: prompt.generation } as const;
          return prompt.isStored ? answer : { ...answer, durable: false };
        }
        if (queue !== null) return await queue(session);
        // Whether there will be room shows when the start that is under way has succeeded or failed.
        if (session.starting === null) throw offstageError('prompt.busy', { sessionId });
        await session.starting.catch(() => {});
        // By then whoever started it has gone on, or let go.
        await new Promise<void>((resolve) => this.#core.settings.clock.nextTurn(resolve));
      }
    } finally {
      session.holds -= 1;
      this.#core.liveness.touch(session);
      this.#core.liveness.settle();
    }
  }

  /** Others wait already; only at a hand-off a person passes what the program asked for. */
  #isBehind(session: LiveSession, { origin }: PromptRequest): boolean {
    if (session.ticketCount === 0) return false;
    if (!this.#isHandoff(session) || origin !== 'human') return true;
    return session.tickets.some(({ request }) => request.origin === 'human');
  }

  #assertPromptable(session: LiveSession): void {
    const { sessionId, row } = session;
    const state = row?.state ?? 'failed';
    if (SESSION_STATES[state].promptable === 'no') throw offstageError('session.not_promptable', { sessionId, state });
    const agentId = row?.agentId ?? DEFAULT_AGENT;
    if (this.#core.settings.agents[agentId] === undefined) throw offstageError('agent.unknown', { agentId });
  }

  /** Takes the foreground for a prompt; null when it is not free. */
  #claim(session: LiveSession, request: PromptRequest): OpenPrompt | null {
    const { liveness, settings } = this.#core;
    const takesHandoff = request.origin === 'human' && this.#admitsBesideOpenPrompt(session);
    // Conservative: whatever is said of the turn, its prompt has not returned.
    if (session.promptCount > 0 && this.#admission(session) === 'conservative') return null;
    const claimId = liveness.nextClaimId();
    if (!liveness.send(session, { type: 'claim.take', claimId, takesHandoff })) {
      liveness.settle();
      return null;
    }
    const { clock } = settings;
    const prompt = new OpenPrompt(request, claimId, { at: clock.now(), heardAt: clock.monotonic() }, (error) =>
      this.#core.report('abort_listener.failed', error),
    );
    session.claimant = prompt;
    liveness.settle();
    return prompt;
  }

  #admission({ row }: LiveSession): 'attested' | 'conservative' {
    const { agents, admission } = this.#core.settings;
    return agents[row?.agentId ?? DEFAULT_AGENT]?.admission ?? admission;
  }

  #admitsBesideOpenPrompt(session: LiveSession): boolean {
    return this.#admission(session) === 'attested' && session.record?.hasUnadmittingWork !== true;
  }

  #isHandoff({ record }: LiveSession): boolean {
    return record !== null && record.context.turns.length > 0;
  }

  /** From the claim to the agent's word that it took the prompt. Rejects with why it did not. */
  async #run(session: LiveSession, prompt: OpenPrompt, ticket: WaitingPrompt | null): Promise<void> {
    let execution: AgentExecution;
    try {
      execution = await this.#host.agents.ensure(session, prompt.signal);
      if (execution.end !== null) throw execution.end;
      prompt.signal.throwIfAborted();
      this.#core.assertOpen();
      // Stopped, and that is still on its way to the store: its agent is told in a moment.
      if (session.row !== null && SESSION_STATES[session.row.state].promptable === 'no') {
        throw offstageError('session.stopped', { sessionId: session.sessionId });
      }
    } catch (error) {
      // A start that nobody waits for any more, and that may never end, is given up.
      if (prompt.signal.aborted && session.agent?.phase === 'starting') session.agent.abort(prompt.signal.reason);
      if (!prompt.hasEnded) this.#release(session, prompt, ticket);
      throw error;
    }
    await this.#begin(session, prompt, execution, ticket);
    await prompt.accepted;
  }

  /** The turn begins: its generation is given, the session is running, and once that is stored the agent is called. */
  #begin(session: LiveSession, prompt: OpenPrompt, execution: AgentExecution, ticket: WaitingPrompt | null): Promise<void> {
    const { liveness, loop } = this.#core;
    const generation = liveness.nextGeneration();
    liveness.send(session, { type: 'turn.begin', claimId: prompt.claimId, generation, executionId: execution.executionId });
    prompt.generation = generation;
    prompt.execution = execution;
    session.prompts.set(generation, prompt);
    liveness.settle();
    const rows = ticket === null ? [] : [removeTicketOperation(ticket.ticketId)];
    return new Promise((resolve) => {
      const effects = (): void => {
        resolve();
        this.#host.turns.dispatch(session, prompt, execution);
      };
      const committed = (): void => {
        prompt.isStored = true;
      };
      if (this.#host.states.change(session, { type: 'turn.opened' }, { rows, committed, effects })) return;
      if (rows.length > 0) return this.#core.submit({ changes: [], rows, mustSync: true, committed, effects });
      // It runs already; whether that is stored is known by now, unless the store refuses.
      prompt.isStored = !loop.isDegraded || session.unstored === 0;
      effects();
    });
  }

  #release(session: LiveSession, prompt: OpenPrompt, ticket: WaitingPrompt | null): void {
    const { liveness } = this.#core;
    prompt.hasEnded = true;
    if (ticket !== null) this.#core.submit({ changes: [], rows: [removeTicketOperation(ticket.ticketId)] });
    liveness.send(session, { type: 'claim.release', claimId: prompt.claimId });
    if (session.claimant === prompt) session.claimant = null;
    this.#host.turns.resumeStray(session);
    // The last turn may have ended while the claim was held.
    this.#host.turns.closeIfOver(session);
    // Started for a prompt that was withdrawn meanwhile.
    if (session.agent?.phase === 'current') this.#host.states.change(session, { type: 'session.launched' });
    liveness.settle();
    this.serve(session);
  }

  #serveTicket(session: LiveSession, ticket: WaitingPrompt, prompt: OpenPrompt): void {
    prompt.ticketId = ticket.ticketId;
    prompt.onAccepted = () => this.line.tell(session, ticket, 'accepted', prompt.generation, null);
    this.#host.states
      .load(session)
      .then(() => {
        this.#assertPromptable(session);
        return this.#run(session, prompt, ticket);
      })
      .catch((error) => {
        if (!prompt.hasEnded) this.#release(session, prompt, ticket);
        const isStopped = isOffstageError(error, 'session.stopped') || isOffstageError(error, 'task.stopping');
        this.line.tell(session, ticket, isStopped ? 'stopped' : 'failed', 0, error);
      });
  }

  #checked(given: PromptOptions): [PromptRequest, 'reject' | 'queue'] {
    const options = readOptions('options', given, PROMPT_NAMES);
    const { origin = 'human', whenBusy = 'reject', promptId } = options;
    if (origin !== 'human' && origin !== 'synthetic') throw invalidInput('origin', "it must be 'human' or 'synthetic'");
    if (whenBusy !== 'reject' && whenBusy !== 'queue') throw invalidInput('whenBusy', "it must be 'reject' or 'queue'");
    if (options.content === undefined) throw invalidInput('content', 'it is missing');
    let content: PromptRequest['content'];
    try {
      content = toJson(options.content);
    } catch (error) {
      throw invalidInput('content', errorMessage(error), error);
    }
    const bytes = Buffer.byteLength(JSON.stringify(content));
    if (bytes > LIMITS.inputBytes) throw offstageError('limit.input_bytes', { bytes, limit: LIMITS.inputBytes });
    const id = promptId === undefined ? this.#core.settings.ids.id('prompt') : checkId('promptId', promptId);
    return [{ promptId: id, content, origin }, whenBusy];
  }
}
