/**
 * The built-in kind `command`: one program, or one shell script, with everything it starts (spec 4.4, 6, 17).
 *
 * CMD1  It runs in a session and process group of its own and carries the launch token, so that it is found again (B52, recovery).
 * CMD2  Done means that the command is done. What it wrote before is read to the end; a background process that still holds its
 *       pipes is not waited for.
 * CMD3  What a command that ended by itself leaves behind in its session is ended too (TERM, then KILL): nobody would find it again.
 *       What left the session on purpose (`setsid`, a daemon) is left alone then, and only then.
 * CMD4  When told to end: TERM to the whole tree at once, KILL after `killAfterMs`, and `run` settles only when the tree is verified
 *       gone; survivors are named while it goes on looking.
 * CMD5  What was asked for decides: a kill is foreign only if nobody here had asked for an end before the command ended.
 * CMD6  Values of `env` appear in no message and in no command line (B74).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { Clock } from '../model/clock.ts';
import { offstageError } from '../model/errors.ts';
import { type Executor, type JobContext, type JobOf, type Outcome, outcome } from '../model/executor.ts';
import { type CommandInput, commandInput, redactCommandInput } from './command-input.ts';
import { CommandOutput } from './command-output.ts';
import { endTree } from './end-tree.ts';
import { checkAllowList, childEnvironment } from './environment.ts';
import type { ReadTable } from './process-table.ts';
import {
  bootId,
  describeTree,
  findSession,
  findTree,
  isGroupInUse,
  processStartTime,
  sharedTableReader,
  signalGroup,
  treeMemory,
} from './process-tree.ts';
import { quietly } from './quietly.ts';
import { launchError, type ResolvedCommand, resolveCommand } from './resolve-command.ts';

/** Leftovers of a command that ended by itself get less time: the job waits for them. */
const LEFTOVER_KILL_MS = 1_000;
const LEFTOVER_DEADLINE_MS = 5_000;

/** How commands are run: by whose time, and with what of this process's environment. */
export interface CommandExecutorOptions {
  readonly clock: Clock;
  readonly environment?: {
    /** Names of variables that children may inherit besides the harmless ones; a final `*` matches any ending. */
    readonly allow?: readonly string[];
  };
  /**
   * Holds back a command whose output somebody reads along and cannot take as fast as it comes: asked after each chunk, and while what it
   * answers is pending nothing more is read. Must not throw.
   */
  readonly pace?: (jobId: string) => Promise<void> | null;
}

interface Exit {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Somebody here had asked for the end before it came. */
  readonly wasAsked: boolean;
}

interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly startTime: string | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/**
 * The executor of kind `command`; its input is `CommandInput`.
 * Errors of a job: command.not_found, command.cwd_missing, command.start_failed, command.failed, command.killed (both with `details`
 * `{exitCode, signal}`, and stdout reported as partial text), executor.unsupported_platform.
 * @throws config.invalid
 * @example
 * const command = commandExecutor({ clock, environment: { allow: ['HTTP_PROXY', 'NPM_*'] } });
 * await open({ dataDir, clock, executors: { command } });
 */
export function commandExecutor(options: CommandExecutorOptions): Executor<CommandInput, Outcome> {
  const host: Host = {
    clock: options.clock,
    allow: checkAllowList(options.environment?.allow ?? []),
    readTable: sharedTableReader(options.clock),
    pace: options.pace,
  };
  return {
    capabilities: { abortable: true, killable: true, workload: 'shell', strictStart: true },
    input: commandInput,
    redact: redactCommandInput,
    run: (job, context) => runCommand(job, context, host),
  };
}

interface Host {
  readonly pace: CommandExecutorOptions['pace'];
  readonly clock: Clock;
  readonly allow: readonly string[];
  readonly readTable: ReadTable;
}

async function runCommand(job: JobOf<CommandInput>, context: JobContext, host: Host): Promise<Outcome> {
  if (process.platform === 'win32') {
    throw offstageError('executor.unsupported_platform', { kind: job.kind, platform: process.platform });
  }
  const { signal, execution } = context;
  signal.throwIfAborted();
  const own = job.input.env ?? {};
  const environment = childEnvironment({ host: process.env, allow: host.allow, own, executionId: execution.executionId });
  const command = await resolveCommand(job.input, environment);
  signal.throwIfAborted();
  const running = await launch(command, environment, job.input.stdin);
  // Before anything else is awaited: the sooner it is noted, the smaller the gap in which only the token would find it.
  execution.launched({ pid: running.pid, startTime: running.startTime, bootId: bootId() }).catch(() => {});
  const exit = exitOf(running.child, signal);
  const output = collect(running, context, host);
  const abort = abortOf(signal);
  try {
    const first = await Promise.race([exit, abort.promise]);
    if (first !== null) {
      await output.drain();
      const leftovers = endLeftovers(running, context, host, output);
      await Promise.race([leftovers, abort.promise]);
      if (signal.aborted) await endAll(running, context, host, output);
      await leftovers;
    } else {
      await endAll(running, context, host, output);
    }
    const ended = first ?? (await exit);
    await output.drain();
    output.close();
    return conclude(ended, output, context);
  } finally {
    abort.dispose();
  }
}

/** Starts the process and notes its start time in the same tick, in which its pid cannot be reused. */
async function launch(command: ResolvedCommand, env: Record<string, string>, stdin: string | undefined): Promise<Running> {
  let child: ChildProcess;
  try {
    child = spawn(command.file, [...command.args], {
      argv0: command.argv0,
      cwd: command.cwd,
      env,
      detached: true,
      stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
  } catch (error) {
    throw await launchError(command, error);
  }
  const { pid, stdout, stderr } = child;
  if (pid === undefined || stdout === null || stderr === null) {
    const error = await new Promise((resolve) => child.once('error', resolve));
    throw await launchError(command, error);
  }
  const startTime = processStartTime(pid);
  child.on('error', () => {});
  if (child.stdin !== null) {
    // A command that does not read its input to the end is no error of ours (B50); its exit code says how it went.
    child.stdin.on('error', () => {});
    child.stdin.end(stdin);
  }
  return { child, pid, startTime, stdout, stderr };
}

function exitOf(child: ChildProcess, signal: AbortSignal): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('exit', (exitCode, killedBy) => {
      // A background process may hold the other end; nobody is going to read the rest.
      child.stdin?.destroy();
      resolve({ exitCode, signal: killedBy, wasAsked: signal.aborted });
    });
  });
}

function collect(running: Running, context: JobContext, host: Host): CommandOutput {
  return new CommandOutput({
    stdout: running.stdout,
    stderr: running.stderr,
    clock: host.clock,
    onText: (text, stream) => quietly(() => context.output(text, stream)),
    pace: host.pace === undefined ? undefined : () => host.pace?.(context.jobId) ?? null,
  });
}

/** CMD3. */
async function endLeftovers(running: Running, context: JobContext, host: Host, output: CommandOutput): Promise<void> {
  const { execution } = context;
  const root = { ...running, executionId: execution.executionId };
  if (!isGroupInUse(running.pid) && !output.isOpen) return;
  const { isGone, last } = await endTree({
    clock: host.clock,
    readTable: host.readTable,
    find: (table) => findSession(table, root),
    killAfterMs: Math.min(execution.killAfterMs, LEFTOVER_KILL_MS),
    deadlineMs: LEFTOVER_DEADLINE_MS,
  });
  if (!isGone) execution.survivors(describeTree(last));
}

/** CMD4. */
async function endAll(running: Running, context: JobContext, host: Host, output: CommandOutput): Promise<void> {
  const { execution } = context;
  const { child, pid } = running;
  const root = { ...running, executionId: execution.executionId };
  const memory = treeMemory();
  // Read now and looked at again later: a shutdown shortens the grace, and at its end there is none left.
  const graceMs = execution.graceMs ?? Number.POSITIVE_INFINITY;
  const graceOverAt = host.clock.monotonic() + graceMs;
  const isGraceOver = (): boolean => execution.graceMs === 0 || host.clock.monotonic() >= graceOverAt;
  const reportPartial = (): void => quietly(() => context.partial(output.stdoutText));
  reportPartial();
  await endTree({
    clock: host.clock,
    readTable: host.readTable,
    find: (table) => findTree(table, root, memory),
    group: {
      pgid: pid,
      signal(name) {
        if (child.exitCode === null && child.signalCode === null) signalGroup(running, name);
      },
    },
    killAfterMs: Math.min(execution.killAfterMs, graceMs / 2),
    deadlineMs: null,
    isInBackground: isGraceOver,
    onRound(found) {
      reportPartial();
      execution.survivors(describeTree(found));
      if (!isGraceOver()) return;
      // The job has ended without it: an unkillable child must not keep the process from exiting.
      child.unref();
      output.close();
    },
  });
}

/** Turns the end of the command into the end of the job; when both were asked to end, the chart overrules this (CMD5). */
function conclude(ended: Exit, output: CommandOutput, context: JobContext): Outcome {
  const { exitCode, signal } = ended;
  const text = output.stdoutText;
  if (exitCode === 0) return outcome({ text, value: { exitCode, signal: null } });
  quietly(() => context.partial(text));
  if (ended.wasAsked) throw context.signal.reason;
  if (exitCode === null) throw offstageError('command.killed', { signal: signal ?? 'a signal', exitCode });
  throw offstageError('command.failed', { exitCode, signal: null, lastLine: output.lastErrorLine });
}

/** Resolves with null when the signal fires. `dispose` takes the listener away again. */
function abortOf(signal: AbortSignal): { readonly promise: Promise<null>; dispose(): void } {
  let onAbort = (): void => {};
  const promise = new Promise<null>((resolve) => {
    onAbort = () => resolve(null);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  return { promise, dispose: () => signal.removeEventListener('abort', onAbort) };
}
