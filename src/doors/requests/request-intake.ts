/**
 * Requests of one connection on their way to the handler, for sockets of any kind.
 *
 * RIN1  Requests start in the order in which they came; their answers come as they are ready.
 * RIN2  Memory per client is bounded: nothing more is read while too many requests are under way or the client does not read its answers.
 */
import type { Offstage } from '../../engine/offstage.ts';
import type { Connection } from './connection.ts';
import { handle, isWaitingRequest } from './handler.ts';

/** Each may read a record of a few MiB. */
const MOST_AT_ONCE = 32;
/** These mostly wait, and read little. */
const MOST_WAITING = 1_024;

export interface Intake<Item> {
  readonly offstage: Offstage;
  readonly connection: Connection;
  /** Makes a request of what came, or an error that is answered. Called when its turn has come. */
  readonly read: (item: Item) => unknown;
  /** The client does not read its answers. */
  readonly isStuck: () => boolean;
  readonly pause: () => void;
  readonly resume: () => void;
  /** Called after each answer. */
  readonly onAnswered: () => void;
}

export class RequestIntake<Item> {
  readonly #intake: Intake<Item>;
  /** Those that have not begun; those before `#next` have. */
  #items: Item[] = [];
  #next = 0;
  #underWay = 0;
  #waiting = 0;

  constructor(intake: Intake<Item>) {
    this.#intake = intake;
  }

  /** Requests that are not answered yet. */
  get size(): number {
    return this.#underWay + this.#waiting + this.#left;
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  /** Nobody reads the answers of those that have not begun. */
  forget(): void {
    this.#items = [];
    this.#next = 0;
  }

  /** Starts what there is room for. */
  advance(): void {
    const { isStuck, pause, resume } = this.#intake;
    const hasRoom = (): boolean => this.#underWay < MOST_AT_ONCE && this.#waiting < MOST_WAITING && !isStuck();
    while (this.#left > 0 && hasRoom()) {
      const item = this.#items[this.#next] as Item;
      this.#next += 1;
      this.#start(item);
    }
    if (this.#left > 0) {
      pause();
      return;
    }
    this.forget();
    resume();
  }

  get #left(): number {
    return this.#items.length - this.#next;
  }

  #start(item: Item): void {
    const { offstage, connection, read, onAnswered } = this.#intake;
    const request = read(item);
    const isWaiting = isWaitingRequest(request);
    const count = (by: 1 | -1): void => {
      if (isWaiting) this.#waiting += by;
      else this.#underWay += by;
    };
    count(1);
    void handle(offstage, request, connection).finally(() => {
      count(-1);
      if (this.#left > 0) this.advance();
      onAnswered();
    });
  }
}
