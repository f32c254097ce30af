/**
 * Which events the token of a session is shown: those of its own session, of the jobs it reaches, and of their cards (spec 12).
 *
 * SFL1  What is not known to be reached is not shown.
 */
import type { Offstage } from '../../engine/offstage.ts';
import { BoundedMap } from '../../model/bounded-map.ts';
import type { OffstageEvent } from '../../model/events.ts';
import { Reach } from './reach.ts';

/** Jobs of which it is remembered whether they are reached; a forgotten one is looked up again. */
const REMEMBERED = 10_000;

export class SessionFilter {
  readonly #sessionId: string;
  readonly #reach: Reach;
  readonly #known = new BoundedMap<string, boolean>(REMEMBERED);

  constructor(offstage: Offstage, sessionId: string) {
    this.#sessionId = sessionId;
    this.#reach = new Reach(offstage, sessionId);
  }

  async shows(event: OffstageEvent): Promise<boolean> {
    if (event.type === 'resync') return true;
    if ('jobId' in event) return this.#showsJob(event);
    return event.type.startsWith('session.') && 'sessionId' in event && event.sessionId === this.#sessionId;
  }

  async #showsJob(event: OffstageEvent & { readonly jobId: string; readonly sessionId: string }): Promise<boolean> {
    if (event.sessionId === this.#sessionId) return true;
    if ('callerSessionId' in event && event.callerSessionId === this.#sessionId) return true;
    const known = this.#known.get(event.jobId);
    if (known !== undefined) return known;
    // Where a job runs, who asked for it and what is above it never change.
    const isReached = (await this.#reach.find(event.jobId)) !== null;
    this.#known.set(event.jobId, isReached);
    return isReached;
  }
}
