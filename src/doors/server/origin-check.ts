/**
 * Which names and origins the server answers to (spec 12, B72): a page from elsewhere can reach a port on this machine, and a name of
 * elsewhere can point to it.
 *
 * ORG1  The name in `Host` is one of this machine's own, the address that was dialled, or one that was allowed; nothing that only looks like it.
 * ORG2  An `Origin`, where there is one, is the server's own or was allowed. Requests without one do not come from a page of elsewhere.
 */
import type { IncomingMessage } from 'node:http';
import { type OffstageError, offstageError } from '../../model/errors.ts';

const refused = (message: string): OffstageError => offstageError('access.refused', { message });

export interface OriginRules {
  readonly allowedHosts: ReadonlySet<string>;
  readonly allowedOrigins: ReadonlySet<string>;
}

/** @throws OffstageError `access.refused` */
export function checkOrigin(request: IncomingMessage, rules: OriginRules): void {
  const { host, origin } = request.headers;
  const name = hostName(host);
  if (host === undefined || name === null) throw refused('the Host header is missing or is no host');
  if (!isOwnName(name, request.socket.localAddress) && !isAllowedHost(host, name, rules)) {
    throw refused('the Host header names another host; allow it with allowedHosts if it is this one');
  }
  if (origin === undefined || isOwnOrigin(origin, host) || rules.allowedOrigins.has(origin)) return;
  throw refused('the Origin header names another origin; allow it with allowedOrigins if it may ask');
}

/** Whether a page of this origin may read the answers. */
export const isAllowedOrigin = (origin: string | undefined, { allowedOrigins }: OriginRules): origin is string =>
  origin !== undefined && allowedOrigins.has(origin);

/** The name or address in a `Host` header, in small letters and without its port. */
export function hostName(host: string | undefined): string | null {
  const matched = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/.exec((host ?? '').toLowerCase());
  return matched?.[1] ?? matched?.[2] ?? null;
}

export const isLoopback = (name: string): boolean =>
  name === 'localhost' || name === '::1' || /^127(?:\.\d{1,3}){3}$/.test(name) || name.startsWith('::ffff:127.');

function isOwnName(name: string, dialled: string | undefined): boolean {
  if (isLoopback(name)) return true;
  // An address cannot be made to point elsewhere.
  return dialled !== undefined && (name === dialled || `::ffff:${name}` === dialled);
}

const isAllowedHost = (host: string, name: string, { allowedHosts }: OriginRules): boolean =>
  allowedHosts.has(host.toLowerCase()) || allowedHosts.has(name);

/** The same host and port; behind a proxy it may be https. */
function isOwnOrigin(origin: string, host: string): boolean {
  const matched = /^https?:\/\/([^/]+)$/.exec(origin.toLowerCase());
  return matched !== null && matched[1] === host.toLowerCase();
}
