/**
 * Decompression of Snappy blocks, as they stand in LevelDB's tables: a length, then literals and copies of what came before.
 *
 * SNP1  Any input ends in the bytes or in `UnreadableError`; memory is bounded by the length that the caller allows.
 */
import { ByteReader, UnreadableError } from './leveldb-coding.ts';

const LITERAL = 0;
const COPY_SHORT = 1;

/** @throws UnreadableError */
export function decompressSnappy(bytes: Uint8Array, maximumLength: number): Uint8Array {
  const reader = new ByteReader(bytes);
  const length = reader.varint();
  if (length > maximumLength) throw new UnreadableError('a compressed block is too long');
  const output = new Uint8Array(length);
  let end = 0;
  while (!reader.isAtEnd) {
    const tag = reader.byte();
    const kind = tag & 3;
    if (kind === LITERAL) {
      const size = literalLength(tag >>> 2, reader);
      if (end + size > length) throw new UnreadableError('a compressed block is longer than it says');
      output.set(reader.bytes(size), end);
      end += size;
      continue;
    }
    const size = kind === COPY_SHORT ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1;
    const distance = kind === COPY_SHORT ? (tag >>> 5) * 256 + reader.byte() : reader.fixed(kind === 2 ? 2 : 4);
    if (distance === 0 || distance > end || end + size > length) throw new UnreadableError('a compressed block makes no sense');
    // Byte by byte, as a copy may reach into what it writes.
    for (const stop = end + size; end < stop; end += 1) output[end] = output[end - distance] as number;
  }
  if (end !== length) throw new UnreadableError('a compressed block is shorter than it says');
  return output;
}

/** Lengths up to 60 stand in the tag, longer ones in the 1 to 4 bytes behind it. */
function literalLength(code: number, reader: ByteReader): number {
  if (code < 60) return code + 1;
  let size = 0;
  for (let index = 0, factor = 1; index < code - 59; index += 1, factor *= 256) size += reader.byte() * factor;
  return size + 1;
}
