/** A store in memory whose reads can be held up, for answers that come too late or never. */
import { memoryStore } from '../../src/persistence/memory-store.ts';
import type { Store } from '../../src/persistence/store.ts';

export interface HeldReads {
  readonly store: Store;
  /** The next read of a key, or with `all` every read from now on, waits until the returned function is called. */
  hold(which?: 'next' | 'all'): () => void;
}

export function heldReads(): HeldReads {
  const inner = memoryStore();
  let gate: { readonly opened: Promise<void>; readonly which: 'next' | 'all' } | null = null;
  const passed = async (): Promise<void> => {
    const held = gate;
    if (held?.which === 'next') gate = null;
    await held?.opened;
  };
  return {
    store: {
      async get(key) {
        await passed();
        return inner.get(key);
      },
      async getMany(keys) {
        await passed();
        return inner.getMany(keys);
      },
      async *range(options) {
        if (gate?.which === 'all') await gate.opened;
        yield* inner.range(options);
      },
      batch: (operations, options) => inner.batch(operations, options),
      close: () => inner.close(),
    },
    hold(which = 'all') {
      let open = (): void => {};
      const opened = new Promise<void>((resolve) => {
        open = resolve;
      });
      gate = { opened, which };
      return () => {
        gate = null;
        open();
      };
    },
  };
}
