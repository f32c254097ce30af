/** What lies in the store before a scene with stops begins, and reads of it that fail, or take long. */
import type { SessionRow, SessionState } from '../../src/model/records.ts';
import { sessionOperations, taskOperations } from '../../src/persistence/session-rows.ts';
import type { Store } from '../../src/persistence/store.ts';

const AT = Date.UTC(2025, 0, 1);

/** Its id begins with the letter that names its task. */
export const sessionRow = (sessionId: string, state: SessionState, age: number): SessionRow => ({
  sessionId,
  taskId: sessionId.slice(0, 1),
  agentId: null,
  state,
  interrupted: false,
  pending: null,
  createdAt: AT + age,
  updatedAt: AT + age,
  revision: 1,
});

export async function storeRows(store: Store, rows: readonly SessionRow[]): Promise<void> {
  const tasks = [...new Set(rows.map(({ taskId }) => taskId))].map((taskId) =>
    taskOperations({ taskId, title: taskId, state: 'in_progress', createdAt: AT, revision: 1 }),
  );
  await store.batch([...tasks, ...rows.map(sessionOperations)].flat(), { sync: true });
}

export interface Reads {
  isOn: boolean;
  /** Of all reads, by their number. */
  readonly failing: readonly number[];
  /** Of those that may be held. */
  readonly held: readonly number[];
  /** Whether the read of this moment may be held. */
  readonly isHeld: () => boolean;
  readonly until: Promise<void>;
}

/** Some reads fail, and some are held. */
export function readsOf(inner: Store, reads: Reads): Store {
  let count = 0;
  let heldCount = 0;
  const pass = async (): Promise<void> => {
    if (!reads.isOn) return;
    if (reads.failing.includes(count++)) throw new Error('the disk does not answer');
    if (reads.isHeld() && reads.held.includes(heldCount++)) await reads.until;
  };
  return {
    get: async (key) => {
      await pass();
      return inner.get(key);
    },
    getMany: async (keys) => {
      await pass();
      return inner.getMany(keys);
    },
    batch: (operations, options) => inner.batch(operations, options),
    close: () => inner.close(),
    range: (options) => {
      // As of the call: that is the contract.
      const entries = inner.range(options);
      return (async function* () {
        await pass();
        yield* entries;
      })();
    },
  };
}
