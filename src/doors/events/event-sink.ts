/** Where events may be written that were encoded once for many readers. */

/** A frame as JSON text, made once. */
export interface EncodedFrame {
  readonly type: string;
  readonly json: string;
  /** The number of a record event or of a `resync`: where a reader may go on from; null for what is never replayed. */
  readonly cursor: number | null;
}

/** How frames become bytes on one kind of transport. */
export interface FrameEncoding {
  /** Equal names encode equally. */
  readonly name: string;
  /** One frame after the other, in one piece; `ends` says where each of them ends. */
  encode(frames: readonly EncodedFrame[]): { readonly bytes: Buffer; readonly ends: readonly number[] };
}

export interface EventSink {
  readonly encoding: FrameEncoding;
  /** Little of what was written waits to be taken by the system. */
  readonly isDrained: boolean;
  write(bytes: Buffer): void;
  /** Resolves when it is drained, or when the other side has gone. */
  drained(): Promise<void>;
}
