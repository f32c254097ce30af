/**
 * One listener on the engine's bus for all unnarrowed subscriptions: each event is encoded once, and written to many (decision 9).
 *
 * BRC1  Every reader gets the frames in the order of the bus. What it could not take in time comes from the log (SUB3).
 * BRC2  All that is kept ready, for all readers together, is bounded in bytes; the ring that holds most gives first.
 * BRC3  Writing to everybody takes a bounded share of the event loop: the next flush waits for twice as long as the last one took, at most 50 ms.
 * BRC4  Without readers it costs nothing: it does not listen.
 */
import { performance } from 'node:perf_hooks';
import type { Offstage } from '../../engine/offstage.ts';
import { isVolatileEvent, type OffstageEvent } from '../../model/events.ts';
import { LIMITS } from '../../model/limits.ts';
import type { Frame } from '../requests/connection.ts';
import { wireTypeOf } from '../wire/wire-events.ts';
import { type EventNames, framesOf, RunningJobs } from './event-frames.ts';
import { EventRing, type FrameMark } from './event-ring.ts';
import type { EncodedFrame, FrameEncoding } from './event-sink.ts';
import { Slots } from './slots.ts';

/** What readers of one ring have in common. */
export interface RingWish {
  readonly encoding: FrameEncoding;
  readonly names: EventNames;
  /** Null: all. */
  readonly types: ReadonlySet<string> | null;
}

export interface RingReader {
  /** There may be more to write. */
  advance(): void;
  /** What lies before this number is about to go. */
  beforeDrop(number: number): void;
}

interface Channel {
  readonly ring: EventRing;
  readonly wish: RingWish;
  readonly readers: Set<RingReader>;
}

/** A flush that takes no longer than this is followed by the next one at once. */
const CHEAP_MS = 1;

const broadcasters = new WeakMap<object, Broadcaster>();

export function broadcasterOf(offstage: Offstage): Broadcaster {
  const known = broadcasters.get(offstage) ?? new Broadcaster(offstage);
  broadcasters.set(offstage, known);
  return known;
}

export class Broadcaster {
  readonly #offstage: Offstage;
  readonly #channels = new Map<string, Channel>();
  /** Readers that were taken back to the log wait here for their turn. */
  readonly logSlots = new Slots(LIMITS.logReaders);
  #stop: (() => void) | null = null;
  #running: RunningJobs | null = null;
  #bytes = 0;
  #isScheduled = false;
  #lastCostMs = 0;
  /** The newest record event that has come over the bus. */
  #recordSeq = 0;

  constructor(offstage: Offstage) {
    this.#offstage = offstage;
  }

  /** What is kept ready, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Every record event up to here is in the rings, or was before they began. */
  get recordSeq(): number {
    return this.#recordSeq;
  }

  /** From now on events are kept for this reader. Returns the ring, and a function that ends it. */
  join(wish: RingWish, reader: RingReader): { readonly ring: EventRing; readonly leave: () => void } {
    const key = keyOf(wish);
    const channel = this.#channels.get(key) ?? this.#open(key, wish);
    channel.readers.add(reader);
    this.#listen();
    return { ring: channel.ring, leave: () => this.#leave(key, channel, reader) };
  }

  /** Writes what has come to everybody who can take it. */
  flush(): void {
    this.#isScheduled = false;
    const startedAt = performance.now();
    for (const { ring, readers } of this.#channels.values()) {
      ring.seal();
      for (const reader of readers) reader.advance();
    }
    this.#lastCostMs = performance.now() - startedAt;
  }

  #open(key: string, wish: RingWish): Channel {
    const ring = new EventRing(wish.encoding, (by) => this.#count(by));
    const channel: Channel = { ring, wish, readers: new Set() };
    this.#channels.set(key, channel);
    return channel;
  }

  #leave(key: string, channel: Channel, reader: RingReader): void {
    channel.readers.delete(reader);
    if (channel.readers.size > 0) return;
    channel.ring.dropAll();
    if (this.#channels.get(key) === channel) this.#channels.delete(key);
    if (this.#channels.size > 0) return;
    this.#stop?.();
    this.#stop = null;
    this.#running = null;
  }

  #listen(): void {
    if (this.#stop !== null) return;
    this.#recordSeq = this.#offstage.doors.seq;
    this.#running = new RunningJobs(this.#offstage.jobsModel.get().live.values());
    this.#stop = this.#offstage.onEvent((event) => this.#take(event));
  }

  #take(event: OffstageEvent): void {
    const isVolatile = isVolatileEvent(event);
    if (!isVolatile) this.#recordSeq = Math.max(this.#recordSeq, event.seq);
    const notice = this.#running?.observe(event) ?? null;
    const mark: FrameMark = { seq: event.seq, isVolatile, recordSeq: this.#recordSeq };
    const encoded = new Map<EventNames, readonly EncodedFrame[]>();
    let isKept = false;
    for (const { ring, wish } of this.#channels.values()) {
      if (wants(wish, wireTypeOf(event.type, wish.names))) {
        const frames = encoded.get(wish.names) ?? encodeEvent(event, wish.names);
        encoded.set(wish.names, frames);
        // The output of jobs has offsets, so whoever misses some sees that.
        for (const frame of frames) ring.push(frame, mark, isVolatile && !event.type.startsWith('job.'));
        isKept = true;
      }
      if (notice !== null && wants(wish, notice.type)) {
        ring.push(encodeFrame(notice, null), mark, true);
        isKept = true;
      }
    }
    if (isKept) this.#schedule();
  }

  /** BRC3. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (this.#lastCostMs < CHEAP_MS) setImmediate(() => this.flush());
    else setTimeout(() => this.flush(), Math.min(LIMITS.flushIntervalMs, 2 * this.#lastCostMs));
  }

  /** BRC2. */
  #count(by: number): void {
    this.#bytes += by;
    while (this.#bytes > LIMITS.broadcastBytes) {
      let largest: Channel | null = null;
      for (const channel of this.#channels.values()) {
        if (largest === null || channel.ring.bytes > largest.ring.bytes) largest = channel;
      }
      if (largest === null || largest.ring.bytes === 0) return;
      const { ring, readers } = largest;
      // So much may come within one turn that nobody had a chance to take it.
      for (const reader of readers) reader.beforeDrop(ring.afterOldest);
      ring.dropOldest();
    }
  }
}

/** The frames of an event as text, in the names of the reader. */
export const encodeEvent = (event: OffstageEvent, names: EventNames): readonly EncodedFrame[] => {
  const cursor = isVolatileEvent(event) ? null : event.seq;
  return [...framesOf(event, names)].map((frame) => encodeFrame(frame, cursor));
};

export const encodeFrame = (frame: Frame, cursor: number | null): EncodedFrame => ({
  type: frame.type,
  json: JSON.stringify(frame),
  cursor,
});

export const wants = ({ types }: Pick<RingWish, 'types'>, type: string): boolean =>
  types === null || types.has(type) || type === 'resync';

const keyOf = ({ encoding, names, types }: RingWish): string =>
  `${encoding.name} ${names} ${types === null ? '*' : [...types].sort().join(' ')}`;
