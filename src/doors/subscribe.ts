/**
 * `subscribe`: what was missed, a snapshot, then everything that happens (spec 11, 12).
 *
 * SUB1  Record events before the snapshot are no newer than it, those after it are newer; with `after`, none is missing and none comes twice.
 * SUB2  A cursor that this folder has not reached, or that is older than its log, gets one `resync`.
 * SUB3  A reader that does not read costs bounded memory: the engine's reader takes it back to the log, at the price of volatile events.
 * SUB4  One subscription per connection: a new one takes the place of the old one.
 * SUB5  With `job_id` and `hold`, the job's output waits for this reader, where whoever runs the job allows that.
 * SUB6  With `job_id` only that job's events come, with `session_id` only those of the session itself: its state, activity, output, turns, tickets.
 */
import type { Offstage } from '../engine/offstage.ts';
import { isVolatileEvent, type OffstageEvent } from '../model/events.ts';
import { LIMITS } from '../model/limits.ts';
import { isTerminal } from '../model/records.ts';
import type { Snapshot } from '../model/requests.ts';
import type { Connection } from './connection.ts';
import { cutPoint } from './job-actions.ts';
import { OutputBacklog } from './output-backlog.ts';
import { pageOf } from './page.ts';
import type { WireFields } from './rename.ts';
import type { Action } from './request.ts';
import { invalidField } from './request-fields.ts';
import { eventToWire } from './wire-events.ts';
import { jobToWire } from './wire-names.ts';
import { sessionToWire, taskToWire } from './wire-sessions.ts';

const subscriptions = new WeakMap<Connection, AbortController>();

export const subscribe: Action = async ({ offstage, fields, connection, requestId }) => {
  const after = fields.number('after');
  if (after !== undefined && (!Number.isSafeInteger(after) || after < 0)) {
    throw invalidField('after', 'it must be an integer of 0 or more');
  }
  const names = fields.oneOf('names', ['ours', 'seed']) ?? 'ours';
  const jobId = fields.text('job_id');
  const sessionId = fields.text('session_id');
  const hold = fields.flag('hold') === true;
  fields.refuseRest();
  if (jobId !== undefined && sessionId !== undefined) throw invalidField('session_id', 'job_id narrows it already');
  if (hold && jobId === undefined) throw invalidField('hold', 'it needs a job_id');
  const ending = new AbortController();
  subscriptions.get(connection)?.abort();
  subscriptions.set(connection, ending);
  const forget = connection.onClose(() => ending.abort());
  const { signal } = ending;
  // Events are collected from here on, so nothing falls between the snapshot and them.
  const live = offstage.events({ signal });
  const backlog = hold && jobId !== undefined ? new OutputBacklog(offstage, jobId) : null;
  signal.addEventListener('abort', () => backlog?.end(), { once: true });
  try {
    const snapshot = await offstage.snapshot();
    const running = new RunningJobs(offstage.jobsModel.get().live.values());
    const send = async (event: OffstageEvent): Promise<void> => {
      if (!isWanted(event, jobId, sessionId)) return;
      for (const frame of framesOf(event, names)) await connection.send(frame);
    };
    const pump = async (): Promise<void> => {
      if (after !== undefined) await replay({ offstage, after, snapshot, signal, send });
      await connection.send({ ...snapshotToWire(snapshot, jobId ?? sessionId), type: 'snapshot', request_id: requestId });
      for await (const event of live) {
        if (signal.aborted) break;
        if (isCovered(event, snapshot.seq)) continue;
        await send(event);
        if (event.type === 'job.output' && event.jobId === jobId) backlog?.sent(event.offset + event.text.length);
        const notice = running.observe(event);
        if (notice === null || sessionId !== undefined) continue;
        if (jobId === undefined || jobId === notice.job_id) await connection.send(notice);
      }
    };
    pump()
      .catch(() => {})
      .finally(() => {
        ending.abort();
        forget();
        return live.return?.(undefined);
      });
  } catch (error) {
    ending.abort();
    forget();
    await live.return?.(undefined);
    throw error;
  }
  return null;
};

/** Whether the snapshot shows it already. Of what carries the number of another event it is not known, unless it is older. */
const isCovered = (event: OffstageEvent, seq: number): boolean =>
  isVolatileEvent(event) || event.type === 'resync' ? event.seq < seq : event.seq <= seq;

/** SUB6. */
function isWanted(event: OffstageEvent, jobId: string | undefined, sessionId: string | undefined): boolean {
  if (event.type === 'resync') return true;
  if (jobId !== undefined) return 'jobId' in event && event.jobId === jobId;
  if (sessionId !== undefined) return event.type.startsWith('session.') && 'sessionId' in event && event.sessionId === sessionId;
  return true;
}

/** Sends the record events after a cursor up to the snapshot, or one `resync` for a cursor that this folder has not reached. */
async function replay(options: {
  readonly offstage: Offstage;
  readonly after: number;
  readonly snapshot: Snapshot;
  readonly signal: AbortSignal;
  readonly send: (event: OffstageEvent) => Promise<void>;
}): Promise<void> {
  const { offstage, after, signal, send } = options;
  const { seq, epoch } = options.snapshot;
  if (after > seq) await send({ type: 'resync', seq, epoch, at: Date.now() });
  if (after >= seq) return;
  for await (const event of offstage.events({ after, signal })) {
    if (isVolatileEvent(event)) continue;
    if (event.seq > seq && event.type !== 'resync') return;
    await send(event);
    if (event.seq >= seq) return;
  }
}

/** Long output comes in several frames: escaped as JSON it may grow sixfold. */
function* framesOf(event: OffstageEvent, names: 'ours' | 'seed'): Generator<WireFields & { readonly type: string }> {
  if (event.type !== 'job.output' && event.type !== 'session.output') {
    yield asFrame(eventToWire(event, names));
    return;
  }
  const { text } = event;
  for (let from = 0; from < text.length; ) {
    const to = cutPoint(text, from + LIMITS.frameBytes / 8);
    const piece = { ...event, text: text.slice(from, to) };
    yield asFrame(eventToWire(piece.type === 'job.output' ? { ...piece, offset: piece.offset + from } : piece, names));
    from = to;
  }
}

const asFrame = (wire: WireFields): WireFields & { readonly type: string } => wire as WireFields & { readonly type: string };

/** @param only what the subscription is narrowed to: whoever asks for one thing reads it by itself */
function snapshotToWire(snapshot: Snapshot, only: string | undefined): WireFields {
  const { epoch, seq, counts } = snapshot;
  if (only !== undefined) return { epoch, seq };
  const jobs = pageOf(snapshot.jobs, jobToWire);
  const isMore = jobs.isCut || snapshot.jobs.length === LIMITS.listDefault;
  return {
    epoch,
    seq,
    tasks: pageOf(snapshot.tasks, taskToWire).rows,
    sessions: pageOf(snapshot.sessions, sessionToWire).rows,
    jobs: jobs.rows,
    next_before: isMore ? (jobs.rows.at(-1)?.job_id ?? null) : null,
    counts: { ...counts },
  };
}

/** The seed's `running_task`: which jobs of a session are at work, for its sidebar. */
class RunningJobs {
  readonly #bySession = new Map<string, Set<string>>();

  constructor(live: Iterable<{ readonly status: string; view(): { readonly jobId: string; readonly sessionId: string } }>) {
    for (const row of live) if (row.status === 'running') this.#of(row.view().sessionId).add(row.view().jobId);
  }

  observe(event: OffstageEvent): (WireFields & { readonly type: string }) | null {
    if (event.type !== 'job.status') return null;
    const { jobId, sessionId, status, cancelRequestedAt } = event;
    const jobs = this.#of(sessionId);
    if (status === 'running' && cancelRequestedAt === null) jobs.add(jobId);
    else if (isTerminal(status)) jobs.delete(jobId);
    else return null;
    if (jobs.size === 0) this.#bySession.delete(sessionId);
    return {
      type: 'running_task',
      session_id: sessionId,
      job_id: jobId,
      running: status === 'running',
      running_count: jobs.size,
    };
  }

  #of(sessionId: string): Set<string> {
    const jobs = this.#bySession.get(sessionId) ?? new Set();
    this.#bySession.set(sessionId, jobs);
    return jobs;
  }
}
