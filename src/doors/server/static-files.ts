/**
 * The files of the dashboard.
 *
 * STF1  Only plain names below the folder are served: no name that begins with a dot, and nothing that a path could climb out with.
 * STF2  A file is read once per change; it is kept in memory, with its compressed form and its tag.
 */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { BoundedMap } from '../../model/bounded-map.ts';
import type { Headers } from './http-answer.ts';

const compress = promisify(gzip);

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.json': 'application/json',
  '.map': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};
const COMPRESSED = new Set(['.html', '.js', '.mjs', '.css', '.svg', '.json', '.map', '.txt', '.webmanifest']);
const MOST_FILES = 500;

interface Kept {
  readonly changedAt: number;
  readonly bytes: Buffer;
  readonly zipped: Buffer | null;
  readonly tag: string;
}

export class StaticFiles {
  readonly #folder: string;
  readonly #kept = new BoundedMap<string, Kept>(MOST_FILES);

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Whether there was such a file. @param segments the path, decoded */
  async answer(
    segments: readonly string[],
    request: IncomingMessage,
    response: ServerResponse,
    headers: Headers,
  ): Promise<boolean> {
    const names = segments.length === 1 && segments[0] === '' ? ['index.html'] : segments;
    if (!names.every((name) => /^[\w-][\w.-]*$/.test(name))) return false;
    const ending = extname(names.at(-1) as string);
    const type = TYPES[ending];
    const file = type === undefined ? null : await this.#read(join(this.#folder, ...names), COMPRESSED.has(ending));
    if (file === null || type === undefined) return false;
    const isZipped = file.zipped !== null && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
    const tag = isZipped ? `"${file.tag}-gzip"` : `"${file.tag}"`;
    const head: Headers = {
      ...headers,
      ETag: tag,
      Vary: 'Accept-Encoding',
      // The names of assets change with their content.
      'Cache-Control': names[0] === 'assets' ? 'private, max-age=31536000, immutable' : 'private, no-cache',
    };
    if ((request.headers['if-none-match'] ?? '').split(',').some((one) => one.trim().replace(/^W\//, '') === tag)) {
      response.writeHead(304, head).end();
      return true;
    }
    const bytes = isZipped ? (file.zipped as Buffer) : file.bytes;
    const encoding: Headers = isZipped ? { 'Content-Encoding': 'gzip' } : {};
    response.writeHead(200, { ...head, ...encoding, 'Content-Type': type, 'Content-Length': bytes.length }).end(bytes);
    return true;
  }

  async #read(path: string, isCompressed: boolean): Promise<Kept | null> {
    try {
      const info = await stat(path);
      if (!info.isFile()) return null;
      const known = this.#kept.get(path);
      if (known?.changedAt === info.mtimeMs) return known;
      const bytes = await readFile(path);
      const kept: Kept = {
        changedAt: info.mtimeMs,
        bytes,
        zipped: isCompressed ? await compress(bytes) : null,
        tag: createHash('sha256').update(bytes).digest('base64url').slice(0, 22),
      };
      this.#kept.set(path, kept);
      return kept;
    } catch {
      return null;
    }
  }
}
