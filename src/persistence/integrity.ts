/**
 * Finds damage before LevelDB opens the store: LevelDB would pass over it, or delete the files that it no longer knows of.
 *
 * INT1  Damage is never silent (spec 6): of CURRENT, MANIFEST and logs every byte that matters is checked, of tables presence and size.
 *       The content of tables is checked by `inspectStore` only: the cost of an open must not grow with what is stored.
 * INT2  What a crash or a power loss leaves is not damage: a torn tail of the last log, an unfinished creation, an unfinished edit
 *       of the MANIFEST as long as all files of the version before it are there.
 * INT3  A survey changes nothing.
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { offstageError } from '../model/errors.ts';
import { readBatchHeader } from './leveldb-batch.ts';
import { UnreadableError } from './leveldb-coding.ts';
import { readLog } from './leveldb-log.ts';
import { readManifest, type StoreVersion } from './leveldb-manifest.ts';
import { readSeal } from './seal.ts';

export interface StoreFault {
  /** Name of the file within the store's folder. */
  readonly file: string;
  /** A whole sentence part: "000003.log is damaged at byte 17: …". */
  readonly message: string;
  /** Bytes of the file that cannot be read; 0 when unknown. */
  readonly lostBytes: number;
  /** Operations known to be missing, by the numbering of those around them; 0 when unknown. */
  readonly lostOperations: number;
}

export interface StoreSurvey {
  /** Null when no version can be relied on: then every table and log in the folder may matter. */
  readonly version: StoreVersion | null;
  /** The logs that matter, oldest first. */
  readonly logs: readonly string[];
  /** The tables that matter. */
  readonly tables: readonly string[];
  readonly faults: readonly StoreFault[];
}

/** Looks at the store in `folder`; a folder that is missing or empty is a store not yet created, without faults (see `isStoreGone`). */
export async function surveyStore(folder: string): Promise<StoreSurvey> {
  return new Surveyor(folder, await namesIn(folder)).survey();
}

/**
 * @param dataDir named in the error
 * @throws OffstageError `store.corrupt`
 */
export function assertNoFaults({ faults }: StoreSurvey, dataDir: string): void {
  const [first] = faults;
  if (first === undefined) return;
  const more = faults.length === 1 ? '' : ` (and ${faults.length - 1} more)`;
  throw offstageError('store.corrupt', { folder: dataDir, message: `${first.message}${more}` });
}

export const tableNumber = (name: string): number => Number(/^(\d+)\.(?:ldb|sst)$/.exec(name)?.[1] ?? Number.NaN);
const logNumber = (name: string): number => Number(/^(\d+)\.log$/.exec(name)?.[1] ?? Number.NaN);

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw offstageError('store.failed', { message: `${folder} cannot be read` }, { cause: error });
  }
}

class Surveyor {
  readonly #folder: string;
  readonly #names: readonly string[];
  readonly #faults: StoreFault[] = [];

  constructor(folder: string, names: readonly string[]) {
    this.#folder = folder;
    this.#names = names;
  }

  async survey(): Promise<StoreSurvey> {
    const allLogs = this.#names.filter((name) => logNumber(name) >= 0).sort((left, right) => logNumber(left) - logNumber(right));
    const allTables = this.#names.filter((name) => tableNumber(name) >= 0);
    await this.#checkSeal(allLogs);
    const named = await this.#readVersion();
    if (named !== null) await this.#checkPresence(named, allTables, allLogs);
    // A version that names missing files, or that the seal disowns, is not the latest.
    const version = this.#faults.length === 0 ? named : null;
    const logs = version === null ? allLogs : allLogs.filter((name) => isNeeded(version, logNumber(name)));
    const tables = version === null ? allTables : allTables.filter((name) => version.tables.has(tableNumber(name)));
    await this.#checkLogs(logs, version);
    return { version, logs, tables, faults: this.#faults };
  }

  #fault(file: string, message: string, lost: { readonly bytes?: number; readonly operations?: number } = {}): void {
    this.#faults.push({ file, message, lostBytes: lost.bytes ?? 0, lostOperations: lost.operations ?? 0 });
  }

  async #read(name: string): Promise<Uint8Array | null> {
    try {
      return await readFile(join(this.#folder, name));
    } catch (error) {
      this.#fault(name, `${name} cannot be read (${(error as NodeJS.ErrnoException).code})`);
      return null;
    }
  }

  async #readVersion(): Promise<StoreVersion | null> {
    if (!this.#names.includes('CURRENT')) {
      // A creation that was cut off leaves at most the first MANIFEST.
      const leftover = this.#names.find(
        (name) => logNumber(name) >= 0 || tableNumber(name) >= 0 || (/^MANIFEST-/.test(name) && name !== 'MANIFEST-000001'),
      );
      if (leftover !== undefined) this.#fault('CURRENT', `the file CURRENT is missing, although ${leftover} is there`);
      return null;
    }
    const current = await this.#read('CURRENT');
    if (current === null) return null;
    const name = /^(MANIFEST-\d+)\n$/.exec(Buffer.from(current).toString('latin1'))?.[1];
    if (name === undefined) {
      this.#fault('CURRENT', current.length === 0 ? 'the file CURRENT is empty' : 'the file CURRENT names no MANIFEST');
      return null;
    }
    if (!this.#names.includes(name)) {
      this.#fault(name, `the file ${name} is missing`);
      return null;
    }
    const bytes = await this.#read(name);
    if (bytes === null) return null;
    const { version, faults } = readManifest(bytes);
    for (const fault of faults) this.#fault(name, `${name} is damaged at byte ${fault.offset}: ${fault.message}`);
    if (version === null && faults.length === 0) {
      this.#fault(name, bytes.length === 0 ? `the file ${name} is empty` : `the file ${name} is cut off`);
    }
    return version;
  }

  async #checkPresence(version: StoreVersion, tables: readonly string[], logs: readonly string[]): Promise<void> {
    const nameOf = new Map(tables.map((name) => [tableNumber(name), name]));
    for (const [number, size] of version.tables) {
      const name = nameOf.get(number);
      if (name === undefined) {
        this.#fault(`${pad(number)}.ldb`, `the table ${pad(number)}.ldb is missing`, { bytes: size });
        continue;
      }
      const actual = await this.#sizeOf(name);
      if (actual !== size) {
        const bytes = Math.max(0, size - actual);
        this.#fault(name, `the table ${name} has ${actual} bytes instead of ${size}`, { bytes });
      }
    }
    const needed = version.logNumber;
    const isThere = needed === 0 || logs.some((name) => logNumber(name) === needed);
    const isKnown = this.#faults.some(({ file }) => file === `${pad(needed)}.log`);
    if (!isThere && !isKnown) this.#fault(`${pad(needed)}.log`, `the file ${pad(needed)}.log is missing`);
  }

  async #sizeOf(name: string): Promise<number> {
    try {
      return (await stat(join(this.#folder, name))).size;
    } catch {
      return 0;
    }
  }

  /** Only what the seal says of the newest log is sure to be about the present: older files may rightly be gone. */
  async #checkSeal(logs: readonly string[]): Promise<void> {
    const seal = await readSeal(this.#folder);
    if (seal === null) return;
    const newestSealed = Math.max(-1, ...[...seal.keys()].map(logNumber).filter((number) => number >= 0));
    const newest = Math.max(-1, ...logs.map(logNumber));
    if (newest > newestSealed) return;
    for (const [name, size] of seal) {
      if (!this.#names.includes(name)) this.#fault(name, `the file ${name} is missing`, { bytes: size });
      else {
        const actual = await this.#sizeOf(name);
        if (actual < size) {
          this.#fault(name, `${name} has ${actual} bytes, but had ${size} when the store was closed`, { bytes: size - actual });
        }
      }
    }
  }

  async #checkLogs(names: readonly string[], version: StoreVersion | null): Promise<void> {
    /** The number that the next operation must have; the first log may begin before the version's last operation, never after the next one. */
    let expected: number | null = null;
    const latestStart = version === null ? Number.POSITIVE_INFINITY : version.lastSequence + 1;
    for (const name of names) {
      const bytes = await this.#read(name);
      if (bytes === null) continue;
      const { faults } = readLog(bytes, (fragments, offset) => {
        try {
          const { sequence, count } = readBatchHeader(fragments);
          const due: number = expected ?? Math.min(sequence, latestStart);
          if (sequence !== due) {
            const operations = Math.max(0, sequence - due);
            this.#fault(name, `${name} has operation ${sequence} at byte ${offset}, where ${due} belongs`, { operations });
          }
          expected = sequence + count;
        } catch (error) {
          if (!(error instanceof UnreadableError)) throw error;
          this.#fault(name, `${name} is damaged at byte ${offset}: a batch is too short`);
        }
      });
      for (const fault of faults) {
        this.#fault(name, `${name} is damaged at byte ${fault.offset}: ${fault.message}`, { bytes: fault.bytes });
      }
    }
  }
}

const isNeeded = (version: StoreVersion, log: number): boolean => log >= version.logNumber || log === version.previousLogNumber;
const pad = (number: number): string => String(number).padStart(6, '0');
