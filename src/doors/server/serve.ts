/**
 * `serve`: an engine over HTTP and WebSocket (spec 12; api.md).
 *
 * SRV1  It goes with its engine: when that closes, answers under way and last events go out first, then the clients are told goodbye.
 * SRV2  Its end is bounded, however clients behave.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Offstage } from '../../engine/offstage.ts';
import { invalidOption } from '../../engine/settings.ts';
import { type OffstageError, offstageError } from '../../model/errors.ts';
import type { Executors } from '../../model/executor.ts';
import { LIMITS } from '../../model/limits.ts';
import { sentUpTo } from '../events/broadcast-feed.ts';
import { broadcasterOf } from '../events/broadcaster.ts';
import { INSPECTOR_ORIGIN } from '../inspector/inspector-page.ts';
import { InspectorRelay } from '../inspector/inspector-relay.ts';
import type { Scope } from '../requests/caller-identity.ts';
import { observeCalls } from '../requests/calls.ts';
import { protocolError } from '../requests/handler.ts';
import { announceServer } from '../requests/server-actions.ts';
import { Gate } from './gate.ts';
import { sendError } from './http-answer.ts';
import { HttpDoor } from './http-door.ts';
import { Metrics } from './metrics.ts';
import { asPlain, wantsWebSocket } from './plain-upgrade.ts';
import { RequestLines } from './request-lines.ts';
import { type CheckedOptions, checkServeOptions, type ServeOptions } from './serve-options.ts';
import { StaticFiles } from './static-files.ts';
import { folderToken } from './token-file.ts';
import { newSecret, Tokens } from './tokens.ts';
import { type InspectorDoor, refuseUpgrade, Upgrades } from './upgrades.ts';

/** A server that listens. */
export interface OffstageServer extends AsyncDisposable {
  /** Where it is, with a slash at the end. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** May do everything; keep it as you would a password. */
  readonly token: string;
  /** A link that lets one browser in, once, within ten minutes. */
  oneTimeUrl(): string;
  /** Another token: `observe`, `operate` or `session:<id>`. @throws OffstageError `input.invalid` */
  issueToken(scope: Scope): string;
  /** Ends it; the engine stays. A second call joins the first. */
  close(): Promise<void>;
}

const GOING_AWAY = 1001;
const GOODBYE = 'the server closes';
/** So many more than allowed are told that there are too many; beyond that they are just closed. */
const MOST_SURPLUS = 64;
/** Whoever takes nothing of an answer for so many heartbeats is dropped: a connection is one of few. */
const UNREAD_BEATS = 6;
const INSPECTOR_ORIGINS: ReadonlySet<string> = new Set([INSPECTOR_ORIGIN]);

/** Where the dashboard is built to, seen from `src` and from `dist` alike. */
const DASHBOARD = join(import.meta.dirname, '..', '..', '..', 'dist', 'dashboard');

/**
 * Serves an engine over HTTP and WebSocket until either is closed.
 * @throws OffstageError `config.invalid`; `store.failed` when the token can be neither read nor made; `engine.closing`
 * @example
 * await using offstage = await open({ dataDir: './.offstage' });
 * const server = await serve(offstage, { port: 7070 });
 * console.log(server.oneTimeUrl());
 */
export async function serve<Kinds extends Executors>(engine: Offstage<Kinds>, given?: ServeOptions): Promise<OffstageServer> {
  return serveWith(engine, given, { inspector: relayFor(engine as unknown as Offstage, given) });
}

function relayFor(offstage: Offstage, given: ServeOptions | undefined): InspectorRelay {
  const onError = (error: unknown): void => offstage.doors.log('error', 'inspector.redact_failed', { error: String(error) });
  const redact = given?.redact;
  return new InspectorRelay(offstage, redact === undefined ? { onError } : { redact, onError });
}

/** The same, with what inspectors are told by. */
export async function serveWith<Kinds extends Executors>(
  engine: Offstage<Kinds>,
  given: ServeOptions | undefined,
  { inspector }: { readonly inspector: InspectorDoor | null },
): Promise<OffstageServer> {
  const options = checkServeOptions(given);
  const offstage = engine as unknown as Offstage;
  const { dataDir, log } = offstage.doors;
  const token = options.token ?? (dataDir === null ? newSecret() : await folderToken(dataDir, log));
  const server = new RunningServer(offstage, options, { token, inspector });
  await server.listen();
  return server;
}

class RunningServer implements OffstageServer {
  readonly token: string;
  readonly host: string;
  readonly #offstage: Offstage;
  readonly #options: CheckedOptions;
  readonly #gate: Gate;
  readonly #http: Server;
  readonly #metrics: Metrics;
  readonly #door: HttpDoor;
  readonly #upgrades: Upgrades;
  readonly #inspector: InspectorDoor | null;
  readonly #lines = new RequestLines();
  readonly #sockets = new Set<Duplex>();
  /** Beyond the limit: each is told so once, and closed. */
  readonly #surplus = new WeakSet<Duplex>();
  readonly #undo: (() => void)[] = [];
  #port = 0;
  #closing: Promise<void> | null = null;

  constructor(
    offstage: Offstage,
    options: CheckedOptions,
    { token, inspector }: { readonly token: string; readonly inspector: InspectorDoor | null },
  ) {
    this.#offstage = offstage;
    this.#options = options;
    this.token = token;
    this.host = options.host;
    this.#inspector = inspector;
    const { allowedHosts, allowedOrigins } = options;
    this.#gate = new Gate(new Tokens(token), { allowedHosts, allowedOrigins: allowedOrigins ?? new Set() });
    const files = new StaticFiles(options.dashboardDir ?? DASHBOARD);
    this.#metrics = new Metrics(offstage, () => ({
      webSockets: this.#upgrades.connections.size,
      eventStreams: this.#door.streams.size,
      sockets: this.#sockets.size,
    }));
    const shared = { offstage, gate: this.#gate, metrics: this.#metrics };
    this.#door = new HttpDoor({ ...shared, files });
    const inspectRules = { allowedHosts, allowedOrigins: allowedOrigins ?? INSPECTOR_ORIGINS };
    this.#upgrades = new Upgrades({ ...shared, inspector, inspectRules });
    this.#http = createServer({
      maxHeaderSize: LIMITS.requestHeadBytes,
      headersTimeout: LIMITS.requestHeadMs,
      requestTimeout: LIMITS.requestMs,
    });
    this.#http.on('request', (request, response) => {
      if (this.#isSurplus(request.socket)) refuse(response, surplus());
      else {
        this.#lines.take(request, response, {
          answer: () => void this.#door.answer(request, response),
          refuse: () => refuse(response, offstageError('limit.rate', { retryAfterMs: 1_000 })),
        });
      }
    });
    this.#http.on('upgrade', (request, socket, head) => {
      if (this.#isSurplus(socket)) refuseUpgrade(socket, surplus());
      else if (!wantsWebSocket(request)) void this.#readAnew(request, socket, head);
      else this.#upgrades.take(request, socket, head);
    });
    this.#http.on('connection', (socket) => this.#admit(socket));
    // Also of those that are kept alive. Silence is no fault of somebody who waits for an answer.
    this.#http.setTimeout(UNREAD_BEATS * options.heartbeatMs, (socket) => {
      if (socket.writableLength > 0 || !this.#lines.isBusy(socket)) socket.destroy();
    });
    this.#http.on('clientError', (error: NodeJS.ErrnoException, socket) => refuseGarbage(socket, error));
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://${hostInUrl(this.host)}:${this.#port}/`;
  }

  oneTimeUrl(): string {
    return `${this.url}?code=${this.#gate.codes.make()}`;
  }

  issueToken(scope: Scope): string {
    return this.#gate.tokens.issue(scope);
  }

  /** @throws OffstageError `config.invalid`, `engine.closing` */
  async listen(): Promise<void> {
    const { host, port, heartbeatMs, onAudit } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#http.once('error', (error: NodeJS.ErrnoException) =>
        reject(invalidOption('port', `nothing can listen on ${host}, port ${port} (${error.code ?? error.message})`, error)),
      );
      this.#http.listen({ host, port }, resolve);
    });
    this.#http.removeAllListeners('error').on('error', () => {});
    this.#port = (this.#http.address() as AddressInfo).port;
    this.#gate.port = this.#port;
    // Not before it listens: where nothing listens, nothing has to be undone.
    this.#undo.push(this.#metrics.begin());
    try {
      this.#undo.push(this.#offstage.doors.beforeClose(() => this.close()));
    } catch (error) {
      await this.close();
      throw error;
    }
    this.#undo.push(announceServer(this.#offstage, this.url));
    if (onAudit !== null) {
      this.#undo.push(observeCalls(this.#offstage, (call, isMutating) => (isMutating ? onAudit(call) : undefined)));
    }
    const heart = setInterval(() => this.#beat(), heartbeatMs);
    this.#undo.push(() => clearInterval(heart));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #beat(): void {
    const { epoch } = this.#offstage.doors;
    broadcasterOf(this.#offstage).flush();
    for (const connection of this.#upgrades.connections) {
      // It says what the client has by now, so that it comes after all of that.
      const seq = sentUpTo(this.#offstage, connection);
      connection.heartbeat(seq === null ? null : { type: 'heartbeat', epoch, seq, at: Date.now() });
    }
    for (const stream of this.#door.streams) stream.heartbeat();
    this.#inspector?.beat?.();
  }

  async #close(): Promise<void> {
    for (const undo of this.#undo.splice(0)) undo();
    const closed = new Promise<void>((resolve) => this.#http.close(() => resolve()));
    // What the end of the engine has just set free, answers of waits and last events, goes out first.
    await new Promise((resolve) => setImmediate(resolve));
    broadcasterOf(this.#offstage).flush();
    this.#http.closeIdleConnections();
    const late = setTimeout(() => this.#cutOff(), LIMITS.goodbyeMs);
    for (const stream of this.#door.streams) stream.end();
    for (const inspector of this.#upgrades.inspectors) inspector.close(GOING_AWAY, GOODBYE);
    const goodbyes = [...this.#upgrades.connections].map((connection) => connection.end(GOING_AWAY, GOODBYE, LIMITS.goodbyeMs));
    await Promise.all([...goodbyes, closed]);
    clearTimeout(late);
  }

  /** PUP1. */
  async #readAnew(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    await this.#lines.whenFree(socket);
    if (!socket.destroyed) this.#http.emit('connection', asPlain(request, socket, head));
  }

  #admit(socket: Socket): void {
    if (this.#sockets.has(socket)) return;
    // Between two readings nobody else listens.
    socket.on('error', () => {});
    if (this.#sockets.size >= LIMITS.connections) {
      this.#surplus.add(socket);
      if (this.#sockets.size >= LIMITS.connections + MOST_SURPLUS) {
        socket.destroy();
        return;
      }
    }
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  #isSurplus(socket: Duplex): boolean {
    return this.#surplus.has(socket);
  }

  /** SRV2. */
  #cutOff(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

const surplus = () => offstageError('limit.connections', { limit: LIMITS.connections });

/** Answers, and ends the connection. */
function refuse(response: ServerResponse, error: OffstageError): void {
  response.setHeader('Connection', 'close');
  sendError(response, error);
}

/** What is no request: one answer, where one can still be sent, and the end. */
function refuseGarbage(socket: Duplex, { code }: NodeJS.ErrnoException): void {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  refuseUpgrade(socket, protocolError(code === 'HPE_HEADER_OVERFLOW' ? 'its head is too long' : 'it is no request'));
}

/** A browser cannot go to the address that stands for all of them. */
function hostInUrl(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
