/** The way to a server, from a browser or from Node. */
import type { OffstageEvent } from '../../model/events.ts';
import type { OffstageClient } from './offstage-client.ts';

/** What is needed of a WebSocket: that of browsers and of Node, or of the package `ws`. */
export interface WebSocketLike {
  readonly readyState: number;
  send(data: string): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: 'open' | 'close' | 'error', listener: (event: never) => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
}

export interface ConnectOptions {
  /** Of the server, as `serve` tells it: `http://127.0.0.1:4817/`, also with a path. */
  readonly url: string | URL;
  /** Not needed in the browser that was let in by its cookie. */
  readonly token?: string;
  /** Default: that of the platform, else of the package `ws`. */
  readonly WebSocket?: new (
    url: string,
    protocols: string[],
  ) => WebSocketLike;
  /** Which events `onEvent` is told; default all. The live rows get what they need in any case. Without `job.output` much less is sent. */
  readonly types?: readonly OffstageEvent['type'][];
  /** Jobs kept in `live`, the newest; live ones come first. Default 20,000. */
  readonly maxJobs?: number;
  /** Gets what a callback has thrown; default `console.error`. */
  readonly onCallbackError?: (error: unknown) => void;
}

/**
 * Connects, and stays connected: answers at once, and tells by `live` how it stands.
 * @throws OffstageError `config.invalid`
 * @example
 * const client = connect({ url: server.url, token: server.token });
 * const { jobId } = await client.spawn({ kind: 'command', input: { command: 'date' } });
 */
export function connect(_options: ConnectOptions): OffstageClient {
  throw new Error('not yet');
}
