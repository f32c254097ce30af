/**
 * A simulated provider: one running agent that does what its prompts say, and has faults of its own.
 *
 * PRV1  Whatever it does follows from the seed, its session, and what it is asked; never from the time or the order of others.
 * PRV2  Every prompt settles once; one that hangs, and whatever else does, ends when everything is let go.
 */
import type { Agent, AgentContext, Attestation, PromptContent, PromptContext, TurnEnd } from '../../model/agent.ts';
import { offstageError } from '../../model/errors.ts';
import type { JsonValue } from '../../model/json.ts';
import { ProviderChannel } from './provider-channel.ts';
import { anyThrown, ProviderFrames, type Said } from './provider-frames.ts';
import { ownDeeds, planBy, readPlan, spanMs } from './provider-plan.ts';
import { ProviderTurn } from './provider-turn.ts';
import { type Random, random } from './random.ts';
import type { Life } from './stage.ts';

/** What kind of provider it is. */
export interface Temper {
  readonly attests: Attestation;
  /** Probability that something happens to a frame on its way. */
  readonly meddles: number;
  /** How much more often than usual it starts and ends badly. */
  readonly trouble: number;
  /** It can be asked to cancel, and take answers. */
  readonly listens: boolean;
}

/** When everything is let go. */
export interface LetGo {
  readonly isGiven: boolean;
  readonly given: Promise<void>;
}

/** What the providers of one life share. */
export interface ProviderHost {
  readonly life: Life;
  readonly letGo: LetGo;
  /** How often this was asked in this life, with this one. */
  countAsked(text: string): number;
}

/** What became of the provider of a plan when it is closed. */
interface Ending {
  readonly way: 'at once' | 'hops' | 'pause' | 'throws' | 'rejects' | 'hangs';
  /** So many calls fail. */
  readonly failures: number;
  readonly ms: number;
  /** What its open prompts come to. */
  readonly prompts: 'gone' | 'cancelled' | 'open';
  /** Its frames go on. */
  readonly talksOn: boolean;
}

function endingBy(chance: Random, trouble: number): Ending {
  return {
    way: chance.weighted<Ending['way']>([
      [20, 'at once'],
      [8, 'hops'],
      [2 * trouble, 'pause'],
      [trouble, 'throws'],
      [trouble, 'rejects'],
      [trouble, 'hangs'],
    ]),
    failures: chance.weighted([
      [6, 1],
      [2, 2],
      [1, Number.POSITIVE_INFINITY],
    ]),
    ms: spanMs(chance),
    prompts: chance.weighted<Ending['prompts']>([
      [6, 'gone'],
      [2, 'cancelled'],
      [1, 'open'],
    ]),
    talksOn: chance.chance(0.1),
  };
}

export class Provider {
  readonly number: number;
  readonly #host: ProviderHost;
  readonly #context: AgentContext;
  readonly #temper: Temper;
  readonly #key: string;
  readonly #ending: Ending;
  readonly #channel: ProviderChannel;
  readonly #books = new ProviderFrames();
  readonly #turns: ProviderTurn[] = [];
  readonly #questions = new Map<string, () => void>();
  #closes = 0;
  #wasTold = false;
  #isGone = false;

  /** `key` names it: its session or job, and which start of it this is. */
  constructor(
    host: ProviderHost,
    context: AgentContext,
    temper: Temper,
    identity: { readonly number: number; readonly key: string },
  ) {
    this.number = identity.number;
    this.#key = identity.key;
    this.#host = host;
    this.#context = context;
    this.#temper = temper;
    const chance = random(host.life.seed, 'agent', identity.key, 'temper');
    this.#ending = endingBy(chance, temper.trouble);
    this.#channel = new ProviderChannel(host, {
      agent: identity.number,
      sessionId: context.sessionId,
      meddles: temper.meddles,
      chance: random(host.life.seed, 'agent', identity.key, 'frames'),
    });
    this.#begin(random(host.life.seed, 'agent', identity.key, 'own'));
    host.life.onLetGo(() => this.#letGo());
  }

  /** As its factory returns it. */
  get agent(): Agent {
    const base: Agent = {
      attests: this.#temper.attests,
      frames: this.#channel.frames,
      conversationId: this.#conversationId(),
      prompt: (content, context) => this.#prompt(content, context),
      close: () => this.#close(),
    };
    if (!this.#temper.listens) return base;
    return {
      ...base,
      cancel: (generation) => this.#cancel(generation),
      answer: (requestId, choice) => this.#answer(requestId, choice),
    };
  }

  /** Its signal has fired, or it is being closed; the first time counts. */
  toldToEnd(): void {
    if (this.#wasTold) return;
    this.#wasTold = true;
    this.#host.life.note({ type: 'agent.told-to-end', agent: this.number, sessionId: this.#context.sessionId });
  }

  /** Says what it can, and perhaps begins a life of its own. */
  #begin(chance: Random): void {
    const can = chance.weighted([
      [12, 'can all'],
      [1, 'can nothing'],
      [1, 'can odd'],
      [1, null],
    ]);
    if (can !== null) this.#tell(can.split(' '), 0, chance);
    if (chance.chance(0.1)) void this.#perform(ownDeeds(chance), null, chance);
  }

  #conversationId(): string | null {
    const { conversationId } = this.#context;
    const chance = random(this.#host.life.seed, 'agent', this.#key, 'conversation');
    return chance.weighted([
      [3, conversationId ?? `conversation of ${this.#key}`],
      [1, `conversation of ${this.#key}`],
      [2, null],
    ]);
  }

  #prompt(content: PromptContent, context: PromptContext): Promise<TurnEnd> {
    const { life, letGo } = this.#host;
    const { sessionId, jobId } = this.#context;
    const { generation, origin, signal } = context;
    life.note({ type: 'agent.prompted', agent: this.number, sessionId, jobId, generation, origin, content });
    const given = readPlan(content);
    const text = given?.id ?? JSON.stringify(content);
    const chance = random(life.seed, 'agent', 'turn', sessionId, text, this.#host.countAsked(text));
    const plan = given ?? planBy(chance, text);
    const turn = new ProviderTurn(generation, plan.cancelled, (how) =>
      life.note({ type: 'agent.prompt-over', agent: this.number, sessionId, generation, how }),
    );
    this.#books.begin(generation);
    if (this.#isGone && !this.#ending.talksOn) turn.fail(gone());
    else if (letGo.isGiven) turn.end({ stopReason: 'end_turn' });
    else {
      this.#turns.push(turn);
      if (plan.say[0] === 'throw') {
        const error = anyThrown(chance);
        turn.throws();
        throw error;
      }
      const told = (): void => this.#interrupted(turn, chance);
      if (signal.aborted) told();
      else signal.addEventListener('abort', told, { once: true });
      void this.#perform(plan.say, turn, chance);
    }
    return turn.settled;
  }

  /** Does one thing after the other; all that needs no time in the tick of the call. */
  async #perform(deeds: readonly string[], turn: ProviderTurn | null, chance: Random): Promise<void> {
    for (const deed of deeds) {
      if (this.#host.letGo.isGiven || turn?.isCut === true) return;
      const waiting = this.#do(deed.split(' '), turn, chance);
      if (waiting !== null) await Promise.race([waiting, this.#host.letGo.given, ...(turn === null ? [] : [turn.cut])]);
    }
    if (turn?.isCut === false) turn.end({ stopReason: 'end_turn' });
  }

  /** What has to be waited for before the next deed; null: nothing. */
  #do(words: readonly string[], turn: ProviderTurn | null, chance: Random): Promise<unknown> | null {
    const { life } = this.#host;
    const [verb, how, ...more] = words;
    const generation = turn?.generation ?? 0;
    switch (verb) {
      case 'hop':
        return life.hop(`agent ${this.number} goes on`);
      case 'pause':
        return life.pause(Number(how));
      case 'hang':
        return turn === null ? null : new Promise(() => {});
      case 'later':
        void life.pause(Number(how)).then(() => {
          if (!this.#host.letGo.isGiven) this.#do(more, turn, chance);
        });
        return null;
      case 'ask': {
        const said = this.#tell(words, generation, chance);
        if (said?.frame.type !== 'permission.request') return null;
        const { requestId } = said.frame;
        const answered = new Promise<void>((resolve) => this.#questions.set(requestId, resolve));
        return more[0] === 'on' ? null : answered;
      }
      case 'crash':
        this.#leave('crash', anyThrown(chance));
        return null;
      case 'exit':
        this.#leave('exit', null);
        return null;
      case 'return':
        turn?.end(
          how === 'odd' ? chance.pick<unknown>([undefined, null, 5, {}, { stopReason: 5 }]) : { stopReason: how ?? 'end_turn' },
        );
        return null;
      case 'refuse':
        turn?.fail(how === 'gone' ? gone() : anyThrown(chance));
        return null;
      default:
        this.#tell(words, generation, chance);
        return null;
    }
  }

  #tell(words: readonly string[], generation: number, chance: Random): Said | null {
    const said = this.#books.make(words, generation, chance);
    if (said !== null) this.#channel.send(said);
    return said;
  }

  #cancel(generation: number): Promise<void> | void {
    const { life, letGo } = this.#host;
    life.note({ type: 'agent.cancelled', agent: this.number, sessionId: this.#context.sessionId, generation });
    const turn = this.#turns.find((one) => one.generation === generation);
    const chance = random(life.seed, 'agent', this.#key, 'cancel', generation);
    if (letGo.isGiven) return;
    if (turn?.cancelWay === 'throws') throw anyThrown(chance);
    if (turn?.cancelWay === 'rejects') return Promise.reject(anyThrown(chance));
    if (turn?.cancelWay === 'hangs') return letGo.given;
    if (turn !== undefined) this.#interrupted(turn, chance);
  }

  /** The turn is to end; once is enough. */
  #interrupted(turn: ProviderTurn, chance: Random): void {
    if (turn.wasTold || !turn.isOpen) return;
    turn.wasTold = true;
    const [way, , ms] = turn.cancelWay.split(' ');
    const obey = (): void => {
      turn.end({ stopReason: way === 'ends' ? 'end_turn' : 'cancelled' });
      turn.cutShort();
    };
    if (way === 'obeys' && ms !== undefined) void this.#host.life.pause(Number(ms)).then(obey);
    else if (way === 'obeys') obey();
    else if (way === 'ends') void this.#host.life.hop(`agent ${this.number} ends its turn`).then(obey);
    else if (way === 'refuses') {
      turn.fail(anyThrown(chance));
      turn.cutShort();
    }
  }

  async #answer(requestId: string, choice: JsonValue): Promise<void> {
    const { life, letGo } = this.#host;
    this.#did(`is answered ${requestId}: ${JSON.stringify(choice)}`);
    const chance = random(life.seed, 'agent', this.#key, 'answer', requestId);
    const way = letGo.isGiven
      ? 'at once'
      : chance.weighted([
          [12, 'at once'],
          [3, 'hop'],
          [2, 'pause'],
          [1, 'fails'],
          [1, 'hangs'],
        ]);
    if (way === 'hop') await life.hop(`agent ${this.number} is answered`);
    else if (way === 'pause') await Promise.race([life.pause(spanMs(chance)), letGo.given]);
    else if (way === 'hangs') await letGo.given;
    else if (way === 'fails') throw anyThrown(chance);
    const goOn = this.#questions.get(requestId);
    if (goOn === undefined) throw offstageError('request.not_found', { requestId });
    this.#questions.delete(requestId);
    goOn();
  }

  #close(): Promise<void> {
    this.toldToEnd();
    this.#closes += 1;
    const { way, failures } = this.#ending;
    const hasFailed = this.#closes <= failures && !this.#host.letGo.isGiven;
    const chance = random(this.#host.life.seed, 'agent', this.#key, 'close', this.#closes);
    if (hasFailed && way === 'throws') throw anyThrown(chance);
    return this.#closing(hasFailed && way === 'rejects', chance);
  }

  async #closing(rejects: boolean, chance: Random): Promise<void> {
    const { life, letGo } = this.#host;
    const { way, ms } = this.#ending;
    if (!letGo.isGiven) {
      if (way === 'hops' || way === 'rejects') await Promise.race([life.hop(`agent ${this.number} closes`), letGo.given]);
      else if (way === 'pause') await Promise.race([life.pause(ms), letGo.given]);
      else if (way === 'hangs') await letGo.given;
      if (rejects) throw anyThrown(chance);
    }
    this.#leave('close', null);
  }

  /** It is gone. */
  #leave(how: 'close' | 'crash' | 'exit', error: unknown): void {
    const { prompts, talksOn } = this.#ending;
    if (!this.#isGone) {
      this.#isGone = true;
      this.#host.life.note({ type: 'agent.gone', agent: this.number, sessionId: this.#context.sessionId });
    }
    if (how === 'crash') this.#channel.frames.fail(error);
    else if (how === 'exit' || !talksOn) this.#channel.frames.end();
    for (const turn of this.#turns) {
      if (prompts === 'gone') turn.fail(gone());
      else if (prompts === 'cancelled') turn.end({ stopReason: 'cancelled' });
      if (how !== 'close' || !talksOn) turn.cutShort();
    }
  }

  #letGo(): void {
    for (const turn of this.#turns) {
      if (this.#isGone) turn.fail(gone());
      else turn.end({ stopReason: 'end_turn' });
    }
  }

  #did(what: string): void {
    this.#host.life.note({ type: 'did', what: `agent ${this.number}: ${what}` });
  }
}

const gone = (): Error => offstageError('agent.gone', { message: 'it has left' });
