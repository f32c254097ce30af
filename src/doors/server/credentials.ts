/**
 * Where a request carries its credential: a header, the name of a subprotocol, a cookie (spec 12).
 *
 * CRE1  The first one that is there counts: a bad token is not made good by a cookie beside it.
 */
import type { IncomingMessage } from 'node:http';
import type { Identity, Tokens } from './tokens.ts';

/** What the WebSocket of the server is called. */
export const SUBPROTOCOL = 'offstage.v1';
const TOKEN_PROTOCOL = 'offstage.token.';

/** Null: there is none, or it is not good. */
export function identify(
  request: IncomingMessage,
  tokens: Tokens,
  { cookieName }: { readonly cookieName: string },
): Identity | null {
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    const bearer = /^Bearer +([\w.-]+) *$/i.exec(authorization);
    return bearer === null ? null : tokens.identify(bearer[1] as string);
  }
  const protocol = protocolsOf(request).find((name) => name.startsWith(TOKEN_PROTOCOL));
  if (protocol !== undefined) return tokens.identify(protocol.slice(TOKEN_PROTOCOL.length));
  const cookie = cookieOf(request, cookieName);
  return cookie === null ? null : tokens.identify(cookie, 'cookie');
}

export const protocolsOf = (request: IncomingMessage): readonly string[] =>
  (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());

function cookieOf(request: IncomingMessage, name: string): string | null {
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const at = part.indexOf('=');
    if (at !== -1 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return null;
}
