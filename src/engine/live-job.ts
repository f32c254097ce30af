/**
 * A job while this process is responsible for it: what is decided, what is committed, and what hangs on it.
 *
 * LIV1  `decided` runs ahead of `committed`; outsiders are shown only `committed`.
 * LIV2  A live job is forgotten once its end is committed and its body has settled.
 */
import type { JobActor } from '../actors/job-actor.ts';
import type { JobStatus, JobView } from '../model/records.ts';
import { isFinished, type JobBase, type JobSnapshot, statusOfState, toRecord } from '../persistence/job-codec.ts';
import type { Execution } from './execution-registry.ts';
import type { PoolPlace } from './pool.ts';
import type { LiveJobRow } from './read-models.ts';
import type { Waiter } from './waiters.ts';

export class LiveJob implements LiveJobRow {
  readonly base: JobBase;
  decided: JobSnapshot;
  /** Null until the acceptance is durable. */
  committed: JobSnapshot | null = null;
  /** Of `committed`; 0 before. */
  revision = 0;
  /** The revision that `decided` gets when it is stored. */
  decidedRevision = 1;
  /** The end was acted upon although the store refused it, and is not stored yet (spec 6, degraded mode). */
  actedEnd: JobView | null = null;
  /** The acceptance was refused, or the job was removed; whatever is decided on top of it is void. */
  isDropped = false;
  /** From the job's first slot or first event on. */
  actor: JobActor | null = null;
  execution: Execution | null = null;
  waiters: Set<Waiter> | null = null;
  readonly place: PoolPlace;
  /** The tool call of an agent that asked for it (W3). */
  toolCall: { readonly executionId: string; readonly toolCallId: string } | null = null;
  /** Its caller knows of its end, has asked for it, or was stopped: it needs no notice. */
  isAnswered = false;
  /** Real input where the stored one is redacted. */
  secretInput: { readonly value: unknown } | null = null;

  constructor(base: JobBase, decided: JobSnapshot, place: PoolPlace) {
    this.base = base;
    this.decided = decided;
    this.place = place;
  }

  get jobId(): string {
    return this.base.jobId;
  }

  /** As committed. */
  get status(): JobStatus {
    return statusOfState((this.committed ?? this.decided).state);
  }

  get isDecidedEnd(): boolean {
    return isFinished(this.decided.state);
  }

  /** The committed record as outsiders see it. Only call it once the job is committed. */
  view(): JobView {
    return viewOf(this, this.committed ?? this.decided, this.revision);
  }

  /** What is decided, for answers that say `durable: false`. */
  decidedView(): JobView {
    return viewOf(this, this.decided, this.decidedRevision);
  }
}

/** A record with what is only known while the process lives. */
export function viewOf(job: LiveJob, snapshot: JobSnapshot, revision: number): JobView {
  const execution = job.execution;
  const isRunning = snapshot.state === 'active' || snapshot.state === 'ending';
  return Object.assign(toRecord(job.base, snapshot, revision), {
    bodyLive: execution?.isBodyLive ?? false,
    progress: isRunning ? (execution?.progress ?? null) : null,
    partialText: isRunning ? (execution?.partialText() ?? null) : null,
  });
}
