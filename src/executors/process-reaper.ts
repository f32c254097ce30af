/**
 * Finds, judges and ends what an execution of a dead host has left running (spec 6, recovery).
 *
 * RPR1  Ended is only what is provably ours: it carries the launch token, or it is the noted process (same boot, pid and start time
 *       agree), or it hangs on one of these by parent, group or session.
 * RPR2  A pid that now names another process is left alone.
 * RPR3  After a restart of the machine nothing is searched: nothing survives one.
 * RPR4  What cannot be looked into is `unverified` and reported, never called gone.
 */
import type { Clock } from '../model/clock.ts';
import type { ProcessRecord } from '../model/records.ts';
import { endTree } from './end-tree.ts';
import { orderOfInstant, type ProcessTable, type ReadTable } from './process-table.ts';
import {
  bootId,
  describeTree,
  type FoundTree,
  findTree,
  isAlive,
  nameProcesses,
  sharedTableReader,
  type TreeRoot,
  treeMemory,
} from './process-tree.ts';

/** How long an orphan that cannot be looked into holds up a start. */
const UNKNOWN_PATIENCE_MS = 1_000;

export interface ReapOptions {
  readonly clock: Clock;
  /** Milliseconds between TERM and KILL; at most half of `deadlineMs` is taken. */
  readonly killAfterMs: number;
  /** Milliseconds after which it answers `unverified` for what still lives. */
  readonly deadlineMs: number;
  /** How processes are read; default: from this machine. */
  readonly readTable?: ReadTable;
}

export interface ProcessVerdict<Verdict extends string = 'gone' | 'killed' | 'not_ours' | 'unverified'> {
  /**
   * `gone`: nothing was left. `killed`: something was, and is verified gone. `not_ours`: the pid names another process, and nothing
   * else is left. `unverified`: something may be left; `pids` and `detail` say what. `alive` (only when described): it is at work.
   */
  readonly verdict: Verdict;
  readonly pids: readonly number[];
  /** A sentence for people. */
  readonly detail: string;
}

/** Ends what is left of an execution whose host is dead. Never rejects for what it finds. */
export async function reapProcess(record: ProcessRecord, options: ReapOptions): Promise<ProcessVerdict> {
  const elsewhere = judgePlace(record);
  if (elsewhere !== null) return elsewhere;
  const readTable = options.readTable ?? sharedTableReader(options.clock);
  const root = rootOf(record, await readTable());
  const memory = treeMemory();
  const ended = await endTree({
    clock: options.clock,
    readTable,
    find: (table) => findTree(table, root, memory),
    killAfterMs: () => Math.min(options.killAfterMs, options.deadlineMs / 2),
    deadlineMs: options.deadlineMs,
    unknownDeadlineMs: Math.min(UNKNOWN_PATIENCE_MS, options.deadlineMs),
  });
  if (!ended.isGone) return unverified(ended.last);
  if (ended.signalled.length > 0) {
    return { verdict: 'killed', pids: ended.signalled, detail: `Ended ${nameProcesses(ended.last?.members ?? [])}.` };
  }
  return judgeRest(record, await readTable());
}

/** What `reapProcess` would find, without touching anything. */
export async function describeProcess(
  record: ProcessRecord,
  options: Pick<ReapOptions, 'clock' | 'readTable'>,
): Promise<ProcessVerdict<'gone' | 'alive' | 'not_ours' | 'unverified'>> {
  const elsewhere = judgePlace(record);
  if (elsewhere !== null) return elsewhere;
  const table = await (options.readTable ?? sharedTableReader(options.clock))();
  const found = findTree(table, rootOf(record, table), treeMemory());
  if (found.members.length > 0) {
    return { verdict: 'alive', pids: found.members.map((row) => row.pid), detail: `At work: ${describeTree(found)}.` };
  }
  if (found.unknown.length > 0 || !found.isReadable) return unverified(found);
  return judgeRest(record, table);
}

function judgePlace(record: ProcessRecord): ProcessVerdict<'gone' | 'unverified'> | null {
  const here = bootId();
  if (here === null) return { verdict: 'unverified', pids: [], detail: 'Processes of this machine cannot be read.' };
  if (record.bootId === null || record.bootId === here) return null;
  const [boot] = here.split('/');
  if (record.bootId.split('/')[0] !== boot) {
    return { verdict: 'gone', pids: [], detail: 'The machine was restarted since.' };
  }
  return { verdict: 'unverified', pids: [], detail: 'It was started in another container of this machine.' };
}

/** The wall clock may have been set by so much between the note of a launch and now. */
const CLOCK_DOUBT_MS = 5 * 60_000;

/** The noted process counts as root only if it is provably the same; else only the token is searched for. */
function rootOf(record: ProcessRecord, table: ProcessTable): TreeRoot {
  const { pid, startTime, executionId } = record;
  const isProven = record.bootId !== null && pid !== null && isAlive(table, pid, startTime);
  return {
    pid: isProven ? pid : null,
    startTime: record.bootId === null ? null : startTime,
    executionId,
    // Noted before the launch, by a clock that may have been set since.
    ...(pid === null ? { notBefore: orderOfInstant(record.at - CLOCK_DOUBT_MS) } : {}),
  };
}

/** Nothing that is provably ours is left; says what stands in its place. */
function judgeRest(record: ProcessRecord, table: ProcessTable): ProcessVerdict<'gone' | 'not_ours' | 'unverified'> {
  const { pid } = record;
  if (pid === null) return { verdict: 'gone', pids: [], detail: 'No process carries its token.' };
  const row = table.rows.get(pid);
  if (row !== undefined && row.startTime !== record.startTime) {
    return { verdict: 'not_ours', pids: [], detail: `Pid ${pid} now belongs to another process (${row.name}).` };
  }
  // Its group still has members, without the token and without the process that proves them ours.
  const group = [...table.rows.values()].filter((member) => member.pgid === pid && !member.isDead);
  if (group.length === 0) return { verdict: 'gone', pids: [], detail: `Process ${pid} and all it started are gone.` };
  const pids = group.map((member) => member.pid);
  return {
    verdict: 'unverified',
    pids,
    detail: `In its process group lives ${nameProcesses(group)}, which may or may not be its.`,
  };
}

function unverified(found: FoundTree | null): ProcessVerdict<'unverified'> {
  const pids = [...(found?.members ?? []), ...(found?.unknown ?? [])].map((row) => row.pid);
  return { verdict: 'unverified', pids, detail: `May still be at work: ${describeTree(found)}.` };
}
