/**
 * Ctrl-C, TERM and HUP (spec 15).
 *
 * ITR1  The first one asks, the second one forces; every signal counts, whichever it is.
 */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export class Interrupts {
  #count = 0;
  #onFirst: () => void = () => {};
  #onSecond: () => void = () => process.exit(130);
  #onEither = (): void => {};
  /** Resolves with the first one that nobody handles by `ask`. */
  readonly unhandled: Promise<void>;

  constructor() {
    this.unhandled = new Promise((resolve) => {
      this.#onEither = resolve;
      this.#onFirst = resolve;
    });
  }

  get hasCome(): boolean {
    return this.#count > 0;
  }

  install(): void {
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        this.#count += 1;
        if (this.#count === 1) this.#onFirst();
        else if (this.#count === 2) this.#onSecond();
        else process.exit(130);
      });
    }
  }

  /** What the first one does, from now on; null: end the verb. */
  ask(callback: (() => void) | null): void {
    this.#onFirst = callback ?? this.#onEither;
  }

  /** What the second one does. */
  force(callback: () => void): void {
    this.#onSecond = callback;
  }
}
