/**
 * What the handler knows of whoever sends it requests: nothing of sockets, so that it serves any transport (spec 12).
 */
import type { OffstageError } from '../../model/errors.ts';
import type { EventSink } from '../events/event-sink.ts';
import type { WireFields } from '../wire/rename.ts';
import type { CallerIdentity } from './caller-identity.ts';

/** One answer or event. */
export type Frame = WireFields & { readonly type: string };

export interface Connection {
  readonly caller: CallerIdentity;
  /** Whether one more request is handled: null, or the error that is answered instead. */
  admit?(): OffstageError | null;
  /** Where events go that were encoded once for all readers; without it they go through `send`, one by one. */
  readonly events?: EventSink;
  /** Takes a frame; resolves when there is room for more, or nobody is left to read it. Never rejects. */
  send(frame: Frame): Promise<void>;
  /** Calls back once, when the other side has gone; at once if it has gone already. Returns a function that forgets the callback. */
  onClose(callback: () => void): () => void;
}
