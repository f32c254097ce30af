/** `serve --token-file`: the token is read from a file, never from the command line, which everybody can see (B74). */
import { randomBytes } from 'node:crypto';
import { open, readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { offstageError } from '../../model/errors.ts';
import type { Cli } from './cli.ts';
import { printable } from './terminal.ts';

/** The token in the file, which is made with mode 0600 where it is missing. @throws OffstageError `config.invalid` */
export async function readTokenFile(cli: Cli, given: string): Promise<string> {
  const path = resolve(given);
  try {
    await make(path);
    const { mode } = await stat(path);
    if ((mode & 0o077) !== 0) await cli.note(`others can read the token in ${printable(path)}`);
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    throw offstageError(
      'config.invalid',
      { option: '--token-file', message: `${path} cannot be read or made (${why})` },
      { cause: error },
    );
  }
}

async function make(path: string): Promise<void> {
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(`${randomBytes(32).toString('base64url')}\n`);
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
