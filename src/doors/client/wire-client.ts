/** The verbs and the events over any transport: one connection, until it ends (WCL1–WCL4). */
import type { OffstageEvent } from '../../model/events.ts';
import type { OffstageError } from '../../model/offstage-error.ts';
import { rename, type WireFields } from '../wire/rename.ts';
import { eventFromWire } from '../wire/wire-events.ts';
import { Verbs } from './verbs.ts';
import { type FrameListener, type Transport, WireConnection } from './wire-connection.ts';

/** What a subscription is about; everything, where nothing is named. */
export interface FollowOptions {
  readonly jobId?: string;
  readonly sessionId?: string;
  /** The job's output waits for this reader. */
  readonly hold?: boolean;
}

const FOLLOW = { jobId: 'job_id', sessionId: 'session_id', hold: 'hold' } as const;

export class WireClient extends Verbs {
  readonly #connection: WireConnection;

  constructor(transport: Transport) {
    const connection = new WireConnection(transport);
    super(connection);
    this.#connection = connection;
  }

  /** Resolves when the connection has ended, whoever ended it. */
  get ended(): Promise<void> {
    return this.#connection.ended;
  }

  /** What has ended the connection; null while it stands. */
  get end(): OffstageError | null {
    return this.#connection.end;
  }

  /** Who gets the frames of a subscription from now on. */
  listen(listener: FrameListener): void {
    this.#connection.listen(listener);
  }

  /**
   * Calls back with what happens from now on, until the connection ends or it is called again. Resolves when it has begun.
   * @param onEvent the next event waits for the promise it returns
   */
  async follow(
    options: FollowOptions,
    onEvent: (event: OffstageEvent) => Promise<void> | void,
  ): Promise<{ readonly seq: number; readonly epoch: string }> {
    this.listen((frame) => {
      const event = eventFromWire(frame);
      return event === null ? undefined : onEvent(event);
    });
    const { seq, epoch } = await this.request('subscribe', rename(options, FOLLOW));
    return { seq, epoch } as unknown as { readonly seq: number; readonly epoch: string };
  }

  /** The transport hands over a frame. Resolves when the next one may come. */
  receive(frame: WireFields): Promise<void> {
    return this.#connection.receive(frame);
  }

  /** Ends the connection; what is not answered yet rejects with `error`. */
  fail(error: OffstageError): void {
    this.#connection.fail(error);
  }

  close(): void {
    this.#connection.close();
  }
}
