/**
 * What a session reaches, for tools and for tokens alike (spec 10, 12).
 *
 * RCH1  A session reaches the jobs it hosts, those it asked for, and everything below them; what is not its own reads as unknown.
 * RCH2  The walk upwards ends after as many levels as a tree may have, also on a cycle.
 */
import type { Offstage } from '../../engine/offstage.ts';
import { cardIdOf } from '../../model/cards.ts';
import { isOffstageError } from '../../model/errors.ts';
import { inPortions } from '../../model/in-portions.ts';
import { LIMITS } from '../../model/limits.ts';
import type { JobView } from '../../model/records.ts';

/** A job as a caller finds it; `expired`: it was pruned. */
export type Found = JobView | 'expired';

export const isView = (found: Found | null | undefined): found is JobView => typeof found === 'object' && found !== null;

/** One step of the walk upwards. */
interface Link {
  readonly found: Found;
  readonly sessionIds: readonly (string | null)[];
  readonly parentJobId: string | null;
}

export class Reach {
  readonly #offstage: Offstage;
  readonly #sessionId: string | null;

  /** @param sessionId null: a person, who reaches everything */
  constructor(offstage: Offstage, sessionId: string | null) {
    this.#offstage = offstage;
    this.#sessionId = sessionId;
  }

  /** Null: unknown, or out of reach. */
  async find(jobId: string): Promise<Found | null> {
    const link = await this.#link(jobId);
    return link !== null && (await this.#reaches(link)) ? link.found : null;
  }

  /** Those of many that it reaches. */
  async within(jobIds: readonly string[]): Promise<ReadonlySet<string>> {
    const found = await inPortions([...new Set(jobIds)], async (portion) => {
      const links = await Promise.all(portion.map((jobId) => this.find(jobId)));
      return portion.filter((_, index) => links[index] !== null);
    });
    return new Set(found);
  }

  async #reaches(job: Link): Promise<boolean> {
    if (this.#sessionId === null) return true;
    let link: Link | null = job;
    for (let level = 0; link !== null && level <= LIMITS.treeDepth; level += 1) {
      if (link.sessionIds.includes(this.#sessionId)) return true;
      link = link.parentJobId === null ? null : await this.#link(link.parentJobId);
    }
    return false;
  }

  async #link(jobId: string): Promise<Link | null> {
    try {
      const job = await this.#offstage.get(jobId);
      return { found: job, sessionIds: [job.sessionId, job.callerSessionId], parentJobId: job.parentJobId };
    } catch (error) {
      if (isOffstageError(error, 'job.expired')) return this.#expiredLink(jobId);
      // To a model an id that is none is as unknown as any other.
      if (isOffstageError(error, 'job.not_found') || isOffstageError(error, 'input.invalid')) return null;
      throw error;
    }
  }

  /** Cards outlive the jobs they stand for, and say whose they were. */
  async #expiredLink(jobId: string): Promise<Link> {
    try {
      const { sessionId, attach } = await this.#offstage.cards.get(cardIdOf(jobId));
      return { found: 'expired', sessionIds: [sessionId, attach.session_id], parentJobId: null };
    } catch (error) {
      if (!isOffstageError(error, 'card.not_found')) throw error;
      return { found: 'expired', sessionIds: [], parentJobId: null };
    }
  }
}
