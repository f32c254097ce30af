/** What tests of removal need: a task with everything in it, what the store still holds of it, and codes of refusals. */
import { type OffstageError, offstageError } from '../../src/model/errors.ts';
import type { Executors } from '../../src/model/executor.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { checkRows, type RowCheck } from '../../src/persistence/row-check.ts';
import { EXPIRED, KEYS, RANGES } from '../../src/persistence/row-keys.ts';
import type { Store } from '../../src/persistence/store.ts';
import { held } from './bare-agent.ts';
import { echo, gate, stubborn } from './executors.ts';
import { keysUnder } from './left-behind.ts';
import { type LabSession, type SessionLab, type SessionLabOptions, sessionLab } from './sessions.ts';

/** `done`, or the code of the rejection. */
export const codeOf = (answer: Promise<unknown>): Promise<string> =>
  answer.then(
    () => 'done',
    (error: { code: string }) => error.code,
  );

/** What doctor finds. */
export const findingsOf = async (store: Store): Promise<RowCheck['findings']> =>
  (await checkRows(store, { isMending: false, at: 5_000_000_000_000 })).findings;

export interface RemovalLab extends SessionLab {
  readonly gates: ReturnType<typeof gate>;
  readonly stubborns: ReturnType<typeof stubborn>;
  /** Ignores its signal, and could be killed. */
  readonly killables: ReturnType<typeof stubborn>;
}

/** With executors `echo`, `gate`, `stubborn` and `killable`, and the task `t`, called "T". */
export async function removalLab(options: SessionLabOptions = {}): Promise<RemovalLab> {
  const gates = gate();
  const stubborns = stubborn();
  const killables = stubborn();
  const killable = { ...killables, capabilities: { ...killables.capabilities, killable: true } };
  const executors: Executors = { echo, gate: gates, stubborn: stubborns, killable, ...options.executors };
  const lab = await sessionLab({ ...options, executors });
  if (!(await lab.offstage.tasks.list({ archived: true })).some(({ taskId }) => taskId === 't'))
    await lab.offstage.tasks.create({ taskId: 't', title: 'T' });
  return Object.assign(lab, { gates, stubborns, killables });
}

/** A session of the task `t` whose agent has answered, and that does nothing. */
export async function resting(lab: SessionLab, sessionId = 's'): Promise<LabSession> {
  const s = await lab.running(sessionId, 't');
  await s.done();
  return s;
}

/** A body that has outlived the end of its record: its job was cancelled, and it did not listen. */
export async function detachedBody(
  lab: RemovalLab,
  kind: 'stubborn' | 'killable',
  jobId = 'late',
  sessionId = 's',
): Promise<void> {
  await lab.offstage.spawn({ kind, jobId, sessionId });
  await (kind === 'stubborn' ? lab.stubborns : lab.killables).started(jobId);
  await lab.offstage.cancel(jobId);
  await lab.clock.advance(60_000);
}

export interface HeldRemovals {
  readonly store: Store;
  /** What becomes of the next batch that removes something. */
  answer(how: 'fails' | 'is written and fails' | Promise<void>): void;
  /** Every batch fails, and nothing is written, until `heal`. */
  breakDown(): void;
  heal(): void;
  /** The next read of this key answers what is there now, when the returned function is called. */
  holdRead(key: string): () => void;
  /** Resolves when a batch that removes something has come to the store. */
  readonly hasCome: Promise<void>;
}

/** A store in whose hand it is what becomes of a removal. */
export function heldRemovals(inner: Store = memoryStore()): HeldRemovals {
  let next: 'fails' | 'is written and fails' | Promise<void> | null = null;
  let isBroken = false;
  const come = held();
  const reads = new Map<string, Promise<void>>();
  const failure = (): OffstageError => offstageError('store.failed', { message: 'the test says so' });
  return {
    answer: (how) => {
      next = how;
    },
    breakDown: () => {
      isBroken = true;
    },
    heal: () => {
      isBroken = false;
    },
    holdRead(key) {
      const open = held();
      reads.set(key, open.promise);
      return open.resolve;
    },
    hasCome: come.promise,
    store: {
      async get(key) {
        const value = await inner.get(key);
        const isHeld = reads.get(key);
        reads.delete(key);
        await isHeld;
        return value;
      },
      getMany: (keys) => inner.getMany(keys),
      range: (options) => inner.range(options),
      async batch(operations, options) {
        if (isBroken) throw failure();
        const isRemoval = operations.some((operation) => operation.type === 'put' && operation.value.startsWith('{"removed":'));
        const how = isRemoval ? next : null;
        if (isRemoval) come.resolve();
        if (how !== null) next = null;
        if (how === 'fails') throw failure();
        if (how instanceof Promise) await how;
        await inner.batch(operations, options);
        if (how === 'is written and fails') throw failure();
      },
      close: () => inner.close(),
    },
  };
}

/** Keys of all rows but the frame of the store, its events, and what says that an id is spent. */
export async function rowsLeft(store: Store): Promise<readonly string[]> {
  const left: string[] = [];
  for await (const { key, value } of store.range({})) {
    const isFrame = key.startsWith('!') || key.endsWith('/~') || key.startsWith('e/');
    const isSpent = key.startsWith('t/') || value === EXPIRED || value.startsWith('{"removed":');
    if (!isFrame && !isSpent) left.push(key);
  }
  return left;
}

/** Ids that are spent and have a tombstone. */
export const tombstones = async (store: Store): Promise<number> => (await keysUnder(store, RANGES.tombstones)).length;

/** The marker in place of a row. */
export const markerOf = async (
  store: Store,
  id: { readonly sessionId: string } | { readonly taskId: string },
): Promise<unknown> =>
  JSON.parse((await store.get('sessionId' in id ? KEYS.session(id.sessionId) : KEYS.task(id.taskId))) ?? 'null');
