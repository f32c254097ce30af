/**
 * Agents that are programs and speak the Agent Client Protocol: a process tree and an adapter, as one agent (liveness 8).
 *
 * ACP1  A start that fails leaves no process behind, and says why: the missing program, or how it ended and its last words.
 * ACP2  When the program ends, the frames end and open prompts reject `agent.gone`, which says how it ended.
 * ACP3  `close` resolves when the whole tree is verified gone.
 */
import { resolve } from 'node:path';
import { systemClock } from './actors/clock.ts';
import type { AcpAgent } from './adapters/acp-session.ts';
import type { AcpAgentOptions } from './adapters/acp-start.ts';
import { acpV1Agent } from './adapters/acp-v1-agent.ts';
import { acpV2Agent } from './adapters/acp-v2-agent.ts';
import { namesOf, readOptions } from './engine/check-options.ts';
import { checkPort, invalidWithin } from './engine/settings.ts';
import { type AgentExit, type AgentProcess, type AgentProgram, startAgentProcess } from './executors/agent-process.ts';
import { commandInput } from './executors/command-input.ts';
import { checkAllowList } from './executors/environment.ts';
import { type ReadTable, sharedTableReader } from './executors/process-table.ts';
import type { AgentContext, AgentFactory, Frame } from './model/agent.ts';
import type { Clock } from './model/clock.ts';
import { isOffstageError, offstageError } from './model/errors.ts';

/** The program of an agent and how it is spoken to. */
export interface AcpProgramOptions extends AgentProgram {
  /** The version that the program speaks. In `v2`, a draft, agents vouch for their background work themselves; in `v1` nobody does. */
  readonly protocol: 'v2' | 'v1';
  /** Whose metadata tells of background work in `v1`. */
  readonly metadata?: 'claude';
  /** Milliseconds from its launch until it must have answered; default 60,000; null or Infinity: no limit. */
  readonly startTimeoutMs?: number | null;
  /** Gets what the program writes to standard error. May throw. */
  readonly onStderr?: (text: string, context: AgentContext) => void;
  /** Default: the machine's own time. */
  readonly clock?: Clock;
}

const NAMES = namesOf<AcpProgramOptions>({
  command: true,
  args: true,
  cwd: true,
  env: true,
  allow: true,
  protocol: true,
  metadata: true,
  startTimeoutMs: true,
  onStderr: true,
  clock: true,
});
const START_TIMEOUT_MS = 60_000;

/**
 * An agent that is a program, for the option `agents`. It needs the package `@agentclientprotocol/sdk`.
 * A start fails with `agent.start_failed`; the end of the program is `agent.gone`.
 * @throws config.invalid
 * @example
 * const offstage = await open({
 *   dataDir: './.offstage',
 *   agents: { default: acpAgent({ command: 'node', args: ['examples/agent.mjs'], protocol: 'v2' }) },
 * });
 */
export function acpAgent(options: AcpProgramOptions): AgentFactory {
  const checked = check(options);
  const readTable = sharedTableReader(checked.clock);
  return (context) => start(checked, readTable, context);
}

interface Checked extends AcpProgramOptions {
  readonly clock: Clock;
  /** Infinity: no limit. */
  readonly startTimeoutMs: number;
}

function check(given: AcpProgramOptions): Checked {
  const refuse = invalidWithin('acpAgent');
  const options = readOptions('acpAgent', given, NAMES, refuse);
  const { command, args, cwd, env, protocol, metadata, startTimeoutMs = START_TIMEOUT_MS, onStderr } = options;
  const { issues } = commandInput['~standard'].validate({ command, args, cwd, env }) as { issues?: readonly Issue[] };
  for (const { path, message } of issues ?? []) throw refuse((path ?? ['command']).join('.'), `it ${message}`);
  checkAllowList(options.allow ?? []);
  if (protocol !== 'v1' && protocol !== 'v2') throw refuse('protocol', "it must be 'v1' or 'v2'");
  if (metadata !== undefined && (metadata !== 'claude' || protocol !== 'v1')) {
    throw refuse('metadata', "it must be 'claude', and only with protocol 'v1'");
  }
  if (startTimeoutMs !== null && !(typeof startTimeoutMs === 'number' && startTimeoutMs > 0)) {
    throw refuse('startTimeoutMs', 'it must be milliseconds above 0, or null for no limit');
  }
  if (onStderr !== undefined && typeof onStderr !== 'function') throw refuse('onStderr', 'it must be a function');
  const clock = checkPort('acpAgent.clock', options.clock, ['now', 'monotonic', 'schedule', 'nextTurn']) ?? systemClock;
  return { ...options, clock, startTimeoutMs: startTimeoutMs ?? Number.POSITIVE_INFINITY };
}

type Issue = { readonly message: string; readonly path?: readonly PropertyKey[] };

async function start(options: Checked, readTable: ReadTable, context: AgentContext): Promise<AcpAgent> {
  const { agentId, signal } = context;
  const program = await launch(options, readTable, context);
  const limit = new AbortController();
  const { clock, startTimeoutMs } = options;
  const stopLimit = Number.isFinite(startTimeoutMs)
    ? clock.schedule(startTimeoutMs, () => limit.abort(startFailed(agentId, `it said nothing for ${startTimeoutMs} ms`)))
    : () => {};
  try {
    const agent = await connect(options, {
      input: program.input,
      output: program.output,
      cwd: resolve(options.cwd ?? '.'),
      conversationId: context.conversationId ?? undefined,
      signal: AbortSignal.any([signal, limit.signal]),
      agentId,
    });
    return new ProgramAgent(agent, program, signal);
  } catch (error) {
    const { exit } = program;
    await program.end();
    if (signal.aborted || limit.signal.aborted || exit === null) throw error;
    throw startFailed(agentId, `${howItEnded(exit)}, before it had answered${lastWords(exit)}`, error);
  } finally {
    stopLimit();
  }
}

async function launch(options: Checked, readTable: ReadTable, context: AgentContext): Promise<AgentProcess> {
  const { clock, onStderr } = options;
  const { agentId, execution, signal } = context;
  try {
    return await startAgentProcess(options, {
      clock,
      readTable,
      execution,
      signal,
      onStderr: onStderr === undefined ? undefined : (text) => onStderr(text, context),
    });
  } catch (error) {
    signal.throwIfAborted();
    throw startFailed(agentId, (error as Error).message, error);
  }
}

const connect = ({ protocol, metadata }: Checked, options: AcpAgentOptions): Promise<AcpAgent> =>
  protocol === 'v2' ? acpV2Agent(options) : acpV1Agent({ ...options, metadata });

/** The adapter's agent, whose end is told as the end of its program. */
class ProgramAgent implements AcpAgent {
  readonly attests: AcpAgent['attests'];
  readonly conversationId: string;
  readonly frames: AsyncIterable<Frame>;
  readonly #agent: AcpAgent;
  readonly #program: AgentProcess;
  readonly #signal: AbortSignal;
  #closing: Promise<void> | null = null;
  #wasClosed = false;

  constructor(agent: AcpAgent, program: AgentProcess, signal: AbortSignal) {
    this.attests = agent.attests;
    this.conversationId = agent.conversationId;
    this.frames = { [Symbol.asyncIterator]: () => this.#told() };
    this.#agent = agent;
    this.#program = program;
    this.#signal = signal;
  }

  async prompt(...args: Parameters<AcpAgent['prompt']>): ReturnType<AcpAgent['prompt']> {
    try {
      return await this.#agent.prompt(...args);
    } catch (error) {
      throw isOffstageError(error, 'agent.gone') ? this.#gone(error) : error;
    }
  }

  answer(...args: Parameters<NonNullable<AcpAgent['answer']>>): Promise<void> | void {
    return this.#agent.answer?.(...args);
  }

  cancel(generation: number): Promise<void> | void {
    return this.#agent.cancel?.(generation);
  }

  close(): Promise<void> {
    this.#wasClosed = true;
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    try {
      await this.#agent.close();
      await this.#program.end();
    } catch (error) {
      this.#closing = null;
      throw error;
    }
  }

  get #wasAsked(): boolean {
    return this.#wasClosed || this.#signal.aborted;
  }

  async *#told(): AsyncGenerator<Frame, void> {
    try {
      yield* this.#agent.frames;
    } catch (error) {
      throw this.#gone(error);
    }
    if (!this.#wasAsked) throw this.#gone(undefined);
  }

  /** What the program says of its end beats what its pipes say. */
  #gone(error: unknown): unknown {
    const { exit } = this.#program;
    if (error !== undefined && (exit === null || this.#wasAsked)) return error;
    const message = exit === null ? 'its program has closed its output' : `${howItEnded(exit)}${lastWords(exit)}`;
    return offstageError('agent.gone', { message }, { cause: error });
  }
}

const howItEnded = ({ exitCode, signal }: AgentExit): string =>
  exitCode === null ? `its program was killed by ${signal ?? 'a signal'}` : `its program ended with exit code ${exitCode}`;

const lastWords = ({ lastErrorLine }: AgentExit): string => (lastErrorLine === null ? '.' : `: ${lastErrorLine}`);

const startFailed = (agentId: string, message: string, cause?: unknown): Error =>
  offstageError('agent.start_failed', { agentId, message }, { cause });
