/**
 * Connects to a server, from a browser or from Node.
 *
 * CNT1  Nothing of Node is loaded unless it is needed: the package `ws` only where the platform has no WebSocket of its own (Node 20).
 */
import type { OffstageEvent } from '../../model/events.ts';
import { OffstageError } from '../../model/offstage-error.ts';
import { EVENT_TYPES } from '../wire/wire-events.ts';
import { invalidError } from './client-errors.ts';
import { OffstageClient } from './offstage-client.ts';
import { wayToServer } from './way-to-server.ts';
import type { WebSocketClass } from './web-socket-wire.ts';

export interface ConnectOptions {
  /** Of the server, as `serve` tells it: `http://127.0.0.1:4817/`, also with a path. */
  readonly url: string | URL;
  /** Not needed in the browser that was let in by its cookie. */
  readonly token?: string;
  /** Default: that of the platform, else of the package `ws`. */
  readonly WebSocket?: WebSocketClass;
  /** Which events `onEvent` is told; default all. The rows get what they need in any case. Without `job.output` much less is sent. */
  readonly types?: readonly OffstageEvent['type'][];
  /** Jobs kept in `live`, those that have not ended first, then the newest. Default 20,000. */
  readonly maxJobs?: number;
  /** Gets what a callback has thrown; default `console.error`. */
  readonly onCallbackError?: (error: unknown) => void;
}

const TOKEN = /^[\w.-]+$/;
const MAX_JOBS = 20_000;

/**
 * Connects, and stays connected: answers at once, and tells by `live` how it stands.
 * @throws OffstageError `config.invalid`
 * @example
 * const client = connect({ url: server.url, token: server.token });
 * const { jobId } = await client.spawn({ kind: 'command', input: { command: 'date' } });
 */
export function connect(options: ConnectOptions): OffstageClient {
  const { token, types, maxJobs = MAX_JOBS, onCallbackError = (error: unknown) => console.error(error) } = options;
  const base = baseOf(options.url);
  if (token !== undefined && !TOKEN.test(token))
    throw invalidError('config.invalid', 'token', 'it is not what a server gives out');
  if (!(Number.isInteger(maxJobs) && maxJobs > 0))
    throw invalidError('config.invalid', 'maxJobs', 'it must be a whole number of 1 or more');
  const unknown = types?.find((type) => !Object.hasOwn(EVENT_TYPES, type));
  if (unknown !== undefined)
    throw invalidError('config.invalid', 'types', `there are no events of type ${JSON.stringify(unknown)}`);
  return new OffstageClient({
    ...wayToServer({ base, token, webSocket: async () => options.WebSocket ?? (await platformWebSocket()) }),
    types: types ?? null,
    maxJobs,
    report: onCallbackError,
  });
}

/** With a slash at its end, and without what is only for people. */
function baseOf(url: string | URL): URL {
  let base: URL;
  try {
    base = new URL(url);
  } catch {
    throw invalidError('config.invalid', 'url', 'it must be an address such as http://127.0.0.1:4817/');
  }
  if (base.protocol !== 'http:' && base.protocol !== 'https:')
    throw invalidError('config.invalid', 'url', 'it must begin with http: or https:');
  base.search = '';
  base.hash = '';
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  return base;
}

/** CNT1. */
async function platformWebSocket(): Promise<WebSocketClass> {
  const own = (globalThis as { readonly WebSocket?: WebSocketClass }).WebSocket;
  if (own !== undefined) return own;
  // Out of sight of bundlers: browsers have their own.
  const name = 'ws';
  try {
    return ((await import(/* @vite-ignore */ name)) as { readonly WebSocket: WebSocketClass }).WebSocket;
  } catch (cause) {
    const message = `This needs the package ${JSON.stringify(name)}, which is not installed: npm install ${name}`;
    throw new OffstageError('package.missing', message, { package: name }, { cause });
  }
}
