/** One scheduler for everything: turns of the loop, reads, writes and their answers go on in the order that it picks. */
import type fc from 'fast-check';
import type { Store, StoreEntry } from '../../src/persistence/store.ts';
import { type VirtualClock, virtualClock } from '../../src/testing/virtual-clock.ts';
import { turn } from './engine-lab.ts';

export type Hop = (label: string) => Promise<void>;

/** Every call waits for its turn before it touches the store, and again before it is answered. */
export function scheduledStore(inner: Store, hop: Hop): Store {
  const through = async <T>(label: string, act: () => Promise<T>): Promise<T> => {
    await hop(`${label} begins`);
    const [result] = await Promise.allSettled([act()]);
    await hop(`${label} is answered`);
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  };
  return {
    get: (key) => through('read', () => inner.get(key)),
    getMany: (keys) => through('read', () => inner.getMany(keys)),
    batch: (operations, options) => through('write', () => inner.batch(operations, options)),
    close: () => through('close', () => inner.close()),
    range(options) {
      // As of the call: that is the contract.
      const entries = inner.range(options);
      return (async function* (): AsyncGenerator<StoreEntry> {
        await hop('range begins');
        for await (const entry of entries) yield entry;
        await hop('range ends');
      })();
    },
  };
}

export const scheduledClock = (hop: Hop): VirtualClock => {
  const clock = virtualClock();
  return Object.assign(Object.create(clock) as VirtualClock, {
    nextTurn: (callback: () => void) => void hop('turn').then(callback),
  });
};

/** Lets the scheduler go on until `until` has settled. Real turns pass only while nothing is scheduled. */
export async function pump<T>(scheduler: fc.Scheduler, until: PromiseLike<T>): Promise<T> {
  let isDone = false;
  const end = (): void => {
    isDone = true;
  };
  until.then(end, end);
  for (let idle = 0; !isDone; ) {
    if (scheduler.count() > 0) {
      await scheduler.waitNext(1);
      idle = 0;
    } else {
      idle += 1;
      if (idle > 100) throw new Error('nothing is left to do, and somebody still waits');
      await turn();
    }
  }
  return until;
}

/** Lets the scheduler go on until nothing is left to do. */
export async function drain(scheduler: fc.Scheduler): Promise<void> {
  for (let idle = 0; idle < 5; ) {
    if (scheduler.count() > 0) {
      await scheduler.waitNext(1);
      idle = 0;
    } else {
      idle += 1;
      await turn();
    }
  }
}
