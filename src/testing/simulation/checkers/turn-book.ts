/**
 * What agents of sessions were asked in this life, and what they said of it: one page for each generation.
 *
 * TBK1  Only what agents were really called with is in it; turns that they opened by themselves are known by what is told of their end.
 * TBK2  What an agent said is heard by the next time that everything rests; before that it may be heard or not.
 */
import type { Fact, FactOf } from '../facts.ts';
import type { Known, KnownAgent } from '../known.ts';

/** Something that was said, and perhaps not heard yet. */
interface Doubt {
  /** What was said last. */
  said: boolean;
  /** Whether it may hold for the engine now. */
  mayHold: boolean;
}

export interface Page {
  readonly prompted: FactOf<'agent.prompted'>;
  /** The agent's promise has settled. */
  over: FactOf<'agent.prompt-over'> | null;
  /** Its end was told. */
  isTold: boolean;
  /** The agent said, by a frame of this very generation, that the turn is over. */
  hasEnded: boolean;
  /** The provider said that the foreground is free, and nothing since. */
  readonly yielded: Doubt;
  /** Another prompt has taken its place. */
  isSuperseded: boolean;
  /** Somebody has asked to interrupt the session since. */
  isInterrupted: boolean;
}

const say = (doubt: Doubt, said: boolean): void => {
  doubt.said = said;
  doubt.mayHold ||= said;
};

/** Its session's own. */
export const isOwn = (agent: KnownAgent | undefined): agent is KnownAgent => agent !== undefined && agent.started.jobId === null;

/** Nobody told it to end, and it has not left. */
export const isLoaded = ({ toldToEnd, isGone }: KnownAgent): boolean => toldToEnd === null && !isGone;

/** Which prompts are let in; the agent of that name has a rule of its own. */
export const admissionOf = (known: Known, sessionId: string): 'attested' | 'conservative' =>
  known.sessions.get(sessionId)?.agentId === 'conservative' ? 'conservative' : known.settings.admission;

/** How it is shown; the agent of that name has a rule of its own. */
export const displayOf = (known: Known, agentId: string | null): 'attested' | 'coarse' =>
  agentId === 'coarse' ? 'coarse' : known.settings.display;

export class TurnBook {
  readonly pages = new Map<number, Page>();
  /** By agent: it said that it hands off. */
  readonly #handsOff = new Map<number, Doubt>();
  /** By agent: when it was asked, or said something, last; milliseconds of elapsed time. */
  readonly #haveStalled = new Set<number>();
  readonly #lastWord = new Map<number, number>();

  /** After `known` has it. */
  note(fact: Fact, known: Known): void {
    if (fact.type === 'agent.started' || fact.type === 'agent.prompted' || fact.type === 'agent.said') {
      // Its word may come in the very instant in which it was given up, and the turn's end is told later.
      if (fact.at - (this.#lastWord.get(fact.agent) ?? fact.at) >= known.settings.stallFailMs) this.#haveStalled.add(fact.agent);
      this.#lastWord.set(fact.agent, fact.at);
    }
    switch (fact.type) {
      case 'crashed':
      case 'closed':
        this.pages.clear();
        this.#handsOff.clear();
        this.#lastWord.clear();
        this.#haveStalled.clear();
        return;
      case 'agent.prompted':
        if (fact.jobId === null) this.#open(fact);
        return;
      case 'agent.prompt-over': {
        const page = this.#pageOf(fact.agent, fact.generation);
        if (page !== null) page.over ??= fact;
        return;
      }
      case 'agent.said':
        if (isOwn(known.agents.get(fact.agent))) this.#said(fact);
        return;
      case 'asked':
        if (fact.verb !== 'sessions.interrupt') return;
        for (const page of this.pages.values()) if (page.prompted.sessionId === fact.args[0]) page.isInterrupted = true;
        return;
      case 'rested':
        if (!fact.view.canStore) return;
        for (const doubt of this.#handsOff.values()) doubt.mayHold = doubt.said;
        for (const { yielded } of this.pages.values()) yielded.mayHold = yielded.said;
        return;
      default:
    }
  }

  /** Those whose agent has not answered. */
  openOf(agent: number): readonly Page[] {
    return [...this.pages.values()].filter(({ prompted, over }) => prompted.agent === agent && over === null);
  }

  /** It has been silent for so long that its session may be declared failed. */
  mayHaveStalled(agent: number, at: number, { settings, agents }: Known): boolean {
    const lastWord = this.#lastWord.get(agent) ?? Number.POSITIVE_INFINITY;
    // One that nobody wanted any more when it had started was silent before.
    const isNew = lastWord === agents.get(agent)?.started.at;
    const hasStalled = isNew || this.#haveStalled.has(agent) || at - lastWord >= settings.stallFailMs;
    return Number.isFinite(settings.stallFailMs) && hasStalled;
  }

  /** Its end is told. */
  told(page: Page): void {
    page.isTold = true;
    const { agent, generation } = page.prompted;
    page.isSuperseded ||= [...this.pages.values()].some(
      ({ prompted }) => prompted.agent === agent && prompted.generation > generation,
    );
  }

  #open(prompted: FactOf<'agent.prompted'>): void {
    this.pages.set(prompted.generation, {
      prompted,
      over: null,
      isTold: false,
      hasEnded: false,
      yielded: { said: false, mayHold: false },
      isSuperseded: false,
      isInterrupted: false,
    });
  }

  #pageOf(agent: number, generation: number): Page | null {
    const page = this.pages.get(generation);
    return page?.prompted.agent === agent ? page : null;
  }

  #said({ agent, frame }: FactOf<'agent.said'>): void {
    if (frame.type === 'capability') {
      const doubt = this.#handsOff.get(agent) ?? { said: false, mayHold: false };
      this.#handsOff.set(agent, doubt);
      say(doubt, frame.handoff === true);
      return;
    }
    const page = this.#pageOf(agent, frame.generation);
    if (page === null) return;
    if (frame.type === 'turn.ended') page.hasEnded = true;
    else if (frame.type === 'foreground.idle' && this.#handsOff.get(agent)?.mayHold === true) say(page.yielded, true);
    else if (frame.type === 'output' && frame.text !== '' && frame.parentToolCallId === undefined) say(page.yielded, false);
  }
}
