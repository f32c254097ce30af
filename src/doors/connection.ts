/**
 * What the handler knows of whoever sends it requests: nothing of sockets, so that it serves any transport (spec 12).
 */
import type { WireFields } from './rename.ts';

/** One answer or event. */
export type Frame = WireFields & { readonly type: string };

export interface Connection {
  /** Takes a frame; resolves when there is room for more, or nobody is left to read it. Never rejects. */
  send(frame: Frame): Promise<void>;
  /** Calls back once, when the other side has gone; at once if it has gone already. Returns a function that forgets the callback. */
  onClose(callback: () => void): () => void;
}
