/**
 * The stream of frames from an adapter to its one reader.
 *
 * FRQ1  Frames arrive in the order of `push`, and all of them before the end.
 * FRQ2  The first `end` or `fail` decides; what comes after it is dropped, and says so.
 * FRQ3  One reader: asking for a second iterator is a mistake of the caller.
 */
import type { Frame } from '../model/agent.ts';

interface Reader {
  resolve(result: IteratorResult<Frame>): void;
  reject(error: unknown): void;
}

/** `{ error }` rather than the bare error, so that a thrown `undefined` is a failure too. */
type Ending = { readonly error: unknown } | 'ended' | 'told';

/**
 * A queue that its reader iterates.
 * @example
 * const frames = new FrameQueue();
 * frames.push({ type: 'output', generation: 1, text: 'hi' });
 * frames.end();
 * for await (const frame of frames) console.log(frame.type); // output
 */
export class FrameQueue implements AsyncIterable<Frame> {
  #waiting: Frame[] = [];
  readonly #readers: Reader[] = [];
  #ending: Ending | null = null;
  #isTaken = false;

  /** Nothing more is taken: it has ended, or its reader has left. */
  get isClosed(): boolean {
    return this.#ending !== null;
  }

  /** False when it was dropped, because the stream has ended or its reader has left. */
  push(frame: Frame): boolean {
    if (this.#ending !== null) return false;
    const reader = this.#readers.shift();
    if (reader === undefined) this.#waiting.push(frame);
    else reader.resolve({ done: false, value: frame });
    return true;
  }

  /** The reader sees the stream return. */
  end(): boolean {
    if (this.#ending !== null) return false;
    this.#ending = 'ended';
    for (const reader of this.#readers.splice(0)) reader.resolve({ done: true, value: undefined });
    return true;
  }

  /** The reader sees the stream throw, once. */
  fail(error: unknown): boolean {
    if (this.#ending !== null) return false;
    const [first, ...others] = this.#readers.splice(0);
    this.#ending = first === undefined ? { error } : 'told';
    first?.reject(error);
    for (const reader of others) reader.resolve({ done: true, value: undefined });
    return true;
  }

  [Symbol.asyncIterator](): AsyncIterator<Frame> {
    if (this.#isTaken) throw new TypeError('The frames of an agent have one reader.');
    this.#isTaken = true;
    return {
      next: () => this.#next(),
      return: () => {
        this.#waiting = [];
        this.end();
        this.#ending = 'told';
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }

  #next(): Promise<IteratorResult<Frame>> {
    const frame = this.#waiting.shift();
    if (frame !== undefined) return Promise.resolve({ done: false, value: frame });
    if (this.#ending === null) return new Promise((resolve, reject) => this.#readers.push({ resolve, reject }));
    if (typeof this.#ending === 'object') {
      const { error } = this.#ending;
      this.#ending = 'told';
      return Promise.reject(error);
    }
    return Promise.resolve({ done: true, value: undefined });
  }
}
