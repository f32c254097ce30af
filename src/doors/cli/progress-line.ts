/**
 * A line that says that something is still at work; on terminals only, gone when it is done.
 */
import type { Sink } from './terminal.ts';
import { clipped } from './terminal.ts';

const FIRST_MS = 2_000;
const EVERY_MS = 500;
const CLEAR = '\r\u001b[K';

export class ProgressLine {
  readonly #sink: Sink;
  readonly #describe: () => string | null;
  #timer: NodeJS.Timeout | null = null;
  #quietSince = Date.now();
  #isShown = false;

  /** @param describe answers null when there is nothing to show now */
  constructor(sink: Sink, describe: () => string | null) {
    this.#sink = sink;
    this.#describe = describe;
    if (!sink.isTerminal) return;
    this.#timer = setInterval(() => this.#draw(), EVERY_MS);
    this.#timer.unref();
  }

  /** Takes the line away; it comes back after a while of silence. */
  clear(): void {
    this.#quietSince = Date.now();
    if (!this.#isShown) return;
    this.#isShown = false;
    void this.#sink.write(CLEAR);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.clear();
  }

  #draw(): void {
    const text = this.#describe();
    if (text === null || Date.now() - this.#quietSince < FIRST_MS) return;
    this.#isShown = true;
    void this.#sink.write(`${CLEAR}${this.#sink.paint('dim', clipped(text, this.#sink.columns - 1))}`);
  }
}
