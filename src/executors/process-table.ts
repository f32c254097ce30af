/**
 * What runs on this machine, as the kernel tells it: one reading of all processes, and the names that survive a restart.
 * Linux reads /proc; macOS asks ps and sysctl.
 *
 * PTB1  A reading that does not show this process itself is no reading: the table says so, and nothing may be called gone.
 * PTB2  A start time is opaque and compared for equality only; `order` is for "started before" and nothing else.
 * PTB3  What cannot be read is `unreadable`, never absent.
 */
import { execFile, execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Clock } from '../model/clock.ts';

/** The environment variable that carries the launch token. */
export const TOKEN_NAME = 'OFFSTAGE_EXECUTION';

export interface ProcessRow {
  readonly pid: number;
  readonly ppid: number;
  readonly pgid: number;
  /** The session's id; 0 when unknown. */
  readonly session: number;
  readonly name: string;
  /** Has ended, or will as soon as its parent looks. */
  readonly isDead: boolean;
  readonly startTime: string;
  /** Grows with the time of the start. */
  readonly order: number;
}

/** `starting`: the kernel is just replacing the program, so its environment will be known in a moment. */
export type Token = { readonly is: 'token'; readonly value: string } | { readonly is: 'none' | 'unreadable' | 'starting' };

export interface ProcessTable {
  /** Empty when nothing could be read. */
  readonly rows: ReadonlyMap<number, ProcessRow>;
  readonly isReadable: boolean;
  /** The launch token in the environment that the process was started with. */
  tokenOf(pid: number): Token;
  /** Whether the process belongs to the user of this process; true when it cannot be told. */
  isSameUser(pid: number): boolean;
}

const NONE: Token = { is: 'none' };
const UNREADABLE: Token = { is: 'unreadable' };
const STARTING: Token = { is: 'starting' };
const KERNEL_THREAD = 0x0020_0000;

export const UNREADABLE_TABLE: ProcessTable = {
  rows: new Map(),
  isReadable: false,
  tokenOf: () => UNREADABLE,
  isSameUser: () => true,
};

/** One line of /proc/<pid>/stat; null for kernel threads and for lines that are none. */
export function parseStat(text: string): ProcessRow | null {
  // The name stands in parentheses and may itself hold spaces and parentheses.
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  const fields = text.slice(close + 2).split(' ');
  const [state, ppid, pgid, session] = fields;
  const startTime = fields[19];
  if (open < 0 || startTime === undefined || state === undefined) return null;
  if ((Number(fields[6]) & KERNEL_THREAD) !== 0) return null;
  return {
    pid: Number(text.slice(0, open)),
    ppid: Number(ppid),
    pgid: Number(pgid),
    session: Number(session),
    name: text.slice(open + 1, close),
    // A leader that ended before its other threads is shown as a zombie while they go on.
    isDead: state === 'X' || state === 'x' || (state === 'Z' && Number(fields[17]) <= 1),
    startTime,
    order: Number(startTime),
  };
}

/** The token in an environment block: `NAME=value` entries, each ended by a zero byte. */
export function tokenInEnvironment(block: string): Token {
  const entry = block.split('\0').find((part) => part.startsWith(`${TOKEN_NAME}=`));
  return entry === undefined ? NONE : { is: 'token', value: entry.slice(TOKEN_NAME.length + 1) };
}

/** Of /proc, for every program on Linux. */
const TICKS_PER_SECOND = 100;

/** An instant (epoch milliseconds) on the scale of `order`; before everything where that cannot be told. */
export function orderOfInstant(at: number): number {
  if (process.platform !== 'linux') return Number.NEGATIVE_INFINITY;
  try {
    const booted = /^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1];
    return booted === undefined ? Number.NEGATIVE_INFINITY : (at / 1_000 - Number(booted)) * TICKS_PER_SECOND;
  } catch {
    return Number.NEGATIVE_INFINITY;
  }
}

const isMissing = (error: unknown): boolean => ['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '');

function readLinuxToken(pid: number): Token {
  try {
    const block = readFileSync(`/proc/${pid}/environ`, 'latin1');
    if (block !== '') return tokenInEnvironment(block);
    // Both are empty for the moment in which the kernel replaces one program by another; with `env -i` only the first is.
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1') === '' ? STARTING : NONE;
  } catch (error) {
    return isMissing(error) ? NONE : UNREADABLE;
  }
}

function readLinuxUser(pid: number): boolean {
  try {
    const real = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
    return real === undefined || Number(real) === process.getuid?.();
  } catch (error) {
    return !isMissing(error);
  }
}

function readLinuxRow(pid: number | string): ProcessRow | null {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return null;
  }
}

function readLinuxTable(): ProcessTable {
  const rows = new Map<number, ProcessRow>();
  try {
    for (const entry of readdirSync('/proc')) {
      const row = /^\d+$/.test(entry) ? readLinuxRow(entry) : null;
      if (row !== null) rows.set(row.pid, row);
    }
  } catch {
    return UNREADABLE_TABLE;
  }
  if (!rows.has(process.pid)) return UNREADABLE_TABLE;
  return { rows, isReadable: true, tokenOf: readLinuxToken, isSameUser: readLinuxUser };
}

// A fixed language and zone: the start time must read the same for every host.
const PS_ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC', PATH: '/bin:/usr/bin:/usr/sbin:/sbin' };
const PS_LINE = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\w{3}\s+\w{3}\s+\d+\s+\d\d:\d\d:\d\d\s+\d{4})(?:\s+(.*))?$/;

/** The output of `ps -axwwEo pid=,ppid=,pgid=,uid=,stat=,lstart=,command=` as a table. */
export function parsePs(text: string): ProcessTable {
  const rows = new Map<number, ProcessRow>();
  const tokens = new Map<number, Token>();
  const users = new Map<number, number>();
  for (const line of text.split('\n')) {
    const match = PS_LINE.exec(line);
    if (match === null) continue;
    const [, pidText, ppid, pgid, uid, state = '', started = '', command = ''] = match;
    const pid = Number(pidText);
    const startTime = started.replace(/\s+/g, ' ');
    rows.set(pid, {
      pid,
      ppid: Number(ppid),
      pgid: Number(pgid),
      session: 0,
      name: command.split(' ')[0] ?? '',
      isDead: state.startsWith('Z'),
      startTime,
      order: Date.parse(`${startTime} UTC`),
    });
    users.set(pid, Number(uid));
    const token = new RegExp(`(?:^| )${TOKEN_NAME}=(\\S+)`).exec(command)?.[1];
    tokens.set(pid, token === undefined ? NONE : { is: 'token', value: token });
  }
  if (!rows.has(process.pid)) return UNREADABLE_TABLE;
  return {
    rows,
    isReadable: true,
    tokenOf: (pid) => tokens.get(pid) ?? NONE,
    isSameUser: (pid) => users.get(pid) === process.getuid?.(),
  };
}

function readPsTable(): Promise<ProcessTable> {
  return new Promise((resolve) => {
    execFile(
      'ps',
      ['-axwwEo', 'pid=,ppid=,pgid=,uid=,stat=,lstart=,command='],
      { env: PS_ENVIRONMENT, maxBuffer: 256 * 1024 * 1024 },
      (error, stdout) => resolve(error === null ? parsePs(stdout) : UNREADABLE_TABLE),
    );
  });
}

/** One reading of all processes. Never throws. */
export async function readProcessTable(): Promise<ProcessTable> {
  if (process.platform === 'linux') return readLinuxTable();
  return process.platform === 'darwin' ? readPsTable() : UNREADABLE_TABLE;
}

export type ReadTable = () => Promise<ProcessTable>;

const readers = new WeakMap<Clock, ReadTable>();

/** A reader that serves all who ask within one turn of the event loop with one reading, begun after they asked. One per clock. */
export function sharedTableReader(clock: Clock): ReadTable {
  const known = readers.get(clock);
  if (known !== undefined) return known;
  let next: Promise<ProcessTable> | null = null;
  const read: ReadTable = () => {
    next ??= new Promise((resolve) => {
      clock.nextTurn(() => {
        next = null;
        resolve(readProcessTable());
      });
    });
    return next;
  };
  readers.set(clock, read);
  return read;
}

/**
 * When the process was started, as the kernel tells it; null when it is gone or cannot be read.
 * Synchronous, so that right after a launch no other process can have got the pid. On macOS it waits for `ps`.
 */
export function processStartTime(pid: number): string | null {
  if (process.platform === 'linux') return readLinuxRow(pid)?.startTime ?? null;
  if (process.platform !== 'darwin') return null;
  try {
    const text = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { env: PS_ENVIRONMENT, encoding: 'utf8' });
    return text.trim().replace(/\s+/g, ' ') || null;
  } catch {
    return null;
  }
}

let knownBootId: string | null | undefined;

/**
 * Names this run of this machine and, on Linux, the pid namespace (`<boot>/<namespace>`): pids mean nothing outside of both.
 * Null when it cannot be read.
 */
export function bootId(): string | null {
  if (knownBootId === undefined) knownBootId = readBootId();
  return knownBootId;
}

function readBootId(): string | null {
  try {
    if (process.platform === 'linux') {
      const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
      return `${boot}/${readlinkSync('/proc/self/ns/pid')}`;
    }
    if (process.platform !== 'darwin') return null;
    return execFileSync('sysctl', ['-n', 'kern.bootsessionuuid'], { env: PS_ENVIRONMENT, encoding: 'utf8' }).trim() || null;
  } catch {
    return null;
  }
}
