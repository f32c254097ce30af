/**
 * Shows what a job prints, as it prints it.
 *
 * OPR1  Every character once, in order: a jump in the offsets is filled from what the owner has kept, and what nobody has kept is said.
 */
import type { OutputPiece } from '../../engine/output-log.ts';
import type { Sink } from './terminal.ts';
import { counted } from './words.ts';

export interface PrintedText {
  readonly text: string;
  readonly stream: 'stdout' | 'stderr' | null;
  readonly offset: number;
}

export interface OutputPrinterOptions {
  readonly out: Sink;
  /** Gets what was printed on stderr. */
  readonly err: Sink;
  /** What is kept of the job's output so far. */
  readonly readKept: () => Promise<readonly OutputPiece[]>;
  /** Tells, on the side, what is lost. */
  readonly onLost: (text: string) => Promise<void>;
  /** Called before anything is written. */
  readonly beforeWrite?: () => Promise<void> | void;
}

export class OutputPrinter {
  readonly #options: OutputPrinterOptions;
  /** Characters of the job's output that were shown, or given up. */
  #shown: number;
  #endsLine = true;

  constructor(options: OutputPrinterOptions, from = 0) {
    this.#options = options;
    this.#shown = from;
  }

  /** The cursor stands at the beginning of a line. */
  get endsLine(): boolean {
    return this.#endsLine;
  }

  /** Resolves when there is room for more. */
  async take({ text, stream, offset }: PrintedText): Promise<void> {
    if (offset > this.#shown) await this.fillTo(offset);
    const start = this.#shown - offset;
    if (start >= text.length) return;
    const sink = stream === 'stderr' ? this.#options.err : this.#options.out;
    this.#shown = offset + text.length;
    await this.#write(sink, text.slice(start));
  }

  /** Shows what is missing up to `end`. */
  async fillTo(end: number): Promise<void> {
    if (end <= this.#shown) return;
    let lost = 0;
    for (const { offset, text } of await this.#options.readKept()) {
      const start = Math.max(offset, this.#shown);
      const stop = Math.min(offset + text.length, end);
      if (stop <= start) continue;
      lost += start - this.#shown;
      this.#shown = stop;
      await this.#write(this.#options.out, text.slice(start - offset, stop - offset));
    }
    lost += end - this.#shown;
    this.#shown = end;
    if (lost === 0) return;
    await this.#options.onLost(`${counted(lost, 'character')} of the output came faster than they could be shown or kept.`);
  }

  async #write(sink: Sink, text: string): Promise<void> {
    if (text === '') return;
    await this.#options.beforeWrite?.();
    this.#endsLine = text.endsWith('\n');
    await sink.write(text);
  }
}
