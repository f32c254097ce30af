/**
 * What a body prints: the end of it in memory, the whole of it, up to a cap, in a file (spec 17).
 *
 * OLG1  Memory per job is bounded, whatever is printed.
 * OLG2  The file holds the output from its beginning; what does not fit is counted and said, never lost in silence.
 * OLG3  No id reaches a path unescaped.
 * OLG4  The file holds one character for each that was printed, as far as it goes: its length tells where memory goes on.
 */
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { offstageError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import { encodeOrdinal } from '../persistence/key-encoding.ts';
import { isCount, isObject, isText } from '../persistence/row-shape.ts';

/** An output with the places of its pieces, to be lined up with `job.output` events. */
export interface PrintedOutput {
  readonly pieces: readonly OutputPiece[];
  /** Characters printed so far, kept or not. */
  readonly end: number;
}

/** Which part of an output is wanted; without any, all that is kept. */
export interface PrintedOptions {
  /** Just what memory holds of it: the last 256 KiB or so. */
  readonly onlyEnd?: boolean;
  /** So many lines. */
  readonly tail?: number;
}

export interface StoredOutput {
  readonly text: string;
  /** Characters before `text` that are gone from memory. */
  readonly cut: number;
  readonly hasFile: boolean;
}

/** @throws OffstageError `store.corrupt` */
export function readStoredOutput(value: string): StoredOutput {
  let row: unknown;
  try {
    row = JSON.parse(value);
  } catch {
    row = null;
  }
  if (isObject(row) && isText(row.text) && isCount(row.cut) && typeof row.hasFile === 'boolean') {
    return { text: row.text, cut: row.cut, hasFile: row.hasFile };
  }
  throw offstageError('store.corrupt', { folder: 'the store', message: 'what a job has printed is not readable' });
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
  /** The first half of a pair of surrogates that was printed in two parts: not written to the file before the second comes. */
  #held = '';

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
        };
  }

  close(): void {
    const held = this.#held;
    this.#held = '';
    this.#spill(held);
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
    const whole = this.#held + text;
    this.#held = /[\ud800-\udbff]$/.test(whole.slice(-1)) ? whole.slice(-1) : '';
    this.#spill(this.#held === '' ? whole : whole.slice(0, -1));
  }

  #spill(text: string): void {
    const room = LIMITS.outputSpillBytes - this.#fileBytes;
    if (room <= 0 || text === '' || this.#file === null) return;
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
    this.#held = '';
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
  const end: OutputPiece = { offset: stored.cut, text: stored.text };
  const file = stored.hasFile && directory !== null ? readOutputFile(directory, ordinal) : null;
  if (file === null) return [end];
  if (file.length < stored.cut) return [{ offset: 0, text: file }, end];
  return [{ offset: 0, text: file + stored.text.slice(file.length - stored.cut) }];
}

/** The pieces of the last `count` lines: whole lines, but for one behind a place where something is missing. */
export function lastPieces(
  stored: StoredOutput,
  directory: string | null,
  ordinal: number,
  count: number,
): readonly OutputPiece[] {
  const inMemory = lastLinesOf({ offset: stored.cut, text: stored.text }, count);
  if (stored.cut === 0 || inMemory.text.length < stored.text.length) return [inMemory];
  const pieces = outputPieces(stored, directory, ordinal);
  const [first, end] = [pieces[0] as OutputPiece, pieces.at(-1) as OutputPiece];
  const before = count - end.text.split('\n').length + (end.text.endsWith('\n') ? 1 : 0);
  if (pieces.length > 1 && before > 0) return [lastLinesOf(first, before), end];
  return [end.offset === 0 ? lastLinesOf(end, count) : withoutHalfLine(end)];
}

function lastLinesOf({ offset, text }: OutputPiece, count: number): OutputPiece {
  const kept = lastLines(text, count);
  return { offset: offset + text.length - kept.length, text: kept };
}

/** A line that is all there is of it stays, also when its beginning is missing. */
function withoutHalfLine({ offset, text }: OutputPiece): OutputPiece {
  const start = text.indexOf('\n') + 1;
  return start === text.length ? { offset, text } : { offset: offset + start, text: text.slice(start) };
}

/** The last `count` lines of a text. */
export function lastLines(text: string, count: number): string {
  if (count === 0) return '';
  const end = text.endsWith('\n') ? text.length - 1 : text.length;
  let start = end;
  for (let line = 0; line < count; line++) {
    const found = start === 0 ? -1 : text.lastIndexOf('\n', start - 1);
    if (found === -1) return text;
    start = found;
  }
  return text.slice(start + 1);
}

/** The whole of what was printed, as far as it was kept; says where something is missing. */
export function joinOutput(stored: StoredOutput, directory: string | null, ordinal: number): string {
  const pieces = outputPieces(stored, directory, ordinal);
  const [{ offset, text }] = pieces as readonly [OutputPiece];
  return offset === 0 ? joinPieces(pieces) : `[… ${offset} characters were not kept]\n${text}`;
}

export const joinPieces = (pieces: readonly OutputPiece[]): string =>
  pieces.map(({ text }) => text).join('\n[… the middle was not kept; the end follows]\n');

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
