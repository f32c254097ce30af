/**
 * The reference for jobs without engine waits: plain lists, one event after the other, nothing asynchronous.
 *
 * MOD1  It knows the specification only (spec 2, 3, 4, 6), and nothing of how the engine does it.
 */
import type { JobStatus, ReasonCode } from '../../src/model/records.ts';

export interface ModelJob {
  readonly id: string;
  /** Whether its body ignores the signal. */
  readonly isStubborn: boolean;
  readonly content: string;
  readonly parent: ModelJob | null;
  readonly wait: boolean;
  readonly timeoutMs: number | null;
  state: 'queued' | 'running' | 'ending' | 'done';
  status: JobStatus;
  reason: ReasonCode | null;
  detached: boolean;
  /** Its body was called and has not settled: it holds a slot. */
  bodyLive: boolean;
  cause: 'timeout' | 'shutdown' | Extract<ReasonCode, `cancel.${string}`> | null;
  dueAt: number;
  graceAt: number;
  /** Elapsed milliseconds. */
  startedAt: number | null;
  endedAt: number | null;
  isCancelAsked: boolean;
  /** A cancel asked for although another cause was first: in memory only, and not a part of the record. */
  isCancelIgnored: boolean;
  isPruned: boolean;
}

export const CANCEL_GRACE_MS = 30_000;
export const SHUTDOWN_GRACE_MS = 5_000;
const NEVER = Number.POSITIVE_INFINITY;

export const above = (job: ModelJob): ModelJob[] => (job.parent === null ? [] : [job.parent, ...above(job.parent)]);

export class JobModel {
  readonly jobs: ModelJob[] = [];
  /** Bodies in the order in which they are called. */
  readonly calls: string[] = [];
  readonly #workers: number;
  now = 0;

  constructor(workers: number) {
    this.#workers = workers;
  }

  find(id: string): ModelJob | undefined {
    return this.jobs.find((job) => job.id === id);
  }

  /** Whether a child may be born; null where it depends on what a pruned ancestor has left in memory. */
  birthVerdict(parent: ModelJob | null): 'yes' | 'job.expired' | 'job.parent_cancelled' | null {
    if (parent === null) return 'yes';
    if (parent.isPruned) return 'job.expired';
    const line = [parent, ...above(parent)];
    const known = line.slice(
      0,
      Math.max(
        0,
        line.findIndex(({ isPruned }) => isPruned),
      ) || line.length,
    );
    if (known.some(({ isCancelAsked }) => isCancelAsked)) return 'job.parent_cancelled';
    if (known.length < line.length || line.some(({ isCancelIgnored }) => isCancelIgnored)) return null;
    return 'yes';
  }

  spawn(job: Pick<ModelJob, 'id' | 'isStubborn' | 'content' | 'parent' | 'wait' | 'timeoutMs'>): void {
    this.jobs.push({
      ...job,
      state: 'queued',
      status: 'queued',
      reason: null,
      detached: false,
      bodyLive: false,
      cause: null,
      dueAt: NEVER,
      graceAt: NEVER,
      startedAt: null,
      endedAt: null,
      isCancelAsked: false,
      isCancelIgnored: false,
      isPruned: false,
    });
    this.#drain();
  }

  cancel(job: ModelJob): void {
    if (job.state === 'done') return;
    this.#settleAll(this.#cancelTree(job, 'cancel.user'));
  }

  /** The body returns or throws. */
  settle(job: ModelJob, isThrow: boolean): void {
    if (!job.bodyLive) return;
    if (job.state === 'done') job.bodyLive = false;
    else if (job.state === 'running') this.#end(job, isThrow ? 'errored' : 'completed', isThrow ? 'failed' : 'completed');
    else this.#endAsCaused(job);
    this.#drain();
  }

  advance(ms: number): void {
    const until = this.now + ms;
    for (;;) {
      const next = Math.min(...this.jobs.map((job) => this.#dueAt(job)));
      if (next > until) break;
      this.now = next;
      // Whatever is due at one instant is decided before anything of it takes effect.
      const told: ModelJob[] = [];
      for (const job of this.jobs.filter((one) => this.#dueAt(one) <= next)) {
        // What ended at this instant may have cancelled what was due at it: that has a grace of its own.
        if (this.#dueAt(job) > next) continue;
        if (job.state === 'ending') this.#giveUp(job, told);
        else if (job.state === 'running') {
          job.state = 'ending';
          job.cause = 'timeout';
          job.graceAt = this.now + CANCEL_GRACE_MS;
          told.push(job);
        }
      }
      this.#settleAll(told);
    }
    this.now = until;
  }

  prune(): void {
    for (const job of this.jobs) if (job.state === 'done' && !job.bodyLive) job.isPruned = true;
  }

  /** `close()`, with all the time it takes. */
  shutDown(): void {
    for (const job of this.jobs.filter(({ state }) => state !== 'done')) {
      const isForced = job.state !== 'queued' && job.isStubborn;
      const [status, reason] = job.state === 'ending' ? this.#forced(job) : (['errored', 'abandoned.shutdown'] as const);
      this.#finish(job, status, reason, isForced);
      // The earlier of the two graces counts.
      if (isForced) job.endedAt = Math.min(job.graceAt, this.now + SHUTDOWN_GRACE_MS);
    }
    this.#startAnew();
  }

  crash(): void {
    for (const job of this.jobs) if (job.state !== 'done') this.#finish(job, 'errored', 'abandoned.crash', false);
    this.#startAnew();
  }

  #startAnew(): void {
    for (const job of this.jobs) {
      job.bodyLive = false;
      job.isCancelIgnored = false;
    }
  }

  #dueAt(job: ModelJob): number {
    if (job.state === 'running') return job.dueAt;
    return job.state === 'ending' ? job.graceAt : NEVER;
  }

  #drain(): void {
    for (const job of this.jobs) {
      if (this.jobs.filter(({ bodyLive }) => bodyLive).length >= this.#workers) return;
      if (job.state !== 'queued') continue;
      job.state = 'running';
      job.status = 'running';
      job.bodyLive = true;
      job.startedAt = this.now;
      job.dueAt = job.timeoutMs === null ? NEVER : this.now + job.timeoutMs;
      this.calls.push(job.id);
    }
  }

  /** Answers the bodies that were told to end, leaves first. */
  #cancelTree(root: ModelJob, reason: 'cancel.user' | 'cancel.caller_gone'): ModelJob[] {
    const told: ModelJob[] = [];
    const below = this.jobs.filter((job) => above(job).includes(root)).toSorted((a, b) => above(b).length - above(a).length);
    for (const job of below) if (job.state !== 'done') this.#cancelOne(job, 'cancel.parent', told);
    this.#cancelOne(root, reason, told);
    return told;
  }

  #cancelOne(job: ModelJob, cause: Extract<ReasonCode, `cancel.${string}`>, told: ModelJob[]): void {
    if (job.state === 'ending') {
      if (!job.isCancelAsked) job.isCancelIgnored = true;
      return;
    }
    job.isCancelAsked = true;
    if (job.state === 'queued') {
      this.#finish(job, 'cancelled', cause, false);
      return;
    }
    job.state = 'ending';
    job.cause = cause;
    job.graceAt = this.now + CANCEL_GRACE_MS;
    told.push(job);
  }

  /** Bodies that heed their signal settle, one after the other; their slots go to whoever is next. */
  #settleAll(told: readonly ModelJob[]): void {
    for (const job of told) {
      if (job.isStubborn || !job.bodyLive || job.state === 'done') continue;
      this.#endAsCaused(job);
      this.#drain();
    }
    this.#drain();
  }

  #endAsCaused(job: ModelJob): void {
    if (job.cause === 'timeout') this.#end(job, 'errored', 'timed_out');
    else this.#end(job, 'cancelled', job.cause as ReasonCode);
  }

  #forced(job: ModelJob): [JobStatus, ReasonCode] {
    return job.cause === 'timeout' ? ['errored', 'timed_out'] : ['cancelled', 'cancel.timed_out'];
  }

  #giveUp(job: ModelJob, told: ModelJob[]): void {
    this.#finish(job, ...this.#forced(job), true);
    told.push(...this.#cancelForegroundChildren(job));
  }

  #end(job: ModelJob, status: JobStatus, reason: ReasonCode): void {
    this.#finish(job, status, reason, false);
    const told = this.#cancelForegroundChildren(job);
    if (told.length > 0) this.#settleAll(told);
  }

  #cancelForegroundChildren(parent: ModelJob): ModelJob[] {
    const children = this.jobs.filter((job) => job.parent === parent && job.wait && job.state !== 'done');
    return children.flatMap((child) => this.#cancelTree(child, 'cancel.caller_gone'));
  }

  #finish(job: ModelJob, status: JobStatus, reason: ReasonCode, isForced: boolean): void {
    job.state = 'done';
    job.status = status;
    job.reason = reason;
    job.detached = isForced;
    job.endedAt = this.now;
    if (!isForced) job.bodyLive = false;
  }
}
