/**
 * Who calls a tool: what is within reach, and the verbs to act with (spec 10).
 *
 * CLR1  A session reaches the jobs it hosts, those it asked for, and everything below them; what is not its own reads as unknown.
 * CLR2  The walk upwards ends after as many levels as a tree may have, also on a cycle.
 * CLR3  The body of a job calls as the session it runs on. Once it was told to end it calls nothing any more (4.9).
 * CLR4  Without a session it is a person, who reaches everything.
 */
import { asCancelled } from '../../engine/job-context.ts';
import type { Offstage } from '../../engine/offstage.ts';
import { cardIdOf } from '../../model/cards.ts';
import { isOffstageError, type OffstageError } from '../../model/errors.ts';
import type { JobContext } from '../../model/executor.ts';
import { LIMITS } from '../../model/limits.ts';
import type { JobView } from '../../model/records.ts';
import type { ToolContext } from './tool.ts';

/** A job as a caller finds it; `expired`: it was pruned. */
export type Found = JobView | 'expired';

export const isView = (found: Found | null | undefined): found is JobView => typeof found === 'object' && found !== null;

/** One step of the walk upwards. */
interface Link {
  readonly found: Found;
  readonly sessionIds: readonly (string | null)[];
  readonly parentJobId: string | null;
}

export class Caller {
  readonly offstage: Offstage;
  readonly signal: AbortSignal | undefined;
  readonly sessionId: string | null;
  readonly parentMessageId: string | undefined;
  readonly #body: JobContext | null;

  /** @throws OffstageError `job.cancelled`, `job.not_found` */
  constructor(offstage: Offstage, { signal, sessionId, jobId, parentMessageId }: ToolContext) {
    this.offstage = offstage;
    this.signal = signal;
    this.#body = jobId === undefined ? null : offstage.contextOf(jobId);
    this.sessionId = sessionId ?? this.#body?.sessionId ?? null;
    this.parentMessageId = parentMessageId;
    this.throwIfEnding();
  }

  /** The calling body's, whose waits give up its slot, or the engine's. */
  get verbs(): Pick<JobContext, 'spawn' | 'run' | 'wait' | 'waitMany'> {
    return this.#body ?? this.offstage;
  }

  /** Nobody waits for the answer of the call any more. */
  get hasLeft(): boolean {
    return this.signal?.aborted === true;
  }

  /** CLR3. @throws OffstageError `job.cancelled` */
  throwIfEnding(): void {
    if (this.#body?.signal.aborted === true) throw asCancelled(this.#body.signal.reason as OffstageError);
  }

  /** Null: unknown, or out of reach. */
  async find(jobId: string): Promise<Found | null> {
    const link = await this.#link(jobId);
    return link !== null && (await this.#reaches(link)) ? link.found : null;
  }

  /** The end of the job is told here: no notice tells it again. Not where nobody waits for the answer any more. */
  received(job: JobView): void {
    if (this.sessionId !== null && this.#isAnswerTo(job)) this.offstage.notices.received(this.sessionId, job.jobId);
  }

  /** It is about to cancel the job: no notice tells it so. */
  stopping(job: JobView): void {
    if (this.sessionId !== null && this.#isAnswerTo(job)) this.offstage.notices.stopping(this.sessionId, job.jobId);
  }

  /** What a body gets to know its session's agent does not know, unless the body has asked for it. */
  #isAnswerTo({ parentJobId }: JobView): boolean {
    return !this.hasLeft && (this.#body === null || parentJobId === this.#body.jobId);
  }

  async #reaches(job: Link): Promise<boolean> {
    if (this.sessionId === null) return true;
    let link: Link | null = job;
    for (let level = 0; link !== null && level <= LIMITS.treeDepth; level += 1) {
      if (link.sessionIds.includes(this.sessionId)) return true;
      link = link.parentJobId === null ? null : await this.#link(link.parentJobId);
    }
    return false;
  }

  async #link(jobId: string): Promise<Link | null> {
    try {
      const job = await this.offstage.get(jobId);
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
      const { sessionId, attach } = await this.offstage.cards.get(cardIdOf(jobId));
      return { found: 'expired', sessionIds: [sessionId, attach.session_id], parentJobId: null };
    } catch (error) {
      if (!isOffstageError(error, 'card.not_found')) throw error;
      return { found: 'expired', sessionIds: [], parentJobId: null };
    }
  }
}
