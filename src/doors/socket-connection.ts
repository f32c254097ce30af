/**
 * One client of the control socket: lines in, lines out.
 *
 * SCN1  Requests start in the order in which they came; their answers come as they are ready.
 * SCN2  Memory per client is bounded: nothing more is read while too many requests are under way or the client does not read its answers.
 * SCN3  When the client has gone, whatever waits for it is told, once.
 */
import type { Socket } from 'node:net';
import type { Offstage } from '../engine/offstage.ts';
import { LIMITS } from '../model/limits.ts';
import type { Connection, Frame } from './connection.ts';
import { handle, isWaitingRequest, parseRequest, protocolError } from './handler.ts';
import { type Line, LineSplitter } from './line-splitter.ts';
import { Room } from './room.ts';

/** Each may read a record of a few MiB. */
const MOST_AT_ONCE = 32;
/** These mostly wait, and read little. */
const MOST_WAITING = 1_024;

export class SocketConnection implements Connection {
  readonly #offstage: Offstage;
  readonly #socket: Socket;
  readonly #splitter = new LineSplitter(LIMITS.frameBytes);
  readonly #onClose = new Set<() => void>();
  /** Requests that have not begun; those before `#next` have. */
  #lines: Line[] = [];
  #next = 0;
  #underWay = 0;
  #waiting = 0;
  #hasGone = false;
  readonly #room = new Room();

  constructor(offstage: Offstage, socket: Socket) {
    this.#offstage = offstage;
    this.#socket = socket;
    socket.on('data', (chunk) => {
      for (const line of this.#splitter.push(chunk)) this.#lines.push(line);
      this.#advance();
    });
    socket.on('drain', () => {
      this.#room.make();
      this.#advance();
    });
    // It may have closed only its side: what was asked is answered still, also without a last newline, but nothing waits for it.
    socket.on('end', () => {
      for (const line of this.#splitter.end()) this.#lines.push(line);
      this.#leave();
      this.#advance();
      this.#endWhenAnswered();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#forgetLines();
      this.#leave();
      this.#room.make();
    });
  }

  /** Requests that are not answered yet. */
  get requestsUnderWay(): number {
    return this.#underWay + this.#waiting + this.#linesLeft;
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
    this.#forgetLines();
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

  get #linesLeft(): number {
    return this.#lines.length - this.#next;
  }

  #forgetLines(): void {
    this.#lines = [];
    this.#next = 0;
  }

  #advance(): void {
    const hasRoom = (): boolean => this.#underWay < MOST_AT_ONCE && this.#waiting < MOST_WAITING && !this.#room.isWanted;
    while (this.#linesLeft > 0 && hasRoom()) {
      const line = this.#lines[this.#next] as Line;
      this.#next += 1;
      this.#start(line);
    }
    if (this.#linesLeft > 0) {
      this.#socket.pause();
      return;
    }
    this.#forgetLines();
    this.#socket.resume();
  }

  #start(line: Line): void {
    const request = 'text' in line ? parseRequest(line.text) : protocolError(line.fault);
    const isWaiting = isWaitingRequest(request);
    const count = (by: 1 | -1): void => {
      if (isWaiting) this.#waiting += by;
      else this.#underWay += by;
    };
    count(1);
    void handle(this.#offstage, request, this).finally(() => {
      count(-1);
      if (this.#linesLeft > 0) this.#advance();
      if (this.#hasGone) this.#endWhenAnswered();
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
