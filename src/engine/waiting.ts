/**
 * Waiting for jobs, from outside and from within bodies (spec 3, 5).
 *
 * WTG1  A failed or cancelled job never rejects a wait.
 * WTG2  A body that waits gives up its slot; a wait that could never end is refused at once.
 * WTG3  The jobs a body waits for go before those nobody waits for.
 * WTG4  A wait whose signal has fired rejects with its reason, whatever it waits for, a read of the store included; only bad input is said
 *       before.
 * WTG5  `timeoutMs` counts from the call. What the store does not answer in time is `store.failed`, whatever the limit: a read is no wait.
 */
import { isOffstageError, type OffstageError, offstageError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import type { JobView } from '../model/records.ts';
import type { MissingEntry, WaitManyEntry, WaitManyOptions, WaitOptions } from '../model/requests.ts';
import type { Admission } from './admission.ts';
import { checkSignal, namesOf, readArray, readOptions } from './check-options.ts';
import type { Core } from './core.ts';
import type { Execution } from './execution-registry.ts';
import { asCancelled } from './job-context.ts';
import type { LiveJob } from './live-job.ts';
import { onAbortOf, unlessAborted } from './signal-fan.ts';
import { checkId, invalidInput } from './spawn-request.ts';
import { storedView } from './stored-view.ts';
import type { WaitLimits } from './waiters.ts';

const HOST_TIMEOUT_MS = 30_000;

/** A job as a wait finds it: live, ended, or not there. */
type Target = LiveJob | JobView | MissingEntry;

const isLive = (target: Target): target is LiveJob => 'base' in target;
const isMissing = (target: Target): target is MissingEntry => !isLive(target) && 'error' in target && !('status' in target);

export class Waiting {
  readonly #core: Core;
  readonly #admission: () => Admission;
  /** Which jobs a body waits for, by its own job's id; with how many waits. */
  readonly #edges = new Map<string, Map<string, number>>();

  constructor(core: Core, admission: () => Admission) {
    this.#core = core;
    this.#admission = admission;
  }

  async wait(jobId: string, options?: WaitOptions): Promise<JobView> {
    const limits = limitsOf(readOptions('options', options, WAIT_NAMES), HOST_TIMEOUT_MS);
    checkId('jobId', jobId);
    limits.signal?.throwIfAborted();
    const begunAt = this.#core.settings.clock.monotonic();
    const target = await unlessGone(this.#find(jobId, limits), limits.signal);
    if (isMissing(target)) throw offstageError(target.error.code, { jobId });
    return isLive(target) ? this.#core.waiters.wait(target, this.#leftOf(limits, begunAt)) : target;
  }

  async waitMany(jobIds: readonly string[], options?: WaitManyOptions): Promise<readonly WaitManyEntry[]> {
    const given = readOptions('options', options, WAIT_MANY_NAMES);
    const limits = limitsOf(given, HOST_TIMEOUT_MS);
    const mode = modeOf(given);
    const begunAt = this.#core.settings.clock.monotonic();
    const targets = await this.#findMany(jobIds, limits);
    return this.#all(targets, mode, this.#leftOf(limits, begunAt));
  }

  /** The same from within a body. */
  async waitFrom(caller: Execution, jobId: string, options?: WaitOptions): Promise<JobView> {
    const given = readOptions('options', options, WAIT_NAMES);
    const [entry] = await this.waitManyFrom(caller, [checkId('jobId', jobId)], given);
    const view = entry as WaitManyEntry;
    if ('status' in view) return view;
    throw offstageError(view.error.code, { jobId });
  }

  async waitManyFrom(caller: Execution, jobIds: readonly string[], options?: WaitManyOptions): Promise<readonly WaitManyEntry[]> {
    const given = readOptions('options', options, WAIT_MANY_NAMES);
    const limits = limitsOf(given, Number.POSITIVE_INFINITY);
    const mode = modeOf(given);
    const begunAt = this.#core.settings.clock.monotonic();
    const targets = await unlessTold(
      caller,
      this.#core.whileOpen(() => this.#findMany(jobIds, limits)),
    );
    const left = this.#leftOf(limits, begunAt);
    if (caller.abortReason !== null) throw asCancelled(caller.abortReason);
    const waited = targets.filter(isLive);
    for (const target of waited) this.#assertNoCycle(caller, target.base.jobId);
    if (waited.length === 0 || left.timeoutMs === 0 || caller.hasSettled) return this.#all(targets, mode, left);
    return this.#insideBody(caller, waited, left, (bounded) => this.#all(targets, mode, bounded));
  }

  /** Gives up the slot while `wait` runs; comes back with a slot, or, when the body is told to end, at once and with an error. */
  async #insideBody<T>(
    caller: Execution,
    targets: readonly LiveJob[],
    limits: WaitLimits,
    wait: (limits: WaitLimits) => Promise<T>,
  ): Promise<T> {
    const { pool } = this.#core;
    const place = caller.job.place;
    const waiterId = caller.job.base.jobId;
    const targetIds = targets.map((target) => target.base.jobId);
    this.#addEdges(waiterId, targetIds);
    for (const target of targets) pool.expedite(target.place);
    pool.beginWait(place);
    const controller = new AbortController();
    let stopped: OffstageError | null = null;
    const stopListening = caller.onAbort((reason) => {
      stopped = asCancelled(reason);
      controller.abort(stopped);
    });
    const leave = (): void => controller.abort(limits.signal?.reason);
    const stopLeaving = limits.signal === undefined ? null : onAbortOf(limits.signal, leave);
    if (limits.signal?.aborted === true) leave();
    try {
      return await wait({ timeoutMs: limits.timeoutMs, signal: controller.signal });
    } finally {
      stopListening();
      stopLeaving?.();
      this.#removeEdges(waiterId, targetIds);
      await new Promise<void>((resolve) => pool.endWait(place, resolve));
      // Told to end while it waited for its slot.
      if (stopped === null && caller.abortReason !== null) stopped = asCancelled(caller.abortReason);
      // biome-ignore lint/correctness/noUnsafeFinally: a body that was told to end must not go on as if its wait had succeeded.
      if (stopped !== null) throw stopped;
    }
  }

  async #all(targets: readonly Target[], mode: 'all' | 'any', limits: WaitLimits): Promise<readonly WaitManyEntry[]> {
    const live = [...new Set(targets.filter(isLive))];
    const hasEnded = targets.some((target) => !isLive(target) && !isMissing(target));
    if (live.length === 0 || (mode === 'any' && hasEnded)) return this.#entries(targets, new Map());
    const settled = new Map<LiveJob, JobView | MissingEntry>();
    const others = new AbortController();
    const leave = (): void => others.abort(limits.signal?.reason);
    if (limits.signal?.aborted === true) throw limits.signal.reason;
    const stopLeaving = limits.signal === undefined ? null : onAbortOf(limits.signal, leave);
    try {
      const waits = live.map((job) =>
        this.#core.waiters.wait(job, { timeoutMs: limits.timeoutMs, signal: others.signal }).then(
          (view) => {
            settled.set(job, view);
            return true;
          },
          (error) => {
            // Its acceptance was refused: it counts like an id that was never there.
            if (!isOffstageError(error, 'job.not_found')) throw error;
            settled.set(job, { jobId: job.base.jobId, error: { code: 'job.not_found' } });
            return false;
          },
        ),
      );
      await (mode === 'all' ? Promise.all(waits) : firstTrue(waits));
      if (mode === 'any') {
        // Those that nobody waits for any more must leave nothing behind.
        others.abort(LEAVE);
        await Promise.allSettled(waits);
      }
    } finally {
      stopLeaving?.();
      if (!others.signal.aborted) others.abort(LEAVE);
    }
    return this.#entries(targets, settled);
  }

  #entries(targets: readonly Target[], settled: ReadonlyMap<LiveJob, JobView | MissingEntry>): readonly WaitManyEntry[] {
    // One time-out is everybody's: they all share the limit.
    const isTimedOut = [...settled.values()].some((view) => 'timedOut' in view && view.timedOut === true);
    const current = (job: LiveJob): WaitManyEntry => {
      // What is not durable yet is shown to nobody.
      if (job.committed === null) return { jobId: job.base.jobId, error: { code: 'job.not_found' } };
      return isTimedOut ? { ...job.view(), timedOut: true } : job.view();
    };
    return targets.map((target) => (isLive(target) ? (settled.get(target) ?? target.actedEnd ?? current(target)) : target));
  }

  async #findMany(jobIds: readonly string[], limits: WaitLimits): Promise<readonly Target[]> {
    const ids = readArray('jobIds', jobIds).map((jobId, index) => checkId(`jobIds[${index}]`, jobId));
    limits.signal?.throwIfAborted();
    return unlessGone(Promise.all(ids.map((jobId) => this.#find(jobId, limits))), limits.signal);
  }

  /** What is left of the limits of a wait that has begun then, on the monotonic clock. */
  #leftOf({ timeoutMs, signal }: WaitLimits, begunAt: number): WaitLimits {
    return { timeoutMs: Math.max(0, timeoutMs - (this.#core.settings.clock.monotonic() - begunAt)), signal };
  }

  async #find(jobId: string, { timeoutMs }: WaitLimits): Promise<Target> {
    const { jobs, rows } = this.#core;
    // One that is still being accepted when the time is over is not there.
    if (timeoutMs > 0 && !jobs.has(jobId) && this.#admission().isAdmitting(jobId))
      await this.#unlessLate(this.#admission().whenAdmitted(jobId), timeoutMs);
    const job = jobs.get(jobId);
    if (job !== undefined) {
      if (job.committed !== null && job.isDecidedEnd && job.committed.state === job.decided.state) return job.view();
      return job;
    }
    const stored = await this.#unlessLate(rows.find(jobId), LIMITS.storeAnswerMs);
    if (stored === 'expired') return { jobId, error: { code: 'job.expired' } };
    const isKnown = stored !== null && stored !== LATE;
    // It may have been accepted while the store was asked.
    const live = jobs.get(jobId);
    if (live !== undefined && !(isKnown && live.isDecidedEnd)) return live;
    if (stored === LATE) throw offstageError('store.failed', { message: `it has not answered for ${LIMITS.storeAnswerMs} ms` });
    return isKnown ? storedView(stored) : { jobId, error: { code: 'job.not_found' } };
  }

  #unlessLate<T>(promise: Promise<T>, limitMs: number): Promise<T | typeof LATE> {
    return new Promise((resolve, reject) => {
      const stop = this.#core.timers.after(limitMs, () => resolve(LATE));
      promise.then(resolve, reject).finally(stop);
    });
  }

  /** What a body waits for inside the engine. */
  awaitedBy(jobId: string): readonly string[] {
    return [...(this.#edges.get(jobId)?.keys() ?? [])];
  }

  /** @throws OffstageError `job.wait_cycle` */
  #assertNoCycle(caller: Execution, targetId: string): void {
    const waiterId = caller.job.base.jobId;
    const refuse = (): never => {
      throw offstageError('job.wait_cycle', { jobId: targetId });
    };
    if (targetId === waiterId || this.#core.lineage.isAncestor(targetId, waiterId)) refuse();
    const seen = new Set<string>();
    const stack = [targetId];
    for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
      if (id === waiterId) refuse();
      if (seen.has(id)) continue;
      seen.add(id);
      for (const next of this.#edges.get(id)?.keys() ?? []) stack.push(next);
    }
  }

  #addEdges(waiterId: string, targetIds: readonly string[]): void {
    let targets = this.#edges.get(waiterId);
    if (targets === undefined) {
      targets = new Map();
      this.#edges.set(waiterId, targets);
    }
    for (const id of targetIds) targets.set(id, (targets.get(id) ?? 0) + 1);
  }

  #removeEdges(waiterId: string, targetIds: readonly string[]): void {
    const targets = this.#edges.get(waiterId);
    if (targets === undefined) return;
    for (const id of targetIds) {
      const left = (targets.get(id) ?? 1) - 1;
      if (left === 0) targets.delete(id);
      else targets.set(id, left);
    }
    if (targets.size === 0) this.#edges.delete(waiterId);
  }
}

const WAIT_NAMES = namesOf<WaitOptions>({ timeoutMs: true, signal: true });
const WAIT_MANY_NAMES = namesOf<WaitManyOptions>({ timeoutMs: true, signal: true, mode: true });

const LEAVE = new Error('no longer waiting');
const LATE = Symbol('late');

/** What the promise comes to, or why the body was told to end meanwhile. */
function unlessTold<T>(caller: Execution, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stopListening = caller.onAbort((reason) => reject(asCancelled(reason)));
    promise.then(resolve, reject).finally(stopListening);
  });
}

/** What the promise comes to, or the signal's reason, also where the promise has come to something before. */
async function unlessGone<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  const found = await unlessAborted(promise, signal);
  signal.throwIfAborted();
  return found;
}

/** Resolves with the first `true`, or when all have answered `false`; rejects with the first rejection. */
function firstTrue(answers: readonly Promise<boolean>[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let left = answers.length;
    for (const answer of answers) {
      answer.then((isTrue) => {
        left -= 1;
        if (isTrue || left === 0) resolve();
      }, reject);
    }
  });
}

function limitsOf(options: WaitOptions, defaultMs: number): WaitLimits {
  const { timeoutMs } = options;
  const signal = checkSignal('signal', options.signal);
  if (timeoutMs === undefined) return { timeoutMs: defaultMs, signal };
  if (timeoutMs === null) return { timeoutMs: Number.POSITIVE_INFINITY, signal };
  if (typeof timeoutMs !== 'number' || Number.isNaN(timeoutMs) || timeoutMs < 0) {
    throw invalidInput('timeoutMs', 'it must be milliseconds of 0 or more, or null for no limit');
  }
  return { timeoutMs, signal };
}

function modeOf(options: WaitManyOptions): 'all' | 'any' {
  const mode = options.mode ?? 'all';
  if (mode !== 'all' && mode !== 'any') throw invalidInput('mode', "it must be 'all' or 'any'");
  return mode;
}
