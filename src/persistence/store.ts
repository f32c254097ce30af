/**
 * The contract of a store: ordered keys, atomic batches. Everything above it (rows, indexes, events) is made of these five verbs.
 * `storeConformance` of offstage/testing checks an implementation.
 *
 * STO1  A batch is written whole or not at all, also across a crash; later batches never survive without earlier ones.
 * STO2  A batch that resolved is seen by every later read. With `sync`, it survives power loss.
 * STO3  Keys order by their UTF-8 bytes. Keys and values are any string (well-formed Unicode), byte for byte.
 * STO4  `close` waits for what has begun; afterwards every verb rejects `store.closed`.
 */

/** One write of a batch. */
export type StoreOperation =
  | { readonly type: 'put'; readonly key: string; readonly value: string }
  | { readonly type: 'del'; readonly key: string };

/** Which part of the keys is read, from which end. */
export interface RangeOptions {
  readonly gt?: string;
  readonly gte?: string;
  readonly lt?: string;
  readonly lte?: string;
  readonly reverse?: boolean;
  /** At most this many entries; default no limit. */
  readonly limit?: number;
}

/** A key and its value. */
export interface StoreEntry {
  readonly key: string;
  readonly value: string;
}

export interface Store {
  /** @throws OffstageError `store.closed`, `store.failed`, `store.corrupt` */
  get(key: string): Promise<string | undefined>;
  /** In the order of `keys`; undefined where there is none. */
  getMany(keys: readonly string[]): Promise<readonly (string | undefined)[]>;
  /** A consistent view as of the call; entries come in key order. Stopping early frees it. */
  range(options: RangeOptions): AsyncIterable<StoreEntry>;
  batch(operations: readonly StoreOperation[], options: { readonly sync: boolean }): Promise<void>;
  close(): Promise<void>;
}
