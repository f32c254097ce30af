/**
 * Ends a process tree and does not take "signal sent" for "gone": asks with TERM, kills with KILL, looks again until nothing is left.
 *
 * END1  Everything found at first gets TERM at once. What is born later gets none while its parent lives, so that a TERM handler
 *       may use processes of its own; KILL spares nothing.
 * END2  Gone means two readings in a row without a member and without an unknown: one reading is no instant, and a process may be
 *       born behind its back.
 * END3  No timer is left behind.
 */
import type { Clock } from '../model/clock.ts';
import type { ProcessRow, ProcessTable, ReadTable } from './process-table.ts';
import type { FoundTree } from './process-tree.ts';
import { signalProcess } from './process-tree.ts';

const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 250;
const BACKGROUND_PAUSE_MS = 2_000;

export interface EndTreeOptions {
  readonly clock: Clock;
  readonly readTable: ReadTable;
  /** What belongs to the tree in this reading. */
  readonly find: (table: ProcessTable) => FoundTree;
  /** Milliseconds from now between TERM and KILL; asked again in each round. */
  readonly killAfterMs: () => number;
  /** Milliseconds from now after which it gives up; null: never. */
  readonly deadlineMs: number | null;
  /** Milliseconds from now after which it gives up on what cannot be looked into, if nothing else is left. Default: `deadlineMs`. */
  readonly unknownDeadlineMs?: number;
  /** True once nobody waits for the end any more: it goes on looking, seldom, without keeping the process alive. */
  readonly isInBackground?: () => boolean;
  /** Told after each reading that found something. Must not throw. */
  readonly onRound?: (found: FoundTree) => void;
  /**
   * The process group of a child of this process: signalled in one step, which no fork slips through. False when it was not, because the
   * child has ended.
   */
  readonly group?: { readonly pgid: number; signal(signal: NodeJS.Signals): boolean };
}

export interface EndedTree {
  readonly isGone: boolean;
  /** All that were signalled. */
  readonly signalled: readonly number[];
  /** The last reading that found something; null when none did. */
  readonly last: FoundTree | null;
}

/** Settles when the tree is verified gone, or at the deadline. Rejects only if `clock` or `readTable` do. */
export async function endTree(options: EndTreeOptions): Promise<EndedTree> {
  const { clock, find } = options;
  const begun = clock.monotonic();
  const seen = new Map<number, string>();
  const signalled = new Set<number>();
  let last: FoundTree | null = null;
  let emptyReadings = 0;
  let pauseMs = FIRST_PAUSE_MS;
  for (let round = 0; ; round += 1) {
    const found = find(await options.readTable());
    const elapsedMs = clock.monotonic() - begun;
    const killAfterMs = options.killAfterMs();
    const isKilling = elapsedMs >= killAfterMs;
    if (found.isReadable && found.members.length === 0 && found.unknown.length === 0) {
      emptyReadings += 1;
      if (emptyReadings >= 2) return { isGone: true, signalled: [...signalled], last };
      await pause(clock, FIRST_PAUSE_MS);
      continue;
    }
    emptyReadings = 0;
    last = found;
    const fresh = found.members.filter((row) => seen.get(row.pid) !== row.startTime);
    for (const row of fresh) seen.set(row.pid, row.startTime);
    // After the first reading, not before: a parent that dies of the signal takes with it the proof whose child an orphan is.
    const hasGroup = (isKilling || round === 0) && options.group?.signal(isKilling ? 'SIGKILL' : 'SIGTERM') === true;
    const askedPgid = hasGroup ? (options.group?.pgid ?? null) : null;
    for (const row of isKilling ? found.members : toAsk(fresh, found.members, round, askedPgid)) {
      if (signalProcess(row, isKilling ? 'SIGKILL' : 'SIGTERM')) signalled.add(row.pid);
    }
    options.onRound?.(found);
    const deadlineMs = found.members.length === 0 ? (options.unknownDeadlineMs ?? options.deadlineMs) : options.deadlineMs;
    if (deadlineMs !== null && elapsedMs >= deadlineMs) return { isGone: false, signalled: [...signalled], last };
    // New ones while killing: something keeps being born, so do not give it time.
    pauseMs = isKilling && fresh.length > 0 ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    if (options.isInBackground?.() === true) {
      await pause(clock, BACKGROUND_PAUSE_MS, true);
      continue;
    }
    const stops = [isKilling ? null : killAfterMs, deadlineMs].filter((stop) => stop !== null);
    await pause(clock, Math.min(pauseMs, ...stops.map((stop) => Math.max(stop - elapsedMs, 0))));
  }
}

/** Who gets TERM in this round (END1); those in the group have it already. */
function toAsk(fresh: readonly ProcessRow[], all: readonly ProcessRow[], round: number, askedPgid: number | null): ProcessRow[] {
  if (round === 0) return fresh.filter((row) => row.pgid !== askedPgid);
  const pids = new Set(all.map((row) => row.pid));
  return fresh.filter((row) => !pids.has(row.ppid));
}

const pause = (clock: Clock, delayMs: number, background = false): Promise<void> =>
  new Promise((resolve) => {
    clock.schedule(delayMs, resolve, { background });
  });
