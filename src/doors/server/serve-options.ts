/** The options of `serve`, checked once. */
import { namesOf, readOptions } from '../../engine/check-options.ts';
import { invalidOption } from '../../engine/settings.ts';
import type { Redact } from '../inspector/inspector-frames.ts';
import type { Call } from '../requests/calls.ts';
import { isLoopback } from './origin-check.ts';
import { isToken } from './tokens.ts';

/** How, and for whom, an engine is served. */
export interface ServeOptions {
  /** Address to listen on; default 127.0.0.1. Beyond loopback a `token` must be given. */
  readonly host?: string;
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** 16 to 1,024 letters, digits, `.`, `-` and `_`; default: the one in `<dataDir>/token`, made when it is missing. */
  readonly token?: string;
  /** Further names in `Host` that are this server, such as that of a proxy. */
  readonly allowedHosts?: readonly string[];
  /** Pages of these origins may ask as well; each like `https://example.org`. */
  readonly allowedOrigins?: readonly string[];
  /** Told of every request that may change something. May throw. */
  readonly onAudit?: (entry: Call) => unknown;
  /** Milliseconds between signs of life, and between looks whether clients give one; default 10,000. */
  readonly heartbeatMs?: number;
  /** What inspectors may see of an event, or of a context of an actor, instead of it; default: values under keys that look secret are withheld. */
  readonly redact?: Redact;
  /** The dashboard's files; default: those of this package. */
  readonly dashboardDir?: string;
}

export interface CheckedOptions {
  readonly host: string;
  readonly port: number;
  readonly token: string | null;
  readonly allowedHosts: ReadonlySet<string>;
  /** Null: none were named. */
  readonly allowedOrigins: ReadonlySet<string> | null;
  readonly onAudit: ((entry: Call) => unknown) | null;
  readonly heartbeatMs: number;
  readonly dashboardDir: string | null;
}

const NAMES = namesOf<ServeOptions>({
  host: true,
  port: true,
  token: true,
  allowedHosts: true,
  allowedOrigins: true,
  onAudit: true,
  heartbeatMs: true,
  redact: true,
  dashboardDir: true,
});

const HEARTBEAT_MS = 10_000;
const SHORTEST_HEARTBEAT_MS = 10;
const LONGEST_HEARTBEAT_MS = 10 * 60_000;

/** @throws OffstageError `config.invalid` */
export function checkServeOptions(given: ServeOptions | undefined): CheckedOptions {
  const options = readOptions('options', given, NAMES, invalidOption);
  const { host = '127.0.0.1', port = 0, token, onAudit, heartbeatMs = HEARTBEAT_MS, redact, dashboardDir } = options;
  if (typeof host !== 'string' || host === '') throw invalidOption('host', 'it must be an address or a name');
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw invalidOption('port', 'it must be an integer of 0 to 65,535');
  if (token !== undefined && !isToken(token)) {
    throw invalidOption('token', "it must be 16 to 1,024 letters, digits, '.', '-' or '_'");
  }
  if (token === undefined && !isLoopback(host.toLowerCase())) {
    throw invalidOption('token', `beyond this machine (host ${JSON.stringify(host)}) one must be given`);
  }
  if (onAudit !== undefined && typeof onAudit !== 'function') throw invalidOption('onAudit', 'it must be a function');
  if (!(typeof heartbeatMs === 'number' && heartbeatMs >= SHORTEST_HEARTBEAT_MS && heartbeatMs <= LONGEST_HEARTBEAT_MS)) {
    throw invalidOption('heartbeatMs', `it must be ${SHORTEST_HEARTBEAT_MS} to ${LONGEST_HEARTBEAT_MS}`);
  }
  if (redact !== undefined && typeof redact !== 'function') throw invalidOption('redact', 'it must be a function');
  if (dashboardDir !== undefined && (typeof dashboardDir !== 'string' || dashboardDir === '')) {
    throw invalidOption('dashboardDir', 'it must be a path');
  }
  const allowedHosts = new Set(textsOf('allowedHosts', options.allowedHosts ?? []).map((name) => name.toLowerCase()));
  const origins = options.allowedOrigins === undefined ? null : textsOf('allowedOrigins', options.allowedOrigins);
  const wrong = origins?.find((origin) => !isOrigin(origin));
  if (wrong !== undefined) {
    throw invalidOption('allowedOrigins', `${JSON.stringify(wrong)} is no origin; write it like https://example.org`);
  }
  return {
    host,
    port,
    token: token ?? null,
    allowedHosts,
    allowedOrigins: origins === null ? null : new Set(origins),
    onAudit: onAudit ?? null,
    heartbeatMs,
    dashboardDir: dashboardDir ?? null,
  };
}

function textsOf(option: string, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value as string[];
  throw invalidOption(option, 'it must be an array of strings');
}

function isOrigin(text: string): boolean {
  try {
    return new URL(text).origin === text;
  } catch {
    return false;
  }
}
