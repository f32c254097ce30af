/**
 * Writes to one socket, and tells when there is room for more.
 *
 * SWR1  There is room while less than `AHEAD` waits to be taken by the system; whoever waits for it goes on when there is, or when the socket
 *       is gone.
 */
import type { Writable } from 'node:stream';
import { Room } from '../requests/room.ts';

const AHEAD_BYTES = 64 * 1024;

export class SocketWriter {
  readonly #socket: Writable;
  readonly #room = new Room();
  readonly #onWritten: () => void;

  constructor(socket: Writable) {
    this.#socket = socket;
    this.#onWritten = () => {
      if (this.isDrained) this.#room.make();
    };
    socket.once('close', () => this.#room.make());
  }

  get isDrained(): boolean {
    return this.#socket.destroyed || this.#socket.writableLength < AHEAD_BYTES;
  }

  /** Somebody waits for room. */
  get isStuck(): boolean {
    return this.#room.isWanted;
  }

  write(bytes: Buffer): void {
    if (!this.#socket.writable) return;
    this.#socket.write(bytes, this.#onWritten);
  }

  drained(): Promise<void> {
    return this.isDrained ? Promise.resolve() : this.#room.wait();
  }
}
