/**
 * Whether observers are told the same: each one against observer 0, event by event, from its attachment on.
 *
 * MIR1  It does not matter who is told first; what counts is the order of each.
 * MIR2  Readers (`events`) catch up by themselves and may be told to read anew: they are not compared here.
 */
import { isDeepStrictEqual } from 'node:util';
import type { OffstageEvent } from '../../../model/events.ts';
import type { Fact } from '../facts.ts';

interface Follower {
  /** Place in the log of observer 0 of what it is to be told next. */
  next: number;
  /** What it was told before observer 0 was. */
  readonly ahead: OffstageEvent[];
}

export class ToldMirror {
  #log: OffstageEvent[] = [];
  readonly #followers = new Map<number, Follower>();

  /** Answers what is wrong, in words; null: nothing. */
  note(fact: Fact): string | null {
    switch (fact.type) {
      case 'crashed':
      case 'closed':
        this.#log = [];
        this.#followers.clear();
        return null;
      case 'attached':
        if (fact.observer > 0 && fact.how !== 'events') this.#followers.set(fact.observer, { next: this.#log.length, ahead: [] });
        return null;
      case 'detached':
        this.#followers.delete(fact.observer);
        return null;
      case 'told':
        return fact.observer === 0 ? this.#first(fact.event) : this.#told(fact.observer, fact.event);
      default:
        return null;
    }
  }

  /** Who has been told less, or more, than observer 0, in words; null: nobody. */
  missing(): string | null {
    for (const [observer, { next, ahead }] of this.#followers) {
      if (ahead[0] !== undefined) return `observer ${observer} was told ${words(ahead[0])}, and observer 0 was not`;
      const event = this.#log[next];
      if (event !== undefined) return `observer ${observer} was not told ${words(event)}, and observer 0 was`;
    }
    return null;
  }

  #first(event: OffstageEvent): string | null {
    this.#log.push(event);
    let problem: string | null = null;
    for (const [observer, follower] of this.#followers) {
      const early = follower.ahead.shift();
      if (early === undefined) continue;
      follower.next += 1;
      problem ??= differenceOf(observer, early, event);
    }
    return problem;
  }

  #told(observer: number, event: OffstageEvent): string | null {
    const follower = this.#followers.get(observer);
    if (follower === undefined) return null;
    const expected = this.#log[follower.next];
    if (expected === undefined) {
      follower.ahead.push(event);
      return null;
    }
    follower.next += 1;
    return differenceOf(observer, event, expected);
  }
}

const words = (event: OffstageEvent): string => JSON.stringify(event);

const differenceOf = (observer: number, told: OffstageEvent, expected: OffstageEvent): string | null =>
  told === expected || isDeepStrictEqual(told, expected)
    ? null
    : `observer ${observer} was told ${words(told)} where observer 0 was told ${words(expected)}`;
