/**
 * Ctrl-C, TERM and HUP (spec 15).
 *
 * ITR1  The first one asks, the second one forces; every signal counts, whichever it is.
 * ITR2  One Ctrl-C is one signal, also below npm, which hands on what the terminal has sent to everybody already. Whoever is done before that comes
 *       stays for it: a process that is just ending has no handler any more, and would die of it.
 */

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Below npm, the same signal again within this time is its echo. */
const ECHO_MS = 250;

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
    const isBelowNpm = process.env.npm_lifecycle_event !== undefined;
    const last = new Map<NodeJS.Signals, number>();
    let stay: NodeJS.Timeout | undefined;
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        const now = performance.now();
        const isEcho = isBelowNpm && now - (last.get(signal) ?? Number.NEGATIVE_INFINITY) < ECHO_MS;
        last.set(signal, now);
        clearTimeout(stay);
        if (isEcho) return;
        if (isBelowNpm) stay = setTimeout(() => {}, ECHO_MS);
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
