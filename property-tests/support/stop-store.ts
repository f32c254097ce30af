/** What lies in the store before a scene with stops begins, and what goes wrong with it. */
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

export interface Faults {
  isOn: boolean;
  /** Of all reads, by their number. */
  readonly failing: readonly number[];
  /** Of those that may be held. */
  readonly held: readonly number[];
  /** Of all writes, by their number. */
  readonly refused: readonly number[];
  readonly onRefusal: () => void;
  /** Whether the read of this moment may be held. */
  readonly isHeld: () => boolean;
  readonly until: Promise<void>;
}

/** Some reads fail, some are held, and some writes are refused. */
export function faultyStore(inner: Store, faults: Faults): Store {
  let count = 0;
  let heldCount = 0;
  let writes = 0;
  const pass = async (): Promise<void> => {
    if (!faults.isOn) return;
    if (faults.failing.includes(count++)) throw new Error('the disk does not answer');
    if (faults.isHeld() && faults.held.includes(heldCount++)) await faults.until;
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
    batch: async (operations, options) => {
      if (faults.isOn && faults.refused.includes(writes++)) {
        faults.onRefusal();
        throw new Error('the disk is full');
      }
      return inner.batch(operations, options);
    },
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
