/**
 * The token of a data folder, in its file `token`.
 *
 * TKF1  Only this user may read it, at no instant anybody else (mode 0600). It is there as a whole or not at all.
 * TKF2  It is made once and kept: who has it gets in after a restart too.
 */
import { randomBytes } from 'node:crypto';
import { chmod, link, open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { offstageError } from '../../model/errors.ts';
import type { Log } from '../../model/requests.ts';
import { isToken, newSecret } from './tokens.ts';

const FILE = 'token';

/** @throws OffstageError `store.failed` when it can be neither read nor made */
export async function folderToken(dataDir: string, log: Log): Promise<string> {
  const path = join(dataDir, FILE);
  try {
    const known = await read(path, log);
    if (known !== null) return known;
    await make(path);
    const made = await read(path, log);
    if (made !== null) return made;
  } catch (error) {
    throw failed((error as NodeJS.ErrnoException).code ?? (error as Error).message, error);
  }
  throw failed('it was changed while it was made', undefined);
}

const failed = (why: string, cause: unknown) =>
  offstageError('store.failed', { message: `the file of the token could not be read or made (${why})` }, { cause });

/** Null: there is none, or what is there is no token. */
async function read(path: string, log: Log): Promise<string | null> {
  try {
    const found = await stat(path);
    if (!found.isFile()) throw new Error('it is no file');
    const { mode } = found;
    if ((mode & 0o077) !== 0) {
      log('warn', 'token.was_readable', { path, note: 'others could read it; delete the file and restart to get a new one' });
      await chmod(path, 0o600);
    }
    const text = (await readFile(path, 'utf8')).trim();
    if (isToken(text)) return text;
    log('warn', 'token.replaced', { path, note: 'it held no token' });
    await rm(path, { force: true });
    return null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function make(path: string): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}.draft`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(`${newSecret()}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    // Two servers of one engine may make it at the same time: the first one counts.
    await link(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
}
