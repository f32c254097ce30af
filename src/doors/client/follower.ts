/**
 * Follows one connection: subscribes, feeds the rows, and reads what they lack.
 *
 * FLW1  Events and snapshots are merged in the order in which they come, each before the next one is looked at.
 * FLW2  What `onEvent` is told is told after the rows show it, and only when it is news (LRW1).
 * FLW3  A `resync` in mid-stream is answered by a new subscription: its snapshot is the truth again. Once a second at most, and less often, down to
 *       every 10 s, where reading everything anew takes long: whoever fell behind because he is slow is not helped by more to read.
 * FLW4  Rows are read only after the first snapshot of the connection: until then it is not known which process answers.
 */
import type { StopTimer } from '../../model/clock.ts';
import type { OffstageEvent } from '../../model/events.ts';
import { isOffstageError, type OffstageError } from '../../model/offstage-error.ts';
import type { WireFields } from '../wire/rename.ts';
import { eventFromWire } from '../wire/wire-events.ts';
import { jobFromWire } from '../wire/wire-names.ts';
import { sessionFromWire, taskFromWire } from '../wire/wire-sessions.ts';
import type { LiveSnapshot } from './live-rows.ts';
import type { LiveSource } from './live-source.ts';
import { readEverything } from './page-reader.ts';
import { RowRefresher } from './row-refresher.ts';

const RESUBSCRIBE_MS = 1_000;
const LONGEST_MS = 10_000;
const READING_SHARE = 4;

export interface FollowerOptions extends Omit<LiveSource, 'signal'> {
  /** The names, on the wire, of the events that are wanted; null: all. */
  readonly types: readonly string[] | null;
  /** Something that was not shown before has happened. */
  readonly onEvent: (event: OffstageEvent) => void;
  /** A snapshot is shown. */
  readonly onSnapshot: () => void;
  /** The server refuses the subscription. */
  readonly onRefused: (error: OffstageError) => void;
}

export class Follower {
  readonly #options: FollowerOptions;
  readonly #ending = new AbortController();
  readonly #refresher: RowRefresher;
  /** Ends the reading that belongs to an earlier snapshot. */
  #reading = new AbortController();
  #isSubscribing = false;
  /** FLW4. */
  #hasSnapshot = false;
  #subscribedAt = 0;
  /** How long it took to read everything, the last time. */
  #readingMs = 0;
  #stopTimer: StopTimer = () => {};

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#refresher = new RowRefresher({ ...options, signal: this.#ending.signal });
    options.connection.listen((frame) => this.#hear(frame));
    void options.connection.ended.then(() => this.end());
    this.#subscribe();
  }

  end(): void {
    this.#stopTimer();
    this.#ending.abort();
    this.#reading.abort();
  }

  #subscribe(): void {
    const { connection, rows, types, clock, onRefused } = this.#options;
    this.#isSubscribing = true;
    this.#subscribedAt = clock.now();
    const after = rows.epoch === null ? {} : { after: rows.seq };
    connection.request('subscribe', { ...after, brief: true, ...(types === null ? {} : { types }) }).catch((error) => {
      if (!this.#ending.signal.aborted && isOffstageError(error)) onRefused(error);
    });
  }

  #hear(frame: WireFields): void {
    const { rows, onEvent, onChange } = this.#options;
    if (this.#ending.signal.aborted) return;
    if (frame.type === 'snapshot') {
      this.#show(frame);
      return;
    }
    if (frame.type === 'heartbeat') {
      rows.jobs.touchGivenUp();
      this.#wake();
      return;
    }
    const event = eventFromWire(frame);
    if (event === null || !rows.apply(event)) return;
    if (event.type === 'resync' && !this.#isSubscribing) this.#subscribeSoon();
    onChange();
    onEvent(event);
    this.#wake();
  }

  #wake(): void {
    if (this.#hasSnapshot) this.#refresher.wake();
  }

  #show(frame: WireFields): void {
    const { rows, onSnapshot, onChange } = this.#options;
    this.#isSubscribing = false;
    this.#hasSnapshot = true;
    if (!rows.applySnapshot(snapshotFromWire(frame))) return;
    this.#reading.abort();
    this.#reading = new AbortController();
    void this.#read(this.#reading.signal);
    onSnapshot();
    onChange();
    this.#wake();
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { clock, onChange } = this.#options;
    const begunAt = clock.now();
    // What a page says too late is to be read again.
    const onPage = (): void => {
      onChange();
      this.#wake();
    };
    await readEverything({ ...this.#options, onChange: onPage, signal });
    if (!signal.aborted) this.#readingMs = Math.max(0, clock.now() - begunAt);
  }

  /** FLW3. */
  #subscribeSoon(): void {
    const { clock } = this.#options;
    this.#isSubscribing = true;
    const distanceMs = Math.min(LONGEST_MS, Math.max(RESUBSCRIBE_MS, READING_SHARE * this.#readingMs));
    // A clock that was set back makes nobody wait longer.
    const waitMs = Math.min(Math.max(0, this.#subscribedAt + distanceMs - clock.now()), distanceMs);
    this.#stopTimer();
    this.#stopTimer = clock.schedule(waitMs, () => this.#subscribe());
  }
}

const listed = (value: WireFields[string] | undefined): readonly WireFields[] => (value ?? []) as readonly WireFields[];

const snapshotFromWire = ({ epoch, seq, tasks, sessions, jobs, counts }: WireFields): LiveSnapshot => ({
  epoch: epoch as string,
  seq: seq as number,
  tasks: listed(tasks).map(taskFromWire),
  sessions: listed(sessions).map(sessionFromWire),
  jobs: listed(jobs).map(jobFromWire),
  counts: (counts ?? { pending: 0, queued: 0, running: 0 }) as unknown as LiveSnapshot['counts'],
});
