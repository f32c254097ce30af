/**
 * `offstage sessions prompt`: asks the agent of a session, and shows what it says until its turn ends (spec 15, liveness 3).
 *
 * SPV1  A prompt is asked for once: when the owner goes away, its agents and all that waits go with it, and nothing is asked anew.
 * SPV2  Ctrl-C ends only what this prompt began: its turn, or its place in the line; never the turn of another.
 * SPV3  What the agent says goes to stdout, and nothing else does; with `--json` one document does, at the end.
 */
import { randomBytes } from 'node:crypto';
import { text as readText } from 'node:stream/consumers';
import { isOffstageError, OffstageError, offstageError } from '../../model/errors.ts';
import type { OffstageEvent } from '../../model/events.ts';
import type { JobError, PendingRequest } from '../../model/records.ts';
import type { PromptAnswer } from '../../model/session-requests.ts';
import type { WireClient } from '../client/wire-client.ts';
import { failureFromWire } from '../wire/wire-errors.ts';
import type { Cli } from './cli.ts';
import { EXIT } from './exit-codes.ts';
import type { Door } from './open-door.ts';
import { ProgressLine } from './progress-line.ts';
import { clipped, printable } from './terminal.ts';
import { TurnOutput } from './turn-output.ts';
import { durationInWords } from './words.ts';

export interface SessionPromptOptions {
  /** False with `--no-wait`. */
  readonly wait?: boolean;
}

const LOOK_EVERY_MS = 2_000;
/** Of what an agent asks, and of the answers it offers. */
const QUESTION_CHARACTERS = 200;

export async function sessionsPrompt(
  cli: Cli,
  sessionId: string,
  words: readonly string[],
  options: SessionPromptOptions,
): Promise<number> {
  const given = words.length === 1 && words[0] === '-' ? (await readText(process.stdin)).replace(/\r?\n$/, '') : words.join(' ');
  if (given.trim() === '') throw offstageError('input.invalid', { argument: 'text', message: 'it is empty' });
  if (!(await cli.hasStore())) throw offstageError('session.not_found', { sessionId });
  return new SessionPrompt(cli, { sessionId, content: given, isAwaited: options.wait !== false }).untilEnd();
}

/** How it came to an end. `error`: it was cut off, or never begun. */
interface Ending {
  readonly stopReason: string | null;
  readonly error: JobError | null;
}

class SessionPrompt {
  readonly #cli: Cli;
  readonly #sessionId: string;
  readonly #content: string;
  readonly #isAwaited: boolean;
  readonly #promptId = `prompt_cli_${randomBytes(10).toString('hex')}`;
  readonly #progress: ProgressLine;
  readonly #turn: TurnOutput;
  readonly #ending: Promise<Ending>;
  #end: (ending: Ending) => void = () => {};
  #client: WireClient | null = null;
  /** It was asked for: from here on something may have begun. */
  #isAsked = false;
  #answer: PromptAnswer | null = null;
  /** Told before the answer was. */
  #acceptedEarly = 0;
  #since = Date.now();
  #text = '';
  #endsLine = true;
  #isShowing = false;
  /** Events of the session so far; and whether some may be missing. */
  #heard = 0;
  #hasMissed = false;
  #questionShown: string | null = null;

  constructor(
    cli: Cli,
    { sessionId, content, isAwaited }: { readonly sessionId: string; readonly content: string; readonly isAwaited: boolean },
  ) {
    this.#cli = cli;
    this.#sessionId = sessionId;
    this.#content = content;
    this.#isAwaited = isAwaited;
    this.#progress = new ProgressLine(cli.err, () => this.#describe());
    this.#ending = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#turn = new TurnOutput({
      show: (text) => this.#show(text),
      onEnd: ({ stopReason, error }) => this.#end({ stopReason, error }),
    });
  }

  async untilEnd(): Promise<number> {
    const { interrupts } = this.#cli;
    const early = new Promise<number>((giveUp) => {
      interrupts.ask(() => {
        if (!this.#isAsked) {
          void this.#say('interrupted before the prompt was sent.');
          return giveUp(EXIT.cancelled);
        }
        void this.#say('interrupting; once more leaves at once.');
        void this.#withdraw();
      });
    });
    try {
      return await Promise.race([this.#cli.persist((door) => this.#through(door)), early]);
    } finally {
      this.#progress.stop();
      interrupts.ask(null);
    }
  }

  async #through({ client, engine }: Door): Promise<number> {
    await client.follow({ sessionId: this.#sessionId }, (event) => this.#hear(event));
    if (this.#cli.interrupts.hasCome) return EXIT.cancelled;
    this.#client = client;
    this.#isAsked = true;
    this.#since = Date.now();
    const { interrupts } = this.#cli;
    try {
      await this.#ask(client);
      // It may have come while there was nothing yet to end.
      if (interrupts.hasCome) await this.#withdraw();
      if (!this.#isAwaited && !interrupts.hasCome) return EXIT.done;
      return await this.#tellEnd(await this.#untilOver(client));
    } catch (error) {
      await this.#endLine();
      if (interrupts.hasCome && isOffstageError(error, 'prompt.interrupted')) return EXIT.cancelled;
      throw explained(error, { dataDir: this.#cli.dataDir, isOurs: engine !== null });
    }
  }

  async #ask(client: WireClient): Promise<void> {
    const answer = await client.prompt(this.#sessionId, {
      content: this.#content,
      whenBusy: 'queue',
      promptId: this.#promptId,
    });
    this.#answer = answer;
    if ('queued' in answer) {
      await this.#say(`queued (position ${answer.position}, ticket ${answer.ticketId})`);
      if (this.#acceptedEarly > 0) await this.#begin(this.#acceptedEarly);
    } else {
      await this.#begin(answer.generation);
    }
    if (!this.#isAwaited && this.#cli.isJson) await this.#cli.document(answer);
  }

  async #begin(generation: number): Promise<void> {
    this.#since = Date.now();
    await this.#say('sent');
    await this.#turn.begin(generation);
  }

  #untilOver(client: WireClient): Promise<Ending> {
    const lost = client.ended.then(() => {
      throw offstageError('control.lost', { dataDir: this.#cli.dataDir, pid: null });
    });
    void this.#look(client);
    return Promise.race([this.#ending, lost]);
  }

  async #hear(event: OffstageEvent): Promise<void> {
    this.#heard += 1;
    if (event.type === 'session.output' || event.type === 'session.turn_ended') await this.#turn.take(event);
    else if (event.type === 'resync') this.#hasMissed = true;
    if (event.type !== 'session.ticket' || event.promptId !== this.#promptId || event.status === 'queued') return;
    if (event.status !== 'accepted') this.#end({ stopReason: null, error: event.error });
    else if (this.#answer === null) this.#acceptedEarly = event.generation;
    else await this.#begin(event.generation);
  }

  async #show(text: string): Promise<void> {
    // With --no-wait nobody has asked to see it; what comes before the verb ends would be no more than a part.
    if (!this.#isAwaited) return;
    this.#text += this.#cli.isJson ? text : '';
    if (this.#cli.isJson) return;
    this.#progress.clear();
    this.#endsLine = text.endsWith('\n');
    this.#isShowing = true;
    await this.#cli.out.write(text);
    this.#isShowing = false;
  }

  /** Looks at the session now and then: for what it asks a person, and for an end that was told while we were not listening. */
  async #look(client: WireClient): Promise<void> {
    try {
      for (let rounds = 0; rounds < 2; ) {
        await this.#cli.pause(LOOK_EVERY_MS);
        const heard = this.#heard;
        const view = await client.getSession(this.#sessionId);
        const { pending } = view;
        if (pending !== null && pending?.requestId !== this.#questionShown && this.#turn.generation > 0) {
          this.#questionShown = pending.requestId;
          await this.#say(`the agent waits for an answer (${pending.kind}): ${inWords(pending)}`);
        }
        const isSilent = this.#hasMissed && heard === this.#heard && !this.#isShowing;
        rounds = isSilent && view.state !== 'running' && view.queuedPrompts === 0 ? rounds + 1 : 0;
      }
      this.#end({ stopReason: null, error: null });
    } catch {
      // The verb is over, or whoever waits hears of it.
    }
  }

  /** SPV2. */
  async #withdraw(): Promise<void> {
    const client = this.#client as WireClient;
    try {
      // Between the two it may get its turn: then the second round finds that.
      for (let rounds = 0; rounds < 2; rounds++) {
        const { changed } = await client.interrupt(this.#sessionId, { promptId: this.#promptId });
        if (changed || (await this.#leaveLine(client))) return;
      }
    } catch {
      // It has ended, or the connection has: whoever waits hears of it.
    }
  }

  /** Whether it was still waiting in line. */
  async #leaveLine(client: WireClient): Promise<boolean> {
    const tickets = await client.tickets(this.#sessionId);
    const listed = tickets.find(({ promptId }) => promptId === this.#promptId);
    // A long line is not listed to its end.
    const ticketId = listed?.ticketId ?? (this.#answer !== null && 'queued' in this.#answer ? this.#answer.ticketId : null);
    if (ticketId === null) return false;
    try {
      await client.cancelTicket(ticketId);
      return true;
    } catch (error) {
      if (isOffstageError(error, 'ticket.not_found')) return false;
      throw error;
    }
  }

  async #tellEnd({ stopReason, error }: Ending): Promise<number> {
    this.#progress.stop();
    const { generation } = this.#turn;
    const isInterrupted = this.#cli.interrupts.hasCome;
    if (error !== null && generation === 0 && !isInterrupted) {
      throw failureFromWire({ error: error.message, error_code: error.code });
    }
    await this.#endLine();
    if (this.#cli.isJson) {
      const head = { accepted: generation > 0, promptId: this.#promptId, generation };
      await this.#cli.document({ ...head, stopReason, error, text: this.#text });
    }
    if (this.#hasMissed) await this.#say('some of what the agent said came faster than it could be shown.');
    if (isInterrupted) return EXIT.cancelled;
    if (error !== null) {
      await this.#say(`the turn was cut off. ${error.message}`);
      return EXIT.failed;
    }
    if (stopReason !== 'end_turn') await this.#say(`the turn has ended: ${stopReason ?? 'the agent did not say how'}.`);
    if (stopReason === 'cancelled') return EXIT.cancelled;
    return stopReason === 'refusal' || stopReason === 'error' ? EXIT.failed : EXIT.done;
  }

  async #endLine(): Promise<void> {
    if (this.#endsLine) return;
    this.#endsLine = true;
    await this.#cli.out.line();
  }

  async #say(text: string): Promise<void> {
    this.#progress.clear();
    if (this.#cli.isJson) return;
    // On a screen both end up in the same line.
    if (this.#cli.out.isTerminal) await this.#endLine();
    await this.#cli.note(printable(text));
  }

  #describe(): string | null {
    if (!this.#isAsked || !this.#endsLine) return null;
    const since = durationInWords(Date.now() - this.#since);
    if (this.#turn.generation > 0) return `the agent has been at work for ${since}`;
    return this.#answer === null ? `reaching the agent for ${since}` : `waiting in line for ${since}`;
  }
}

/** Why it failed, for somebody who may not know where agents live. */
function explained(cause: unknown, { dataDir, isOurs }: { readonly dataDir: string; readonly isOurs: boolean }): unknown {
  if (isOffstageError(cause, 'control.lost') || isOffstageError(cause, 'engine.closing')) {
    return offstageError('agent.gone', { message: `the program that owned ${dataDir} has ended.` }, { cause });
  }
  if (!isOffstageError(cause, 'agent.unknown')) return cause;
  const why = isOurs
    ? `Agents run in the program that opens ${dataDir} with the option agents, and none has it open: start that program, with control: true, and ask again.`
    : `Agents run in the program that has ${dataDir} open, and it was given none of that name.`;
  return new OffstageError('agent.unknown', `${cause.message} ${why}`, cause.details, { cause });
}

/** What the agent asks, and what one may answer. */
const inWords = ({ title, options }: PendingRequest): string =>
  [...(title === undefined ? [] : [title]), JSON.stringify(options)]
    .map((part) => clipped(printable(part), QUESTION_CHARACTERS))
    .join(' ');
