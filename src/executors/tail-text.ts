/**
 * Text that keeps its end: bounded memory whatever comes in, and an honest first line when something was cut.
 *
 * TAI1  Never holds much more than the limit (at most one chunk more).
 * TAI2  `text()` is at most `limitBytes` of UTF-8, its first line included, and never cuts a character in two.
 */
const KIB = 1024;
/** Small chunks are joined up to this size, so that a byte at a time costs no list of bytes. */
const JOIN_BYTES = 4 * KIB;

export class TailText {
  readonly #limitBytes: number;
  readonly #chunks: { text: string; bytes: number }[] = [];
  #keptBytes = 0;
  #totalBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get totalBytes(): number {
    return this.#totalBytes;
  }

  append(text: string): void {
    const bytes = Buffer.byteLength(text);
    const last = this.#chunks.at(-1);
    if (last !== undefined && last.bytes + bytes <= JOIN_BYTES) {
      last.text += text;
      last.bytes += bytes;
    } else {
      this.#chunks.push({ text, bytes });
    }
    this.#keptBytes += bytes;
    this.#totalBytes += bytes;
    for (
      let head = this.#chunks[0];
      head !== undefined && this.#keptBytes - head.bytes >= this.#limitBytes;
      head = this.#chunks[0]
    ) {
      this.#chunks.shift();
      this.#keptBytes -= head.bytes;
    }
  }

  /** The end of all that was appended; when that is not all of it, after a line such as `[… 1.2 MiB cut]`. */
  text(): string {
    const joined = this.#chunks.map((chunk) => chunk.text).join('');
    if (this.#totalBytes <= this.#limitBytes) return joined;
    // The line's own length depends on the number in it; the longest line that can occur reserves enough.
    const reserved = Buffer.byteLength(cutLine(this.#totalBytes)) + 8;
    const bytes = Buffer.from(joined);
    let from = Math.max(0, bytes.length - Math.max(0, this.#limitBytes - reserved));
    while (from < bytes.length && ((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1;
    const kept = bytes.subarray(from);
    return `${cutLine(this.#totalBytes - kept.length)}${kept.toString()}`;
  }
}

const cutLine = (bytes: number): string => `[… ${formatBytes(bytes)} cut]\n`;

/** `512 B`, `3.4 KiB`, `1.2 MiB`, `5.0 GiB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  return `${power === 0 ? bytes : (bytes / KIB ** power).toFixed(1)} ${units[power]}`;
}
