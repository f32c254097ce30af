/**
 * Requests of one HTTP connection, one after the other: a client may send many without waiting for an answer (pipelining).
 *
 * RQL1  The next one is begun when the answer before it has gone to the system: what a client does not read costs one answer.
 * RQL2  What waits is bounded: one more is refused, and ends the connection.
 * RQL3  Of a client that has gone, nothing more is begun.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { LIMITS } from '../../model/limits.ts';

interface Line {
  last: Promise<void>;
  waiting: number;
}

export class RequestLines {
  readonly #lines = new WeakMap<Duplex, Line>();

  /** @param answer is called when its turn has come @param refuse is called instead when too many wait */
  take(
    { socket }: IncomingMessage,
    response: ServerResponse,
    { answer, refuse }: { readonly answer: () => void; readonly refuse: () => void },
  ): void {
    const line = this.#lines.get(socket);
    // Nothing is before it: the rule, and it costs nothing.
    if (line === undefined) {
      this.#begin(socket, { last: over(response), waiting: 0 });
      answer();
      return;
    }
    if (line.waiting >= LIMITS.pipelinedRequests) {
      refuse();
      return;
    }
    line.waiting += 1;
    const before = line.last;
    line.last = before.then(() => {
      line.waiting -= 1;
      if (socket.destroyed) return;
      const isOver = over(response);
      answer();
      return isOver;
    });
    this.#begin(socket, line);
  }

  /** Somebody waits for an answer there. */
  isBusy(socket: Duplex): boolean {
    return this.#lines.has(socket);
  }

  /** Resolves when nobody does any more. */
  async whenFree(socket: Duplex): Promise<void> {
    await this.#lines.get(socket)?.last;
  }

  #begin(socket: Duplex, line: Line): void {
    this.#lines.set(socket, line);
    const { last } = line;
    void last.then(() => {
      if (line.last === last) this.#lines.delete(socket);
    });
  }
}

/** Its answer has gone out, or nobody is left to get it. */
const over = (response: ServerResponse): Promise<void> => new Promise((resolve) => response.once('close', () => resolve()));
