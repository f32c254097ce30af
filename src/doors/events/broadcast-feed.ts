/**
 * A subscription to everything, fed by the broadcaster (SUB1–SUB3, SUB8; decision 9).
 *
 * BFD1  A reader is at one place: joining, live in the ring, or taken back to the log. It gets every record event once, in order, wherever it is.
 * BFD2  A reader that has fallen out of the ring reads the log up to an instant, goes on in the ring from that instant, and is told by one
 *       `resync` when something was missed that the log does not hold.
 * BFD3  Nothing is written for a reader that does not take it: it waits, and costs its place in the ring only.
 */
import type { Offstage } from '../../engine/offstage.ts';
import { isVolatileEvent, type OffstageEvent } from '../../model/events.ts';
import type { Snapshot } from '../../model/requests.ts';
import type { Connection } from '../requests/connection.ts';
import type { Request } from '../requests/request.ts';
import { type Broadcaster, broadcasterOf, encodeEvent, wants } from './broadcaster.ts';
import type { EventRing } from './event-ring.ts';
import type { EncodedFrame, EventSink } from './event-sink.ts';
import { snapshotFor, snapshotToWire } from './snapshot-wire.ts';
import { isCovered, type Wish } from './subscribe-wish.ts';
import { countResync, countSubscriber } from './subscription-counts.ts';

/** Characters of frames from the log that are written at once. */
const BATCH_CHARACTERS = 64 * 1024;

const feeds = new WeakMap<Connection, BroadcastFeed>();

/** Up to which record event this connection was sent everything; null while something is on its way to it. */
export function sentUpTo(offstage: Offstage, connection: Connection): number | null {
  const feed = feeds.get(connection);
  return feed === undefined ? offstage.doors.seq : feed.sentUpTo;
}

export class BroadcastFeed {
  readonly #offstage: Offstage;
  readonly #broadcaster: Broadcaster;
  readonly #request: Request;
  readonly #wish: Wish;
  readonly #sink: EventSink;
  readonly #signal: AbortSignal;
  readonly #ring: EventRing;
  readonly #leave: () => void;
  #snapshot: Snapshot | null = null;
  /** Number of the next frame in the ring. */
  #position: number;
  /** The newest record event that was sent, or that what was sent shows. */
  #cursor = 0;
  /** Frames in the ring that tell of no more than this are left out; null: none is. */
  #coveredTo: number | null = null;
  #isLive = false;
  #isWaiting = false;

  constructor(
    offstage: Offstage,
    request: Request,
    wish: Wish,
    { sink, signal }: { readonly sink: EventSink; readonly signal: AbortSignal },
  ) {
    this.#offstage = offstage;
    this.#broadcaster = broadcasterOf(offstage);
    this.#request = request;
    this.#wish = wish;
    this.#sink = sink;
    this.#signal = signal;
    // Events are kept from here on, so nothing falls between the snapshot and them.
    const { ring, leave } = this.#broadcaster.join({ encoding: sink.encoding, names: wish.names, types: wish.types }, this);
    this.#ring = ring;
    this.#position = ring.next;
    const uncount = countSubscriber(offstage);
    this.#leave = () => {
      leave();
      uncount();
      if (feeds.get(request.connection) === this) feeds.delete(request.connection);
    };
    feeds.set(request.connection, this);
    if (signal.aborted) this.#leave();
    else signal.addEventListener('abort', () => this.#leave(), { once: true });
  }

  async begin(): Promise<void> {
    this.#snapshot = await snapshotFor(this.#offstage, this.#request.connection.caller);
  }

  /** Resolves when the subscription has ended. */
  async run(): Promise<void> {
    const { connection, requestId } = this.#request;
    const { after, brief } = this.#wish;
    const snapshot = this.#snapshot as Snapshot;
    const { seq, epoch } = snapshot;
    if (after !== undefined && after > seq) await this.#write([{ type: 'resync', seq, epoch, at: Date.now() }]);
    else if (after !== undefined) await this.#replay(after, seq);
    if (this.#signal.aborted) return;
    const sent = connection.send({ ...snapshotToWire(snapshot, { brief }), type: 'snapshot', request_id: requestId });
    this.#goLive(seq);
    await sent;
    await new Promise<void>((resolve) => {
      if (this.#signal.aborted) resolve();
      else this.#signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  get sentUpTo(): number | null {
    const isThere = this.#isLive && this.#position === this.#ring.next;
    return isThere ? Math.max(this.#cursor, this.#broadcaster.recordSeq) : null;
  }

  /** Writes what is ready, as far as it is taken. */
  advance(): void {
    if (!this.#isLive || this.#isWaiting || this.#signal.aborted) return;
    while (this.#sink.isDrained) {
      if (this.#position < this.#ring.first) {
        this.#isLive = false;
        void this.#fallBack();
        return;
      }
      if (this.#coveredTo !== null) {
        if (!this.#passCovered(this.#coveredTo)) return;
        continue;
      }
      const piece = this.#ring.pieceAt(this.#position);
      if (piece === null) return;
      this.#position = piece.next;
      this.#cursor = piece.recordSeq;
      this.#sink.write(piece.bytes);
    }
    this.#isWaiting = true;
    void this.#sink.drained().then(() => {
      this.#isWaiting = false;
      this.advance();
    });
  }

  beforeDrop(number: number): void {
    if (this.#isLive && this.#position < number) this.advance();
  }

  /** Goes on in the ring, after everything up to `seq` was shown. */
  #goLive(seq: number): void {
    this.#cursor = seq;
    this.#coveredTo = seq;
    this.#isLive = true;
    this.advance();
  }

  /** One frame of which it is not known whether it was shown already. False: there is none yet. */
  #passCovered(coveredTo: number): boolean {
    const frame = this.#ring.frameAt(this.#position);
    if (frame === null) return false;
    this.#position = frame.next;
    // From the first newer record event on everything is newer.
    if (frame.recordSeq > coveredTo) this.#coveredTo = null;
    if (isCovered(frame.mark, coveredTo)) return true;
    this.#cursor = Math.max(this.#cursor, frame.recordSeq);
    this.#sink.write(frame.bytes);
    return true;
  }

  /** BFD2. */
  async #fallBack(): Promise<void> {
    try {
      for (;;) {
        const hasMissed = this.#ring.afterPassing > this.#position;
        this.#position = this.#ring.next;
        const until = Math.max(this.#cursor, this.#broadcaster.recordSeq);
        await this.#replay(this.#cursor, until);
        this.#cursor = until;
        if (this.#signal.aborted) return;
        if (hasMissed) await this.#write([{ type: 'resync', seq: until, epoch: this.#offstage.doors.epoch, at: Date.now() }]);
        if (this.#position >= this.#ring.first) return this.#goLive(until);
      }
    } catch (error) {
      // Without the log it cannot be told what it has missed: it has to begin anew.
      this.#offstage.doors.log('warn', 'subscription.failed', { error: String(error) });
      await this.#write([
        { type: 'resync', seq: this.#broadcaster.recordSeq, epoch: this.#offstage.doors.epoch, at: Date.now() },
      ]);
      this.#position = this.#ring.next;
      this.#goLive(this.#broadcaster.recordSeq);
    }
  }

  /** Sends the record events after one number up to another, in batches; the log is let go while the reader takes them. */
  async #replay(after: number, until: number): Promise<void> {
    for (let cursor = after; cursor < until && !this.#signal.aborted; ) {
      const batch = await this.#broadcaster.logSlots.use(() => this.#readBatch(cursor, until));
      cursor = batch.cursor;
      await this.#write(batch.events);
    }
  }

  async #readBatch(
    after: number,
    until: number,
  ): Promise<{ readonly events: readonly OffstageEvent[]; readonly cursor: number }> {
    const events: OffstageEvent[] = [];
    let cursor = after;
    // An estimate is enough: record events are small.
    const most = BATCH_CHARACTERS / 256;
    for await (const event of this.#offstage.events({ after, signal: this.#signal })) {
      if (isVolatileEvent(event)) continue;
      if (event.type !== 'resync' && event.seq > until) return { events, cursor: until };
      events.push(event);
      cursor = event.seq;
      if (cursor >= until || events.length >= most) return { events, cursor };
    }
    if (!this.#signal.aborted) throw new Error('the log ended early: the engine closes');
    return { events, cursor: until };
  }

  async #write(events: readonly OffstageEvent[]): Promise<void> {
    const frames: EncodedFrame[] = [];
    for (const event of events) {
      if (event.type === 'resync') countResync(this.#offstage);
      for (const frame of encodeEvent(event, this.#wish.names)) if (wants(this.#wish, frame.type)) frames.push(frame);
    }
    if (frames.length > 0 && !this.#signal.aborted) this.#sink.write(this.#sink.encoding.encode(frames).bytes);
    await this.#sink.drained();
  }
}
