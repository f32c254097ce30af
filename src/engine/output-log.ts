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

/** An output with the places of its pieces, to be lined up with `job.output` events. */
export interface PrintedOutput {
  readonly pieces: readonly OutputPiece[];
  /** Characters printed so far, kept or not. */
  readonly end: number;
}

export interface StoredOutput {
  readonly text: string;
  /** Characters before `text` that are gone from memory. */
  readonly cut: number;
  readonly hasFile: boolean;
  /** The file holds the beginning only. */
  readonly isCapped: boolean;
}

export class OutputLog {
  #directory: string | null;
  readonly #onError: (error: unknown) => void;
  readonly #ordinal: number;
  #chunks: string[] = [];
  #length = 0;
  #cut = 0;
  #file: number | null = null;
  #fileBytes = 0;

  constructor(directory: string | null, ordinal: number, onError: (error: unknown) => void) {
    this.#directory = directory;
    this.#onError = onError;
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
    return text === null
      ? null
      : {
          text,
          cut: this.#cut,
          hasFile: this.#fileBytes > 0 && this.#directory !== null,
          isCapped: this.#fileBytes >= LIMITS.outputSpillBytes,
        };
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
    try {
      makeFolder(directory);
      this.#file = openSync(outputPath(directory, this.#ordinal), 'w', 0o600);
    } catch (error) {
      this.#giveUp(error);
      return;
    }
    for (const chunk of this.#chunks) this.#write(chunk);
  }

  #write(text: string): void {
    const room = LIMITS.outputSpillBytes - this.#fileBytes;
    if (room <= 0 || this.#file === null) return;
    const bytes = Buffer.from(text, 'utf8');
    let end = Math.min(bytes.length, room);
    // Never half a character at the cap.
    while (end < bytes.length && end > 0 && ((bytes[end] as number) & 0xc0) === 0x80) end -= 1;
    try {
      for (let written = 0; written < end; ) written += writeSync(this.#file, bytes, written, end - written);
    } catch (error) {
      this.#giveUp(error);
      return;
    }
    this.#fileBytes += end < bytes.length ? LIMITS.outputSpillBytes : end;
  }

  /** A disk that refuses ends the file, not the job: what is in memory goes on being kept. */
  #giveUp(error: unknown): void {
    this.close();
    this.#directory = null;
    this.#onError(error);
  }
}

/** Not recursive: the data folder is there, and making more than the last part is nobody's wish. */
function makeFolder(directory: string): void {
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Files are named by ordinal: digits only. */
export const outputPath = (directory: string, ordinal: number): string => join(directory, `${encodeOrdinal(ordinal)}.log`);

/** A part of a job's output that is kept, and the number of characters printed before it. */
export interface OutputPiece {
  readonly offset: number;
  readonly text: string;
}

/** What is kept of an output, in order; between the pieces something is missing. */
export function outputPieces(stored: StoredOutput, directory: string | null, ordinal: number): readonly OutputPiece[] {
  const file = stored.hasFile && directory !== null ? readOutputFile(directory, ordinal) : null;
  const end: OutputPiece = { offset: stored.cut, text: stored.text };
  if (file === null) return [end];
  const beginning: OutputPiece = { offset: 0, text: file };
  return stored.isCapped ? [beginning, end] : [beginning];
}

/** The whole of what was printed, as far as it was kept; says where something is missing. */
export function joinOutput(stored: StoredOutput, directory: string | null, ordinal: number): string {
  const file = stored.hasFile && directory !== null ? readOutputFile(directory, ordinal) : null;
  if (file === null) return stored.cut === 0 ? stored.text : `[… ${stored.cut} characters were not kept]\n${stored.text}`;
  return stored.isCapped ? `${file}\n[… the middle was not kept; the end follows]\n${stored.text}` : file;
}

function readOutputFile(directory: string, ordinal: number): string | null {
  try {
    return readFileSync(outputPath(directory, ordinal), 'utf8');
  } catch {
    return null;
  }
}

export function removeOutputFile(directory: string, ordinal: number): void {
  rmSync(outputPath(directory, ordinal), { force: true });
}
