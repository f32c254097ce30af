/**
 * Frames on a byte stream: one JSON text per line.
 *
 * LSP1  A line is at most `limitBytes` long; of a longer one nothing is kept, and it is reported once, as soon as it is too long.
 * LSP2  A line is valid UTF-8, or it is reported; characters are never torn at the borders of chunks.
 */

export type Line = { readonly text: string } | { readonly fault: string };

const NEWLINE = 0x0a;

export class LineSplitter {
  readonly #limitBytes: number;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  #parts: Buffer[] = [];
  #bytes = 0;
  /** The line under way is too long and was reported. */
  #isSkipping = false;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** The lines that this chunk completes; empty ones are left out. */
  push(chunk: Buffer): readonly Line[] {
    const lines: Line[] = [];
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, at), lines);
      from = at + 1;
      this.#end(lines);
    }
    this.#keep(chunk.subarray(from), lines);
    return lines;
  }

  /** What came after the last newline, once nothing more comes. */
  end(): readonly Line[] {
    const lines: Line[] = [];
    this.#end(lines);
    return lines;
  }

  #keep(part: Buffer, lines: Line[]): void {
    if (this.#isSkipping || part.length === 0) return;
    this.#bytes += part.length;
    this.#parts.push(part);
    if (this.#bytes <= this.#limitBytes) return;
    this.#isSkipping = true;
    this.#parts = [];
    lines.push({ fault: `a frame has more than ${this.#limitBytes} bytes` });
  }

  #end(lines: Line[]): void {
    const parts = this.#parts;
    const isSkipped = this.#isSkipping;
    this.#parts = [];
    this.#bytes = 0;
    this.#isSkipping = false;
    if (isSkipped) return;
    try {
      const text = this.#decoder.decode(parts.length === 1 ? parts[0] : Buffer.concat(parts));
      if (text.trim() !== '') lines.push({ text });
    } catch {
      lines.push({ fault: 'a frame is not valid UTF-8' });
    }
  }
}
