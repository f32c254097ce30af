/**
 * What subscribers are sent of an event: its frame, or several for long output, and the seed's `running_task` beside it.
 *
 * EVF1  A frame of output is bounded, and no character is torn apart.
 */
import type { OffstageEvent } from '../../model/events.ts';
import { LIMITS } from '../../model/limits.ts';
import { isTerminal } from '../../model/records.ts';
import type { Frame } from '../requests/connection.ts';
import { cutPoint } from '../wire/cut-point.ts';
import type { WireFields } from '../wire/rename.ts';
import { eventToWire } from '../wire/wire-events.ts';

export type EventNames = 'ours' | 'seed';

/** Long output comes in several frames: escaped as JSON it may grow sixfold. */
export function* framesOf(event: OffstageEvent, names: EventNames): Generator<Frame> {
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

const asFrame = (wire: WireFields): Frame => wire as Frame;

/** The seed's `running_task`: which jobs of a session are at work, for its sidebar. */
export class RunningJobs {
  readonly #bySession = new Map<string, Set<string>>();

  constructor(live: Iterable<{ readonly status: string; view(): { readonly jobId: string; readonly sessionId: string } }>) {
    for (const row of live) if (row.status === 'running') this.#of(row.view().sessionId).add(row.view().jobId);
  }

  observe(event: OffstageEvent): Frame | null {
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
