/**
 * The audit of a server, as lines in `<dataDir>/audit.ndjson`: who has asked for what, and what came of it (spec 12).
 *
 * AUF1  Names and ids only: no text, prompt, input, result or token (B74).
 * AUF2  At most two files of `MOST_BYTES`, readable by this user only.
 * AUF3  A disk that is full or slow holds nobody up: what does not fit in memory is left out, and the file says how many lines.
 */
import { open, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';

const FILE = 'audit.ndjson';
const OLDER_FILE = 'audit.1.ndjson';
const MOST_BYTES = 16 * 1024 * 1024;
/** Lines that wait for the disk. */
const MOST_WAITING_BYTES = 4 * 1024 * 1024;

/** What is written of a request; anything else of it is left out. */
export interface AuditEntry {
  readonly at: number;
  readonly action: string;
  readonly scope: string;
  readonly caller: string;
  readonly remote: string | null;
  readonly ids: Readonly<Record<string, string | readonly string[]>>;
  readonly outcome: string;
  readonly durationMs: number;
}

export interface AuditFileOptions {
  /** Told once when the file cannot be written, and again after it could. */
  readonly onFailure: (error: Error) => void;
  readonly mostBytes?: number;
}

export class AuditFile {
  readonly #path: string;
  readonly #olderPath: string;
  readonly #onFailure: (error: Error) => void;
  readonly #mostBytes: number;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #left = 0;
  #writing: Promise<void> | null = null;
  #hasFailed = false;

  constructor(dataDir: string, { onFailure, mostBytes = MOST_BYTES }: AuditFileOptions) {
    this.#path = join(dataDir, FILE);
    this.#olderPath = join(dataDir, OLDER_FILE);
    this.#onFailure = onFailure;
    this.#mostBytes = mostBytes;
  }

  add({ at, action, scope, caller, remote, ids, outcome, durationMs }: AuditEntry): void {
    const time = new Date(at).toISOString();
    const line = `${JSON.stringify({ at: time, action, scope, caller, remote, ids, outcome, duration_ms: durationMs })}\n`;
    if (this.#waitingBytes + line.length > MOST_WAITING_BYTES) {
      this.#left += 1;
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
    this.#writing ??= this.#write();
  }

  /** Resolves when everything was written, or could not be. */
  async close(): Promise<void> {
    while (this.#writing !== null) await this.#writing;
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const lines = this.#waiting.splice(0);
      this.#waitingBytes = 0;
      const left = this.#left;
      this.#left = 0;
      const note = left === 0 ? '' : `${JSON.stringify({ at: new Date().toISOString(), left_out: left })}\n`;
      try {
        await this.#append(`${lines.join('')}${note}`);
        this.#hasFailed = false;
      } catch (error) {
        this.#left += left + lines.length;
        if (!this.#hasFailed) this.#onFailure(error as Error);
        this.#hasFailed = true;
      }
    }
    this.#writing = null;
  }

  async #append(text: string): Promise<void> {
    const size = await stat(this.#path).then(
      (found) => found.size,
      () => 0,
    );
    if (size > 0 && size + Buffer.byteLength(text) > this.#mostBytes) await rename(this.#path, this.#olderPath);
    const file = await open(this.#path, 'a', 0o600);
    try {
      // Also one that was there before.
      await file.chmod(0o600);
      await file.writeFile(text);
    } finally {
      await file.close();
    }
  }
}
