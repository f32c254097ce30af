/**
 * The other end of the handler: asks, and gets answers and frames, over any transport: one connection, until it ends.
 *
 * WCL1  Every request settles: with its answer, with the error it got, or with the one that ended the connection.
 * WCL2  Frames are taken one after the other; an event listener that returns a promise holds up those that follow.
 * WCL3  The listener hears a snapshot in its place among the events, before whoever asked for it has the answer.
 * WCL4  A callback for parts that throws ends the request it belongs to, with what it threw, and nothing else.
 */
import { OffstageError } from '../../model/offstage-error.ts';
import type { WireFields } from '../wire/rename.ts';
import { failureFromWire } from '../wire/wire-errors.ts';
import type { OnPart, Requester } from './requester.ts';

export interface Transport {
  send(request: WireFields): void;
  /** Lets go of the connection. */
  close(): void;
}

export type FrameListener = (frame: WireFields) => Promise<void> | void;

interface Pending {
  readonly resolve: (answer: WireFields) => void;
  readonly reject: (error: unknown) => void;
  readonly onPart: OnPart | undefined;
}

export class WireConnection implements Requester {
  readonly #transport: Transport;
  readonly #pending = new Map<number, Pending>();
  #onFrame: FrameListener = () => {};
  #lastId = 0;
  #end: OffstageError | null = null;
  #onEnd = (): void => {};
  /** Resolves when the connection has ended, whoever ended it. */
  readonly ended: Promise<void>;

  constructor(transport: Transport) {
    this.#transport = transport;
    this.ended = new Promise((resolve) => {
      this.#onEnd = resolve;
    });
  }

  /** @param onPart gets the text of frames that come before the answer */
  request(action: string, fields: WireFields = {}, onPart?: OnPart): Promise<WireFields> {
    if (this.#end !== null) return Promise.reject(this.#end);
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject, onPart });
      this.#transport.send({ ...fields, action, request_id: id });
    });
  }

  /** Who gets the frames of a subscription from now on. */
  listen(listener: FrameListener): void {
    this.#onFrame = listener;
  }

  /** The transport hands over a frame. Resolves when the next one may come. */
  async receive(frame: WireFields): Promise<void> {
    const { type, request_id: id } = frame;
    const pending = typeof id === 'number' ? this.#pending.get(id) : undefined;
    if (type === 'part') return this.#part(id as number, frame);
    if (type === 'error') {
      const error = failureFromWire(frame);
      if (pending === undefined) {
        // An error that names no request is about the connection as such.
        if (typeof id !== 'number') this.fail(error);
        return;
      }
      this.#pending.delete(id as number);
      return pending.reject(error);
    }
    if (type === 'snapshot') await this.#onFrame(frame);
    if (type === 'result' || type === 'snapshot') {
      if (pending === undefined) return;
      this.#pending.delete(id as number);
      return pending.resolve(frame);
    }
    return this.#onFrame(frame);
  }

  /** What has ended the connection; null while it stands. */
  get end(): OffstageError | null {
    return this.#end;
  }

  /** Ends the connection; what is not answered yet rejects with `error`. */
  fail(error: OffstageError): void {
    if (this.#end !== null) return;
    this.#end = error;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(error);
    this.#transport.close();
    this.#onEnd();
  }

  close(): void {
    this.fail(new OffstageError('engine.closing', 'The connection was closed here before the answer came.', {}));
  }

  async #part(id: number, { text, offset }: WireFields): Promise<void> {
    const pending = this.#pending.get(id);
    try {
      await pending?.onPart?.(text as string, offset as number);
    } catch (error) {
      this.#pending.delete(id);
      pending?.reject(error);
    }
  }
}
