/**
 * The few encodings that LevelDB's files are made of: little-endian numbers, varints, length-prefixed bytes.
 *
 * COD1  Reading beyond the end throws `UnreadableError`, never answers with something shorter.
 */

/** A structure that ended too early or makes no sense. Caught by the readers of files; it never leaves this room. */
export class UnreadableError extends Error {}

export class ByteReader {
  readonly #bytes: Uint8Array;
  #offset: number;

  constructor(bytes: Uint8Array, offset = 0) {
    this.#bytes = bytes;
    this.#offset = offset;
  }

  get offset(): number {
    return this.#offset;
  }

  get isAtEnd(): boolean {
    return this.#offset >= this.#bytes.length;
  }

  byte(): number {
    const value = this.#bytes[this.#offset];
    if (value === undefined) throw new UnreadableError('it ends too early');
    this.#offset += 1;
    return value;
  }

  /** An unsigned number of `size` bytes, little-endian. Exact up to 2^53 - 1, which sequence numbers never reach. */
  fixed(size: 2 | 4 | 8): number {
    let value = 0;
    for (let index = 0, factor = 1; index < size; index += 1, factor *= 256) value += this.byte() * factor;
    return value;
  }

  varint(): number {
    let value = 0;
    for (let factor = 1; factor <= 2 ** 63; factor *= 128) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new UnreadableError('a number is too long');
  }

  bytes(length: number): Uint8Array {
    const end = this.#offset + length;
    if (end > this.#bytes.length) throw new UnreadableError('it ends too early');
    const part = this.#bytes.subarray(this.#offset, end);
    this.#offset = end;
    return part;
  }

  prefixed(): Uint8Array {
    return this.bytes(this.varint());
  }
}
