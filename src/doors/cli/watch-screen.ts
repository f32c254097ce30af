/** A screen that is drawn again in its place; on anything but a terminal, lines that are added. */
import type { Sink } from './terminal.ts';

export class WatchScreen {
  readonly #sink: Sink;
  #height = 0;

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  get isRedrawn(): boolean {
    return this.#sink.isTerminal;
  }

  /** Shows these lines instead of those before; what does not fit on the screen is left out. */
  async draw(lines: readonly string[]): Promise<void> {
    const shown = lines.slice(0, Math.max(1, this.#sink.rows - 1));
    const up = this.#height === 0 ? '' : `\u001b[${this.#height}A`;
    this.#height = shown.length;
    await this.#sink.write(`${up}\r\u001b[J${shown.join('\n')}\n`);
  }
}
