/**
 * Finds out, before anything is launched, what would be launched and where; and says plainly what is missing (B01).
 *
 * RES1  A missing directory is never reported as a missing program: the kernel gives both the same code.
 * RES2  The program is looked up as the child would: on the child's PATH, relative paths from its working directory.
 */
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, resolve } from 'node:path';
import { type OffstageError, offstageError } from '../model/errors.ts';
import type { CommandInput } from './command-input.ts';

const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

export interface ResolvedCommand {
  /** Absolute. */
  readonly file: string;
  /** What the program sees as its own name. */
  readonly argv0: string;
  readonly args: readonly string[];
  /** Absolute. */
  readonly cwd: string;
}

/** @throws command.cwd_missing, command.not_found, command.start_failed */
export async function resolveCommand(
  input: CommandInput,
  environment: Readonly<Record<string, string>>,
): Promise<ResolvedCommand> {
  const cwd = resolve(input.cwd ?? '.');
  await checkDirectory(cwd);
  const path = environment.PATH ?? DEFAULT_PATH;
  if (input.shell === undefined || input.shell === false) {
    return { file: await findProgram(input.command, cwd, path), argv0: input.command, args: input.args ?? [], cwd };
  }
  const shell = input.shell === true ? '/bin/sh' : input.shell;
  const args = ['-c', input.command, ...(input.args === undefined ? [] : [shell, ...input.args])];
  return { file: await findProgram(shell, cwd, path), argv0: shell, args, cwd };
}

async function checkDirectory(cwd: string): Promise<void> {
  try {
    const found = await stat(cwd);
    if (!found.isDirectory()) throw offstageError('command.cwd_missing', { cwd });
    await access(cwd, constants.X_OK);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') throw offstageError('command.cwd_missing', { cwd }, { cause: error });
    if (code === null) throw error;
    throw startFailed(`the working directory ${JSON.stringify(cwd)} cannot be entered (${code}).`, error);
  }
}

async function findProgram(command: string, cwd: string, path: string): Promise<string> {
  const places = command.includes('/')
    ? [cwd]
    : path.split(delimiter).map((entry) => (isAbsolute(entry) ? entry : resolve(cwd, entry)));
  let refusal: OffstageError | null = null;
  for (const place of places) {
    const file = resolve(place, command);
    const why = await whyNot(file);
    if (why === null) return file;
    // As a shell does: what is found and cannot be run is passed over on the PATH, and named only if nothing better follows.
    if (why !== 'missing') refusal ??= startFailed(why, null);
  }
  throw refusal ?? offstageError('command.not_found', { command });
}

async function whyNot(file: string): Promise<string | null> {
  try {
    const found = await stat(file);
    if (found.isDirectory()) return `${JSON.stringify(file)} is a directory.`;
    await access(file, constants.X_OK);
    return null;
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'missing';
    return code === 'EACCES'
      ? `${JSON.stringify(file)} is not executable for this user.`
      : `${JSON.stringify(file)} cannot be run (${code}).`;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  E2BIG: 'its arguments and environment are larger than this system allows.',
  EAGAIN: 'this system allows no more processes at the moment.',
  EMFILE: 'this process has too many open files.',
  ENFILE: 'this system has too many open files.',
  ENOMEM: 'this system has no memory left for it.',
  EACCES: 'this system does not allow running it.',
  EPERM: 'this system does not allow running it.',
  ENOEXEC: 'it is no program that this system can run.',
  ETXTBSY: 'its file is being written.',
};

/** The error for a launch that the kernel refused, although everything was there a moment before. */
export async function launchError(command: ResolvedCommand, error: unknown): Promise<OffstageError> {
  const code = codeOf(error) ?? 'unknown';
  if (code !== 'ENOENT' && code !== 'ENOTDIR') {
    return startFailed(`${JSON.stringify(command.file)}: ${REASONS[code] ?? 'the system refused.'} (${code})`, error);
  }
  try {
    await checkDirectory(command.cwd);
  } catch (missing) {
    return missing as OffstageError;
  }
  const isThere = (await whyNot(command.file)) === null;
  if (!isThere) return offstageError('command.not_found', { command: command.argv0 }, { cause: error });
  return startFailed(`the interpreter that ${JSON.stringify(command.file)} names in its first line is missing.`, error);
}

const startFailed = (message: string, cause: unknown): OffstageError =>
  offstageError('command.start_failed', { message }, cause === null ? undefined : { cause });

const codeOf = (error: unknown): string | null => {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : null;
};
