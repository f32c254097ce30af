/** A job that ends while its waiter still looks for others (G14, WAI1). */
import { expect, it } from 'vitest';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import type { Store } from '../../src/persistence/store.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { testEngine } from '../support/test-engine.ts';

/** A store whose reads wait while the gate is shut. */
function slowReads() {
  const inner = memoryStore();
  let gate = Promise.resolve();
  const store: Store = {
    get: async (key) => {
      await gate;
      return inner.get(key);
    },
    getMany: async (keys) => {
      await gate;
      return inner.getMany(keys);
    },
    range: (options) => inner.range(options),
    batch: (operations, options) => inner.batch(operations, options),
    close: () => inner.close(),
  };
  return {
    store,
    hold(): () => void {
      let open = (): void => {};
      gate = new Promise((resolve) => {
        open = resolve;
      });
      return open;
    },
  };
}

it.each(['all', 'any'] as const)(
  'G14: waitMany (%s) settles although one job ended while another was read from the store',
  async (mode) => {
    const gate = controlledExecutor();
    const { store, hold } = slowReads();
    await using engine = await testEngine({ store, executors: { gate } });
    const { offstage, clock } = engine;
    const [early, late] = await Promise.all([offstage.spawn({ kind: 'gate' }), offstage.spawn({ kind: 'gate' })]);
    await gate.release(early.jobId);
    await offstage.wait(early.jobId);
    const open = hold();
    const waiting = offstage.waitMany([early.jobId, late.jobId], { mode, timeoutMs: null });
    await gate.release(late.jobId);
    await clock.settle();
    open();
    expect((await waiting).map((entry) => 'status' in entry && entry.status)).toEqual(['completed', 'completed']);
  },
);
