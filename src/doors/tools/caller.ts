/**
 * Who calls a tool: what is within reach, and the verbs to act with (spec 10).
 *
 * CLR1  What a session reaches is said in one place, for tools and for tokens (RCH1, RCH2).
 * CLR3  The body of a job calls as the session it runs on. Once it was told to end it calls nothing any more (4.9).
 * CLR4  Without a session it is a person, who reaches everything.
 */
import { asCancelled } from '../../engine/job-context.ts';
import type { Offstage } from '../../engine/offstage.ts';
import type { OffstageError } from '../../model/errors.ts';
import type { JobContext } from '../../model/executor.ts';
import type { JobView } from '../../model/records.ts';
import { type Found, Reach } from '../requests/reach.ts';
import type { ToolContext } from './tool.ts';

export class Caller {
  readonly offstage: Offstage;
  readonly signal: AbortSignal | undefined;
  readonly sessionId: string | null;
  readonly parentMessageId: string | undefined;
  readonly #body: JobContext | null;
  readonly #reach: Reach;

  /** @throws OffstageError `job.cancelled`, `job.not_found` */
  constructor(offstage: Offstage, { signal, sessionId, jobId, parentMessageId }: ToolContext) {
    this.offstage = offstage;
    this.signal = signal;
    this.#body = jobId === undefined ? null : offstage.contextOf(jobId);
    this.sessionId = sessionId ?? this.#body?.sessionId ?? null;
    this.parentMessageId = parentMessageId;
    this.#reach = new Reach(offstage, this.sessionId);
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
  find(jobId: string): Promise<Found | null> {
    return this.#reach.find(jobId);
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
}
