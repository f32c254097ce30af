/**
 * One client of the control socket: lines in, lines out.
 *
 * SCN1  Requests start in the order in which they came; their answers come as they are ready (RIN1).
 * SCN2  Memory per client is bounded (RIN2).
 * SCN3  When the client has gone, whatever waits for it is told, once.
 */
import type { Socket } from 'node:net';
import type { Offstage } from '../../engine/offstage.ts';
import { LIMITS } from '../../model/limits.ts';
import { CONTROL_CALLER } from '../requests/caller-identity.ts';
import type { Connection, Frame } from '../requests/connection.ts';
import { parseRequest, protocolError } from '../requests/handler.ts';
import { RequestIntake } from '../requests/request-intake.ts';
import { Room } from '../requests/room.ts';
import { type Line, LineSplitter } from './line-splitter.ts';

export class SocketConnection implements Connection {
  readonly caller = CONTROL_CALLER;
  readonly #socket: Socket;
  readonly #intake: RequestIntake<Line>;
  readonly #splitter = new LineSplitter(LIMITS.frameBytes);
  readonly #onClose = new Set<() => void>();
  #hasGone = false;
  readonly #room = new Room();

  constructor(offstage: Offstage, socket: Socket) {
    this.#socket = socket;
    this.#intake = new RequestIntake<Line>({
      offstage,
      connection: this,
      read: (line) => ('text' in line ? parseRequest(line.text) : protocolError(line.fault)),
      // Of one that is gone it is told later; what runs from promise to promise until then would hold that up.
      isStuck: () => this.#room.isWanted || socket.destroyed,
      pause: () => socket.pause(),
      resume: () => socket.resume(),
      onAnswered: () => {
        if (this.#hasGone) this.#endWhenAnswered();
      },
    });
    socket.on('data', (chunk) => {
      for (const line of this.#splitter.push(chunk)) this.#intake.push(line);
      this.#intake.advance();
    });
    socket.on('drain', () => {
      this.#room.make();
      this.#intake.advance();
    });
    // It may have closed only its side: what was asked is answered still, also without a last newline, but nothing waits for it.
    socket.on('end', () => {
      for (const line of this.#splitter.end()) this.#intake.push(line);
      this.#leave();
      this.#intake.advance();
      this.#endWhenAnswered();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#intake.forget();
      this.#leave();
      this.#room.make();
    });
  }

  /** Requests that are not answered yet. */
  get requestsUnderWay(): number {
    return this.#intake.size;
  }

  send(frame: Frame): Promise<void> {
    if (!this.#socket.writable) return Promise.resolve();
    if (this.#socket.write(`${JSON.stringify(frame)}\n`)) return Promise.resolve();
    return this.#room.wait();
  }

  onClose(callback: () => void): () => void {
    if (this.#hasGone) callback();
    else this.#onClose.add(callback);
    return () => this.#onClose.delete(callback);
  }

  /** Says goodbye after what was sent; by `deadlineMs` it is over in any case. */
  end(deadlineMs: number): Promise<void> {
    this.#intake.forget();
    this.#socket.pause();
    this.#leave();
    if (this.#socket.destroyed) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#socket.destroy(), deadlineMs);
      this.#socket.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
      this.#socket.end(() => this.#socket.destroy());
    });
  }

  #endWhenAnswered(): void {
    if (this.requestsUnderWay === 0) this.#socket.end();
  }

  #leave(): void {
    if (this.#hasGone) return;
    this.#hasGone = true;
    for (const callback of this.#onClose) callback();
    this.#onClose.clear();
  }
}
