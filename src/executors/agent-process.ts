/**
 * The program behind an agent: a process tree that is spoken to through its standard input and output (liveness 8, 13).
 *
 * AGP1  It is launched and ended like a command (OWN1, OWN2). Whatever it leaves behind is ended too, also what left its session: an
 *       agent's work does not outlive it.
 * AGP2  `output` ends when the program has ended or closed it, whoever else holds the pipe, and not before what it wrote is read.
 * AGP3  What it writes to standard error is bounded here, and never stops it.
 * AGP4  Values of `env` appear in no message and in no command line (B74).
 */
import type { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Clock } from '../model/clock.ts';
import { offstageError } from '../model/errors.ts';
import type { ExecutionHandle } from '../model/executor.ts';
import { checkAllowList, childEnvironment } from './environment.ts';
import { lastLineOf } from './last-line.ts';
import { endOwnedTree, LEFTOVER_KILL_MS, launchTree, type OwnedTree, type TreeHost } from './owned-tree.ts';
import { untilQuiet } from './pipe-quiet.ts';
import { sharedTableReader } from './process-tree.ts';
import { quietly } from './quietly.ts';
import { resolveCommand } from './resolve-command.ts';
import { TailText } from './tail-text.ts';

const ERROR_TAIL_BYTES = 4 * 1024;

/** The program of an agent, and what of this process's environment it gets. */
export interface AgentProgram {
  /** A name looked up on the child's PATH, or a path (relative ones from `cwd`). Never a shell's script. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Default: the working directory of this process. */
  readonly cwd?: string;
  /** Added to the minimal environment; values appear in no message. */
  readonly env?: Readonly<Record<string, string>>;
  /** Names of variables that it may inherit besides the harmless ones; a final `*` matches any ending. */
  readonly allow?: readonly string[];
}

export interface AgentProcessOptions {
  readonly clock: Clock;
  readonly execution: ExecutionHandle;
  /** Fires when the program is to end: the same as `end()`. */
  readonly signal: AbortSignal;
  /** Gets what the program writes to standard error. May throw. */
  readonly onStderr?: ((text: string) => void) | undefined;
}

/** How the program ended. */
export interface AgentExit {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The last line of standard error that says anything, clipped. */
  readonly lastErrorLine: string | null;
}

export interface AgentProcess {
  readonly input: WritableStream<Uint8Array>;
  readonly output: ReadableStream<Uint8Array>;
  /** Resolves when the program itself has ended and its output has been read; never rejects. */
  readonly exited: Promise<AgentExit>;
  /** Ends the whole tree, and resolves when it is verified gone. Joined by further calls, and by itself when the program ends. */
  end(): Promise<void>;
}

/**
 * Starts the program of an agent.
 * @throws command.not_found, command.cwd_missing, command.start_failed, config.invalid, executor.unsupported_platform, or the reason of `signal`
 */
export async function startAgentProcess(program: AgentProgram, options: AgentProcessOptions): Promise<AgentProcess> {
  if (process.platform === 'win32') {
    throw offstageError('executor.unsupported_platform', { kind: 'agent', platform: process.platform });
  }
  const { clock, execution, signal } = options;
  signal.throwIfAborted();
  const env = childEnvironment({
    host: process.env,
    allow: checkAllowList(program.allow ?? []),
    own: program.env ?? {},
    executionId: execution.executionId,
  });
  const command = await resolveCommand({ ...program, shell: false }, env);
  signal.throwIfAborted();
  const tree = await launchTree(command, { env, hasInput: true, execution });
  return new RunningAgent(tree, options, { clock, readTable: sharedTableReader(clock) });
}

class RunningAgent implements AgentProcess {
  readonly input: WritableStream<Uint8Array>;
  readonly output: ReadableStream<Uint8Array>;
  readonly exited: Promise<AgentExit>;
  readonly #tree: OwnedTree;
  readonly #host: TreeHost;
  readonly #execution: ExecutionHandle;
  readonly #stdout: OutputPipe;
  readonly #errors: ErrorPipe;
  #isOver = false;
  #ending: Promise<void> | null = null;

  constructor(tree: OwnedTree, options: AgentProcessOptions, host: TreeHost) {
    this.#tree = tree;
    this.#host = host;
    this.#execution = options.execution;
    this.#stdout = new OutputPipe(tree.stdout);
    this.#errors = new ErrorPipe(tree.stderr, options.onStderr);
    this.input = inputOf(tree.child.stdin as Writable);
    this.output = this.#stdout.stream;
    const { signal } = options;
    const onAbort = (): void => this.#endUnasked();
    signal.addEventListener('abort', onAbort, { once: true });
    this.exited = new Promise((resolve) => {
      tree.child.once('exit', (exitCode, killedBy) => {
        signal.removeEventListener('abort', onAbort);
        resolve(this.#exit(exitCode, killedBy));
      });
    });
    if (signal.aborted) onAbort();
  }

  end(): Promise<void> {
    const wasOver = this.#isOver;
    this.#ending ??= endOwnedTree(this.#tree, this.#host, this.#execution, {
      ...(wasOver ? { killAfterMs: Math.min(this.#execution.killAfterMs, LEFTOVER_KILL_MS) } : {}),
      onGraceOver: () => this.#letGo(),
    }).then(async () => {
      await this.exited;
    });
    return this.#ending;
  }

  #endUnasked(): void {
    // Whoever calls `end()` hears of it.
    this.end().catch(() => {});
  }

  async #exit(exitCode: number | null, signal: NodeJS.Signals | null): Promise<AgentExit> {
    this.#isOver = true;
    this.#tree.child.stdin?.destroy();
    // What it leaves behind begins to end now; nobody has to ask (AGP1).
    this.#endUnasked();
    const pipes = [this.#stdout, this.#errors];
    this.#stdout.goOn();
    await untilQuiet(this.#host.clock, {
      isOpen: () => pipes.some((pipe) => pipe.isOpen),
      readBytes: () => pipes.reduce((sum, pipe) => sum + pipe.readBytes, 0),
    });
    this.#letGo();
    return { exitCode, signal, lastErrorLine: this.#errors.lastLine };
  }

  #letGo(): void {
    this.#tree.child.stdin?.destroy();
    this.#stdout.close();
    this.#errors.close();
  }
}

/** Each write resolves when the pipe took it, and rejects when there is nobody left to take it. */
function inputOf(stdin: Writable): WritableStream<Uint8Array> {
  return new WritableStream<Uint8Array>({
    write: (chunk) =>
      new Promise((resolve, reject) => {
        stdin.write(chunk, (error) => (error ? reject(error) : resolve()));
      }),
    close: () => void stdin.end(),
    abort: () => void stdin.destroy(),
  });
}

/** Standard output as a stream that holds the program back while its reader is slow, and that ends when told. */
class OutputPipe {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #stdout: Readable;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  #isPaced = true;
  isOpen = true;
  readBytes = 0;

  constructor(stdout: Readable) {
    this.#stdout = stdout;
    this.stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => void stdout.resume(),
      cancel: () => {
        this.#controller = null;
        stdout.resume();
      },
    });
    stdout.on('data', (chunk: Buffer) => {
      this.readBytes += chunk.length;
      this.#controller?.enqueue(chunk);
      if (this.#isPaced && (this.#controller?.desiredSize ?? 1) <= 0) stdout.pause();
    });
    stdout.once('end', () => this.close());
    // A broken pipe has no more to say; the end of the program decides.
    stdout.on('error', () => {});
    stdout.once('close', () => this.close());
  }

  /** Reads on, however slow the reader is: the program has ended, and a pipe does not hold much. */
  goOn(): void {
    this.#isPaced = false;
    this.#stdout.resume();
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#controller?.close();
    this.#controller = null;
    this.#stdout.destroy();
  }
}

/** Standard error: its end is kept for messages. */
class ErrorPipe {
  readonly #stderr: Readable;
  readonly #tail = new TailText(ERROR_TAIL_BYTES);
  isOpen = true;
  readBytes = 0;

  constructor(stderr: Readable, onText: ((text: string) => void) | undefined) {
    this.#stderr = stderr;
    const decoder = new StringDecoder('utf8');
    stderr.on('data', (chunk: Buffer) => {
      this.readBytes += chunk.length;
      const text = decoder.write(chunk);
      this.#tail.append(text);
      if (onText !== undefined && text !== '') quietly(() => onText(text));
    });
    stderr.on('error', () => {});
    stderr.once('close', () => this.close());
  }

  get lastLine(): string | null {
    return lastLineOf(this.#tail.text());
  }

  close(): void {
    this.isOpen = false;
    this.#stderr.destroy();
  }
}
