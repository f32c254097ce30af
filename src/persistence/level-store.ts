/**
 * The store on disk: LevelDB in `<dataDir>/store`.
 *
 * LVL1  Batches are written one after another, in the order of the calls, whatever LevelDB would allow (STO1).
 * LVL2  After a failed write nothing is appended to the same log: LevelDB would write on behind the half-written batch, and lose what follows it
 *       at the next open. The store is opened anew first, which also settles whether the failed batch is there.
 * LVL3  `close` ends with everything on disk, the lock given back and the folder free (B40, B41).
 */
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { offstageError } from '../model/errors.ts';
import { assertNoFaults, surveyStore } from './integrity.ts';
import { type Database, type DatabaseIterator, isLocked, openDatabase, toStoreError } from './level-engine.ts';
import { claimFolder, type FolderClaim, lockedError, prepareDataDir, removeOwner, thisOwner, writeOwner } from './ownership.ts';
import { rangeBounds } from './range-bounds.ts';
import { writeSeal } from './seal.ts';
import type { RangeOptions, Store, StoreEntry, StoreOperation } from './store.ts';
import { assertNotHalfRepaired, assertStoreNotGone, markCreated, STORE_FOLDER } from './store-folders.ts';

/** Entries fetched from LevelDB at once: few at first, as most ranges are short pages. */
const FIRST_CHUNK = 100;
const CHUNK = 1_000;
const CHUNK_BYTES = 256 * 1024;
const MIB = 1024 * 1024;

/** What the lock of the folder says of its owner. */
export interface LevelStoreOptions {
  /** Path of the socket on which the owner serves its verbs, for the file `owner.json`; null when it serves none (default). */
  readonly control?: string | null;
}

/**
 * Opens the store of a data folder, and creates both when they are not there. Damage is looked for first (spec 6).
 * @throws OffstageError `config.invalid` (unusable folder), `store.locked`, `store.corrupt`, `store.failed`
 * @example
 * const store = await levelStore('./.offstage');
 */
export async function levelStore(dataDir: string, options: LevelStoreOptions = {}): Promise<Store> {
  const folder = await prepareDataDir(dataDir);
  const location = join(folder, STORE_FOLDER);
  const claim = await claimFolder(folder);
  try {
    await assertNotHalfRepaired(folder);
    await assertStoreNotGone(folder);
    await mkdir(location, { mode: 0o700, recursive: true });
    await assertIntact(location, folder);
    const database = await openDatabase(location, folder);
    try {
      await markCreated(folder);
      await writeOwner(folder, await thisOwner(options.control ?? null));
    } catch (error) {
      await database.close();
      throw error;
    }
    return new LevelStore({ folder, location, claim, database });
  } catch (error) {
    claim.release();
    throw toStoreError(error, folder);
  }
}

/** An owner at work changes files while they are looked at, so damage counts only if the store is free and still damaged. */
async function assertIntact(location: string, dataDir: string): Promise<void> {
  const survey = await surveyStore(location);
  if (survey.faults.length === 0) return;
  if (await isLocked(location)) throw await lockedError(dataDir);
  assertNoFaults(await surveyStore(location), dataDir);
}

interface Parts {
  readonly folder: string;
  readonly location: string;
  readonly claim: FolderClaim;
  readonly database: Database;
}

class LevelStore implements Store {
  readonly #folder: string;
  readonly #location: string;
  readonly #claim: FolderClaim;
  #database: Database;
  /** Settles when the last batch so far has settled; never rejects. */
  #lastWrite: Promise<unknown> = Promise.resolve();
  /** Set by a failed write (LVL2). */
  #mustOpenAnew = false;
  #openingAnew: Promise<Database> | null = null;
  #underWay = 0;
  #onIdle: (() => void) | null = null;
  #closing: Promise<void> | null = null;

  constructor({ folder, location, claim, database }: Parts) {
    this.#folder = folder;
    this.#location = location;
    this.#claim = claim;
    this.#database = database;
  }

  get(key: string): Promise<string | undefined> {
    return this.#track(async () => (await this.#readable()).get(key));
  }

  getMany(keys: readonly string[]): Promise<readonly (string | undefined)[]> {
    return this.#track(async () => (await this.#readable()).getMany(keys));
  }

  batch(operations: readonly StoreOperation[], { sync }: { readonly sync: boolean }): Promise<void> {
    return this.#track(() => {
      const write = this.#lastWrite.then(() => this.#write(operations, sync));
      this.#lastWrite = write.catch(() => {});
      return write;
    });
  }

  range(options: RangeOptions): AsyncIterable<StoreEntry> {
    // The view is that of the call, so LevelDB's iterator is made now, not when reading begins.
    const iterator = this.#closing === null && this.#database.status === 'open' ? iterate(this.#database, options) : null;
    const entries = this.#entries(iterator, { ...options });
    const free = async (): Promise<IteratorResult<StoreEntry, void>> => {
      await iterator?.close();
      return entries.return();
    };
    return { [Symbol.asyncIterator]: () => ({ next: () => entries.next(), return: free }) };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#claim.beginRelease();
    try {
      if (this.#underWay > 0) {
        await new Promise<void>((settle) => {
          this.#onIdle = settle;
        });
      }
      await removeOwner(this.#folder);
      // Without a seal the next open knows less, that is all.
      if (this.#database.status === 'open') await writeSeal(this.#location).catch(() => {});
      await this.#database.close();
    } catch (error) {
      throw toStoreError(error, this.#folder);
    } finally {
      this.#claim.release();
    }
  }

  #assertOpen(): void {
    if (this.#closing !== null) throw offstageError('store.closed', undefined);
  }

  /** Runs one verb; `close` waits for it. */
  async #track<Result>(verb: () => Promise<Result>): Promise<Result> {
    this.#assertOpen();
    this.#underWay += 1;
    try {
      return await verb();
    } catch (error) {
      throw toStoreError(error, this.#folder);
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#onIdle?.();
    }
  }

  async *#entries(made: DatabaseIterator | null, options: RangeOptions): AsyncGenerator<StoreEntry, void, undefined> {
    let iterator = made;
    try {
      this.#assertOpen();
      iterator ??= iterate(await this.#readable(), options);
      for (let size = FIRST_CHUNK; ; size = CHUNK) {
        const chunk = await iterator.nextv(size);
        if (chunk.length === 0) return;
        for (const [key, value] of chunk) {
          this.#assertOpen();
          yield { key, value };
        }
      }
    } catch (error) {
      this.#assertOpen();
      throw toStoreError(error, this.#folder);
    } finally {
      await iterator?.close();
    }
  }

  async #write(operations: readonly StoreOperation[], sync: boolean): Promise<void> {
    const database = this.#mustOpenAnew ? await this.#openAnew() : await this.#readable();
    // A chained batch is encoded straight into LevelDB's own format: faster than an array of operations, most of all with sync.
    const batch = database.batch();
    try {
      for (const operation of operations) {
        if (operation.type === 'put') batch.put(operation.key, operation.value);
        else batch.del(operation.key);
      }
    } catch (error) {
      await batch.close();
      throw error;
    }
    try {
      await batch.write({ sync });
    } catch (error) {
      this.#mustOpenAnew = true;
      throw error;
    }
  }

  async #readable(): Promise<Database> {
    // A failure to open anew is for the writer; reading goes on as long as the old database is open.
    if (this.#openingAnew !== null) await this.#openingAnew.catch(() => {});
    return this.#database.status === 'open' ? this.#database : this.#openAnew();
  }

  #openAnew(): Promise<Database> {
    this.#openingAnew ??= this.#closeAndOpen().finally(() => {
      this.#openingAnew = null;
    });
    return this.#openingAnew;
  }

  async #closeAndOpen(): Promise<Database> {
    // On a full disk LevelDB could not open again, so it is not closed before there is room: reading goes on.
    await assertRoom(this.#folder, this.#location);
    await this.#database.close();
    this.#database = await openDatabase(this.#location, this.#folder);
    this.#mustOpenAnew = false;
    return this.#database;
  }
}

function iterate(database: Database, options: RangeOptions): DatabaseIterator {
  const { low, high } = rangeBounds(options);
  return database.iterator({
    ...(low === undefined ? {} : { [low.isExclusive ? 'gt' : 'gte']: low.key }),
    ...(high === undefined ? {} : { [high.isExclusive ? 'lt' : 'lte']: high.key }),
    reverse: options.reverse === true,
    limit: options.limit ?? -1,
    highWaterMarkBytes: CHUNK_BYTES,
  });
}

/** Whether the disk takes as much as LevelDB writes when it opens: the logs as tables, and a little. @throws the error of the disk */
async function assertRoom(dataDir: string, location: string): Promise<void> {
  const names = (await readdir(location)).filter((name) => name.endsWith('.log'));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(location, name))).size));
  const path = join(dataDir, 'room-probe');
  const file = await open(path, 'w', 0o600);
  try {
    const chunk = Buffer.alloc(MIB, 1);
    for (let left = MIB + sizes.reduce((sum, size) => sum + size, 0); left > 0; left -= MIB) await file.writeFile(chunk);
    await file.datasync();
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}
