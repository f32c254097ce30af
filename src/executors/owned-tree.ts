/**
 * A program that was launched with everything it starts: launched so that it is found again, ended so that nothing of it is left.
 * What commands and agents share.
 *
 * OWT1  It runs in a session and process group of its own and carries the launch token, so that it is found again (B52, recovery).
 * OWT2  When told to end: TERM to the whole tree at once, KILL after `killAfterMs`, and the promise settles only when the tree is
 *       verified gone; survivors are named while it goes on looking.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { Clock } from '../model/clock.ts';
import type { ExecutionHandle } from '../model/executor.ts';
import { LIMITS } from '../model/limits.ts';
import { endTree } from './end-tree.ts';
import type { ReadTable } from './process-table.ts';
import {
  bootId,
  describeTree,
  findSession,
  findTree,
  processStartTime,
  signalGroup,
  type TreeRoot,
  treeMemory,
} from './process-tree.ts';
import { launchError, type ResolvedCommand } from './resolve-command.ts';

/** Leftovers of a program that ended by itself get less time: somebody waits for them. */
export const LEFTOVER_KILL_MS = 1_000;
const LEFTOVER_DEADLINE_MS = 5_000;

export interface OwnedTree extends TreeRoot {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

export interface TreeHost {
  readonly clock: Clock;
  readonly readTable: ReadTable;
}

/**
 * Starts the program and notes it with `execution.launched`. `env` has to carry the launch token; without `hasInput` its standard
 * input is empty.
 * @throws command.not_found, command.cwd_missing, command.start_failed
 */
export async function launchTree(
  command: ResolvedCommand,
  options: {
    readonly env: Readonly<Record<string, string>>;
    readonly hasInput: boolean;
    readonly execution: ExecutionHandle;
  },
): Promise<OwnedTree> {
  const { execution } = options;
  let child: ChildProcess;
  try {
    child = spawn(command.file, [...command.args], {
      argv0: command.argv0,
      cwd: command.cwd,
      env: options.env,
      detached: true,
      stdio: [options.hasInput ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    });
  } catch (error) {
    throw await launchError(command, error);
  }
  const { pid, stdout, stderr } = child;
  if (pid === undefined || stdout === null || stderr === null) {
    const error = await new Promise((resolve) => child.once('error', resolve));
    throw await launchError(command, error);
  }
  // In the same tick, in which its pid cannot be reused.
  const startTime = processStartTime(pid);
  child.on('error', () => {});
  // A program that does not read its input to the end is no error of ours (B50); its end says how it went.
  child.stdin?.on('error', () => {});
  // Before anything else is awaited: the sooner it is noted, the smaller the gap in which only the token would find it.
  execution.launched({ pid, startTime, bootId: bootId() }).catch(() => {});
  return { child, pid, startTime, stdout, stderr, executionId: execution.executionId };
}

/** Ends what is left in the session of a program that ended by itself; after a few seconds it gives up, and names what is still there. */
export async function endLeftovers(tree: OwnedTree, host: TreeHost, execution: ExecutionHandle): Promise<void> {
  const { isGone, last } = await endTree({
    ...host,
    find: (table) => findSession(table, tree),
    killAfterMs: () => Math.min(execution.killAfterMs, LEFTOVER_KILL_MS),
    deadlineMs: LEFTOVER_DEADLINE_MS,
  });
  if (!isGone) execution.survivors(describeTree(last));
}

export interface EndOptions {
  /** Milliseconds between TERM and KILL; default: those of the execution. At most half its grace. */
  readonly killAfterMs?: number;
  /** Told after each reading that found something. Must not throw. */
  readonly onRound?: () => void;
  /** Told, also more than once, when the grace is over and something still lives: let go of what keeps this process from exiting. */
  readonly onGraceOver?: () => void;
}

/** OWT2. Resolves when the tree is verified gone, however long that takes. */
export async function endOwnedTree(
  tree: OwnedTree,
  host: TreeHost,
  execution: ExecutionHandle,
  options: EndOptions = {},
): Promise<void> {
  const { child, pid } = tree;
  const memory = treeMemory();
  // Read now and looked at again later: a shutdown shortens the grace, and at its end there is none left.
  const graceMs = execution.graceMs ?? Number.POSITIVE_INFINITY;
  const begunAt = host.clock.monotonic();
  const graceOverAt = begunAt + graceMs;
  const isGraceOver = (): boolean => execution.graceMs === 0 || host.clock.monotonic() >= graceOverAt;
  await endTree({
    ...host,
    find: (table) => findTree(table, tree, memory),
    group: {
      pgid: pid,
      signal: (name) => child.exitCode === null && child.signalCode === null && signalGroup(tree, name),
    },
    // Asked again: by force there is no time between the two any more.
    killAfterMs: () => Math.min(options.killAfterMs ?? Number.POSITIVE_INFINITY, execution.killAfterMs, graceMs / 2),
    deadlineMs: null,
    // Also without any grace: what was killed is seen to be gone in a moment, and somebody may be asking.
    isInBackground: () => isGraceOver() && host.clock.monotonic() >= begunAt + LIMITS.forcedEndMs,
    onRound(found) {
      options.onRound?.();
      execution.survivors(describeTree(found));
      if (!isGraceOver()) return;
      // Whoever waited has gone on without it: an unkillable child must not keep the process from exiting.
      child.unref();
      options.onGraceOver?.();
    },
  });
  // What the last look has named is gone.
  execution.survivors('');
}
