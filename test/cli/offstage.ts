/** Starts the real command line as a process of its own. Only processes that a test started are ended, by pid. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach } from 'vitest';
import type { JobView } from '../../src/model/records.ts';

export const ROOT = resolve(import.meta.dirname, '../..');
export const BIN = join(ROOT, 'bin', 'offstage.js');
const HOST = join(import.meta.dirname, 'host.mjs');

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly ended: Promise<Ended>;
  /** Resolves when the text has been printed; rejects when the process ends without it. */
  saw(text: string | RegExp, where?: 'stdout' | 'stderr'): Promise<void>;
}

export interface StartOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Do not read its output until told. */
  readonly isHeld?: boolean;
}

const children: ChildProcess[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** An empty folder; the data of the tests lies in `data` below it. */
export async function newFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'offstage-cli-')));
  folders.push(folder);
  return folder;
}

const environment = (more: StartOptions['env']): NodeJS.ProcessEnv => {
  // Below npm, signals in a breath are one; tests send them themselves.
  const { OFFSTAGE_DATA_DIR: _, OFFSTAGE_WORKERS: __, npm_lifecycle_event: ___, ...rest } = process.env;
  return { ...rest, ...more };
};

/** Any program. */
export function program(file: string, args: readonly string[], options: StartOptions = {}): Started {
  const child = spawn(file, args, {
    cwd: options.cwd ?? tmpdir(),
    env: environment(options.env),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  children.push(child);
  child.stdin?.on('error', () => {});
  child.stdin?.end(options.input ?? '');
  const text = { stdout: '', stderr: '' };
  const listeners = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8');
    if (options.isHeld === true && name === 'stdout') continue;
    child[name]?.on('data', (chunk: string) => {
      text[name] += chunk;
      for (const listener of listeners) listener();
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
    ...text,
  }));
  return {
    child,
    pid: child.pid as number,
    get stdout() {
      return text.stdout;
    },
    get stderr() {
      return text.stderr;
    },
    ended,
    saw(wanted, where = 'stdout') {
      const isThere = (): boolean => (typeof wanted === 'string' ? text[where].includes(wanted) : wanted.test(text[where]));
      return new Promise((settle, reject) => {
        const look = (): void => {
          if (!isThere()) return;
          listeners.delete(look);
          settle();
        };
        listeners.add(look);
        look();
        void ended.then((end) => {
          look();
          reject(new Error(`it ended without ${wanted}: ${JSON.stringify(end)}`));
        });
      });
    },
  };
}

/** The command line. */
export const start = (args: readonly string[], options: StartOptions = {}): Started =>
  program(process.execPath, [BIN, ...args], options);

/** A shell script that finds the command line as `$OFFSTAGE`. */
export const script = (text: string, options: StartOptions = {}): Promise<Ended> =>
  program('sh', ['-c', text], { ...options, env: { ...options.env, OFFSTAGE: `${process.execPath} ${BIN}` } }).ended;

/** A program that embeds the engine: `test/cli/host.mjs <task> <dataDir>`. */
export const host = (task: string, dataDir: string, options: StartOptions = {}): Started =>
  program(process.execPath, [HOST, task, dataDir], options);

export const offstage = (args: readonly string[], options: StartOptions = {}): Promise<Ended> => start(args, options).ended;

/** What a verb prints with `--json`. */
export async function json<Value>(args: readonly string[], options: StartOptions = {}): Promise<Value> {
  const { code, stdout, stderr } = await offstage([...args, '--json'], options);
  if (code !== 0) throw new Error(`exit ${code}: ${stderr}`);
  return JSON.parse(stdout) as Value;
}

export const listed = (dataDir: string): Promise<readonly JobView[]> => json(['jobs', 'list', '--data-dir', dataDir]);

/** The only job in a folder. */
export async function onlyJob(dataDir: string): Promise<JobView> {
  const [job, ...others] = await listed(dataDir);
  if (job === undefined || others.length > 0) throw new Error(`${others.length + 1} jobs, not one`);
  return job;
}

/** Asks until the answer is there: what it asks for has no event that a test could await. */
export async function until<Value>(ask: () => Promise<Value | null>): Promise<Value> {
  for (;;) {
    const value = await ask();
    if (value !== null) return value;
    await new Promise((settle) => setTimeout(settle, 20));
  }
}

/** Command lines of living processes that contain `marker`, those of this command line aside. */
export async function processesWith(marker: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'stat=,args='], { maxBuffer: 64 * 1024 * 1024 });
  return stdout
    .split('\n')
    .filter((line) => line.includes(marker) && !line.trimStart().startsWith('Z') && !line.includes('offstage.js'));
}

let lastMarker = 0;
/** A number of seconds that no other process sleeps for. */
export const uniqueSleep = (): string => {
  lastMarker += 1;
  return `${600 + lastMarker}.${process.pid}`;
};
