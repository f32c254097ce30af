/**
 * Frames of events, encoded once and kept ready for readers that are not all equally far.
 *
 * ERG1  A frame has a number; the numbers of what is kept follow each other without a gap.
 * ERG2  What is dropped is dropped from the oldest end, and `first` says so: a reader that is further behind has missed something.
 */
import { LIMITS } from '../../model/limits.ts';
import type { EncodedFrame, FrameEncoding } from './event-sink.ts';

/** What is known of the event that a frame is of. */
export interface FrameMark {
  readonly seq: number;
  readonly isVolatile: boolean;
  /** Every record event up to here lies before it, or is it. */
  readonly recordSeq: number;
}

interface Segment {
  /** Number of its first frame. */
  readonly first: number;
  readonly bytes: Buffer;
  readonly ends: readonly number[];
  readonly marks: readonly FrameMark[];
}

/** Some frames that follow each other, ready to be written. */
export interface Piece {
  readonly bytes: Buffer;
  /** Number of the frame after them. */
  readonly next: number;
  /** Every record event up to here is in it or before it. */
  readonly recordSeq: number;
}

/** What a frame costs beside its bytes. */
const OVERHEAD_BYTES = 100;
/** So many characters that were not encoded yet are encoded, flush or not, so that they count. */
const MOST_PENDING = 256 * 1024;
/** Small segments are put together up to here for a reader that is behind: each write is a call of the system. */
const TOGETHER_BYTES = 64 * 1024;

export class EventRing {
  readonly encoding: FrameEncoding;
  readonly #onBytes: (by: number) => void;
  #segments: Segment[] = [];
  #pending: { readonly frame: EncodedFrame; readonly mark: FrameMark }[] = [];
  #pendingCharacters = 0;
  /** Number of the oldest frame that is kept. */
  first = 0;
  /** Number of the next frame. */
  next = 0;
  /** Number after the newest frame that is encoded. */
  sealed = 0;
  /** Number after the newest frame of what is said once and kept nowhere. */
  afterPassing = 0;
  bytes = 0;

  /** @param onBytes is told how much more, or less, is kept */
  constructor(encoding: FrameEncoding, onBytes: (by: number) => void) {
    this.encoding = encoding;
    this.#onBytes = onBytes;
  }

  push(frame: EncodedFrame, mark: FrameMark, isPassing: boolean): void {
    this.#pending.push({ frame, mark });
    this.#pendingCharacters += frame.json.length;
    this.next += 1;
    if (isPassing) this.afterPassing = this.next;
    if (this.#pendingCharacters > MOST_PENDING) this.seal();
  }

  /** Encodes what has come since the last time. */
  seal(): void {
    const pending = this.#pending;
    if (pending.length === 0) return;
    this.#pending = [];
    this.#pendingCharacters = 0;
    const { bytes, ends } = this.encoding.encode(pending.map(({ frame }) => frame));
    this.#segments.push({ first: this.sealed, bytes, ends, marks: pending.map(({ mark }) => mark) });
    this.sealed = this.next;
    this.#count(bytes.length + pending.length * OVERHEAD_BYTES);
  }

  /** Number of the oldest frame that is kept once more was dropped. */
  get afterOldest(): number {
    const [oldest] = this.#segments;
    return oldest === undefined ? this.first : oldest.first + oldest.ends.length;
  }

  /** ERG2. */
  dropOldest(): void {
    const oldest = this.#segments.shift();
    if (oldest === undefined) return;
    this.first = oldest.first + oldest.ends.length;
    this.#count(-(oldest.bytes.length + oldest.ends.length * OVERHEAD_BYTES));
  }

  dropAll(): void {
    while (this.#segments.length > 0) this.dropOldest();
    this.first = this.sealed;
  }

  /** What lies at this number, as much as is written at once; null: there is nothing yet. The number must not be below `first`. */
  pieceAt(position: number): Piece | null {
    if (position >= this.sealed) return null;
    let index = this.#indexOf(position);
    const parts: Buffer[] = [];
    let total = 0;
    let next = position;
    let recordSeq = 0;
    for (; index < this.#segments.length; index += 1) {
      const segment = this.#segments[index] as Segment;
      const from = next - segment.first;
      const start = from === 0 ? 0 : (segment.ends[from - 1] as number);
      if (parts.length > 0 && total + segment.bytes.length > TOGETHER_BYTES) break;
      const until = lastWithin(segment.ends, start + LIMITS.broadcastWriteBytes, from);
      parts.push(segment.bytes.subarray(start, segment.ends[until]));
      total += (segment.ends[until] as number) - start;
      next = segment.first + until + 1;
      recordSeq = (segment.marks[until] as FrameMark).recordSeq;
      if (until < segment.ends.length - 1) break;
    }
    return { bytes: parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts), next, recordSeq };
  }

  /** One frame; null: there is nothing yet. The number must not be below `first`. */
  frameAt(position: number): (Piece & { readonly mark: FrameMark }) | null {
    if (position >= this.sealed) return null;
    const segment = this.#segments[this.#indexOf(position)] as Segment;
    const at = position - segment.first;
    const mark = segment.marks[at] as FrameMark;
    const bytes = segment.bytes.subarray(at === 0 ? 0 : segment.ends[at - 1], segment.ends[at]);
    return { bytes, next: position + 1, recordSeq: mark.recordSeq, mark };
  }

  #count(by: number): void {
    this.bytes += by;
    this.#onBytes(by);
  }

  /** Most readers are near the end. */
  #indexOf(position: number): number {
    let low = 0;
    let high = this.#segments.length - 1;
    if (high >= 0 && (this.#segments[high] as Segment).first <= position) return high;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#segments[middle] as Segment).first <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Index of the last frame, from `from` on, that ends within a limit; at least `from` itself. */
function lastWithin(ends: readonly number[], limit: number, from: number): number {
  let last = ends.length - 1;
  if ((ends[last] as number) <= limit) return last;
  while (last > from && (ends[last] as number) > limit) last -= 1;
  return last;
}
