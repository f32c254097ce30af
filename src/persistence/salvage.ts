/**
 * Reads all that is intact in the files of a store, without LevelDB: the newest version of every key, wherever it stands.
 *
 * SAL1  Sequence numbers decide which version is the newest, so the order in which files are read does not matter.
 * SAL2  Reading changes nothing. Memory: the keys and one file at a time.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoreFault, StoreSurvey } from './integrity.ts';
import { readBatch, type Version } from './leveldb-batch.ts';
import { UnreadableError } from './leveldb-coding.ts';
import { readLog } from './leveldb-log.ts';
import { readTable } from './leveldb-table.ts';
import type { StoreEntry } from './store.ts';

interface Newest {
  readonly sequence: number;
  readonly isDeleted: boolean;
}

export class Salvage {
  readonly #folder: string;
  readonly #survey: StoreSurvey;
  /** By the bytes of the key, one character each. */
  readonly #newest = new Map<string, Newest>();

  constructor(folder: string, survey: StoreSurvey) {
    this.#folder = folder;
    this.#survey = survey;
  }

  /** Finds the newest versions; answers the damage that the survey does not look for. */
  async collect(): Promise<readonly StoreFault[]> {
    return this.#read((version) => {
      const name = nameOf(version);
      const known = this.#newest.get(name);
      if (known !== undefined && known.sequence >= version.sequence) return;
      this.#newest.set(name, { sequence: version.sequence, isDeleted: version.value === null });
    });
  }

  /** How many rows are intact. Call after `collect`. */
  countRows(): number {
    let rows = 0;
    for (const { isDeleted } of this.#newest.values()) if (!isDeleted) rows += 1;
    return rows;
  }

  /** The intact rows, in no order, in portions of about `portionBytes`. Call after `collect`, once. */
  async *rows(portionBytes: number): AsyncGenerator<readonly StoreEntry[], void, undefined> {
    for (const name of [...this.#survey.tables, ...this.#survey.logs]) {
      const rows: StoreEntry[] = [];
      await this.#readFile(name, (version) => {
        const key = nameOf(version);
        const newest = this.#newest.get(key);
        if (newest === undefined || newest.sequence !== version.sequence || version.value === null) return;
        // A row may stand in a log and already in a table.
        this.#newest.delete(key);
        rows.push({ key: textOf(version.key), value: textOf(version.value) });
      });
      yield* portions(rows, portionBytes);
    }
  }

  async #read(onVersion: (version: Version) => void): Promise<StoreFault[]> {
    const faults: StoreFault[] = [];
    for (const name of [...this.#survey.tables, ...this.#survey.logs]) faults.push(...(await this.#readFile(name, onVersion)));
    return faults;
  }

  async #readFile(name: string, onVersion: (version: Version) => void): Promise<StoreFault[]> {
    let bytes: Uint8Array;
    try {
      bytes = await readFile(join(this.#folder, name));
    } catch (error) {
      return [faultIn(name, `${name} cannot be read (${(error as NodeJS.ErrnoException).code})`, 0)];
    }
    if (!name.endsWith('.log')) {
      return readTable(bytes, onVersion).map(({ offset, bytes: lost, message }) =>
        faultIn(name, `${name} is damaged at byte ${offset}: ${message}`, lost),
      );
    }
    const faults: StoreFault[] = [];
    // Damaged records are known from the survey; here come batches that make no sense although their checksum is right.
    readLog(bytes, (fragments, offset) => {
      try {
        for (const version of readBatch(fragments)) onVersion(version);
      } catch (error) {
        if (!(error instanceof UnreadableError)) throw error;
        faults.push(faultIn(name, `${name} is damaged at byte ${offset}: ${error.message}`, 0));
      }
    });
    return faults;
  }
}

const faultIn = (file: string, message: string, lostBytes: number): StoreFault => ({
  file,
  message,
  lostBytes,
  lostOperations: 0,
});
const view = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const nameOf = ({ key }: Version): string => view(key).toString('latin1');
const textOf = (bytes: Uint8Array): string => view(bytes).toString('utf8');

function* portions(rows: readonly StoreEntry[], portionBytes: number): Generator<readonly StoreEntry[], void, undefined> {
  let from = 0;
  let size = 0;
  for (const [index, { key, value }] of rows.entries()) {
    size += key.length + value.length;
    if (size < portionBytes) continue;
    yield rows.slice(from, index + 1);
    from = index + 1;
    size = 0;
  }
  if (from < rows.length) yield rows.slice(from);
}
