/**
 * The program behind an agent: a process tree that is spoken to through its standard input and output (liveness 8, 13).
 *
 * AGP1  It is launched and ended like a command (OWT1, OWT2). Whatever it leaves behind is ended too, also what left its session: an
 *       agent's work does not outlive it.
 * AGP2  `output` ends when the program has ended, whoever else holds the pipe, and not before what it wrote is read and `exit` is known.
 *       A program that closes it and lives on is ended: nobody could hear it any more.
 * AGP3  What it writes to standard error is bounded here, and never stops it.
 * AGP4  Values of `env` appear in no message and in no command line (B74).
 */
import type { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { Clock, StopTimer } from '../model/clock.ts';
import { offstageError } from '../model/errors.ts';
import type { ExecutionHandle } from '../model/executor.ts';
import { checkAllowList, childEnvironment } from './environment.ts';
import { lastLineOf } from './last-line.ts';
import { endOwnedTree, LEFTOVER_KILL_MS, launchTree, type OwnedTree, type TreeHost } from './owned-tree.ts';
import { untilQuiet } from './pipe-quiet.ts';
import type { ReadTable } from './process-table.ts';
import { sharedTableReader } from './process-tree.ts';
import { quietly } from './quietly.ts';
import { resolveCommand } from './resolve-command.ts';
import { TailText } from './tail-text.ts';

const ERROR_TAIL_BYTES = 4 * 1024;
/** The pipes of a program that ends break before its end is seen; how long that is waited for. */
const EXIT_PATIENCE_MS = 500;

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
  /** How processes are read; default: from this machine. Give programs that are ended together the same one. */
  readonly readTable?: ReadTable | undefined;
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
  /** Null until then. */
  readonly exit: AgentExit | null;
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
  return new RunningAgent(tree, options, { clock, readTable: options.readTable ?? sharedTableReader(clock) });
}

class RunningAgent implements AgentProcess {
  readonly input: WritableStream<Uint8Array>;
  readonly output: ReadableStream<Uint8Array>;
  readonly exited: Promise<AgentExit>;
  exit: AgentExit | null = null;
  readonly #tree: OwnedTree;
  readonly #host: TreeHost;
  readonly #execution: ExecutionHandle;
  readonly #stdout: OutputPipe;
  readonly #errors: ErrorPipe;
  #isOver = false;
  #stopPatience: StopTimer | null = null;
  #ending: Promise<void> | null = null;

  constructor(tree: OwnedTree, options: AgentProcessOptions, host: TreeHost) {
    this.#tree = tree;
    this.#host = host;
    this.#execution = options.execution;
    this.#stdout = new OutputPipe(tree.stdout, () => this.#outputEnded());
    this.#errors = new ErrorPipe(tree.stderr, options.onStderr);
    this.input = inputOf(tree.child.stdin as Writable, () => this.#exitSoon());
    this.output = this.#stdout.stream;
    const { signal } = options;
    const onAbort = (): void => this.#endUnasked();
    signal.addEventListener('abort', onAbort, { once: true });
    this.exited = new Promise((resolve) => {
      tree.child.once('exit', (exitCode, killedBy) => {
        signal.removeEventListener('abort', onAbort);
        resolve(this.#ended(exitCode, killedBy));
      });
    });
    if (signal.aborted) onAbort();
  }

  end(): Promise<void> {
    const wasOver = this.#isOver;
    this.#ending ??= endOwnedTree(this.#tree, this.#host, this.#execution, {
      ...(wasOver ? { killAfterMs: Math.min(this.#execution.killAfterMs, LEFTOVER_KILL_MS) } : {}),
      onGraceOver: () => this.#letGo(),
    }).then(
      async () => {
        await this.exited;
        this.#letGo();
      },
      (error) => {
        // Nobody looked: whoever asks again has it begun again.
        this.#ending = null;
        throw error;
      },
    );
    return this.#ending;
  }

  #endUnasked(): void {
    // Whoever calls `end()` hears of it.
    this.end().catch(() => {});
  }

  /** What breaks because the program is ending is told after how it ended. */
  #exitSoon(): Promise<unknown> {
    let stop = (): void => {};
    const patience = new Promise<void>((resolve) => {
      stop = this.#host.clock.schedule(EXIT_PATIENCE_MS, resolve);
    });
    return Promise.race([this.exited, patience]).finally(stop);
  }

  /** AGP2. */
  #outputEnded(): void {
    if (this.#isOver) return;
    this.#stopPatience = this.#host.clock.schedule(EXIT_PATIENCE_MS, () => {
      this.#stdout.finish();
      this.#endUnasked();
    });
  }

  async #ended(exitCode: number | null, signal: NodeJS.Signals | null): Promise<AgentExit> {
    this.#isOver = true;
    this.#stopPatience?.();
    this.#tree.child.stdin?.destroy();
    // What it leaves behind begins to end now; nobody has to ask (AGP1).
    this.#endUnasked();
    const pipes = [this.#stdout, this.#errors];
    this.#stdout.goOn();
    await untilQuiet(this.#host.clock, {
      isOpen: () => pipes.some((pipe) => pipe.isOpen),
      readBytes: () => pipes.reduce((sum, pipe) => sum + pipe.readBytes, 0),
    });
    this.exit = { exitCode, signal, lastErrorLine: this.#errors.lastLine };
    this.#stdout.finish();
    return this.exit;
  }

  #letGo(): void {
    this.#tree.child.stdin?.destroy();
    this.#stdout.close();
    this.#errors.close();
  }
}

/** Each write resolves when the pipe took it, and rejects when there is nobody left to take it, after `settled`. */
function inputOf(stdin: Writable, settled: () => Promise<unknown>): WritableStream<Uint8Array> {
  return new WritableStream<Uint8Array>({
    write: (chunk) =>
      new Promise((resolve, reject) => {
        stdin.write(chunk, (error) => {
          if (error) void settled().then(() => reject(error));
          else resolve();
        });
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

  /** `onEnd` is told once that the pipe has no more to say; the stream is ended by `close`. */
  constructor(stdout: Readable, onEnd: () => void) {
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
    // A broken pipe has no more to say; the end of the program decides.
    stdout.on('error', () => {});
    stdout.once('close', () => {
      this.isOpen = false;
      onEnd();
    });
  }

  /** Reads on, however slow the reader is: the program has ended, and a pipe does not hold much. */
  goOn(): void {
    this.#isPaced = false;
    this.#stdout.resume();
  }

  /** Ends the stream. What others write to the pipe is read on and dropped: a broken pipe would kill them before they can tidy up. */
  finish(): void {
    this.#controller?.close();
    this.#controller = null;
    this.goOn();
  }

  close(): void {
    this.isOpen = false;
    this.finish();
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
