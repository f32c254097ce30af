/**
 * What one turn of a session says, picked out of everything that the session tells.
 *
 * TOU1  The number of our turn may become known after its first words: until then the newest turn's words are held, and shown or dropped.
 * TOU2  What is held is bounded: our turn becomes known right after its first words, so whatever is long was another's.
 */
import type { OffstageEvent } from '../../model/events.ts';

type SpokenEvent = Extract<OffstageEvent, { type: 'session.output' }>;
export type TurnEndEvent = Extract<OffstageEvent, { type: 'session.turn_ended' }>;

const HELD_CHARACTERS = 1024 * 1024;

export interface TurnOutputOptions {
  /** Shows what the agent says, its thoughts aside. Resolves when there is room for more. */
  readonly show: (text: string) => Promise<void>;
  readonly onEnd: (event: TurnEndEvent) => void;
}

export class TurnOutput {
  readonly #options: TurnOutputOptions;
  /** 0 while ours is not known. */
  #generation = 0;
  #held: (SpokenEvent | TurnEndEvent)[] = [];
  #heldCharacters = 0;
  /** What was held is being shown; what comes meanwhile comes after it. */
  #isShowingHeld = false;

  constructor(options: TurnOutputOptions) {
    this.#options = options;
  }

  get generation(): number {
    return this.#generation;
  }

  /** This one is ours. */
  async begin(generation: number): Promise<void> {
    if (this.#generation !== 0) return;
    this.#generation = generation;
    this.#isShowingHeld = true;
    for (let event = this.#held.shift(); event !== undefined; event = this.#held.shift()) await this.#pass(event);
    this.#isShowingHeld = false;
  }

  async take(event: SpokenEvent | TurnEndEvent): Promise<void> {
    if (this.#generation === 0) this.#hold(event);
    else if (this.#isShowingHeld) this.#held.push(event);
    else await this.#pass(event);
  }

  async #pass(event: SpokenEvent | TurnEndEvent): Promise<void> {
    if (event.generation !== this.#generation) return;
    if (event.type === 'session.turn_ended') this.#options.onEnd(event);
    else if (event.channel === 'message') await this.#options.show(event.text);
  }

  #hold(event: SpokenEvent | TurnEndEvent): void {
    const newest = this.#held.at(-1)?.generation ?? 0;
    if (event.generation < newest) return;
    if (event.generation > newest) {
      this.#held = [];
      this.#heldCharacters = 0;
    }
    this.#held.push(event);
    if (event.type === 'session.output') this.#heldCharacters += event.text.length;
    while (this.#heldCharacters > HELD_CHARACTERS) {
      const dropped = this.#held.shift();
      if (dropped?.type === 'session.output') this.#heldCharacters -= dropped.text.length;
    }
  }
}
