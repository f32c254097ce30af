/**
 * One total order of events for all observers (spec 11).
 *
 * BUS1  Every observer sees every event in the same order, also when an observer reacts by causing more.
 * BUS2  An observer that throws or rejects, by whatever promise, harms neither the others nor the publisher; it is logged.
 * BUS3  Without observers an event costs nothing here.
 * BUS4  After its close nobody is told anything, whoever comes, and whatever the store still answers.
 */
import { type Observable, Subject } from 'rxjs';
import type { OffstageEvent } from '../model/events.ts';
import type { Log } from '../model/requests.ts';
import { settleQuietly } from '../model/settle-quietly.ts';
import { FencedObservable } from './fenced-observable.ts';

/** May throw or reject: it is logged, and harms nobody else. */
export type EventCallback = (event: OffstageEvent) => unknown;

export class EventBus {
  readonly #log: Log;
  #observers: readonly EventCallback[] = [];
  #queue: OffstageEvent[] = [];
  #hasClosed = false;
  #isDraining = false;
  /** Live events, volatile ones included; each subscriber is fenced. */
  readonly events$: Observable<OffstageEvent>;
  readonly #ended = new Subject<void>();

  constructor(log: Log) {
    this.#log = log;
    this.events$ = new FencedObservable<OffstageEvent>(
      (error) => this.#report(error),
      (subscriber) => {
        if (this.#hasClosed) {
          subscriber.complete();
          return undefined;
        }
        const stop = this.subscribe((event) => subscriber.next(event));
        const end = this.#ended.subscribe(() => subscriber.complete());
        return () => {
          stop();
          end.unsubscribe();
        };
      },
    );
  }

  get hasObservers(): boolean {
    return this.#observers.length > 0;
  }

  /** Returns a function that ends the subscription. */
  subscribe(callback: EventCallback): () => void {
    if (this.#hasClosed) return () => {};
    const entry: EventCallback = (event) => callback(event);
    this.#observers = [...this.#observers, entry];
    return () => {
      this.#observers = this.#observers.filter((other) => other !== entry);
    };
  }

  publish(event: OffstageEvent): void {
    if (this.#observers.length === 0 && !this.#isDraining) return;
    this.#queue.push(event);
    if (this.#isDraining) return;
    this.#isDraining = true;
    for (let index = 0; index < this.#queue.length; index++) this.#deliver(this.#queue[index] as OffstageEvent);
    this.#queue = [];
    this.#isDraining = false;
  }

  /** Completes `events$` and forgets all observers; whoever comes later is told nothing, also where the store answers at last. */
  close(): void {
    this.#hasClosed = true;
    this.#ended.next();
    this.#observers = [];
  }

  #deliver(event: OffstageEvent): void {
    for (const observer of this.#observers) {
      try {
        const answer = observer(event);
        settleQuietly(answer, (error) => this.#report(error));
      } catch (error) {
        this.#report(error);
      }
    }
  }

  #report(error: unknown): void {
    this.#log('error', 'observer.failed', { error: describe(error) });
  }
}

const describe = (error: unknown): string => {
  try {
    return String(error);
  } catch {
    return 'an error that cannot be shown';
  }
};
