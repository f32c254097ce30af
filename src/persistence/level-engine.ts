/**
 * Opening LevelDB, and its errors in our words. Everything that knows the package `level` is here and in level-store.ts.
 */
import { Level } from 'level';
import { isOffstageError, type OffstageError, offstageError } from '../model/errors.ts';
import { lockedError } from './ownership.ts';

export interface DatabaseRange {
  readonly gt?: string;
  readonly gte?: string;
  readonly lt?: string;
  readonly lte?: string;
  readonly reverse: boolean;
  /** -1 for no limit. */
  readonly limit: number;
  /** How much one `nextv` fetches at most. */
  readonly highWaterMarkBytes: number;
}

export interface DatabaseIterator {
  nextv(size: number): Promise<readonly (readonly [string, string])[]>;
  close(): Promise<void>;
}

export interface DatabaseBatch {
  put(key: string, value: string): unknown;
  del(key: string): unknown;
  write(options: { readonly sync: boolean }): Promise<void>;
  close(): Promise<void>;
}

/** What we use of LevelDB. The types of `level` describe what browsers have as well, and so lack the options of the disk. */
export interface Database {
  readonly status: string;
  open(): Promise<void>;
  get(key: string): Promise<string | undefined>;
  getMany(keys: readonly string[]): Promise<(string | undefined)[]>;
  batch(): DatabaseBatch;
  iterator(options: DatabaseRange): DatabaseIterator;
  close(): Promise<void>;
}

interface DatabaseOptions {
  readonly createIfMissing?: boolean;
  readonly errorIfExists?: boolean;
  readonly writeBufferSize?: number;
  readonly cacheSize?: number;
}

const databaseAt = (location: string, options: DatabaseOptions): Database =>
  new Level<string, string>(location, options as object) as unknown as Database;

const MIB = 1024 * 1024;

/**
 * Measured with rows of 400 bytes: a write buffer of 8 MiB halves the number of flushes of the default 4 MiB, and a log of that size is still
 * checked and replayed within 100 ms at open; 16 MiB gained nothing more. A cache of 16 MiB instead of 8 MiB nearly halves the time of a get
 * over 100,000 rows (42 to 25 µs). Compression stays on: a third of the room on disk for a tenth of the time of a read.
 */
const OPTIONS = { writeBufferSize: 8 * MIB, cacheSize: 16 * MIB } as const;

/**
 * @param dataDir named in errors
 * @throws OffstageError `store.locked`, `store.corrupt`, `store.failed`
 */
export async function openDatabase(location: string, dataDir: string): Promise<Database> {
  const database = databaseAt(location, OPTIONS);
  try {
    await database.open();
    return database;
  } catch (error) {
    if (codeOf(error) === 'LEVEL_LOCKED') throw await lockedError(dataDir, error);
    throw toStoreError(error, dataDir);
  }
}

/**
 * Whether another process, or another part of this one, has the store open. The store must exist; nothing in it is changed: LevelDB is
 * asked to open it only if it does not exist, which takes the lock, fails, and gives the lock back.
 */
export async function isLocked(location: string): Promise<boolean> {
  const database = databaseAt(location, { createIfMissing: false, errorIfExists: true });
  try {
    await database.open();
    await database.close();
    return false;
  } catch (error) {
    return codeOf(error) === 'LEVEL_LOCKED';
  }
}

/** An error of LevelDB as `store.closed`, `store.corrupt` or `store.failed`; our own errors stay what they are. */
export function toStoreError(error: unknown, dataDir: string): OffstageError {
  if (isOffstageError(error)) return error;
  const reason = reasonOf(error);
  const message = reason.message.replace(/\.$/, '');
  if (codeOf(error) === 'LEVEL_CORRUPTION' || /^corruption\b/i.test(message)) {
    return offstageError('store.corrupt', { folder: dataDir, message }, { cause: error });
  }
  return offstageError('store.failed', { message }, { cause: error });
}

/** LevelDB's wrapper says only that the database is not open; the reason is its cause. */
function reasonOf(error: unknown): Error & { readonly code?: unknown } {
  if (!(error instanceof Error)) return new Error(String(error));
  return error.cause instanceof Error ? error.cause : error;
}

const codeOf = (error: unknown): unknown => reasonOf(error).code;
