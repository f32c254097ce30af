/**
 * One WebSocket as a transport (api.md, Server).
 *
 * WSW1  It ends once, whoever ends it; then every open request has rejected.
 * WSW2  What is no frame ends it: nothing that comes after it could be trusted.
 */
import { OffstageError } from '../../model/offstage-error.ts';
import type { WireFields } from '../wire/rename.ts';
import { lostError } from './client-errors.ts';
import { WireConnection } from './wire-connection.ts';

/** What is needed of a WebSocket: that of browsers and of Node, or of the package `ws`. */
export interface WebSocketLike {
  readonly readyState: number;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: 'open' | 'error', listener: () => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(
    type: 'close',
    listener: (event: { readonly code: number; readonly reason: string | { toString(): string } }) => void,
  ): void;
}

export type WebSocketClass = new (url: string, protocols: string[]) => WebSocketLike;

/** As the standard numbers it. */
const OPEN = 1;

/** The server closes because of whom it talks to: the token, or too much of something. */
export const POLICY_CLOSE = 1008;

export interface WebSocketWire {
  readonly connection: WireConnection;
  /** Resolves when requests may be sent; rejects when it ends before. */
  readonly opened: Promise<void>;
}

export interface WebSocketWireOptions {
  /** Of the server, for people. */
  readonly url: string;
  /** Called for each frame, before anybody gets it. */
  readonly onFrame: () => void;
  /** Called once, at the end. @param code the close code; 0 where there is none */
  readonly onEnd: (error: OffstageError, code: number) => void;
}

export function webSocketWire(socket: WebSocketLike, { url, onFrame, onEnd }: WebSocketWireOptions): WebSocketWire {
  let hasEnded = false;
  let onOpen = (): void => {};
  let onNoOpen: (error: OffstageError) => void = () => {};
  const opened = new Promise<void>((resolve, reject) => {
    onOpen = resolve;
    onNoOpen = reject;
  });
  opened.catch(() => {});
  const end = (error: OffstageError, code: number): void => {
    if (hasEnded) return;
    hasEnded = true;
    connection.fail(error);
    onNoOpen(error);
    onEnd(error, code);
  };
  const connection = new WireConnection({
    send: (request) => {
      // One that closes says so soon, and what was asked meanwhile rejects with it (WSW1).
      if (socket.readyState === OPEN) socket.send(JSON.stringify(request));
    },
    close: () => {
      // A peer that is gone does not answer the goodbye, so nobody waits for it.
      end(connection.end ?? lostError(url, 'it was closed here'), 0);
      socket.close();
    },
  });
  let before = Promise.resolve();
  socket.addEventListener('open', () => onOpen());
  // What is wrong is told with the close that follows.
  socket.addEventListener('error', () => {});
  socket.addEventListener('close', ({ code, reason }) => {
    const said = reason.toString();
    end(lostError(url, said === '' ? `the connection ended (${code})` : `${said} (${code})`), code);
  });
  socket.addEventListener('message', ({ data }) => {
    if (hasEnded) return;
    onFrame();
    const frame = frameOf(data);
    if (frame === null) {
      connection.fail(
        new OffstageError('control.protocol', `${url} has sent something that is no frame.`, { message: 'no frame' }),
      );
      return;
    }
    before = before
      .then(() => (hasEnded ? undefined : connection.receive(frame)))
      .catch((error) => connection.fail(lostError(url, 'what it has sent could not be taken', error)));
  });
  return { connection, opened };
}

function frameOf(data: unknown): WireFields | null {
  if (typeof data !== 'string') return null;
  try {
    const frame: unknown = JSON.parse(data);
    return typeof frame === 'object' && frame !== null && !Array.isArray(frame) ? (frame as WireFields) : null;
  } catch {
    return null;
  }
}
