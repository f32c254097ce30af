/**
 * The built-in kind `command`: one program, or one shell script, with everything it starts (spec 4.4, 6, 17).
 *
 * CMD1  It runs as a tree of its own that is found again (OWT1).
 * CMD2  Done means that the command is done. What it wrote before is read to the end; a background process that still holds its
 *       pipes is not waited for.
 * CMD3  What a command that ended by itself leaves behind in its session is ended too (TERM, then KILL): nobody would find it again.
 *       What left the session on purpose (`setsid`, a daemon) is left alone then, and only then.
 * CMD4  When told to end, `run` settles only when the tree is verified gone (OWT2).
 * CMD5  What was asked for decides: a kill is foreign only if nobody here had asked for an end before the command ended.
 * CMD6  Values of `env` appear in no message and in no command line (B74).
 */
import type { ChildProcess } from 'node:child_process';
import type { Clock } from '../model/clock.ts';
import { offstageError } from '../model/errors.ts';
import { type Executor, type JobContext, type JobOf, type Outcome, outcome } from '../model/executor.ts';
import { type CommandInput, commandInput, redactCommandInput } from './command-input.ts';
import { CommandOutput } from './command-output.ts';
import { checkAllowList, childEnvironment } from './environment.ts';
import { endLeftovers, endOwnedTree, launchTree, type OwnedTree, type TreeHost } from './owned-tree.ts';
import { isGroupInUse, sharedTableReader } from './process-tree.ts';
import { quietly } from './quietly.ts';
import { resolveCommand } from './resolve-command.ts';

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

interface Host extends TreeHost {
  readonly pace: CommandExecutorOptions['pace'];
  readonly allow: readonly string[];
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
  const { stdin } = job.input;
  const running = await launchTree(command, { env: environment, hasInput: stdin !== undefined, execution });
  running.child.stdin?.end(stdin);
  const exit = exitOf(running.child, signal);
  const output = collect(running, context, host);
  const abort = abortOf(signal);
  try {
    const first = await Promise.race([exit, abort.promise]);
    if (first !== null) {
      await output.drain();
      const leftovers = endSession(running, context, host, output);
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

function exitOf(child: ChildProcess, signal: AbortSignal): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('exit', (exitCode, killedBy) => {
      // A background process may hold the other end; nobody is going to read the rest.
      child.stdin?.destroy();
      resolve({ exitCode, signal: killedBy, wasAsked: signal.aborted });
    });
  });
}

function collect(running: OwnedTree, context: JobContext, host: Host): CommandOutput {
  return new CommandOutput({
    stdout: running.stdout,
    stderr: running.stderr,
    clock: host.clock,
    onText: (text, stream) => quietly(() => context.output(text, stream)),
    pace: host.pace === undefined ? undefined : () => host.pace?.(context.jobId) ?? null,
  });
}

/** CMD3. */
async function endSession(running: OwnedTree, context: JobContext, host: Host, output: CommandOutput): Promise<void> {
  if (isGroupInUse(running.pid) || output.isOpen) await endLeftovers(running, host, context.execution);
}

/** CMD4. */
async function endAll(running: OwnedTree, context: JobContext, host: Host, output: CommandOutput): Promise<void> {
  const reportPartial = (): void => quietly(() => context.partial(output.stdoutText));
  reportPartial();
  await endOwnedTree(running, host, context.execution, { onRound: reportPartial, onGraceOver: () => output.close() });
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
