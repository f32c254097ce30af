/**
 * `subscribe`: what was missed, a snapshot, then everything that happens (spec 11, 12).
 *
 * SUB1  Record events before the snapshot are no newer than it, those after it are newer; with `after`, none is missing and none comes twice.
 * SUB2  A cursor that this folder has not reached, or that is older than its log, gets one `resync`.
 * SUB3  A reader that does not read costs bounded memory: the engine's reader takes it back to the log, at the price of volatile events.
 * SUB4  One subscription per connection: a new one takes the place of the old one.
 * SUB5  With `job_id` and `hold`, the job's output waits for this reader, where whoever runs the job allows that.
 * SUB6  With `job_id` only that job's events come, with `session_id` only those of the session itself: its state, activity, output, turns, tickets.
 * SUB7  The token of a session gets the events of what it reaches and of nothing else.
 * SUB8  With `types` only frames of these types come, and `resync`, which concerns everybody.
 */
import type { Offstage } from '../../engine/offstage.ts';
import { isVolatileEvent, type OffstageEvent } from '../../model/events.ts';
import type { Snapshot } from '../../model/requests.ts';
import { sessionOfScope } from '../requests/caller-identity.ts';
import type { Connection, Frame } from '../requests/connection.ts';
import type { Action, Request } from '../requests/request.ts';
import { SessionFilter } from '../requests/session-filter.ts';
import { forbidden } from '../requests/session-verbs.ts';
import { BroadcastFeed } from './broadcast-feed.ts';
import { framesOf, RunningJobs } from './event-frames.ts';
import { OutputBacklog } from './output-backlog.ts';
import { snapshotFor, snapshotToWire } from './snapshot-wire.ts';
import { isEventCovered, type Wish, wishOf } from './subscribe-wish.ts';
import { countResync, countSubscriber } from './subscription-counts.ts';

const subscriptions = new WeakMap<Connection, AbortController>();

export const subscribe: Action = async (request) => {
  const { engine: offstage, connection } = request;
  const wish = wishOf(request.fields);
  const narrowTo = await narrowing(request, wish);
  const ending = new AbortController();
  subscriptions.get(connection)?.abort();
  subscriptions.set(connection, ending);
  const forget = connection.onClose(() => ending.abort());
  const end = (): void => {
    ending.abort();
    forget();
  };
  try {
    const { signal } = ending;
    const sink = isNarrowed(wish) || narrowTo !== null ? undefined : connection.events;
    const feed =
      sink === undefined
        ? new Feed(offstage, request, wish, { narrowTo, signal })
        : new BroadcastFeed(offstage, request, wish, { sink, signal });
    await feed.begin();
    feed
      .run()
      .catch(() => {})
      .finally(end);
  } catch (error) {
    end();
    throw error;
  }
  return null;
};

/** Nobody else asks for the same, so nothing is gained by encoding it for others. */
const isNarrowed = ({ jobId, sessionId }: Wish): boolean => (jobId ?? sessionId) !== undefined;

/** SUB7. Null: everything may be seen. @throws OffstageError `job.not_found`, `session.not_found`, `access.forbidden` */
async function narrowing({ engine, offstage, connection }: Request, wish: Wish): Promise<SessionFilter | null> {
  const { scope } = connection.caller;
  if (wish.hold && scope !== 'operate') throw forbidden('to hold back the output of a job needs the scope operate');
  const own = sessionOfScope(scope);
  if (own === null) return null;
  if (wish.jobId !== undefined) await offstage.get(wish.jobId);
  if (wish.sessionId !== undefined) await offstage.sessions.get(wish.sessionId);
  return new SessionFilter(engine, own);
}

/** One subscription, event by event. */
class Feed {
  readonly #offstage: Offstage;
  readonly #request: Request;
  readonly #wish: Wish;
  readonly #narrowTo: SessionFilter | null;
  readonly #signal: AbortSignal;
  readonly #live: AsyncIterableIterator<OffstageEvent>;
  readonly #backlog: OutputBacklog | null;
  #snapshot: Snapshot | null = null;
  #running: RunningJobs | null = null;

  constructor(
    offstage: Offstage,
    request: Request,
    wish: Wish,
    { narrowTo, signal }: { readonly narrowTo: SessionFilter | null; readonly signal: AbortSignal },
  ) {
    this.#offstage = offstage;
    this.#request = request;
    this.#wish = wish;
    this.#narrowTo = narrowTo;
    this.#signal = signal;
    // Events are collected from here on, so nothing falls between the snapshot and them.
    this.#live = offstage.events({ signal });
    this.#backlog = wish.hold && wish.jobId !== undefined ? new OutputBacklog(offstage, wish.jobId) : null;
    const uncount = countSubscriber(offstage);
    signal.addEventListener(
      'abort',
      () => {
        uncount();
        this.#backlog?.end();
      },
      { once: true },
    );
  }

  async begin(): Promise<void> {
    try {
      this.#snapshot = await snapshotFor(this.#offstage, this.#request.connection.caller);
      this.#running = new RunningJobs(this.#offstage.jobsModel.get().live.values());
    } catch (error) {
      await this.#live.return?.(undefined);
      throw error;
    }
  }

  async run(): Promise<void> {
    const { connection, requestId } = this.#request;
    const { after, jobId, brief } = this.#wish;
    const snapshot = this.#snapshot as Snapshot;
    try {
      if (after !== undefined) await this.#replay(after, snapshot);
      // Whoever asks for one thing reads it by itself.
      const { epoch, seq } = snapshot;
      const shown = isNarrowed(this.#wish) ? { epoch, seq } : snapshotToWire(snapshot, { brief });
      await connection.send({ ...shown, type: 'snapshot', request_id: requestId });
      for await (const event of this.#live) {
        if (this.#signal.aborted) break;
        if (isEventCovered(event, snapshot.seq)) continue;
        await this.#send(event);
        if (event.type === 'job.output' && event.jobId === jobId) this.#backlog?.sent(event.offset + event.text.length);
      }
    } finally {
      await this.#live.return?.(undefined);
    }
  }

  async #send(event: OffstageEvent): Promise<void> {
    const notice = this.#running?.observe(event) ?? null;
    if (!isWanted(event, this.#wish)) return;
    if (this.#narrowTo !== null && !(await this.#narrowTo.shows(event))) return;
    for (const frame of framesOf(event, this.#wish.names)) await this.#sendFrame(frame);
    if (notice !== null && this.#wish.sessionId === undefined) await this.#sendFrame(notice);
  }

  async #sendFrame(frame: Frame): Promise<void> {
    const { types } = this.#wish;
    if (frame.type === 'resync') countResync(this.#offstage);
    if (types === null || types.has(frame.type) || frame.type === 'resync') await this.#request.connection.send(frame);
  }

  /** Sends the record events after a cursor up to the snapshot, or one `resync` for a cursor that this folder has not reached. */
  async #replay(after: number, { seq, epoch }: Snapshot): Promise<void> {
    const send = async (event: OffstageEvent): Promise<void> => {
      if (!isWanted(event, this.#wish)) return;
      if (this.#narrowTo !== null && !(await this.#narrowTo.shows(event))) return;
      for (const frame of framesOf(event, this.#wish.names)) await this.#sendFrame(frame);
    };
    if (after > seq) await send({ type: 'resync', seq, epoch, at: Date.now() });
    if (after >= seq) return;
    for await (const event of this.#offstage.events({ after, signal: this.#signal })) {
      if (isVolatileEvent(event)) continue;
      if (event.seq > seq && event.type !== 'resync') return;
      await send(event);
      if (event.seq >= seq) return;
    }
  }
}

/** SUB6. */
function isWanted(event: OffstageEvent, { jobId, sessionId }: Wish): boolean {
  if (event.type === 'resync') return true;
  if (jobId !== undefined) return 'jobId' in event && event.jobId === jobId;
  if (sessionId !== undefined) return event.type.startsWith('session.') && 'sessionId' in event && event.sessionId === sessionId;
  return true;
}
