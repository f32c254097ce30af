/**
 * Decide → commit → reveal: the one way from a decision to anybody outside (spec 6; architecture 2).
 *
 * COM1  A transaction is written whole, in one batch, in the order of decision; nothing of it is shown before.
 * COM2  One write is in flight at a time; what happens in one turn is committed together, at most 256 changes per batch.
 * COM3  Sequence numbers and revisions are given when a batch is built, so a refused batch leaves no gap.
 * COM4  Reveal order: read models, events, waiters and acknowledgements, effects.
 * COM5  After a failed attempt, new jobs of the batch are refused and leave nothing; everything else acts on what was decided,
 *       marked `durable: false`, is shown to nobody else until it is stored, and is tried again.
 */
import type { OffstageError } from '../model/errors.ts';
import { isOffstageError, offstageError } from '../model/errors.ts';
import type { OffstageEvent } from '../model/events.ts';
import { LIMITS } from '../model/limits.ts';
import { isFinished } from '../persistence/job-codec.ts';
import { retractOperations } from '../persistence/job-rows.ts';
import { KEYS } from '../persistence/row-keys.ts';
import type { StoreOperation } from '../persistence/store.ts';
import { type Batch, buildBatch } from './batch.ts';
import type { CommitLoopHost } from './commit-host.ts';
import type { LiveJob } from './live-job.ts';
import { TakenBack } from './taken-back.ts';
import type { Transaction } from './transaction.ts';

interface Pending extends Transaction {
  hasActed?: boolean;
}

const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 5_000;
const LOW_WATER_EVERY = 64;

export class CommitLoop {
  readonly #host: CommitLoopHost;
  #pending: Pending[] = [];
  /** Written or half-written by a failed batch and not to be kept. */
  #retractions: StoreOperation[] = [];
  /** The same of the batch that is being written, by key. */
  readonly #unanswered = new Map<string, StoreOperation>();
  readonly #past = new TakenBack();
  #seq: number;
  /** While the events of a batch are being published. */
  #toldSeq: number | null = null;
  #ordinal: number;
  #batches = 0;
  #isWriting = false;
  /** Of the pending ones. */
  #pendingCreations = 0;
  #isScheduled = false;
  #isStalled = false;
  /** A write that has not answered for so long is treated as failed. */
  #stallMs: number = LIMITS.storeAnswerMs;
  #watched: { readonly batch: Batch<Pending>; readonly stop: () => void } | null = null;
  #isStopped = false;
  #hasFailed = false;
  #retryMs = 0;
  #stopRetry: (() => void) | null = null;
  #idle: (() => void)[] = [];
  #lowWater: () => number;

  constructor(host: CommitLoopHost, start: { readonly seq: number; readonly ordinal: number; readonly lowWater: () => number }) {
    this.#host = host;
    this.#seq = start.seq;
    this.#ordinal = start.ordinal;
    this.#lowWater = start.lowWater;
  }

  /** Number of the last record event that is stored. */
  get seq(): number {
    return this.#seq;
  }

  /** Number of the last record event that was handed to observers: what a volatile event follows, also in the middle of a reveal. */
  get toldSeq(): number {
    return this.#toldSeq ?? this.#seq;
  }

  get pendingCount(): number {
    return this.#pending.length;
  }

  /** Everything that was decided is stored, and has had its effects. */
  get isIdle(): boolean {
    return this.#pending.length === 0 && !this.#isWriting;
  }

  get isDegraded(): boolean {
    return this.#retryMs > 0 || this.#isStalled;
  }

  /** The highest ordinal given. */
  get lastOrdinal(): number {
    return this.#ordinal;
  }

  /** How many more jobs may be accepted into the next batch. */
  get creationRoom(): number {
    return LIMITS.acceptancesPerBatch - this.#pendingCreations;
  }

  nextOrdinal(): number {
    this.#ordinal += 1;
    return this.#ordinal;
  }

  /** The row as of the last commit, where the store may have it otherwise: who reads past the loop goes by it. Undefined: as stored. */
  takenBack(key: string): StoreOperation | undefined {
    return this.#retractions.find((operation) => operation.key === key) ?? this.#unanswered.get(key) ?? this.#past.of(key);
  }

  submit(transaction: Transaction): void {
    if ((this.isDegraded || this.#isStopped) && transaction.isCreation === true) {
      transaction.refuse?.(this.#isStopped ? offstageError('engine.closing', {}) : offstageError('engine.degraded', {}));
      for (const { job } of transaction.changes) this.#drop(job);
      return;
    }
    if (transaction.isCreation === true) this.#pendingCreations += 1;
    this.#pending.push(transaction);
    this.#schedule();
  }

  /** Resolves once nothing is pending, or the store refuses. */
  settled(): Promise<void> {
    if (this.#isStalled || (this.#pending.length === 0 && !this.#isWriting)) return Promise.resolve();
    // Refused, acted upon, and waiting for the next try.
    if (this.#stopRetry !== null && !this.#isWriting && !this.#isScheduled) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Tries once more at once, for a closing engine. Resolves whether it worked. */
  async flushNow(): Promise<boolean> {
    await this.settled();
    if (this.#isStalled) return false;
    if (this.#pending.length === 0 && this.#retractions.length > 0) this.#pending.push({ changes: [] });
    if (this.#pending.length > 0) {
      this.#stopRetry?.();
      this.#stopRetry = null;
      await this.#write();
    }
    return this.#pending.length === 0;
  }

  /** Nothing is written any more. What the store has not answered for, it accepts for nobody. */
  stop(): void {
    this.#isStopped = true;
    this.#stopRetry?.();
    this.#stopRetry = null;
    for (const transaction of this.#watched?.batch.transactions ?? [])
      if (transaction.isCreation === true) this.#guard(() => transaction.refuse?.(offstageError('engine.closing', {})));
  }

  #schedule(): void {
    if (this.#isScheduled || (this.#isWriting && !this.#isStalled)) return;
    this.#isScheduled = true;
    this.#host.clock.nextTurn(() => {
      this.#isScheduled = false;
      // While the store refuses, new decisions act at once and wait for the next try to be stored.
      if (this.#stopRetry !== null || this.#isStalled || this.#isStopped) this.#actOn(this.#pending);
      else void this.#write();
    });
  }

  async #write(): Promise<void> {
    if (this.#isWriting || this.#pending.length === 0) return this.#rest();
    const batch = this.#build();
    this.#isWriting = true;
    this.#watch(batch);
    for (const { retract = [] } of batch.transactions) for (const one of retract) this.#unanswered.set(one.key, one);
    let failure: { readonly error: unknown } | null = null;
    try {
      const writing = this.#host.store.batch(batch.operations, { sync: batch.mustSync && this.#host.isSynced });
      // While the disk works, the next jobs are accepted.
      this.#guard(() => this.#host.roomForCreations());
      await writing;
    } catch (error) {
      failure = { error };
    }
    this.#watched?.stop();
    this.#watched = null;
    this.#unanswered.clear();
    this.#isWriting = false;
    this.#isStalled = false;
    if (failure === null) this.#reveal(batch);
    else this.#fail(batch, failure.error);
    if (this.#pending.length > 0) this.#schedule();
    this.#rest();
  }

  #watch(batch: Batch<Pending>): void {
    const stop = this.#host.timers.after(this.#stallMs, () => this.#stall(batch));
    this.#watched = { batch, stop };
  }

  /** A closing engine does not wait longer than this for a store that hangs. */
  hurry(ms: number): void {
    this.#stallMs = Math.min(this.#stallMs, ms);
    if (this.#watched === null || this.#isStalled) return;
    this.#watched.stop();
    this.#watch(this.#watched.batch);
  }

  /** The store hangs: cancels, aborts and waiters go on without it. Whether the batch is stored shows when the store answers. */
  #stall(batch: Batch<Pending>): void {
    this.#isStalled = true;
    this.#reportFailure(offstageError('store.failed', { message: `it has not answered for ${this.#stallMs} ms` }));
    this.#actOn(batch.transactions.filter(({ isCreation }) => isCreation !== true));
    this.#pending = this.#refusePendingCreations(offstageError('engine.degraded', {}));
    this.#actOn(this.#pending);
    this.#guard(() => this.#host.roomForCreations());
  }

  #rest(): void {
    // Who waits for a store that hangs is to go on, whatever is still to be stored.
    if (!this.#isStalled && (this.#isWriting || (this.#pending.length > 0 && this.#stopRetry === null))) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }

  /** The batch of what is due, with what the loop itself adds: retractions, the numbers given, the watermark. */
  #build(): Batch<Pending> {
    let count = 0;
    let taken = 0;
    while (taken < this.#pending.length && (taken === 0 || count < LIMITS.changesPerBatch)) {
      // One of sessions or tasks has no change of a job, and weighs as much.
      count += Math.max(1, (this.#pending[taken] as Pending).changes.length);
      taken += 1;
    }
    const transactions = this.#pending.splice(0, taken);
    for (const { isCreation } of transactions) if (isCreation === true) this.#pendingCreations -= 1;
    const batch = this.#encode(transactions);
    const operations = this.#retractions.length === 0 ? batch.operations : [...this.#retractions, ...batch.operations];
    operations.push({ type: 'put', key: KEYS.head, value: JSON.stringify([this.#seq + batch.events.length, this.#ordinal]) });
    if (this.#batches++ % LOW_WATER_EVERY === 0) operations.push({ type: 'put', key: KEYS.low, value: String(this.#lowWater()) });
    return { ...batch, operations };
  }

  /** A transaction that cannot be built, by an error of ours or of a hook, must not take the others with it (G16). */
  #encode(transactions: readonly Pending[]): Batch<Pending> {
    const { hooks, keepsHistory } = this.#host;
    const options = { hooks, firstSeq: this.#seq + 1, keepsHistory };
    try {
      return buildBatch(transactions, options);
    } catch {
      let batch = buildBatch<Pending>([], options);
      for (const transaction of transactions) {
        try {
          batch = buildBatch([...batch.transactions, transaction], options);
        } catch (error) {
          this.#host.effectFailed(error);
          this.#giveUp(transaction);
        }
      }
      return batch;
    }
  }

  /** It will never be stored: who waits for it is told what was decided, and the next start errors its job. */
  #giveUp(transaction: Pending): void {
    if (transaction.isCreation !== true) {
      this.#actOn([transaction]);
      return;
    }
    for (const { job } of transaction.changes) this.#drop(job);
    this.#guard(() => transaction.refuse?.(offstageError('store.failed', { message: 'it could not be written down' })));
  }

  #reveal(batch: Batch<Pending>): void {
    const host = this.#host;
    const firstSeq = this.#seq + 1;
    this.#seq += batch.events.length;
    // What is told before its first event follows the batch before it.
    this.#toldSeq = firstSeq - 1;
    this.#past.written(this.#retractions, batch.operations);
    this.#retractions = [];
    if (this.#hasFailed) {
      this.#hasFailed = false;
      this.#retryMs = 0;
      host.storeRecovered();
    }
    for (const { change, revision } of batch.steps) {
      change.job.committed = change.after;
      change.job.revision = revision;
    }
    for (const transaction of batch.transactions) {
      if (transaction.committed !== undefined) this.#guard(() => transaction.committed?.());
    }
    host.committed(
      batch.steps.map(({ change }) => change),
      this.#seq,
    );
    if (host.hasObservers()) {
      // Numbered in place: a batch's events belong to nobody else, and a copy of each would cost a tenth of the reveal.
      const numbering = { seq: firstSeq, epoch: host.epoch };
      for (const event of batch.events) {
        this.#toldSeq = numbering.seq;
        host.publish(Object.assign(event, numbering) as OffstageEvent);
        numbering.seq += 1;
      }
    }
    this.#toldSeq = null;
    this.#guard(() => host.published());
    for (const transaction of batch.transactions) {
      const isRevealedEarly = transaction.hasActed === true;
      for (const change of transaction.changes) {
        if (!change.job.isDropped && isFinished(change.after.state)) host.ended(change, true);
      }
      if (!isRevealedEarly) this.#guard(() => transaction.acknowledge?.(true));
    }
    for (const transaction of batch.transactions)
      if (transaction.hasActed !== true) this.#guard(() => transaction.effects?.(true));
  }

  #fail(batch: Batch<Pending>, cause: unknown): void {
    const error = isOffstageError(cause)
      ? cause
      : offstageError('store.failed', { message: String((cause as Error)?.message ?? cause) }, { cause });
    // Overwritten by the next events; deleted in case there are none for a while.
    if (batch.events.length > 0) this.#retractions.push({ type: 'del', key: KEYS.events(this.#seq + 1) });
    const kept: Pending[] = [];
    for (const transaction of batch.transactions) {
      if (transaction.isCreation !== true) {
        kept.push(transaction);
        continue;
      }
      for (const change of transaction.changes) {
        // The failed batch may have been written all the same: the next one takes its rows back.
        if (change.before === null) {
          this.#retractions.push(...retractOperations(change.job.base));
          this.#host.mayBeStored(change.job);
        }
        this.#drop(change.job);
      }
      if (transaction.retract !== undefined) this.#retractions.push(...transaction.retract);
      this.#guard(() => transaction.refuse?.(error));
    }
    this.#pending = [...kept, ...this.#refusePendingCreations(error)];
    this.#reportFailure(error);
    this.#guard(() => this.#host.roomForCreations());
    if (this.#isStopped) return;
    this.#retryMs = Math.min(LAST_RETRY_MS, this.#retryMs === 0 ? FIRST_RETRY_MS : this.#retryMs * 2);
    this.#stopRetry = this.#host.timers.after(this.#retryMs, () => {
      this.#stopRetry = null;
      if (this.#pending.length > 0) void this.#write();
      else this.#probe();
    });
    this.#actOn(this.#pending);
  }

  /** With nothing left to store, an empty write tells whether the store is well again. */
  #probe(): void {
    this.#pending.push({ changes: [] });
    void this.#write();
  }

  #refusePendingCreations(error: OffstageError): Pending[] {
    return this.#pending.filter((transaction) => {
      if (transaction.isCreation !== true) return true;
      this.#pendingCreations -= 1;
      for (const { job } of transaction.changes) this.#drop(job);
      this.#guard(() => transaction.refuse?.(error));
      return false;
    });
  }

  #drop(job: LiveJob): void {
    if (job.isDropped) return;
    job.isDropped = true;
    this.#host.dropped(job);
  }

  #actOn(transactions: readonly Pending[]): void {
    for (const transaction of transactions) {
      if (transaction.hasActed === true) continue;
      transaction.hasActed = true;
      for (const change of transaction.changes) {
        if (!change.job.isDropped && isFinished(change.after.state)) this.#host.ended(change, false);
      }
      this.#guard(() => transaction.acknowledge?.(false));
      this.#guard(() => transaction.effects?.(false));
    }
    this.#rest();
  }

  #reportFailure(error: OffstageError): void {
    this.#hasFailed = true;
    this.#host.storeFailed(error);
  }

  #guard(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#host.effectFailed(error);
    }
  }
}
