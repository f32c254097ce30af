/**
 * Which processes belong to one execution, and how they are signalled.
 *
 * A process belongs to it when it is the launched one (pid and start time agree), is in its process group or session, descends
 * from one that belongs to it, shares a session that one of them opened, or was started with the launch token in its environment.
 * The last finds what left group and session and whose parent is gone (`setsid`, double fork).
 *
 * TRE1  Nothing is signalled whose start time is not the one that was read: a pid that was reused is left alone.
 * TRE2  Pids 0 and 1, this process and its own group are never signalled.
 * TRE3  What cannot be looked into and may belong is `unknown`; with unknown ones the tree is not verified gone.
 * TRE4  Zombies are gone.
 */
import type { ProcessRow, ProcessTable } from './process-table.ts';
import { processStartTime } from './process-table.ts';

export { bootId, processStartTime, readProcessTable, sharedTableReader, TOKEN_NAME } from './process-table.ts';

export interface TreeRoot {
  /** Null: unknown, or not provably ours; then only the token counts. */
  readonly pid: number | null;
  readonly startTime: string | null;
  readonly executionId: string;
  /** Where the start is not known: what was started before this (`order`) is none of it. */
  readonly notBefore?: number;
}

/** What earlier readings found, so that members whose parents have died since are still known. */
export interface TreeMemory {
  readonly startTimes: Map<number, string>;
  readonly sessions: Set<number>;
}

export interface FoundTree {
  readonly members: readonly ProcessRow[];
  /** May belong to the tree, but cannot be looked into or must not be touched. */
  readonly unknown: readonly ProcessRow[];
  readonly isReadable: boolean;
}

export const treeMemory = (): TreeMemory => ({ startTimes: new Map(), sessions: new Set() });

/** Whether the reading shows the very process that was noted. */
export const isAlive = (table: ProcessTable, pid: number, startTime: string | null): boolean => {
  const row = table.rows.get(pid);
  return row !== undefined && !row.isDead && startTime !== null && row.startTime === startTime;
};

/** Whether the pid now names another process than the one that was noted. */
export function isReused(table: ProcessTable, root: TreeRoot): boolean {
  const row = root.pid === null ? undefined : table.rows.get(root.pid);
  return row !== undefined && row.startTime !== root.startTime;
}

/**
 * What is left in the group and session of the launched process, and nothing that has left both on purpose.
 * For a command that ended by itself.
 */
export function findSession(table: ProcessTable, root: TreeRoot): FoundTree {
  // A group or session keeps its number reserved while it has members: a leader with another start time means that ours is empty.
  const rows = root.pid === null || isReused(table, root) ? [] : [...table.rows.values()];
  const members = rows.filter((row) => !row.isDead && (row.pgid === root.pid || row.session === root.pid));
  return { members: members.filter((row) => !isHost(table, row)), unknown: [], isReadable: table.isReadable };
}

/** All processes of the execution. Adds what it finds to `memory`, which belongs to one execution. */
export function findTree(table: ProcessTable, root: TreeRoot, memory: TreeMemory): FoundTree {
  const rows = [...table.rows.values()].filter((row) => !row.isDead);
  const members = new Set<ProcessRow>(findSession(table, root).members);
  const oldest = root.startTime === null ? (root.notBefore ?? Number.NEGATIVE_INFINITY) : orderOf(table, root);
  for (const row of rows) {
    const isKnown = members.has(row) || memory.startTimes.get(row.pid) === row.startTime;
    if (isKnown || carriesToken(table, row, root, oldest)) members.add(row);
  }
  const sessions = new Set(memory.sessions);
  const host = table.rows.get(process.pid);
  let isGrowing = true;
  while (isGrowing) {
    const pids = new Set([...members].map((row) => row.pid));
    for (const row of members) if (row.session > 1 && row.session !== host?.session) sessions.add(row.session);
    const found = rows.filter((row) => !members.has(row) && (pids.has(row.ppid) || sessions.has(row.session)));
    for (const row of found) members.add(row);
    isGrowing = found.length > 0;
  }
  for (const session of sessions) memory.sessions.add(session);
  const touchable = [...members].filter((row) => !isHost(table, row));
  for (const row of touchable) memory.startTimes.set(row.pid, row.startTime);
  const closed = rows.filter((row) => !members.has(row) && row.order >= oldest && mayBelong(table, row));
  const untouchable = [...members].filter((row) => isHost(table, row));
  return { members: touchable, unknown: [...untouchable, ...closed], isReadable: table.isReadable };
}

/** The start of the root on the scale of `order`; on Linux its start time is that number. */
function orderOf(table: ProcessTable, root: TreeRoot): number {
  const row = root.pid === null ? undefined : table.rows.get(root.pid);
  const order = row?.startTime === root.startTime ? row?.order : Number(root.startTime);
  return order === undefined || Number.isNaN(order) ? Number.NEGATIVE_INFINITY : order;
}

function carriesToken(table: ProcessTable, row: ProcessRow, root: TreeRoot, oldest: number): boolean {
  if (row.order < oldest) return false;
  const token = table.tokenOf(row.pid);
  return token.is === 'token' && token.value === root.executionId;
}

/** This process, its group, and init. */
const isHost = (table: ProcessTable, row: ProcessRow): boolean =>
  row.pid <= 1 || row.pid === process.pid || row.pgid === table.rows.get(process.pid)?.pgid;

/**
 * An unreadable process may belong only if nobody vouches for it: an orphan of this user, adopted by init or its user's deputy.
 * Others have a living parent, and that parent is not in the tree.
 */
function mayBelong(table: ProcessTable, row: ProcessRow): boolean {
  if (row.pid <= 1 || row.pid === process.pid) return false;
  const parent = table.rows.get(row.ppid);
  const isOrphan = row.ppid <= 1 || parent === undefined || parent.name === 'systemd';
  if (!isOrphan) return false;
  const token = table.tokenOf(row.pid).is;
  return token === 'starting' || (token === 'unreadable' && table.isSameUser(row.pid));
}

/**
 * Signals exactly the process that was read.
 * @returns whether the signal was delivered: false when the process is gone, was replaced (TRE1), or may not be signalled
 */
export function signalProcess(row: ProcessRow, signal: NodeJS.Signals): boolean {
  if (row.pid <= 1 || row.pid === process.pid) return false;
  // On macOS this would cost a process per signal; there the reading a moment ago has to do.
  if (process.platform === 'linux' && processStartTime(row.pid) !== row.startTime) return false;
  return send(row.pid, signal);
}

export function signalTree(rows: Iterable<ProcessRow>, signal: NodeJS.Signals): void {
  for (const row of rows) signalProcess(row, signal);
}

/**
 * Signals a whole process group in one step, which no fork can slip through. Only for the group of a child of this process whose
 * end has not been seen yet: until then its pid cannot be reused, even where no start time can be read.
 */
export function signalGroup(
  leader: { readonly pid: number; readonly startTime: string | null },
  signal: NodeJS.Signals,
): boolean {
  if (leader.pid <= 1 || leader.pid === process.pid) return false;
  const startTime = process.platform === 'linux' ? processStartTime(leader.pid) : null;
  if (startTime !== null && leader.startTime !== null && startTime !== leader.startTime) return false;
  return send(-leader.pid, signal);
}

/** Whether any process, zombies included, is in the group. A cheap first question. */
export function isGroupInUse(pgid: number): boolean {
  try {
    return pgid > 1 && process.kill(-pgid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function send(target: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(target, signal);
  } catch {
    // Gone, or not ours to signal: the next reading tells which.
    return false;
  }
}

/** `process 12 (sleep), process 13 (node)`, clipped after ten. */
export function nameProcesses(rows: readonly ProcessRow[]): string {
  const names = rows.slice(0, 10).map((row) => `process ${row.pid} (${row.name})`);
  return rows.length > 10 ? `${names.join(', ')} and ${rows.length - 10} more` : names.join(', ');
}

/** What is left of a tree, for people: names what lives, and what could not be looked into. */
export function describeTree(found: FoundTree | null): string {
  if (found === null || !found.isReadable) return 'processes that could not be looked for';
  const parts = [nameProcesses(found.members)];
  if (found.unknown.length > 0) parts.push(`${nameProcesses(found.unknown)}, which cannot be judged from here`);
  return parts.filter((part) => part !== '').join('; ');
}
