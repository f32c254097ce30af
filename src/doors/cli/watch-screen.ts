/**
 * A screen that is drawn again in its place; on anything but a terminal, lines that are added.
 *
 * WSC1  A line takes one row, however long it is: else the next drawing would begin in the wrong place.
 */
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
    const shown = lines.slice(0, Math.max(1, this.#sink.rows - 1)).map((line) => fitted(line, this.#sink.columns));
    const up = this.#height === 0 ? '' : `\u001b[${this.#height}A`;
    this.#height = shown.length;
    await this.#sink.write(`${up}\r\u001b[J${shown.join('\n')}\n`);
  }
}

const ESCAPE = '\u001b';

/** As much of a painted line as fits; what ends its colours is kept. */
function fitted(line: string, columns: number): string {
  const [first = '', ...painted] = line.split(ESCAPE);
  let room = columns;
  const take = (text: string): string => {
    const characters = [...text].slice(0, Math.max(0, room));
    room -= characters.length;
    return characters.join('');
  };
  let shown = take(first);
  for (const part of painted) {
    const end = part.indexOf('m') + 1;
    shown += ESCAPE + part.slice(0, end) + take(part.slice(end));
  }
  return shown;
}
