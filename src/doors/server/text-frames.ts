/**
 * Frames of text as a server sends them over a WebSocket (RFC 6455): unmasked, uncompressed, whole.
 *
 * TXF1  Several frames lie in one piece of memory, so that one write sends them all.
 */
import type { FrameEncoding } from '../events/event-sink.ts';

const FINAL_TEXT = 0x81;
const LONGEST_SHORT = 125;
const LENGTH_16 = 126;
const LENGTH_64 = 127;
const LONGEST_16 = 0xffff;

const headBytes = (length: number): number => (length <= LONGEST_SHORT ? 2 : length <= LONGEST_16 ? 4 : 10);

export function textFrames(texts: readonly string[]): { readonly bytes: Buffer; readonly ends: readonly number[] } {
  const ends: number[] = [];
  const lengths = texts.map((text) => Buffer.byteLength(text));
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + headBytes(length) + length, 0));
  let at = 0;
  for (const [index, length] of lengths.entries()) {
    bytes[at] = FINAL_TEXT;
    if (length <= LONGEST_SHORT) bytes[at + 1] = length;
    else if (length <= LONGEST_16) {
      bytes[at + 1] = LENGTH_16;
      bytes.writeUInt16BE(length, at + 2);
    } else {
      bytes[at + 1] = LENGTH_64;
      bytes.writeBigUInt64BE(BigInt(length), at + 2);
    }
    at += headBytes(length);
    at += bytes.write(texts[index] as string, at);
    ends.push(at);
  }
  return { bytes, ends };
}

export const WEB_SOCKET_FRAMES: FrameEncoding = {
  name: 'ws',
  encode: (frames) => textFrames(frames.map(({ json }) => json)),
};
