/**
 * A store under the hand of a test: writes wait, fail before or after they are done, and a crash leaves exactly what the test says.
 *
 * CTL1  Batches reach the inner store one after another in the order of the calls; nothing depends on time.
 * CTL2  What survives a crash is a beginning of the batches, whole ones, and at least everything up to the last synced one (STO1, STO2).
 * CTL3  After `crash` nothing that the old owner still does has an effect or an answer.
 */
import { offstageError } from '../model/errors.ts';
import { memoryStore } from '../persistence/memory-store.ts';
import type { RangeOptions, Store, StoreEntry, StoreOperation } from '../persistence/store.ts';

export interface RecordedWrite {
  readonly operations: readonly StoreOperation[];
  readonly sync: boolean;
  /** `written` is in the store; `failed` is not; `denied` is, but its caller was told that it failed. */
  readonly outcome: 'pending' | 'written' | 'failed' | 'denied';
}

export interface WriteFailure {
  /** `before`: nothing is written. `after`: it is written, and reported as failed. */
  readonly when: 'before' | 'after';
  /** Which of the batches that have not reached the store yet; default 1, the next. */
  readonly nth?: number;
  /** Default: `store.failed`. */
  readonly error?: unknown;
}

export interface ControlledStore extends Store {
  /** Every batch so far, in the order of the calls. */
  readonly writes: readonly RecordedWrite[];
  /** Batches called and not yet settled. */
  readonly inFlight: number;
  /** Batches that a power loss now could take. */
  readonly unsynced: number;
  /** From now on batches wait. */
  hold(): void;
  /** Lets the waiting batches go, in order. */
  release(): void;
  /** Resolves as soon as at least `count` batches are in flight. */
  whenInFlight(count: number): Promise<void>;
  failNext(failure: WriteFailure): void;
  /** From now on every batch fails before it is written; null ends that. Like a full disk. */
  failAll(error: unknown): void;
  /**
   * A new store in memory, as the next owner would find it if everything stopped now.
   * @param keep how many batches after the last synced one survive, those in flight included; 0 is the worst power loss. Default: all that
   *   were written, as when only the process dies.
   */
  tear(keep?: number): Promise<Store>;
  /** `tear`, and the old owner is dead: its calls never settle any more. */
  crash(keep?: number): Promise<Store>;
}

/**
 * Wraps a store, so that a test decides what becomes of its writes.
 * @example
 * const store = controlledStore(memoryStore());
 * store.failNext({ when: 'after', nth: 3 });
 */
export function controlledStore(inner: Store): ControlledStore {
  return new Controlled(inner);
}

type MutableWrite = { -readonly [Name in keyof RecordedWrite]: RecordedWrite[Name] };

const never = <Result>(): Promise<Result> => new Promise<Result>(() => {});
const defaultError = (): unknown => offstageError('store.failed', { message: 'the test made this write fail' });

class Controlled implements ControlledStore {
  readonly #inner: Store;
  readonly #writes: MutableWrite[] = [];
  /** What the inner store held at the start. */
  readonly #start: Promise<readonly StoreEntry[]>;
  /** The effect of everything up to the last synced batch: a value, or null for deleted. */
  readonly #synced = new Map<string, string | null>();
  readonly #notSynced: MutableWrite[] = [];
  readonly #underWay = new Set<MutableWrite>();
  #failures: { readonly failure: WriteFailure; left: number }[] = [];
  #permanent: { readonly error: unknown } | null = null;
  #tail: Promise<unknown> = Promise.resolve();
  #gate: { readonly opened: Promise<void>; readonly open: () => void } | null = null;
  #watchers: { readonly count: number; readonly reached: () => void }[] = [];
  #isDead = false;
  #closing: Promise<void> | null = null;

  constructor(inner: Store) {
    this.#inner = inner;
    this.#start = collect(inner.range({}));
    this.#start.catch(() => {});
  }

  get writes(): readonly RecordedWrite[] {
    return this.#writes;
  }

  get inFlight(): number {
    return this.#underWay.size;
  }

  get unsynced(): number {
    return this.#notSynced.length;
  }

  hold(): void {
    if (this.#gate !== null) return;
    let open = (): void => {};
    const opened = new Promise<void>((settle) => {
      open = settle;
    });
    this.#gate = { opened, open };
  }

  release(): void {
    this.#gate?.open();
    this.#gate = null;
  }

  whenInFlight(count: number): Promise<void> {
    if (this.#underWay.size >= count) return Promise.resolve();
    return new Promise((reached) => this.#watchers.push({ count, reached }));
  }

  failNext(failure: WriteFailure): void {
    this.#failures.push({ failure, left: failure.nth ?? 1 });
  }

  failAll(error: unknown): void {
    this.#permanent = error === null ? null : { error };
  }

  async tear(keep = this.#notSynced.length): Promise<Store> {
    const survivors = [...this.#notSynced, ...this.#underWay].slice(0, keep);
    const effect = new Map(this.#synced);
    for (const write of survivors) applyTo(effect, write);
    const found = memoryStore();
    const start = (await this.#start).map(({ key, value }): StoreOperation => ({ type: 'put', key, value }));
    await found.batch(start, { sync: true });
    await found.batch(
      [...effect].map(([key, value]): StoreOperation => (value === null ? { type: 'del', key } : { type: 'put', key, value })),
      { sync: true },
    );
    return found;
  }

  crash(keep?: number): Promise<Store> {
    const found = this.tear(keep);
    this.#isDead = true;
    return found;
  }

  get(key: string): Promise<string | undefined> {
    return this.#unlessDead(this.#inner.get(key));
  }

  getMany(keys: readonly string[]): Promise<readonly (string | undefined)[]> {
    return this.#unlessDead(this.#inner.getMany(keys));
  }

  range(options: RangeOptions): AsyncIterable<StoreEntry> {
    const entries = this.#inner.range(options);
    return {
      [Symbol.asyncIterator]: () => {
        const iterator = entries[Symbol.asyncIterator]();
        return {
          next: () => this.#unlessDead(iterator.next()),
          return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
        };
      },
    };
  }

  batch(operations: readonly StoreOperation[], { sync }: { readonly sync: boolean }): Promise<void> {
    if (this.#isDead) return never();
    if (this.#closing !== null) return Promise.reject(offstageError('store.closed', undefined));
    const write: MutableWrite = { operations: [...operations], sync, outcome: 'pending' };
    this.#writes.push(write);
    this.#underWay.add(write);
    const done = this.#tail.then(() => this.#perform(write));
    this.#tail = done.catch(() => {});
    this.#watchers = this.#watchers.filter(({ count, reached }) => {
      if (this.#underWay.size < count) return true;
      reached();
      return false;
    });
    return done;
  }

  close(): Promise<void> {
    if (this.#isDead) return never();
    // Through `tail`, so that batches that are held are waited for.
    this.#closing ??= this.#tail.then(() => this.#unlessDead(this.#inner.close()));
    return this.#closing;
  }

  async #perform(write: MutableWrite): Promise<void> {
    while (this.#gate !== null) await this.#gate.opened;
    if (this.#isDead) return never();
    const failure = this.#failureNow();
    try {
      if (failure?.when === 'before') throw failure.error ?? defaultError();
      await this.#inner.batch(write.operations, { sync: write.sync });
    } catch (error) {
      if (this.#isDead) return never();
      write.outcome = 'failed';
      this.#underWay.delete(write);
      throw error;
    }
    if (this.#isDead) return never();
    this.#underWay.delete(write);
    this.#remember(write);
    write.outcome = failure === undefined ? 'written' : 'denied';
    if (failure !== undefined) throw failure.error ?? defaultError();
  }

  #failureNow(): WriteFailure | undefined {
    for (const planned of this.#failures) planned.left -= 1;
    const due = this.#failures.find(({ left }) => left === 0)?.failure;
    this.#failures = this.#failures.filter(({ left }) => left > 0);
    return this.#permanent === null ? due : { when: 'before', error: this.#permanent.error };
  }

  #remember(write: MutableWrite): void {
    this.#notSynced.push(write);
    if (!write.sync) return;
    for (const one of this.#notSynced.splice(0)) applyTo(this.#synced, one);
  }

  async #unlessDead<Result>(answer: Promise<Result>): Promise<Result> {
    const [result] = await Promise.allSettled([answer]);
    if (this.#isDead) return never();
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  }
}

function applyTo(effect: Map<string, string | null>, { operations }: RecordedWrite): void {
  for (const operation of operations) effect.set(operation.key, operation.type === 'put' ? operation.value : null);
}

async function collect(range: AsyncIterable<StoreEntry>): Promise<StoreEntry[]> {
  const entries: StoreEntry[] = [];
  for await (const entry of range) entries.push(entry);
  return entries;
}
