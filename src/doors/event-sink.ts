/** Where events may be written that were encoded once for many readers. */
import type { Frame } from './connection.ts';

/** How frames become bytes on one kind of transport. */
export interface FrameEncoding {
  /** Equal names encode equally. */
  readonly name: string;
  /** One frame after the other. */
  encode(frames: readonly EncodedEvent[]): Buffer;
}

/** A frame as JSON text, made once. */
export interface EncodedEvent {
  readonly type: Frame['type'];
  readonly json: string;
  /** The number of a record event or of a `resync`: where a reader may go on from; null for what is never replayed. */
  readonly cursor: number | null;
}

export interface EventSink {
  readonly encoding: FrameEncoding;
  /** Nothing that was written waits to be taken by the system. */
  readonly isDrained: boolean;
  /** Takes bytes. Only to be called while it is drained, except for the last ones before the end. */
  write(bytes: Buffer): void;
  /** Resolves when it is drained, or when the other side has gone. */
  drained(): Promise<void>;
}
