/**
 * A store in memory, for tests and for engines whose jobs need not outlive the process. Same contract as the one on disk, nothing durable.
 *
 * MEM1  A batch is applied in the call itself, all at once; what begins later sees it.
 */
import { offstageError } from '../model/errors.ts';
import { rangeBounds } from './range-bounds.ts';
import { type Position, SortedTree, type TreeSnapshot } from './sorted-tree.ts';
import type { RangeOptions, Store, StoreEntry, StoreOperation } from './store.ts';
import { orderFor } from './utf8-order.ts';

/**
 * A new, empty store in memory; gone with the process.
 * @example
 * const engine = await open({ store: memoryStore() });
 */
export function memoryStore(): Store {
  return new MemoryStore();
}

class MemoryStore implements Store {
  readonly #tree = new SortedTree();
  #isClosed = false;

  async get(key: string): Promise<string | undefined> {
    this.#assertOpen();
    return this.#tree.get(key);
  }

  async getMany(keys: readonly string[]): Promise<readonly (string | undefined)[]> {
    this.#assertOpen();
    return keys.map((key) => this.#tree.get(key));
  }

  range(options: RangeOptions): AsyncIterable<StoreEntry> {
    const snapshot = this.#isClosed ? null : this.#tree.snapshot();
    return this.#entries(snapshot, { ...options });
  }

  async batch(operations: readonly StoreOperation[], _options: { readonly sync: boolean }): Promise<void> {
    this.#assertOpen();
    for (const operation of operations) {
      if (operation.type === 'put') this.#tree.put(operation.key, operation.value);
      else this.#tree.delete(operation.key);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  async *#entries(snapshot: TreeSnapshot | null, options: RangeOptions): AsyncGenerator<StoreEntry, void, undefined> {
    let left = options.limit ?? Number.POSITIVE_INFINITY;
    const walk = snapshot === null ? null : walkOf(snapshot, options);
    for (let at = walk?.start(); left > 0; at = walk?.next(at as Position)) {
      this.#assertOpen();
      if (walk === null || at === undefined) return;
      const key = at.keys[at.index] as string;
      if (walk.isPast(key)) return;
      left -= 1;
      yield { key, value: at.values[at.index] as string };
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw offstageError('store.closed', undefined);
  }
}

interface Walk {
  start(): Position | undefined;
  next(at: Position): Position | undefined;
  /** Whether `key` lies beyond the far bound. */
  isPast(key: string): boolean;
}

function walkOf(snapshot: TreeSnapshot, options: RangeOptions): Walk {
  const { low, high } = rangeBounds(options);
  const [near, far] = options.reverse === true ? [high, low] : [low, high];
  const direction = options.reverse === true ? -1 : 1;
  const seek = (key: string | undefined, isExclusive: boolean): Position | undefined =>
    direction === 1 ? snapshot.firstFrom(key, isExclusive) : snapshot.lastUpTo(key, isExclusive);
  const farOrder = far === undefined ? undefined : orderFor(far.key);
  return {
    start: () => seek(near?.key, near?.isExclusive ?? false),
    next: ({ keys, values, index }) =>
      keys[index + direction] === undefined ? seek(keys[index] as string, true) : { keys, values, index: index + direction },
    isPast: (key) => {
      if (far === undefined || farOrder === undefined) return false;
      const beyond = farOrder(key, far.key) * direction;
      return beyond > 0 || (beyond === 0 && far.isExclusive);
    },
  };
}
