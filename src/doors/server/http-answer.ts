/**
 * Answers over HTTP: status, headers, body.
 *
 * HTA1  Every answer carries the security headers, errors and refusals too.
 * HTA2  An error is a JSON object with `error` and `error_code`, whatever was asked for.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { OffstageError } from '../../model/errors.ts';
import type { WireFields } from '../wire/rename.ts';
import { failureToWire } from '../wire/wire-errors.ts';

export type Headers = Readonly<Record<string, string>>;

const SECURITY: Headers = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  // Of another origin nothing learns the address. To this one a form has to name where it comes from: without a referrer its Origin is null.
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
};

/** @param host the checked Host header: older browsers do not count a WebSocket of the same host as their own */
export function securityHeaders(host: string | null): Headers {
  const sockets = host === null ? '' : ` ws://${host} wss://${host}`;
  const policy = [
    "default-src 'self'",
    `connect-src 'self'${sockets}`,
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "object-src 'none'",
  ];
  return { ...SECURITY, 'Content-Security-Policy': policy.join('; ') };
}

const STATUS_BY_CODE: Readonly<Record<string, number>> = {
  'access.unauthorized': 401,
  'access.forbidden': 403,
  'access.refused': 403,
  'control.failed': 500,
  'control.protocol': 400,
  'engine.closing': 503,
  'engine.degraded': 503,
  'input.invalid': 400,
  'limit.connections': 503,
  'limit.input_bytes': 413,
};

const STATUS_BY_ENDING: readonly (readonly [RegExp, number])[] = [
  [/\.(?:not_found|unknown)$/, 404],
  [/\.expired$/, 410],
  [/\.conflict$/, 409],
  [/^limit\./, 429],
  [/^store\./, 503],
];

/** The status of an error: what it is about decides, not where it was raised. */
export const statusOf = (code: string): number =>
  STATUS_BY_CODE[code] ?? STATUS_BY_ENDING.find(([pattern]) => pattern.test(code))?.[1] ?? 422;

export const errorBody = (error: OffstageError): WireFields => failureToWire(error);

/** Headers that go with some errors. */
export function errorHeaders(error: OffstageError): Headers {
  if (error.code === 'access.unauthorized') return { 'WWW-Authenticate': 'Bearer realm="offstage"' };
  const { retryAfterMs } = error.details;
  return typeof retryAfterMs === 'number' ? { 'Retry-After': String(Math.ceil(retryAfterMs / 1_000)) } : {};
}

export function sendJson(response: ServerResponse, status: number, body: WireFields, headers: Headers = {}): void {
  sendText(response, status, `${JSON.stringify(body)}\n`, { 'Content-Type': 'application/json', ...headers });
}

export function sendText(response: ServerResponse, status: number, text: string, headers: Headers): void {
  if (response.headersSent || response.destroyed) return;
  const bytes = Buffer.from(text);
  response.writeHead(status, { 'Cache-Control': 'no-store', ...headers, 'Content-Length': bytes.length });
  response.end(bytes);
}

export function sendError(response: ServerResponse, error: OffstageError, headers: Headers = {}): void {
  sendJson(response, statusOf(error.code), errorBody(error), { ...errorHeaders(error), ...headers });
}

/** A page, where a person looks at it; else null. */
export const wantsPage = (request: IncomingMessage): boolean =>
  (request.method === 'GET' || request.method === 'HEAD') && /\btext\/html\b/.test(request.headers.accept ?? '');
