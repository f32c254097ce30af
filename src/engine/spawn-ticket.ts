/**
 * A spawn on its way: what it waits for, who waits for it, and, once it is decided, the transaction that stores it.
 *
 * TKT1  A ticket is answered once: with the job's record when it is durable, or with the reason why there is none.
 */
import type { OffstageError } from '../model/errors.ts';
import type { JobView, SessionRow } from '../model/records.ts';
import type { FoundJob } from '../persistence/job-rows.ts';
import type { CancelRequest } from './canceller.ts';
import type { Core } from './core.ts';
import type { LiveJob } from './live-job.ts';
import type { ParentFacts } from './parents.ts';
import type { SpawnContent } from './spawn-request.ts';
import type { RequestStamp } from './stop-epochs.ts';
import type { Change, Transaction } from './transaction.ts';

/** What has to be known before a job can be accepted. */
export interface Prepared {
  readonly content: SpawnContent;
  readonly session: SessionRow;
  readonly caller: SessionRow | null;
  readonly parent: ParentFacts | null;
  /** A stored job of the same id. */
  readonly existing: FoundJob | 'expired' | null;
}

export interface Ticket {
  readonly content: SpawnContent;
  prepared: Prepared | null;
  failure: { readonly error: unknown } | null;
  /** Answered; whatever comes later is for nobody. */
  isOver: boolean;
  /** When it was asked for; null: in the tick in which it is accepted. */
  readonly stamp: RequestStamp | null;
  /** The job whose body asks, if a body does. */
  readonly body: LiveJob | null;
  readonly cancels: {
    readonly request: CancelRequest;
    readonly resolve: (view: JobView | null) => void;
    readonly reject: (error: unknown) => void;
  }[];
  readonly resolve: (view: JobView) => void;
  readonly reject: (error: unknown) => void;
}

/** The acceptance of one job. A class, because four closures per job are a tenth of what a job costs. */
export class Acceptance implements Transaction {
  readonly isCreation = true;
  readonly changes: readonly Change[];
  readonly #core: Core;
  readonly #job: LiveJob;
  readonly #ticket: Ticket;
  readonly #refuse: (ticket: Ticket, error: unknown) => void;

  constructor(core: Core, job: LiveJob, ticket: Ticket, refuse: (ticket: Ticket, error: unknown) => void) {
    this.changes = [{ job, before: null, after: job.decided, announce: ANNOUNCE_BIRTH }];
    this.#core = core;
    this.#job = job;
    this.#ticket = ticket;
    this.#refuse = refuse;
  }

  acknowledge(): void {
    this.#ticket.resolve(this.#job.view());
  }

  refuse(error: OffstageError): void {
    this.#refuse(this.#ticket, error);
  }

  effects(): void {
    if (!this.#job.isDecidedEnd && !this.#core.isClosing) this.#core.pool.enqueue(this.#job.place);
  }
}

const ANNOUNCE_BIRTH = ['job.created', 'job.status'] as const;
