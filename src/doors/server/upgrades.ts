/**
 * Upgrades to WebSocket: `/ws` for clients, `/inspect` for inspectors.
 *
 * UPG1  What is refused gets an answer over HTTP and no upgrade; nothing is held for it afterwards (B72).
 * UPG2  Inspectors see the actors of all sessions, and pages of the inspector's makers may ask: they need a token that may see everything.
 */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { Offstage } from '../../engine/offstage.ts';
import { isOffstageError, type OffstageError, offstageError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { protocolError } from '../handler.ts';
import type { InspectorRelay } from '../inspector/inspector-relay.ts';
import { SUBPROTOCOL } from './credentials.ts';
import type { Gate } from './gate.ts';
import { errorBody, errorHeaders, securityHeaders, statusOf } from './http-answer.ts';
import { refuseSessions } from './http-door.ts';
import { inspectorFilter } from './inspector-query.ts';
import type { OriginRules } from './origin-check.ts';
import { WebSocketConnection } from './web-socket-connection.ts';

export interface UpgradeHost {
  readonly offstage: Offstage;
  readonly gate: Gate;
  readonly relay: InspectorRelay;
  /** Whose pages may inspect. */
  readonly inspectorRules: OriginRules;
}

export class Upgrades {
  readonly connections = new Set<WebSocketConnection>();
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
      const [path, query = ''] = (request.url ?? '').split('?');
      if (path === '/inspect') this.#inspect(request, socket, head, new URLSearchParams(query));
      else this.#take(request, socket, head, path);
    } catch (error) {
      refuseUpgrade(
        socket,
        isOffstageError(error) ? error : offstageError('control.failed', { message: 'of a fault of the server' }),
      );
    }
  }

  #take(request: IncomingMessage, socket: Duplex, head: Buffer, path: string | undefined): void {
    const { gate, offstage } = this.#host;
    gate.checkOrigin(request);
    if (path !== '/ws') throw protocolError('there is no WebSocket at this path');
    const caller = gate.authenticate(request);
    const tooMuch = gate.rate(caller);
    if (tooMuch !== null) throw tooMuch;
    this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      const connection = new WebSocketConnection(webSocket, socket, { offstage, caller, admit: () => gate.rate(caller) });
      this.connections.add(connection);
      connection.onClose(() => this.connections.delete(connection));
    });
  }

  #inspect(request: IncomingMessage, socket: Duplex, head: Buffer, query: URLSearchParams): void {
    const { gate, relay, inspectorRules } = this.#host;
    gate.checkOrigin(request, inspectorRules);
    // The page of the inspector can send no header.
    const caller = gate.authenticate(request, query.get('token'));
    const tooMuch = gate.rate(caller);
    if (tooMuch !== null) throw tooMuch;
    refuseSessions(caller, 'the inspector');
    const filter = inspectorFilter(query);
    this.#webSockets.handleUpgrade(request, socket, head, (webSocket) => relay.accept(webSocket, filter));
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
