/** A store that outlives its engine: closing it ends the owner's use of it, and the next engine finds everything as it was left. */
import type { Store } from '../../src/persistence/store.ts';

export interface KeptStore {
  /** The store for the next engine; the one before must be closed. */
  open(): Store;
}

export function keptStore(inner: Store): KeptStore {
  return {
    open: () => ({
      get: (key) => inner.get(key),
      getMany: (keys) => inner.getMany(keys),
      range: (options) => inner.range(options),
      batch: (operations, options) => inner.batch(operations, options),
      close: async () => {},
    }),
  };
}
