/**
 * Events over HTTP: `text/event-stream`, fed like a subscription over WebSocket.
 *
 * SSE1  `id` is the seq of a record event: a reader that comes back with it as `Last-Event-ID` misses none. Volatile events have none.
 * SSE2  What is wrong with the request is answered as JSON, before the stream begins.
 * SSE3  A reader that takes nothing of what waits for it is dropped after a few heartbeats.
 */
import type { ServerResponse } from 'node:http';
import type { EncodedFrame, EventSink, FrameEncoding } from '../events/event-sink.ts';
import type { CallerIdentity } from '../requests/caller-identity.ts';
import type { Connection, Frame } from '../requests/connection.ts';
import { isVolatileFrame } from '../wire/wire-events.ts';
import { type Headers, sendJson, statusOf } from './http-answer.ts';
import { SocketWriter } from './socket-writer.ts';

const textOf = ({ type, json, cursor }: EncodedFrame): string =>
  `${cursor === null ? '' : `id: ${cursor}\n`}event: ${type}\ndata: ${json}\n\n`;

const SSE_FRAMES: FrameEncoding = {
  name: 'sse',
  encode(frames) {
    const parts = frames.map((frame) => Buffer.from(textOf(frame)));
    let end = 0;
    const ends = parts.map((part) => {
      end += part.length;
      return end;
    });
    return { bytes: Buffer.concat(parts), ends };
  },
};

export const STREAM_HEADERS: Headers = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  // Proxies that collect answers would hold back events.
  'X-Accel-Buffering': 'no',
};
const HEARTBEAT = Buffer.from(': heartbeat\n\n');
/** Heartbeats without any progress. */
const PATIENCE = 2;

export class EventStream implements Connection {
  readonly caller: CallerIdentity;
  readonly events: EventSink;
  readonly #response: ServerResponse;
  readonly #writer: SocketWriter;
  readonly #onClose = new Set<() => void>();
  #waiting = 0;
  #stuck = 0;

  constructor(response: ServerResponse, caller: CallerIdentity) {
    this.caller = caller;
    this.#response = response;
    this.#writer = new SocketWriter(response);
    const writer = this.#writer;
    this.events = {
      encoding: SSE_FRAMES,
      get isDrained() {
        return writer.isDrained;
      },
      write: (bytes) => this.#write(bytes),
      drained: () => writer.drained(),
    };
    response.once('close', () => {
      for (const callback of this.#onClose) callback();
      this.#onClose.clear();
    });
  }

  send(frame: Frame): Promise<void> {
    const { request_id: _, ...shown } = frame;
    if (frame.type === 'error' && !this.#response.headersSent) {
      const { type, ...error } = shown;
      sendJson(this.#response, statusOf(frame.error_code as string), error);
      return Promise.resolve();
    }
    const isNumbered = typeof frame.seq === 'number' && (frame.type === 'snapshot' || !isVolatileFrame(frame));
    const cursor = isNumbered ? (frame.seq as number) : null;
    this.#write(SSE_FRAMES.encode([{ type: frame.type, json: JSON.stringify(shown), cursor }]).bytes);
    return this.#writer.drained();
  }

  onClose(callback: () => void): () => void {
    if (this.#response.destroyed) callback();
    else this.#onClose.add(callback);
    return () => this.#onClose.delete(callback);
  }

  /** SSE3. */
  heartbeat(): void {
    const waiting = this.#response.writableLength;
    this.#stuck = waiting > 0 && waiting >= this.#waiting ? this.#stuck + 1 : 0;
    this.#waiting = waiting;
    if (this.#stuck > PATIENCE) this.#response.destroy();
    else if (this.#response.headersSent && this.#writer.isDrained) this.#writer.write(HEARTBEAT);
  }

  /** Ends the stream after what was sent. */
  end(): void {
    this.#response.end();
  }

  #write(bytes: Buffer): void {
    if (this.#response.destroyed || this.#response.writableEnded) return;
    if (!this.#response.headersSent) {
      this.#response.writeHead(200, STREAM_HEADERS);
    }
    this.#writer.write(bytes);
  }
}
