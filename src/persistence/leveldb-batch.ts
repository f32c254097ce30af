/**
 * The batches inside LevelDB's write-ahead log: sequence number (8), count (4), then the operations. The sequence numbers of a store have no
 * holes, so a missing batch shows in the next one.
 */
import { ByteReader, UnreadableError } from './leveldb-coding.ts';
import { type Fragments, joined } from './leveldb-log.ts';

const HEADER_BYTES = 12;
const DELETION = 0;
const VALUE = 1;

export interface BatchHeader {
  /** Sequence number of the first operation. */
  readonly sequence: number;
  readonly count: number;
}

/** One version of a key: a value, or null for its deletion. */
export interface Version {
  readonly key: Uint8Array;
  readonly value: Uint8Array | null;
  readonly sequence: number;
}

/** @throws UnreadableError */
export function readBatchHeader(fragments: Fragments): BatchHeader {
  const reader = new ByteReader(fragments[0].length >= HEADER_BYTES ? fragments[0] : joined(fragments));
  return { sequence: reader.fixed(8), count: reader.fixed(4) };
}

/** The operations of a batch, in order. @throws UnreadableError */
export function readBatch(fragments: Fragments): Version[] {
  const reader = new ByteReader(joined(fragments));
  const header = { sequence: reader.fixed(8), count: reader.fixed(4) };
  const versions: Version[] = [];
  while (!reader.isAtEnd) {
    const tag = reader.byte();
    if (tag !== VALUE && tag !== DELETION) throw new UnreadableError(`an operation has the unknown tag ${tag}`);
    const key = reader.prefixed();
    versions.push({ key, value: tag === VALUE ? reader.prefixed() : null, sequence: header.sequence + versions.length });
  }
  if (versions.length !== header.count) throw new UnreadableError('a batch has another number of operations than it says');
  return versions;
}
