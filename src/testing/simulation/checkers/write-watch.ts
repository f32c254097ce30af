/**
 * Whether all that was decided can be stored by now: the store takes writes, and what it refused last was tried again since.
 *
 * WRW1  By what the store was given alone: an engine that does not try again is no excuse for itself once hours have passed.
 */
import type { Fact, RestView } from '../facts.ts';

export class WriteWatch {
  #isOwed = false;

  note(fact: Fact): void {
    if (fact.type === 'wrote') this.#isOwed = fact.outcome !== 'written';
    else if (fact.type === 'crashed' || fact.type === 'closed') this.#isOwed = false;
  }

  isCalm({ canStore, isLast }: RestView): boolean {
    return canStore && (isLast || !this.#isOwed);
  }
}
