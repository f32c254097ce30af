/**
 * Who owns a data folder. LevelDB's lock on the store decides; the file `owner.json` only says who holds it.
 *
 * OWN1  One owner per folder (spec 6, B40): whoever comes second is told `store.locked`, and nothing is touched. A store that is being
 *       closed in this process is waited for.
 * OWN2  Files of a dead owner are no obstacle, and its pid is never named: pid and start time must both fit a living process.
 * OWN3  Only the folder itself is ever created (mode 0700); whatever stands in the way is named with its path.
 */
import { access, constants, mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isOffstageError, type OffstageError, offstageError } from '../model/errors.ts';

const OWNER_FILE = 'owner.json';
/** In the data folder: where its owner serves its verbs, if it does. */
export const CONTROL_SOCKET = 'control.sock';

export interface Owner {
  readonly pid: number;
  /** When the process started, in the system's own words; null where it cannot be told. */
  readonly startTime: string | null;
  /** Path of the socket that serves the owner's verbs; null when it serves none. */
  readonly control: string | null;
}

/** This process as owner. */
export async function thisOwner(control: string | null): Promise<Owner> {
  return { pid: process.pid, startTime: await startTimeOf(process.pid), control };
}

/** Called while the lock is held. A reader sees the whole file or none. */
export async function writeOwner(dataDir: string, owner: Owner): Promise<void> {
  const path = join(dataDir, OWNER_FILE);
  const draft = `${path}.draft`;
  const file = await open(draft, 'w', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(owner)}\n`);
  } finally {
    await file.close();
  }
  await rename(draft, path);
}

/** Called while the lock is still held. */
export const removeOwner = (dataDir: string): Promise<void> => rm(join(dataDir, OWNER_FILE), { force: true });

/** The living process that says it owns the folder, or null. */
export async function readOwner(dataDir: string): Promise<Owner | null> {
  try {
    const { pid, startTime, control } = JSON.parse(await readFile(join(dataDir, OWNER_FILE), 'utf8')) as Record<string, unknown>;
    if (typeof pid !== 'number' || !isAlive(pid)) return null;
    const known = typeof startTime === 'string' ? startTime : null;
    const actual = await startTimeOf(pid);
    if (known !== null && actual !== null && known !== actual) return null;
    return { pid, startTime: known, control: typeof control === 'string' ? control : null };
  } catch {
    return null;
  }
}

/** `store.locked`, with the pid of the owner where it can be told. */
export async function lockedError(dataDir: string, cause?: unknown): Promise<OffstageError> {
  const owner = await readOwner(dataDir);
  return offstageError('store.locked', { folder: dataDir, pid: owner?.pid ?? null }, { cause });
}

const refuse = (message: string, cause?: unknown): OffstageError =>
  offstageError('config.invalid', { option: 'dataDir', message }, { cause });

/**
 * Makes sure that the data folder exists; its parent must. Answers its real path, so that one folder has one name.
 * @throws OffstageError `config.invalid`
 */
export async function prepareDataDir(dataDir: string): Promise<string> {
  const folder = folderOf(dataDir);
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw refuse(`the folder ${dirname(folder)} does not exist`, error);
    if (code === 'ENOTDIR') throw refuse(`${dirname(folder)} is not a folder`, error);
    if (code !== 'EEXIST') throw refuse(`${folder} cannot be created (${code})`, error);
  }
  return findDataDir(folder);
}

/**
 * The real path of a data folder that exists and can be used.
 * @throws OffstageError `config.invalid`
 */
export async function findDataDir(dataDir: string): Promise<string> {
  const folder = folderOf(dataDir);
  try {
    const path = await realpath(folder);
    if (!(await stat(path)).isDirectory()) throw refuse(`${folder} is not a folder`);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return path;
  } catch (error) {
    if (isOffstageError(error)) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTDIR') throw refuse(`${dirname(folder)} is not a folder`, error);
    throw refuse(code === 'ENOENT' ? `${folder} does not exist` : `${folder} cannot be read and written (${code})`, error);
  }
}

function folderOf(dataDir: string): string {
  if (typeof dataDir !== 'string' || dataDir === '' || dataDir.includes('\0')) throw refuse('it is not the path of a folder');
  return resolve(dataDir);
}

/** One store's hold on a folder within this process. */
export interface FolderClaim {
  /** From now on others wait for `release` instead of being refused. */
  beginRelease(): void;
  release(): void;
}

/** Folders in use in this process; the promise is there from the moment the store is being closed. */
const claims = new Map<string, { closed: Promise<void> | null }>();

/**
 * @param folder a real path
 * @throws OffstageError `store.locked` when this process has the folder open
 */
export async function claimFolder(folder: string): Promise<FolderClaim> {
  for (let current = claims.get(folder); current !== undefined; current = claims.get(folder)) {
    if (current.closed === null) throw offstageError('store.locked', { folder, pid: process.pid });
    await current.closed;
  }
  const claim: { closed: Promise<void> | null } = { closed: null };
  let done = (): void => {};
  const released = new Promise<void>((settle) => {
    done = settle;
  });
  claims.set(folder, claim);
  return {
    beginRelease() {
      claim.closed = released;
    },
    release() {
      if (claims.get(folder) === claim) claims.delete(folder);
      done();
    },
  };
}

function isAlive(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Linux: clock ticks since the system's start, from /proc; elsewhere null, and the pid alone must do. */
async function startTimeOf(pid: number): Promise<string | null> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name of the program, in brackets, may contain anything.
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}
