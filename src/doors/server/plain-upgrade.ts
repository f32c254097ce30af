/**
 * Requests that offer to go on in another protocol, such as `h2c`: some HTTP libraries do so with everything they send.
 *
 * PUP1  Such an offer is passed over (RFC 9110, 7.8): the request is answered like any other. Only that of a WebSocket is taken.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** Whether it is for the WebSocket library to answer. */
export const wantsWebSocket = ({ headers }: IncomingMessage): boolean =>
  (headers.upgrade ?? '').split(',').some((protocol) => protocol.trim().toLowerCase() === 'websocket');

const OFFERS: ReadonlySet<string> = new Set(['upgrade', 'http2-settings']);

/**
 * The socket, to be read anew from the same request on, without the offer: Node reads no body of a request that has one.
 * @param head what has come after the head of the request
 */
export function asPlain(request: IncomingMessage, socket: Duplex, head: Buffer): Duplex {
  const { method, url, httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name, value] = [rawHeaders[at] as string, rawHeaders[at + 1] as string];
    const lower = name.toLowerCase();
    if (lower === 'connection') lines.push(`${name}: ${withoutOffers(value)}`);
    else if (!OFFERS.has(lower)) lines.push(`${name}: ${value}`);
  }
  // Headers are kept by Node as latin1.
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  return socket;
}

function withoutOffers(value: string): string {
  const rest = value.split(',').filter((option) => !OFFERS.has(option.trim().toLowerCase()));
  return rest.length === 0 ? 'keep-alive' : rest.join(',');
}
