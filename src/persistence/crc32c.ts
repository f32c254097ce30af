/**
 * CRC-32C (Castagnoli), the checksum in LevelDB's files. Node's own `zlib.crc32` is another polynomial.
 * Eight tables take eight bytes a step: several hundred MiB a second, so that a log can be checked whole at every open.
 */

const POLYNOMIAL = 0x82f63b78;
/** Eight tables of 256 in one array: entry `256 * n + byte` is the effect of that byte with n bytes behind it. */
const TABLE = makeTable();

function makeTable(): Int32Array {
  const table = new Int32Array(8 * 256);
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    table[byte] = crc;
  }
  for (let index = 256; index < table.length; index += 1) {
    const crc = table[index - 256] as number;
    table[index] = (crc >>> 8) ^ (table[crc & 0xff] as number);
  }
  return table;
}

/**
 * The checksum of `bytes` from `start` to before `end`, as an unsigned 32-bit number. `before` is the checksum of what precedes them.
 */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length, before = 0): number {
  const at = (index: number): number => bytes[index] as number;
  const table = (entry: number): number => TABLE[entry] as number;
  let crc = ~before;
  let index = start;
  for (const last = end - 8; index <= last; index += 8) {
    crc ^= at(index) | (at(index + 1) << 8) | (at(index + 2) << 16) | (at(index + 3) << 24);
    crc =
      table(0x700 + (crc & 0xff)) ^
      table(0x600 + ((crc >>> 8) & 0xff)) ^
      table(0x500 + ((crc >>> 16) & 0xff)) ^
      table(0x400 + (crc >>> 24)) ^
      table(0x300 + at(index + 4)) ^
      table(0x200 + at(index + 5)) ^
      table(0x100 + at(index + 6)) ^
      table(at(index + 7));
  }
  for (; index < end; index += 1) crc = (crc >>> 8) ^ table((crc ^ at(index)) & 0xff);
  return ~crc >>> 0;
}

const MASK_DELTA = 0xa282ead8;

/** LevelDB stores checksums rotated and shifted, so that a checksum over data that contains checksums stays strong. */
export const maskCrc = (crc: number): number => (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0;
