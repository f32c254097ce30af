/**
 * Reads LevelDB's log format (the write-ahead log and the MANIFEST): blocks of 32 KiB that hold records of checksum (4), length (2), type (1), payload.
 * LevelDB's own recovery passes over damage in silence; this reader tells damage from the tail that a crash leaves.
 *
 * LOG1  Whatever is not intact is reported: as a fault, or, only at the end of the file, as a torn tail.
 * LOG2  A tail is torn, not damaged, when a record is cut by the end of the file, or when zeros fill the file from a sector boundary within
 *       the record to the end: what is left of an append that was not synced.
 * LOG3  After a fault reading goes on at the next record that is intact, also within the same block.
 */
import { crc32c, maskCrc } from './crc32c.ts';

const BLOCK_BYTES = 32_768;
const HEADER_BYTES = 7;
/** The least that a disk writes at once. */
const SECTOR_BYTES = 512;

/** A record that does not fit its block is a FIRST part, any number of middle ones (3), and a LAST one. */
const FULL = 1;
const FIRST = 2;
const LAST = 4;

export interface LogFault {
  readonly offset: number;
  /** Bytes of the file that are lost by it. */
  readonly bytes: number;
  /** Completes "<file> is damaged at byte <offset>: …". */
  readonly message: string;
}

export interface LogReading {
  readonly faults: readonly LogFault[];
  /** Where a torn tail begins; null when the file ends with an intact record. */
  readonly tornAt: number | null;
}

/** The parts of one record; `joined` puts them together. */
export type Fragments = readonly [Uint8Array, ...Uint8Array[]];

export const joined = (fragments: Fragments): Uint8Array => (fragments.length === 1 ? fragments[0] : Buffer.concat(fragments));

/**
 * Calls back with every intact record in order, and answers what is not intact. Memory: views into `bytes` only.
 */
export function readLog(bytes: Uint8Array, onRecord: (fragments: Fragments, offset: number) => void): LogReading {
  return new LogReader(bytes, onRecord).read();
}

type Verdict = 'intact' | 'torn' | { readonly message: string };

class LogReader {
  readonly #bytes: Uint8Array;
  readonly #onRecord: (fragments: Fragments, offset: number) => void;
  /** Behind the last byte that is not zero, and the sector boundary after it. */
  readonly #contentEnd: number;
  readonly #zerosFrom: number;
  readonly #faults: LogFault[] = [];
  /** The record whose last part has not come yet. */
  #open: { readonly offset: number; readonly fragments: [Uint8Array, ...Uint8Array[]] } | null = null;
  /** Right after a fault: parts without a beginning belong to what was lost. */
  #isResyncing = false;

  constructor(bytes: Uint8Array, onRecord: (fragments: Fragments, offset: number) => void) {
    this.#bytes = bytes;
    this.#onRecord = onRecord;
    let end = bytes.length;
    while (end > 0 && bytes[end - 1] === 0) end -= 1;
    this.#contentEnd = end;
    this.#zerosFrom = Math.ceil(end / SECTOR_BYTES) * SECTOR_BYTES;
  }

  read(): LogReading {
    const size = this.#bytes.length;
    let offset = 0;
    while (offset < size) {
      const blockEnd = endOfBlock(offset);
      if (blockEnd - offset < HEADER_BYTES) {
        offset = blockEnd;
        continue;
      }
      const verdict = this.#judge(offset);
      if (verdict === 'torn') return this.#end(offset);
      if (verdict === 'intact') {
        offset = this.#take(offset);
        continue;
      }
      const next = this.#nextIntact(offset + 1);
      this.#fault(this.#open?.offset ?? offset, next, verdict.message);
      this.#isResyncing = true;
      offset = next;
    }
    return this.#end(null);
  }

  #end(tornAt: number | null): LogReading {
    return { faults: this.#faults, tornAt: this.#open?.offset ?? tornAt };
  }

  #fault(from: number, to: number, message: string): void {
    this.#faults.push({ offset: from, bytes: to - from, message });
    this.#open = null;
  }

  #judge(offset: number): Verdict {
    const size = this.#bytes.length;
    if (this.#contentEnd <= offset || size - offset < HEADER_BYTES) return 'torn';
    const length = this.#lengthAt(offset);
    const end = offset + HEADER_BYTES + length;
    if (this.#isIntact(offset)) return 'intact';
    if (end > endOfBlock(offset)) return { message: 'a record has an impossible length' };
    if (end > size) {
      // Cut by the end of the file, unless it is the length that is wrong.
      if (this.#hasPrefixWithChecksum(offset)) return { message: 'the length of a record is wrong' };
      return this.#nextIntact(offset + 1) < size ? { message: 'a record is unreadable' } : 'torn';
    }
    if (end > this.#zerosFrom && this.#zerosFrom < size) return 'torn';
    return { message: 'the checksum of a record is wrong' };
  }

  #lengthAt(offset: number): number {
    return (this.#bytes[offset + 4] as number) | ((this.#bytes[offset + 5] as number) << 8);
  }

  #checksumAt(offset: number): number {
    const at = (index: number): number => this.#bytes[offset + index] as number;
    return (at(0) | (at(1) << 8) | (at(2) << 16) | (at(3) << 24)) >>> 0;
  }

  #isIntact(offset: number): boolean {
    const type = this.#bytes[offset + 6] as number;
    if (type < FULL || type > LAST) return false;
    const end = offset + HEADER_BYTES + this.#lengthAt(offset);
    if (end > endOfBlock(offset) || end > this.#bytes.length) return false;
    return maskCrc(crc32c(this.#bytes, offset + 6, end)) === this.#checksumAt(offset);
  }

  /** Whether the stored checksum fits some part of what is there: then all of it was written, and the length was changed later. */
  #hasPrefixWithChecksum(offset: number): boolean {
    const stored = this.#checksumAt(offset);
    let crc = crc32c(this.#bytes, offset + 6, offset + 7);
    for (let index = offset + HEADER_BYTES; ; index += 1) {
      if (maskCrc(crc) === stored) return true;
      if (index === this.#bytes.length) return false;
      crc = crc32c(this.#bytes, index, index + 1, crc);
    }
  }

  /** The offset of the next intact record, or the size of the file. */
  #nextIntact(from: number): number {
    const size = this.#bytes.length;
    for (let offset = from; offset + HEADER_BYTES <= size; offset += 1) {
      if (this.#isIntact(offset)) return offset;
    }
    return size;
  }

  /** Takes the intact physical record at `offset`; answers where the next one begins. */
  #take(offset: number): number {
    const type = this.#bytes[offset + 6] as number;
    const end = offset + HEADER_BYTES + this.#lengthAt(offset);
    const payload = this.#bytes.subarray(offset + HEADER_BYTES, end);
    if (type === FULL || type === FIRST) {
      if (this.#open !== null) this.#fault(this.#open.offset, offset, 'a record has no end');
      this.#isResyncing = false;
      if (type === FULL) this.#onRecord([payload], offset);
      else this.#open = { offset, fragments: [payload] };
      return end;
    }
    if (this.#open === null) {
      const cause = this.#isResyncing ? this.#faults.pop() : undefined;
      this.#fault(cause?.offset ?? offset, end, cause?.message ?? 'a record has no beginning');
      this.#isResyncing = true;
      return end;
    }
    this.#open.fragments.push(payload);
    if (type === LAST) {
      this.#onRecord(this.#open.fragments, this.#open.offset);
      this.#open = null;
    }
    return end;
  }
}

const endOfBlock = (offset: number): number => offset - (offset % BLOCK_BYTES) + BLOCK_BYTES;
