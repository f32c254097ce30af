/**
 * One client of `/ws`: frames of text in, frames of text out.
 *
 * WSC1  Requests go through the intake, which keeps their order and bounds what one client costs (RIN1, RIN2).
 * WSC2  What is sent goes to the socket itself, in one order with the frames of events; nothing follows the close frame.
 * WSC3  A peer that gives no sign of life, or takes nothing of what waits for it, is dropped after a few heartbeats.
 */
import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import type { Offstage } from '../../engine/offstage.ts';
import type { OffstageError } from '../../model/errors.ts';
import type { EventSink } from '../events/event-sink.ts';
import type { CallerIdentity } from '../requests/caller-identity.ts';
import type { Connection, Frame } from '../requests/connection.ts';
import { parseRequest, protocolError } from '../requests/handler.ts';
import { RequestIntake } from '../requests/request-intake.ts';
import { SocketWriter } from './socket-writer.ts';
import { textFrames, WEB_SOCKET_FRAMES } from './text-frames.ts';

/** Heartbeats without a sign of life. */
const PATIENCE = 2;

export interface WebSocketHost {
  readonly offstage: Offstage;
  readonly caller: CallerIdentity;
  readonly admit: () => OffstageError | null;
}

export class WebSocketConnection implements Connection {
  readonly caller: CallerIdentity;
  readonly admit: () => OffstageError | null;
  readonly events: EventSink;
  readonly #webSocket: WebSocket;
  readonly #socket: Duplex & { readonly bytesRead?: number };
  readonly #writer: SocketWriter;
  readonly #intake: RequestIntake<string | null>;
  readonly #onClose = new Set<() => void>();
  #hasGone = false;
  #lastBeat = { bytesRead: 0, waiting: 0, silent: 0 };

  constructor(webSocket: WebSocket, socket: Duplex, host: WebSocketHost) {
    this.caller = host.caller;
    this.admit = host.admit;
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#writer = new SocketWriter(socket);
    const writer = this.#writer;
    this.events = {
      encoding: WEB_SOCKET_FRAMES,
      get isDrained() {
        return writer.isDrained;
      },
      write: (bytes) => this.#write(bytes),
      drained: () => writer.drained(),
    };
    this.#intake = new RequestIntake({
      offstage: host.offstage,
      connection: this,
      read: (text) => (text === null ? protocolError('a frame must be text') : parseRequest(text)),
      // Of one that is gone it is told later; what runs from promise to promise until then would hold that up.
      isStuck: () => writer.isStuck || socket.destroyed,
      pause: () => webSocket.pause(),
      resume: () => webSocket.resume(),
      onAnswered: () => {},
    });
    webSocket.on('message', (data: RawData, isBinary: boolean) => {
      if (this.#hasGone) return;
      this.#intake.push(isBinary ? null : String(data));
      this.#intake.advance();
    });
    // Illegal frames: the library closes with the code that fits, and says so here.
    webSocket.on('error', () => {});
    webSocket.once('close', () => this.#leave());
    // The library reads on what had come before it says so.
    socket.once('close', () => this.#leave());
  }

  send(frame: Frame): Promise<void> {
    this.#write(textFrames([JSON.stringify(frame)]).bytes);
    if (this.#hasGone) return Promise.resolve();
    return this.#writer.drained().then(() => {
      if (!this.#hasGone) this.#intake.advance();
    });
  }

  onClose(callback: () => void): () => void {
    if (this.#hasGone) callback();
    else this.#onClose.add(callback);
    return () => this.#onClose.delete(callback);
  }

  /** WSC3. @param frame what a browser gets, which cannot see pings; left out where the client has not taken what it was sent before */
  heartbeat(frame: Frame | null): void {
    const bytesRead = this.#socket.bytesRead ?? 0;
    const waiting = this.#socket.writableLength;
    const last = this.#lastBeat;
    // While its requests are not read there is nothing to hear of it, but it may still take what it is sent.
    const isSilent = bytesRead === last.bytesRead && (!this.#webSocket.isPaused || (waiting > 0 && waiting >= last.waiting));
    const silent = isSilent ? last.silent + 1 : 0;
    this.#lastBeat = { bytesRead, waiting, silent };
    if (silent > PATIENCE) {
      this.#webSocket.terminate();
      return;
    }
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return;
    this.#webSocket.ping();
    if (frame !== null && this.#writer.isDrained) this.#write(textFrames([JSON.stringify(frame)]).bytes);
  }

  /** Says goodbye after what was sent; by `deadlineMs` it is over in any case. */
  end(code: number, reason: string, deadlineMs: number): Promise<void> {
    this.#leave();
    const { readyState, CLOSED } = this.#webSocket;
    if (readyState === CLOSED) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#webSocket.terminate(), deadlineMs);
      this.#webSocket.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
      // It may hold up what it was not willing to read.
      this.#webSocket.resume();
      this.#webSocket.close(code, reason);
    });
  }

  /** WSC2. */
  #write(bytes: Buffer): void {
    if (this.#webSocket.readyState === this.#webSocket.OPEN) this.#writer.write(bytes);
  }

  #leave(): void {
    if (this.#hasGone) return;
    this.#hasGone = true;
    // Nobody reads the answers of those that have not begun.
    this.#intake.forget();
    for (const callback of this.#onClose) callback();
    this.#onClose.clear();
  }
}
