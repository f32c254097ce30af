/**
 * Reads the tables of LevelDB: blocks of sorted entries, each with its checksum, and an index of the blocks at the end.
 *
 * TBL1  A damaged block costs its own entries only. Without its index (a table cut short) the blocks are found one after another by their checksums.
 * TBL2  Nothing is answered that did not pass its checksum.
 */
import { crc32c, maskCrc } from './crc32c.ts';
import type { Version } from './leveldb-batch.ts';
import { ByteReader, UnreadableError } from './leveldb-coding.ts';
import { decompressSnappy } from './snappy.ts';

const FOOTER_BYTES = 48;
const MAGIC = Buffer.from('57fb808b247547db', 'hex');
/** Kind of compression (1) and checksum (4) behind each block. */
const TRAILER_BYTES = 5;
const SNAPPY = 1;
/** Sequence number and kind behind each key. */
const KEY_TRAILER_BYTES = 8;
const VALUE = 1;
/** No block that LevelDB writes is larger: a value has at most a few MiB here. */
const MAXIMUM_BLOCK_BYTES = 256 * 1024 * 1024;

export interface TableFault {
  readonly offset: number;
  readonly bytes: number;
  readonly message: string;
}

interface BlockHandle {
  readonly offset: number;
  readonly size: number;
}

/** Calls back with every entry that is intact, and answers what is not. */
export function readTable(bytes: Uint8Array, onEntry: (version: Version) => void): readonly TableFault[] {
  const faults: TableFault[] = [];
  let handles: readonly BlockHandle[];
  try {
    handles = readIndex(bytes);
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    const found = readWithoutIndex(bytes, onEntry);
    return [{ offset: found, bytes: bytes.length - found, message: `the index of the table is unreadable (${error.message})` }];
  }
  for (const { offset, size } of handles) {
    try {
      for (const version of versionsIn(readBlock(bytes, { offset, size }))) onEntry(version);
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error;
      faults.push({ offset, bytes: size, message: `a block is unreadable (${error.message})` });
    }
  }
  return faults;
}

function readIndex(bytes: Uint8Array): BlockHandle[] {
  const footer = bytes.subarray(Math.max(0, bytes.length - FOOTER_BYTES));
  if (footer.length < FOOTER_BYTES || !MAGIC.equals(footer.subarray(FOOTER_BYTES - MAGIC.length))) {
    throw new UnreadableError('it has no end');
  }
  const reader = new ByteReader(footer);
  readHandle(reader); // of the filters
  const index = readBlock(bytes, readHandle(reader));
  return Array.from(entriesIn(index), ({ value }) => readHandle(new ByteReader(value)));
}

function readHandle(reader: ByteReader): BlockHandle {
  return { offset: reader.varint(), size: reader.varint() };
}

/** The content of a block, its checksum verified. */
function readBlock(bytes: Uint8Array, { offset, size }: BlockHandle): Uint8Array {
  const end = offset + size + 1;
  if (end + 4 > bytes.length) throw new UnreadableError('it lies beyond the end of the file');
  const stored = new ByteReader(bytes, end).fixed(4);
  if (maskCrc(crc32c(bytes, offset, end)) !== stored) throw new UnreadableError('its checksum is wrong');
  const content = bytes.subarray(offset, offset + size);
  return bytes[offset + size] === SNAPPY ? decompressSnappy(content, MAXIMUM_BLOCK_BYTES) : content;
}

interface BlockEntry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** Keys share their beginning with the key before; the restart points at the end of the block are not needed for reading it whole. */
function* entriesIn(block: Uint8Array): Generator<BlockEntry, void, undefined> {
  if (block.length < 4) throw new UnreadableError('it is too short');
  const restarts = new ByteReader(block, block.length - 4).fixed(4);
  const end = block.length - 4 - restarts * 4;
  if (end < 0) throw new UnreadableError('it is too short');
  const reader = new ByteReader(block.subarray(0, end));
  let key: Uint8Array = new Uint8Array(0);
  while (!reader.isAtEnd) {
    const shared = reader.varint();
    const rest = reader.varint();
    const length = reader.varint();
    if (shared > key.length) throw new UnreadableError('a key makes no sense');
    key = Buffer.concat([key.subarray(0, shared), reader.bytes(rest)]);
    yield { key, value: reader.bytes(length) };
  }
}

function versionsIn(block: Uint8Array): Version[] {
  return Array.from(entriesIn(block), ({ key, value }) => {
    const end = key.length - KEY_TRAILER_BYTES;
    if (end < 0) throw new UnreadableError('a key is too short');
    const kind = key[end] as number;
    if (kind > VALUE) throw new UnreadableError('an entry is of an unknown kind');
    // The kind is the lowest of the eight bytes, the sequence number the other seven.
    const sequence = (new ByteReader(key, end).fixed(8) - kind) / 256;
    return { key: key.subarray(0, end), value: kind === VALUE ? value : null, sequence };
  });
}

/** Blocks lie one behind the other from the start; entries come first. Answers where reading had to stop. */
function readWithoutIndex(bytes: Uint8Array, onEntry: (version: Version) => void): number {
  let offset = 0;
  let last: Version | null = null;
  for (let size = blockSizeAt(bytes, offset); size !== null; size = blockSizeAt(bytes, offset)) {
    try {
      const versions = versionsIn(readBlock(bytes, { offset, size }));
      const first = versions[0];
      // Behind the entries stand filters and index: their keys, if they have any, do not go on in order.
      if (first === undefined || (last !== null && !isAfter(first, last))) return offset;
      for (const version of versions) onEntry(version);
      last = versions.at(-1) ?? null;
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error;
      return offset;
    }
    offset += size + TRAILER_BYTES;
  }
  return offset;
}

/** In a table, newer versions of a key come before older ones. */
function isAfter(version: Version, earlier: Version): boolean {
  const order = Buffer.compare(version.key, earlier.key);
  return order > 0 || (order === 0 && version.sequence < earlier.sequence);
}

/** The size of the block that begins at `offset`: the first at which the checksum behind it fits. */
function blockSizeAt(bytes: Uint8Array, offset: number): number | null {
  let crc = 0;
  for (let kind = offset; kind + TRAILER_BYTES <= bytes.length; kind += 1) {
    crc = crc32c(bytes, kind, kind + 1, crc);
    if ((bytes[kind] as number) <= SNAPPY && maskCrc(crc) === new ByteReader(bytes, kind + 1).fixed(4)) return kind - offset;
  }
  return null;
}
