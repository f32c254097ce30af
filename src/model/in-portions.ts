/**
 * Many things, some at a time: what each of them needs is let go before the next ones are begun.
 *
 * POR1  Results come in the order of the items; the first error ends it, and nothing more is begun.
 */
import { LIMITS } from './limits.ts';

/** @param work is called for one portion after the other, each of at most `LIMITS.recordsAtOnce` */
export async function inPortions<Item, Result>(
  items: readonly Item[],
  work: (portion: readonly Item[]) => Promise<readonly Result[]>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < items.length; from += LIMITS.recordsAtOnce) {
    for (const result of await work(items.slice(from, from + LIMITS.recordsAtOnce))) results.push(result);
  }
  return results;
}
