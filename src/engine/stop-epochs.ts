/**
 * Which requests are older than a stop (liveness 11).
 *
 * EPO1  A request is older than a stop when it was made before the stop decided; one that is older is refused where it would take effect.
 * EPO2  Epochs only grow, over all tasks and sessions: a request may be stamped before it is known which task it is for.
 * EPO3  A stop is remembered while a request older than it is on its way, and no longer.
 * EPO4  While something is being removed, every request for it is refused, however new.
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
    if (this.#stopped.size > 0) this.#forgetOld();
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

  /** Null: it may take effect. Without a stamp the request is made in this very tick. */
  refusal({ taskId, sessionId }: RequestTarget, request: RequestStamp | null): OffstageError | null {
    if (this.#held.size === 0 && this.#stopped.size === 0) return null;
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
      return;
    }
    for (const [key, epoch] of this.#stopped) if (epoch <= oldest.epoch) this.#stopped.delete(key);
  }
}
