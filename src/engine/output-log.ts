/**
 * What a body prints: the end of it in memory, the whole of it, up to a cap, in a file (spec 17).
 *
 * OLG1  Memory per job is bounded, whatever is printed.
 * OLG2  The file holds the output from its beginning; what does not fit is counted and said, never lost in silence.
 * OLG3  No id reaches a path unescaped.
 */
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { LIMITS } from '../model/limits.ts';
import { encodeOrdinal } from '../persistence/key-encoding.ts';

export interface StoredOutput {
  readonly text: string;
  /** Characters before `text` that are gone from memory. */
  readonly cut: number;
  readonly hasFile: boolean;
}

export class OutputLog {
  readonly #directory: string | null;
  readonly #ordinal: number;
  #chunks: string[] = [];
  #length = 0;
  #cut = 0;
  #file: number | null = null;
  #fileBytes = 0;

  constructor(directory: string | null, ordinal: number) {
    this.#directory = directory;
    this.#ordinal = ordinal;
  }

  /** Characters printed so far, kept or not. */
  get end(): number {
    return this.#cut + this.#length;
  }

  append(text: string): void {
    if (this.#file === null && this.#directory !== null && this.#length + text.length > LIMITS.outputMemoryBytes)
      this.#openFile();
    this.#chunks.push(text);
    this.#length += text.length;
    if (this.#file !== null) this.#write(text);
    // Compact only now and then: joining on every append would cost the square of the output.
    if (this.#length > 2 * LIMITS.outputMemoryBytes || this.#chunks.length > 4096) this.#compact();
  }

  /** The end of the output. */
  tail(): string | null {
    if (this.#length === 0) return null;
    this.#compact();
    return this.#chunks[0] ?? null;
  }

  stored(): StoredOutput | null {
    const text = this.tail();
    return text === null ? null : { text, cut: this.#cut, hasFile: this.#file !== null };
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #compact(): void {
    const whole = this.#chunks.join('');
    let start = Math.max(0, whole.length - LIMITS.outputMemoryBytes);
    // Never begin with the second half of a surrogate pair.
    if (start > 0 && (whole.charCodeAt(start) & 0xfc00) === 0xdc00) start += 1;
    const kept = whole.slice(start);
    this.#cut += start;
    this.#chunks = [kept];
    this.#length = kept.length;
  }

  #openFile(): void {
    const directory = this.#directory as string;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.#file = openSync(outputPath(directory, this.#ordinal), 'w', 0o600);
    for (const chunk of this.#chunks) this.#write(chunk);
  }

  #write(text: string): void {
    const room = LIMITS.outputSpillBytes - this.#fileBytes;
    if (room <= 0 || this.#file === null) return;
    const bytes = Buffer.from(text, 'utf8');
    this.#fileBytes += writeSync(this.#file, bytes, 0, Math.min(bytes.length, room));
  }
}

/** Files are named by ordinal: digits only. */
export const outputPath = (directory: string, ordinal: number): string => join(directory, `${encodeOrdinal(ordinal)}.log`);

export function readOutputFile(directory: string, ordinal: number): string | null {
  try {
    return readFileSync(outputPath(directory, ordinal), 'utf8');
  } catch {
    return null;
  }
}

export function removeOutputFile(directory: string, ordinal: number): void {
  rmSync(outputPath(directory, ordinal), { force: true });
}
