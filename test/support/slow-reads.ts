/** A store that answers reads some turns later, as one on disk does: what happens meanwhile happens in the midst of a read. */
import type { Store } from '../../src/persistence/store.ts';

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

export const slowReads = (inner: Store, count = 3): Store => ({
  async get(key) {
    const value = await inner.get(key);
    await turns(count);
    return value;
  },
  async getMany(keys) {
    const values = await inner.getMany(keys);
    await turns(count);
    return values;
  },
  range(options) {
    const entries = inner.range(options);
    return {
      async *[Symbol.asyncIterator]() {
        await turns(count);
        let index = 0;
        for await (const entry of entries) {
          yield entry;
          if (++index % 16 === 0) await turns(1);
        }
        await turns(count);
      },
    };
  },
  batch: (operations, options) => inner.batch(operations, options),
  close: () => inner.close(),
});
