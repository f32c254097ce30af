/**
 * The whole output of one execution in a file, once it has outgrown memory (spec 17).
 *
 * SPL1  Nothing is created before there is more than `memoryBytes`.
 * SPL2  The file never grows beyond `fileBytes`; a last line says when output is missing.
 * SPL3  A disk that refuses ends the spilling, not the job.
 * SPL4  The name of the file holds nothing but letters, digits, `-` and `_`, whatever the id is.
 */
import { createHash } from 'node:crypto';
import { createWriteStream, mkdirSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { formatBytes } from './tail-text.ts';

export interface SpillFileOptions {
  readonly directory: string;
  readonly executionId: string;
  readonly memoryBytes: number;
  readonly fileBytes: number;
  /** The file can take more, after a `write` that answered false. */
  readonly onReady: () => void;
}

/** Where the output of an execution is spilled to. */
export const spillPath = (directory: string, executionId: string): string => {
  const isPlain = /^[A-Za-z0-9_-]{1,128}$/.test(executionId);
  return join(directory, `${isPlain ? executionId : createHash('sha256').update(executionId).digest('hex')}.log`);
};

export class SpillFile {
  readonly #options: SpillFileOptions;
  readonly #path: string;
  readonly #end: string;
  #memory: Buffer[] = [];
  #bytes = 0;
  #file: WriteStream | null = null;
  #state: 'memory' | 'file' | 'full' | 'failed' = 'memory';

  constructor(options: SpillFileOptions) {
    this.#options = options;
    this.#path = spillPath(options.directory, options.executionId);
    this.#end = `\n[… output beyond ${formatBytes(options.fileBytes)} was not kept]\n`;
  }

  /** The file, once there is one and it is whole up to its cap; else null. */
  get path(): string | null {
    return this.#state === 'file' || this.#state === 'full' ? this.#path : null;
  }

  /** @returns false when the caller should hold back until `onReady` */
  write(text: string): boolean {
    if (this.#state === 'full' || this.#state === 'failed') return true;
    const bytes = Buffer.from(text);
    if (this.#state === 'file') return this.#append(bytes);
    this.#memory.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes <= this.#options.memoryBytes) return true;
    return this.#open();
  }

  /** Settles when all is written. Never rejects. */
  close(): Promise<void> {
    this.#memory = [];
    const file = this.#file;
    if (file === null || file.closed) return Promise.resolve();
    return new Promise((resolve) => {
      file.once('close', () => resolve());
      file.end();
    });
  }

  #open(): boolean {
    const memory = this.#memory;
    this.#memory = [];
    this.#bytes = 0;
    try {
      // Not recursive: Node never returns from that on file systems that refuse new folders with ENOENT, such as /proc.
      mkdirSync(this.#options.directory, { mode: 0o700 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
        this.#fail();
        return true;
      }
    }
    // `wx` follows no link that somebody else put there.
    const file = createWriteStream(this.#path, { flags: 'wx', mode: 0o600, highWaterMark: 1024 * 1024 });
    file.on('error', () => this.#fail());
    file.on('drain', () => this.#options.onReady());
    this.#file = file;
    this.#state = 'file';
    return this.#append(Buffer.concat(memory));
  }

  #append(bytes: Buffer): boolean {
    const room = this.#options.fileBytes - Buffer.byteLength(this.#end) - this.#bytes;
    this.#bytes += bytes.length;
    if (this.#file === null) return true;
    if (bytes.length <= room) return this.#file.write(bytes);
    this.#state = 'full';
    let until = Math.max(0, room);
    while (until > 0 && ((bytes[until] ?? 0) & 0xc0) === 0x80) until -= 1;
    this.#file.write(bytes.subarray(0, until));
    this.#file.write(this.#end);
    return true;
  }

  #fail(): void {
    this.#state = 'failed';
    this.#options.onReady();
  }
}
