/**
 * Reads what a command writes: exact UTF-8 per stream, both interleaved in order of arrival, bounded memory.
 *
 * OUT1  A character split across chunks is decoded whole; each stream has its own decoder.
 * OUT2  Memory is bounded: only the ends of the streams are kept here; the whole of it goes to `onText` as it comes.
 * OUT3  Everything the command wrote before it ended is read, also when it ends at once; what others write to its pipes later is
 *       not waited for: "done" means that the command is done.
 */
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Clock } from '../model/clock.ts';
import type { OutputStream } from '../model/executor.ts';
import { LIMITS } from '../model/limits.ts';
import { lastLineOf } from './last-line.ts';
import { untilQuiet } from './pipe-quiet.ts';
import { TailText } from './tail-text.ts';

const ERROR_TAIL_BYTES = 4 * 1024;

export interface CommandOutputOptions {
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly clock: Clock;
  /** Gets both streams interleaved. Must not throw. */
  readonly onText: (text: string, stream: OutputStream) => void;
  /** Asked after each chunk: while what it answers is pending, nothing more is read, and the command waits as behind any full pipe. */
  readonly pace?: (() => Promise<void> | null) | undefined;
}

export class CommandOutput {
  readonly #clock: Clock;
  readonly #streams: readonly Readable[];
  readonly #stdout = new TailText(LIMITS.resultTextBytes);
  readonly #stderr = new TailText(ERROR_TAIL_BYTES);
  readonly #onText: (text: string, stream: OutputStream) => void;
  readonly #pace: (() => Promise<void> | null) | undefined;
  readonly #flushes: (() => void)[] = [];
  #openStreams = 2;
  /** Grows with every chunk. */
  #readBytes = 0;
  #isHeldBack = false;
  #isDraining = false;

  constructor(options: CommandOutputOptions) {
    this.#clock = options.clock;
    this.#onText = options.onText;
    this.#pace = options.pace;
    this.#streams = [options.stdout, options.stderr];
    this.#read(options.stdout, this.#stdout, 'stdout');
    this.#read(options.stderr, this.#stderr, 'stderr');
  }

  /** What stdout holds so far, at most `LIMITS.resultTextBytes`. */
  get stdoutText(): string {
    return this.#stdout.text();
  }

  /** The last line of stderr that says anything, clipped; null when there is none. */
  get lastErrorLine(): string | null {
    return lastLineOf(this.#stderr.text());
  }

  /** Whether somebody still holds a pipe of the command. */
  get isOpen(): boolean {
    return this.#openStreams > 0;
  }

  /** Call when the command has ended: reads what is left in the pipes. Takes a few turns of the event loop. */
  async drain(): Promise<void> {
    // The rest is small, and the end of the job does not wait for whoever reads along.
    this.#isDraining = true;
    this.#goOn();
    await untilQuiet(this.#clock, { isOpen: () => this.isOpen, readBytes: () => this.#readBytes });
  }

  /** Lets go of the pipes. Nothing is read after it. */
  close(): void {
    for (const stream of this.#streams) stream.destroy();
    for (const flush of this.#flushes) flush();
  }

  #read(stream: Readable, tail: TailText, name: OutputStream): void {
    const decoder = new StringDecoder('utf8');
    let isFlushed = false;
    const take = (text: string): void => {
      if (text === '') return;
      tail.append(text);
      this.#onText(text, name);
    };
    const flush = (): void => {
      if (isFlushed) return;
      isFlushed = true;
      take(decoder.end());
    };
    this.#flushes.push(flush);
    stream.on('data', (chunk: Buffer) => {
      this.#readBytes += chunk.length;
      if (!isFlushed) take(decoder.write(chunk));
      this.#holdBack();
    });
    stream.on('end', flush);
    // A broken pipe has no more to say; the end of the command decides about the job.
    stream.on('error', () => {});
    stream.once('close', () => {
      this.#openStreams -= 1;
    });
  }

  #holdBack(): void {
    if (this.#isHeldBack || this.#isDraining) return;
    const room = this.#pace?.() ?? null;
    if (room === null) return;
    this.#isHeldBack = true;
    for (const stream of this.#streams) stream.pause();
    const goOn = (): void => this.#goOn();
    room.then(goOn, goOn);
  }

  #goOn(): void {
    if (!this.#isHeldBack) return;
    this.#isHeldBack = false;
    for (const stream of this.#streams) stream.resume();
  }
}
