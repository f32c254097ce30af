/**
 * Upgrades to WebSocket: `/ws` for clients, `/inspect` for inspectors.
 *
 * UPG1  What is refused gets an answer over HTTP and no upgrade; nothing is held for it afterwards (B72).
 */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Offstage } from '../../engine/offstage.ts';
import { isOffstageError, type OffstageError, offstageError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import type { InspectorFilter } from '../inspector/watched-actor.ts';
import type { CallerIdentity } from '../requests/caller-identity.ts';
import { protocolError } from '../requests/handler.ts';
import { SUBPROTOCOL } from './credentials.ts';
import type { Gate } from './gate.ts';
import { errorBody, errorHeaders, securityHeaders, statusOf } from './http-answer.ts';
import { refuseSessions } from './http-door.ts';
import { inspectorFilter } from './inspector-query.ts';
import type { Metrics } from './metrics.ts';
import type { OriginRules } from './origin-check.ts';
import { WebSocketConnection } from './web-socket-connection.ts';

/** What an inspector follows; nothing: everything. */
export type InspectSelection = InspectorFilter;

/** Whoever tells inspectors what goes on. */
export interface InspectorDoor {
  accept(webSocket: WebSocket, filter: InspectSelection): void;
  /** About every ten seconds: for what drops those who are gone. */
  beat?(): void;
}

export interface UpgradeHost {
  readonly offstage: Offstage;
  readonly gate: Gate;
  readonly metrics: Metrics;
  readonly inspector: InspectorDoor | null;
  /** Pages that may inspect. */
  readonly inspectRules: OriginRules;
}

export class Upgrades {
  readonly connections = new Set<WebSocketConnection>();
  readonly inspectors = new Set<WebSocket>();
  readonly #host: UpgradeHost;
  readonly #webSockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: LIMITS.frameBytes,
    clientTracking: false,
    handleProtocols: (protocols) => (protocols.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
  });

  constructor(host: UpgradeHost) {
    this.#host = host;
    this.#webSockets.on('wsClientError', (error, socket) => refuseUpgrade(socket, protocolError(error.message)));
  }

  /** Never throws. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => {});
    try {
      this.#take(request, socket, head);
    } catch (error) {
      refuseUpgrade(
        socket,
        isOffstageError(error) ? error : offstageError('control.failed', { message: 'of a fault of the server' }),
      );
    }
  }

  #take(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { gate, offstage } = this.#host;
    const [path, ...rest] = (request.url ?? '').split('?');
    if (path === '/inspect') {
      this.#inspect(request, socket, head, new URLSearchParams(rest.join('?')));
      return;
    }
    gate.checkOrigin(request);
    const caller = this.#callerOf(request, null);
    if (path !== '/ws') throw protocolError('there is no WebSocket at this path');
    this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      const connection = new WebSocketConnection(webSocket, socket, { offstage, caller, admit: () => gate.rate(caller) });
      this.connections.add(connection);
      connection.onClose(() => this.connections.delete(connection));
    });
  }

  #inspect(request: IncomingMessage, socket: Duplex, head: Buffer, query: URLSearchParams): void {
    const { gate, inspector, inspectRules } = this.#host;
    gate.checkOrigin(request, inspectRules);
    // The page of the inspector cannot send headers.
    refuseSessions(this.#callerOf(request, query.get('token')), 'the inspector');
    if (inspector === null) throw protocolError('this server has no inspector');
    const filter = inspectorFilter(query);
    this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.on('error', () => {});
      this.inspectors.add(webSocket);
      webSocket.once('close', () => this.inspectors.delete(webSocket));
      inspector.accept(webSocket, filter);
    });
  }

  #callerOf(request: IncomingMessage, inUrl: string | null): CallerIdentity {
    const { gate } = this.#host;
    const caller = gate.authenticate(request, inUrl);
    const tooMuch = gate.rate(caller);
    if (tooMuch !== null) throw tooMuch;
    return caller;
  }
}

/** Answers an upgrade that is refused. */
export function refuseUpgrade(socket: Duplex, error: OffstageError): void {
  const body = `${JSON.stringify(errorBody(error))}\n`;
  const status = statusOf(error.code);
  const headers = {
    ...securityHeaders(null),
    ...errorHeaders(error),
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  if (!socket.writable) return void socket.destroy();
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
}
