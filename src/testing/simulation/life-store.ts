/**
 * The store of one life: every read and write waits until the simulation lets it happen; writes fail, are denied, or are lost with the power.
 *
 * LST1  Batches reach the rows in the order of their calls, each whole or not at all; what becomes of each is noted when it does.
 * LST2  Between the writing of a batch and its answer a crash may come: then nobody is answered.
 */
import { offstageError } from '../../model/errors.ts';
import type { RangeOptions, Store, StoreEntry, StoreOperation } from '../../persistence/store.ts';
import { type ControlledStore, controlledStore } from '../controlled-store.ts';
import type { FactBody } from './facts.ts';
import type { Hops } from './hops.ts';

/** Rows that are read at once, as a store on disk does. */
const ROWS_A_READ = 64;

export class LifeStore implements Store {
  readonly controlled: ControlledStore;
  readonly #hops: Hops;
  readonly #note: (fact: FactBody) => void;
  #readFailures = 0;
  #tail: Promise<unknown> = Promise.resolve();
  readonly #reads = new Set<Promise<unknown>>();

  constructor(rows: Store, hops: Hops, note: (fact: FactBody) => void) {
    this.controlled = controlledStore(rows);
    this.#hops = hops;
    this.#note = note;
  }

  /** At rest nothing else is due: reads need not wait for their turn, and it takes a third of the time. */
  isAtRest = false;

  /** The next reads, this many, reject. */
  failReads(count: number): void {
    this.#readFailures = count;
  }

  get(key: string): Promise<string | undefined> {
    return this.#read(() => this.controlled.get(key));
  }

  getMany(keys: readonly string[]): Promise<readonly (string | undefined)[]> {
    return this.#read(() => this.controlled.getMany(keys));
  }

  range(options: RangeOptions): AsyncIterable<StoreEntry> {
    // As of the call: that is the contract.
    const entries = this.controlled.range(options);
    const read = <Result>(act: () => Promise<Result>): Promise<Result> => this.#read(act);
    return {
      async *[Symbol.asyncIterator]() {
        await read(async () => undefined);
        let count = 0;
        for await (const entry of entries) {
          yield entry;
          count += 1;
          if (count % ROWS_A_READ === 0) await read(async () => undefined);
        }
      },
    };
  }

  batch(operations: readonly StoreOperation[], options: { readonly sync: boolean }): Promise<void> {
    const copy = [...operations];
    const written = this.#tail.then(async () => {
      await this.#hops.hop('write');
      try {
        await this.controlled.batch(copy, options);
      } finally {
        const outcome = this.controlled.writes.at(-1)?.outcome;
        if (outcome !== undefined && outcome !== 'pending') {
          this.#note({ type: 'wrote', operations: copy, sync: options.sync, outcome });
        }
      }
    });
    this.#tail = written.catch(() => {});
    return this.#answered(written, 'stored');
  }

  close(): Promise<void> {
    // What has begun is waited for (STO4), reads too.
    const closed = Promise.allSettled([this.#tail, ...this.#reads]).then(() => this.controlled.close());
    return this.#answered(closed, 'closed');
  }

  #read<Result>(act: () => Promise<Result>): Promise<Result> {
    const reading = this.#readNow(act);
    this.#reads.add(reading);
    const over = (): void => void this.#reads.delete(reading);
    reading.then(over, over);
    return reading;
  }

  async #readNow<Result>(act: () => Promise<Result>): Promise<Result> {
    if (!this.isAtRest) await this.#hops.hop('read');
    if (this.#readFailures > 0) {
      this.#readFailures -= 1;
      throw offstageError('store.failed', { message: 'the simulation made this read fail' });
    }
    return act();
  }

  async #answered<Result>(answer: Promise<Result>, label: string): Promise<Result> {
    const [result] = await Promise.allSettled([answer]);
    await this.#hops.hop(label);
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  }
}
