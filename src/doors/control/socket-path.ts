/**
 * Where the control socket of a data folder lies, and how to reach it when its path is longer than the system allows.
 *
 * SPA1  The socket is always `<dataDir>/control.sock`, so whoever may read the folder finds it, and nobody else.
 * SPA2  A path too long for a socket address (104 bytes on macOS, 108 on Linux; longer ones would be cut in silence) is reached through a
 *       symlink in a private folder of a random name, which lives only as long as it takes to bind or connect.
 */
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { CONTROL_SOCKET } from '../../persistence/ownership.ts';

const LONGEST_PATH_BYTES = 100;

export const controlSocketPath = (dataDir: string): string => join(dataDir, CONTROL_SOCKET);

const isShort = (path: string): boolean => Buffer.byteLength(path) <= LONGEST_PATH_BYTES;

/** Calls `use` with a path to the same file that fits into a socket address. */
export async function withShortPath<Result>(path: string, use: (path: string) => Promise<Result>): Promise<Result> {
  if (isShort(path)) return use(path);
  // A long TMPDIR would not help.
  const parent = isShort(join(tmpdir(), 'offstage-XXXXXX', 'd', basename(path))) ? tmpdir() : '/tmp';
  const folder = await mkdtemp(join(parent, 'offstage-'));
  try {
    await symlink(dirname(path), join(folder, 'd'));
    return await use(join(folder, 'd', basename(path)));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
