/**
 * The way to a server: how a socket to it is made, and how it says why there is none.
 *
 * CNT2  The token goes where browsers can put it, into the list of protocols, and never into an address.
 * CNT3  A browser is not told why it was not let in; so the server is asked, where a connection does not come about.
 */
import type { OffstageError } from '../../model/offstage-error.ts';
import { clientClock } from './client-clock.ts';
import { refusedError } from './client-errors.ts';
import type { ReconnectorOptions } from './reconnector.ts';
import type { WebSocketClass } from './web-socket-wire.ts';

export interface ServerAddress {
  /** With a slash at its end, and nothing behind that. */
  readonly base: URL;
  /** Not needed in the browser that was let in by its cookie. */
  readonly token?: string | undefined;
  /** @throws OffstageError where there is none */
  readonly webSocket: () => Promise<WebSocketClass>;
}

export type WayToServer = Omit<ReconnectorOptions, 'onConnection' | 'onChange' | 'onEnd'>;

const PROTOCOL = 'offstage.v1';
/** How long a server may take to say why. */
const ASKING_MS = 5_000;

export function wayToServer({ base, token, webSocket }: ServerAddress): WayToServer {
  const socketUrl = new URL('ws', base);
  socketUrl.protocol = base.protocol === 'https:' ? 'wss:' : 'ws:';
  const protocols = token === undefined ? [PROTOCOL] : [PROTOCOL, `offstage.token.${token}`];
  return {
    url: base.href,
    clock: clientClock,
    random: Math.random,
    openSocket: async () => new (await webSocket())(socketUrl.href, protocols),
    whyRefused: () => whyRefused(base, token),
    onOnline,
  };
}

/** CNT3. */
async function whyRefused(base: URL, token: string | undefined): Promise<OffstageError | null> {
  try {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const response = await fetch(new URL('api/whoami', base), { headers, signal: AbortSignal.timeout(ASKING_MS) });
    const { status } = response;
    if (status !== 401 && status !== 403) {
      await response.body?.cancel();
      return null;
    }
    const { error, error_code: code } = (await response.json().catch(() => ({}))) as Readonly<Record<string, unknown>>;
    return refusedError(
      base.href,
      status,
      typeof error === 'string' && typeof code === 'string' ? { code, message: error } : undefined,
    );
  } catch {
    // It does not answer: then it may later.
    return null;
  }
}

function onOnline(callback: () => void): () => void {
  const page = globalThis as Partial<Pick<EventTarget, 'addEventListener' | 'removeEventListener'>>;
  if (page.addEventListener === undefined) return () => {};
  page.addEventListener('online', callback);
  return () => page.removeEventListener?.('online', callback);
}
