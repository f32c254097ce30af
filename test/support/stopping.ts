/** What tests of stop need: agents whose end is in the hand of the test, sessions whose record says less than the truth, reads that fail. */
import type { MockRunningAgent } from '../../src/adapters/mock-agent.ts';
import { offstageError } from '../../src/model/errors.ts';
import type { SessionState } from '../../src/model/records.ts';
import type { StopReport } from '../../src/model/stop.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import type { Store, StoreOperation } from '../../src/persistence/store.ts';
import { type LabSession, type SessionLab, type SessionLabOptions, sessionLab } from './sessions.ts';

/** What one call of `close` does. */
export type CloseAnswer = 'rejects' | 'throws' | Promise<void>;

export interface Closes {
  /** Calls so far. */
  readonly count: number;
}

/** From now on the calls of `close` of this agent are answered as given, in order; those after them end it. `onCall` is called first. */
export function closesOf(agent: MockRunningAgent, answers: readonly CloseAnswer[] = [], onCall: () => void = () => {}): Closes {
  const closable = agent as unknown as { close(): Promise<void> };
  const end = closable.close.bind(agent);
  const closes = { count: 0 };
  closable.close = () => {
    const answer = answers[closes.count];
    closes.count += 1;
    onCall();
    if (answer === 'throws') throw new Error('it does not let go');
    if (answer === 'rejects') return Promise.reject(new Error('it does not let go'));
    return answer === undefined ? end() : answer.then(end);
  };
  return closes;
}

/** For the option `stallFailMs` of labs in which sessions fail while their agents live. */
export const STALL_MS = 60_000;

/** With the task `t`, that somebody works on. */
export async function taskLab(options: SessionLabOptions = {}): Promise<SessionLab> {
  const lab = await sessionLab({ stallFailMs: STALL_MS, ...options });
  await lab.offstage.tasks.create({ taskId: 't' });
  await lab.offstage.tasks.setState('t', 'in_progress');
  return lab;
}

export const nothingRunning = { code: 'stop.nothing_running' } as const;

/** Stops the task, and waits for all that comes of it. */
export async function stopAll(lab: SessionLab, taskId = 't'): Promise<StopReport> {
  const report = await (await lab.offstage.tasks.stop(taskId)).settled;
  await lab.settled();
  return report;
}

/** Of the task `t`. */
export const taskState = async (lab: SessionLab): Promise<string> => (await lab.offstage.tasks.get('t')).state;

export interface Orphan {
  readonly s: LabSession;
  readonly executionId: string;
  readonly closes: Closes;
}

/**
 * Its record says failed, and its agent is at work: the first call of `close`, by which the engine would have ended it, has failed. Passes
 * `STALL_MS`, so whatever else is silent fails with it: make it first.
 */
export async function orphan(
  lab: SessionLab,
  sessionId = 'orphan',
  taskId?: string,
  answers: readonly CloseAnswer[] = ['rejects'],
): Promise<Orphan> {
  const s = await lab.running(sessionId, taskId);
  const { executionId } = s;
  const closes = closesOf(s.agent, answers);
  await lab.clock.advance(STALL_MS);
  return { s, executionId, closes };
}

/** Its record says idle, because its agent has gone; but that could not be closed, and may be at work. */
export async function unloaded(
  lab: SessionLab,
  sessionId = 'unloaded',
  taskId?: string,
  answers: readonly CloseAnswer[] = ['rejects'],
): Promise<Orphan> {
  const s = await lab.running(sessionId, taskId);
  await s.done();
  const { executionId } = s;
  const closes = closesOf(s.agent, answers);
  s.agent.crash();
  await lab.settled();
  return { s, executionId, closes };
}

/** What the log says of each thing that was stopped, in order. */
export const stopLines = (lab: SessionLab): readonly Readonly<Record<string, unknown>>[] =>
  lab.engine.log.flatMap(({ event, fields }) => (event === 'stop' ? [fields] : []));

/** The states that were told of the session, in order; from the event at `since` on. */
export const statesOf = (lab: SessionLab, sessionId: string, since = 0): readonly SessionState[] =>
  lab.engine.events
    .slice(since)
    .flatMap((event) => (event.type === 'session.state_changed' && event.sessionId === sessionId ? [event.newState] : []));

/** The stored row, byte for byte. */
export const storedRow = (lab: SessionLab, sessionId: string): Promise<string | undefined> =>
  lab.engine.store.get(KEYS.session(sessionId));

export interface FailingReads {
  readonly store: Store;
  /** Every single key that was read, in order. */
  readonly reads: readonly string[];
  /** From now on reads of this key, or of ranges that begin at it, fail. */
  fail(key: string): void;
  heal(): void;
}

/** A store in which what a test names cannot be read. */
export function failingReads(inner: Store = memoryStore()): FailingReads {
  const broken = new Set<string>();
  const reads: string[] = [];
  const check = (key: string): void => {
    if (broken.has(key)) throw offstageError('store.failed', { message: `${key} cannot be read` });
  };
  return {
    reads,
    fail: (key) => void broken.add(key),
    heal: () => broken.clear(),
    store: {
      async get(key) {
        reads.push(key);
        check(key);
        return inner.get(key);
      },
      async getMany(keys) {
        for (const key of keys) check(key);
        return inner.getMany(keys);
      },
      async *range(options) {
        check(options.gte ?? '');
        yield* inner.range(options);
      },
      batch: (operations: readonly StoreOperation[], options) => inner.batch(operations, options),
      close: () => inner.close(),
    },
  };
}
