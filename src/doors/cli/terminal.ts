/**
 * What is written, and where to.
 *
 * TRM1  Nothing is lost through a slow pipe: who writes can wait until there is room, and the process ends only after the last byte.
 * TRM2  A reader that has gone is no error; writing goes on into nothing, in silence (B63).
 * TRM3  Colours and redrawing are for terminals only, and NO_COLOR is respected.
 */
import { stripVTControlCharacters } from 'node:util';

const STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, cyan: 36 } as const;
export type Style = keyof typeof STYLES;

export class Sink {
  readonly #stream: NodeJS.WriteStream;
  readonly isTerminal: boolean;
  readonly hasColours: boolean;
  #isGone = false;
  #failure: Error | null = null;
  #onGone = (): void => {};
  /** Resolves when nobody reads any more. */
  readonly gone: Promise<void>;

  constructor(stream: NodeJS.WriteStream, environment: NodeJS.ProcessEnv) {
    this.#stream = stream;
    this.isTerminal = stream.isTTY === true;
    const isPlain = (environment.NO_COLOR ?? '') !== '' || environment.TERM === 'dumb';
    this.hasColours = this.isTerminal && !isPlain;
    this.gone = new Promise((resolve) => {
      this.#onGone = resolve;
    });
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') this.#failure ??= error;
      this.#isGone = true;
      this.#onGone();
    });
  }

  /** What went wrong, a reader that has gone aside. */
  get failure(): Error | null {
    return this.#failure;
  }

  get columns(): number {
    return this.isTerminal && this.#stream.columns > 0 ? this.#stream.columns : Number.POSITIVE_INFINITY;
  }

  get rows(): number {
    return this.isTerminal && this.#stream.rows > 0 ? this.#stream.rows : Number.POSITIVE_INFINITY;
  }

  /** Resolves when there is room for more. */
  async write(text: string): Promise<void> {
    if (this.#isGone || text === '') return;
    if (this.#stream.write(text)) return;
    let onDrain = (): void => {};
    const drained = new Promise<void>((resolve) => {
      onDrain = resolve;
      this.#stream.once('drain', resolve);
    });
    await Promise.race([drained, this.gone]);
    this.#stream.off('drain', onDrain);
  }

  line(text = ''): Promise<void> {
    return this.write(`${text}\n`);
  }

  paint(style: Style, text: string): string {
    return this.hasColours ? `\u001b[${STYLES[style]}m${text}\u001b[0m` : text;
  }
}

/** One line that cannot move the cursor or change colours, whatever a user put into it. */
export const printable = (text: string): string =>
  stripVTControlCharacters(text)
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
    .trim();

/** The same for text of several lines, which keeps them and what they begin with. */
export const printableLines = (text: string): string => stripVTControlCharacters(text).replace(/(?!\n)[\p{Cc}\p{Cf}]/gu, ' ');

export function clipped(text: string, length: number): string {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, Math.max(0, length - 1)).join('')}…`;
}
