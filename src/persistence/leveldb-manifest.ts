/**
 * Reads a MANIFEST: the edits that say which tables and logs make up the store.
 *
 * MAN1  A version is answered only from edits that are intact; whether it is the latest is judged by the files that it names (integrity.ts).
 */
import { ByteReader, UnreadableError } from './leveldb-coding.ts';
import { joined, type LogFault, readLog } from './leveldb-log.ts';

const COMPARATOR = 1;
const LOG_NUMBER = 2;
const NEXT_FILE_NUMBER = 3;
const LAST_SEQUENCE = 4;
const COMPACT_POINTER = 5;
const DELETED_FILE = 6;
const NEW_FILE = 7;
const PREVIOUS_LOG_NUMBER = 9;

export interface StoreVersion {
  /** The oldest log still needed; 0 in a store that was never opened to the end. */
  readonly logNumber: number;
  /** A log needed besides; 0 for none (no LevelDB of this century writes one). */
  readonly previousLogNumber: number;
  readonly lastSequence: number;
  /** Size in bytes by file number. */
  readonly tables: ReadonlyMap<number, number>;
}

export interface ManifestReading {
  /** Null when the edits that are intact do not make a version. */
  readonly version: StoreVersion | null;
  readonly faults: readonly LogFault[];
}

export function readManifest(bytes: Uint8Array): ManifestReading {
  const state = new EditedVersion();
  const unreadable: LogFault[] = [];
  const { faults } = readLog(bytes, (fragments, offset) => {
    const edit = joined(fragments);
    try {
      state.apply(new ByteReader(edit));
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error;
      unreadable.push({ offset, bytes: edit.length, message: `an edit makes no sense: ${error.message}` });
    }
  });
  return { version: state.version(), faults: [...faults, ...unreadable] };
}

class EditedVersion {
  #logNumber: number | null = null;
  #previousLogNumber = 0;
  #hasNextFileNumber = false;
  #lastSequence: number | null = null;
  /** Size by `level/number`: a table that moves to another level is deleted and added in one edit. */
  readonly #tables = new Map<string, number>();

  apply(reader: ByteReader): void {
    const added: [string, number][] = [];
    while (!reader.isAtEnd) {
      const tag = reader.varint();
      if (tag === COMPARATOR) reader.prefixed();
      else if (tag === LOG_NUMBER) this.#logNumber = reader.varint();
      else if (tag === PREVIOUS_LOG_NUMBER) this.#previousLogNumber = reader.varint();
      else if (tag === NEXT_FILE_NUMBER) this.#hasNextFileNumber = reader.varint() >= 0;
      else if (tag === LAST_SEQUENCE) this.#lastSequence = reader.varint();
      else if (tag === COMPACT_POINTER) {
        reader.varint();
        reader.prefixed();
      } else if (tag === DELETED_FILE) this.#tables.delete(`${reader.varint()}/${reader.varint()}`);
      else if (tag === NEW_FILE) {
        const name = `${reader.varint()}/${reader.varint()}`;
        added.push([name, reader.varint()]);
        reader.prefixed();
        reader.prefixed();
      } else throw new UnreadableError(`it has the unknown tag ${tag}`);
    }
    for (const [name, size] of added) this.#tables.set(name, size);
  }

  version(): StoreVersion | null {
    if (this.#logNumber === null || this.#lastSequence === null || !this.#hasNextFileNumber) return null;
    const tables = new Map([...this.#tables].map(([name, size]) => [Number(name.slice(name.indexOf('/') + 1)), size]));
    return {
      logNumber: this.#logNumber,
      previousLogNumber: this.#previousLogNumber,
      lastSequence: this.#lastSequence,
      tables,
    };
  }
}
