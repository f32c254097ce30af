/**
 * An Observable whose subscribers may throw. RxJS reports a throwing subscriber as an uncaught exception of the whole process.
 *
 * FEN1  Whatever a callback of a subscriber throws or rejects goes to `report`, also behind operators.
 */
import { Observable, type Observer, type Operator, Subscriber, type Subscription, type TeardownLogic } from 'rxjs';
import { settleQuietly } from '../model/settle-quietly.ts';

type Report = (error: unknown) => void;

export class FencedObservable<T> extends Observable<T> {
  readonly #report: Report;

  constructor(report: Report, subscribe?: (subscriber: Subscriber<T>) => TeardownLogic) {
    super(subscribe);
    this.#report = report;
  }

  // Operators build their result with `lift`: the fence must hold behind them too.
  override lift<R>(operator?: Operator<T, R>): Observable<R> {
    const lifted = new FencedObservable<R>(this.#report);
    Object.assign(lifted, { source: this, operator });
    return lifted;
  }

  override subscribe(observer?: Partial<Observer<T>> | ((value: T) => void) | null): Subscription {
    // An operator's own subscriber passes errors on to the fenced one at the end of the chain.
    if (observer instanceof Subscriber) return super.subscribe(observer);
    const given: Partial<Observer<T>> = typeof observer === 'function' ? { next: observer } : (observer ?? {});
    return super.subscribe({
      next: (value) => this.#call(() => given.next?.(value)),
      error: (error) => (given.error === undefined ? this.#report(error) : this.#call(() => given.error?.(error))),
      complete: () => this.#call(() => given.complete?.()),
    });
  }

  #call(callback: () => unknown): void {
    try {
      const answer = callback();
      settleQuietly(answer, this.#report);
    } catch (error) {
      this.#report(error);
    }
  }
}
