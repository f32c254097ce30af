/**
 * One prompt that a simulated provider was asked, until its promise has settled.
 *
 * PTN1  It settles once; later ends of it change nothing, and are not noted.
 */
import type { TurnEnd } from '../../model/agent.ts';
import type { CancelWay } from './provider-plan.ts';

export class ProviderTurn {
  readonly generation: number;
  readonly cancelWay: CancelWay;
  readonly settled: Promise<TurnEnd>;
  /** Resolves when the turn is cut short. */
  readonly cut: Promise<void>;
  isOpen = true;
  /** Nothing more is done for it. */
  isCut = false;
  /** It was asked to end. */
  wasTold = false;
  readonly #onOver: (how: 'returned' | 'threw') => void;
  #resolve: (end: TurnEnd) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #cut: () => void = () => {};

  constructor(generation: number, cancelWay: CancelWay, onOver: (how: 'returned' | 'threw') => void) {
    this.generation = generation;
    this.cancelWay = cancelWay;
    this.#onOver = onOver;
    this.settled = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.cut = new Promise((resolve) => {
      this.#cut = resolve;
    });
  }

  /** `end` may be anything: providers have faults. */
  end(end: unknown): void {
    if (!this.#over('returned')) return;
    this.#resolve(end as TurnEnd);
  }

  fail(error: unknown): void {
    if (!this.#over('threw')) return;
    this.#reject(error);
  }

  /** The call itself throws: there is no promise that could settle. */
  throws(): void {
    this.#over('threw');
    this.cutShort();
  }

  cutShort(): void {
    this.isCut = true;
    this.#cut();
  }

  #over(how: 'returned' | 'threw'): boolean {
    if (!this.isOpen) return false;
    this.isOpen = false;
    this.#onOver(how);
    return true;
  }
}
