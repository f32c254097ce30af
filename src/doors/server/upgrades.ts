/**
 * Upgrades to WebSocket: `/ws` for clients, `/inspect` for inspectors.
 *
 * UPG1  What is refused gets an answer over HTTP and no upgrade; nothing is held for it afterwards (B72).
 */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { Offstage } from '../../engine/offstage.ts';
import { isOffstageError, type OffstageError, offstageError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { protocolError } from '../handler.ts';
import { SUBPROTOCOL } from './credentials.ts';
import type { Gate } from './gate.ts';
import { errorBody, errorHeaders, securityHeaders, statusOf } from './http-answer.ts';
import { WebSocketConnection } from './web-socket-connection.ts';

export interface UpgradeHost {
  readonly offstage: Offstage;
  readonly gate: Gate;
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
    const [path] = (request.url ?? '').split('?');
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
