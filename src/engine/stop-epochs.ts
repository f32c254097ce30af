/**
 * Which requests are older than a stop (liveness 11).
 *
 * EPO1  A request is older than a stop when it was made before the stop decided; one that is older is refused where it would take effect.
 * EPO2  Epochs only grow, over all tasks and sessions: a request may be stamped before it is known which task it is for.
 * EPO3  A stop, or a removal, is remembered while a request older than it is on its way, and no longer.
 * EPO4  While something is being removed, every request for it is refused, however new.
 * EPO5  What was removed is not there for a request that is older, whatever that has read before.
 */
import { type OffstageError, offstageError } from '../model/errors.ts';

/** What a request is for. */
export interface RequestTarget {
  readonly taskId: string;
  readonly sessionId: string | null;
}

/** A request on its way, from the tick in which it was made. */
export interface RequestStamp {
  readonly epoch: number;
}

/** What is stopped: a whole task, or one session of it. */
export type StopScope =
  | { readonly taskId: string; readonly sessionId: null }
  | { readonly taskId: string; readonly sessionId: string };

const keyOf = ({ taskId, sessionId }: StopScope): string => (sessionId === null ? `t${taskId}` : `s${sessionId}`);

export class StopEpochs {
  #epoch = 0;
  /** The oldest one first. */
  readonly #onTheirWay = new Set<RequestStamp>();
  readonly #stopped = new Map<string, number>();
  readonly #removed = new Map<string, number>();
  readonly #held = new Set<string>();

  /** Every one needs its `release`. */
  stamp(): RequestStamp {
    const request = { epoch: this.#epoch };
    this.#onTheirWay.add(request);
    return request;
  }

  /** It has taken effect, or never will. */
  release(request: RequestStamp): void {
    this.#onTheirWay.delete(request);
    if (this.#stopped.size + this.#removed.size > 0) this.#forgetOld();
  }

  /** A stop decides now. Answers its epoch, for the task's chart. */
  raise(scope: StopScope): number {
    this.#epoch += 1;
    if (this.#onTheirWay.size > 0) this.#stopped.set(keyOf(scope), this.#epoch);
    return this.#epoch;
  }

  /** From now on, until the answer is called, every request for it is refused (EPO4). */
  hold(scope: StopScope): () => void {
    const key = keyOf(scope);
    this.#held.add(key);
    return () => this.#held.delete(key);
  }

  isHeld(scope: StopScope): boolean {
    return this.#held.has(keyOf(scope));
  }

  /** It is gone from now on (EPO5). */
  remove(scope: StopScope): void {
    this.#epoch += 1;
    if (this.#onTheirWay.size > 0) this.#removed.set(keyOf(scope), this.#epoch);
  }

  /** Whether it was removed after that request was made. */
  isGone({ taskId, sessionId }: RequestTarget, { epoch }: RequestStamp): boolean {
    if (this.#removed.size === 0) return false;
    const isGone = (scope: StopScope): boolean => epoch < (this.#removed.get(keyOf(scope)) ?? 0);
    return isGone({ taskId, sessionId: null }) || (sessionId !== null && isGone({ taskId, sessionId }));
  }

  /** Null: something new may be made of it. @returns `task.stopping`, `task.not_found` */
  creationRefusal(taskId: string, request: RequestStamp): OffstageError | null {
    if (this.isHeld({ taskId, sessionId: null })) return offstageError('task.stopping', { taskId });
    return this.isGone({ taskId, sessionId: null }, request) ? offstageError('task.not_found', { taskId }) : null;
  }

  /** Null: it may take effect. Without a stamp the request is made in this very tick. */
  refusal({ taskId, sessionId }: RequestTarget, request: RequestStamp | null): OffstageError | null {
    if (this.#held.size + this.#stopped.size + this.#removed.size === 0) return null;
    if (request !== null && this.isGone({ taskId, sessionId }, request))
      return sessionId === null ? offstageError('task.not_found', { taskId }) : offstageError('session.not_found', { sessionId });
    const task: StopScope = { taskId, sessionId: null };
    if (this.#isRefused(task, request)) return offstageError('task.stopping', { taskId });
    if (sessionId === null || !this.#isRefused({ taskId, sessionId }, request)) return null;
    // Of a session that is being removed it is not known yet whether it will be.
    return this.isHeld({ taskId, sessionId })
      ? offstageError('task.stopping', { taskId })
      : offstageError('session.stopped', { sessionId });
  }

  #isRefused(scope: StopScope, request: RequestStamp | null): boolean {
    const key = keyOf(scope);
    if (this.#held.has(key)) return true;
    const stoppedAt = this.#stopped.get(key);
    return request !== null && stoppedAt !== undefined && request.epoch < stoppedAt;
  }

  #forgetOld(): void {
    const [oldest] = this.#onTheirWay;
    if (oldest === undefined) {
      this.#stopped.clear();
      this.#removed.clear();
      return;
    }
    for (const past of [this.#stopped, this.#removed])
      for (const [key, epoch] of past) if (epoch <= oldest.epoch) past.delete(key);
  }
}
