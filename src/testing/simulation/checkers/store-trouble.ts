/**
 * Whether the engine may just now act on what it could not store (spec 6, degraded mode).
 *
 * TRB1  It may from the first write that failed, or that did not answer for long, until everything rests and nothing is left to be stored.
 */
import type { Fact, RestView } from '../facts.ts';
import type { Known } from '../known.ts';

/** A write that takes longer counts as failed. */
const STALL_MS = 10_000;

/** All that is decided is stored, and shown. */
export const isWell = ({ canStore, health }: RestView): boolean =>
  canStore && health.store.lastError === null && health.store.pendingWrites === 0;

export class StoreTrouble {
  #isOn = false;
  #isClosing = false;
  /** How often it has begun. */
  #times = 0;
  #stoodStillMs = 0;

  get isOn(): boolean {
    return this.#isOn;
  }

  /** Two moments with the same number and no trouble have had none between them. */
  get times(): number {
    return this.#times;
  }

  learn(fact: Fact, known: Known): void {
    switch (fact.type) {
      case 'opened':
        this.#isClosing = false;
        this.#end();
        break;
      case 'closing':
        this.#isClosing = true;
        break;
      case 'wrote':
        if (fact.outcome !== 'written') this.#begin();
        break;
      case 'stood-still':
        this.#stoodStillMs += fact.ms;
        if (this.#stoodStillMs >= (this.#isClosing ? Math.min(STALL_MS, known.settings.shutdownGraceMs) : STALL_MS))
          this.#begin();
        break;
      case 'rested':
        this.#stoodStillMs = 0;
        if (isWell(fact.view)) this.#isOn = false;
        break;
      default:
    }
  }

  #begin(): void {
    if (!this.#isOn) this.#times += 1;
    this.#isOn = true;
  }

  #end(): void {
    this.#isOn = false;
    this.#stoodStillMs = 0;
  }
}
