/**
 * The built-in kind `agent`: one prompt to an agent of its own, which is started for the job and ends with it (liveness 5 W9, 8).
 *
 * AGJ1  The agent belongs to the job: whatever becomes of the job, `run` settles only when its `close` has resolved; one that fails is called again.
 * AGJ2  It has nothing to do with the agent of the session it is registered on, and never takes that one's foreground.
 * AGJ3  There is nobody to ask: permission is declined, other questions are answered with nothing.
 * AGJ4  When told to end, the agent is asked to cancel first, and closed while there is grace left.
 * AGJ5  However much it tells, and whatever: a frame that cannot be read is left out, and the job goes on and ends as any other (G16).
 */

import { checkAgent } from '../engine/check-agent.ts';
import { fencedController } from '../engine/fenced-signal.ts';
import { type FramePace, pumpFrames, whenHeard } from '../engine/frame-pump.ts';
import { errorMessage } from '../engine/outcome.ts';
import { DEFAULT_AGENT } from '../engine/spawn-request.ts';
import type { Agent, AgentContext, Agents, Frame, TurnEnd } from '../model/agent.ts';
import type { Clock } from '../model/clock.ts';
import { isOffstageError, type OffstageError, offstageError } from '../model/errors.ts';
import { type Executor, type JobContext, type JobOf, type Outcome, outcome } from '../model/executor.ts';
import { LIMITS } from '../model/limits.ts';
import { type AgentInput, agentInput, contentOf } from './agent-input.ts';
import { quietly } from './quietly.ts';
import { TailText } from './tail-text.ts';

/** The only prompt of the conversation. */
const GENERATION = 1;
/** Of the grace that is left, what the agent may take to end its turn by itself. */
const CANCEL_SHARE = 1 / 3;
/** How often it is looked whether there is less time by now: a shutdown leaves less. */
const LOOK_MS = 250;

/** By whose time jobs of agents run, and which agents there are. */
export interface AgentExecutorOptions {
  readonly agents: Agents;
  readonly clock: Clock;
  /** Told what was thrown while a frame was read, which is left out then. */
  readonly onUnreadable?: ((error: unknown) => void) | undefined;
}

/**
 * The executor of kind `agent`; its input is `AgentInput`. The result's text is what the agent said, its value `{stopReason}`.
 * Errors of a job: agent.unknown, agent.start_failed, agent.gone, agent.failed; what was said so far is kept as partial text.
 */
export function agentExecutor(options: AgentExecutorOptions): Executor<AgentInput, Outcome> {
  return {
    capabilities: { abortable: true, killable: true, workload: 'subagent', strictStart: true },
    needsAgent: true,
    input: agentInput,
    run: (job, context) => runAgent(job, context, options),
  };
}

async function runAgent(job: JobOf<AgentInput>, context: JobContext, options: AgentExecutorOptions): Promise<Outcome> {
  const { signal } = context;
  signal.throwIfAborted();
  const life = fencedController(() => {});
  const endOfLife = (): void => life.abort(signal.reason);
  signal.addEventListener('abort', endOfLife, { once: true });
  const agent = await start(job, context, options, life.signal);
  // From here on the turn is asked to end first (AGJ4).
  signal.removeEventListener('abort', endOfLife);
  const close = async (): Promise<void> => {
    life.abort(signal.aborted ? signal.reason : offstageError('agent.gone', { message: 'its job is over.' }));
    await end(agent, options.clock);
  };
  try {
    signal.throwIfAborted();
    return await converse(agent, contentOf(job.input), context, options);
  } finally {
    await close();
  }
}

/** Calls `close` until one call has resolved; after one that failed, again, each time later. */
async function end(agent: Pick<Agent, 'close'>, clock: Clock): Promise<void> {
  for (let retryMs: number = LIMITS.firstTeardownRetryMs; ; retryMs = Math.min(LIMITS.lastTeardownRetryMs, retryMs * 2)) {
    try {
      await agent.close();
      return;
    } catch {
      // It may still be at work, and nobody else looks after it.
      await new Promise<void>((resolve) => clock.schedule(retryMs, resolve, { background: true }));
    }
  }
}

/** False also for what cannot even be looked at. */
function isClosable(started: Agent | null): started is Agent {
  try {
    return typeof started?.close === 'function';
  } catch {
    return false;
  }
}

async function start(
  job: JobOf,
  context: JobContext,
  { agents, clock }: AgentExecutorOptions,
  signal: AbortSignal,
): Promise<Agent> {
  const agentId = job.agentId ?? DEFAULT_AGENT;
  const entry = Object.hasOwn(agents, agentId) ? agents[agentId] : undefined;
  if (entry === undefined) throw offstageError('agent.unknown', { agentId });
  const { jobId, sessionId, taskId, contextMode, execution } = context;
  // An agent of its own, with a conversation of its own (W9).
  const given: AgentContext = { agentId, sessionId, taskId, jobId, contextMode, conversationId: null, signal, execution };
  let started: Agent | null = null;
  try {
    started = await (typeof entry === 'function' ? entry(given) : entry.start(given));
    return checkAgent(started);
  } catch (error) {
    // What is no agent may have launched something all the same.
    if (isClosable(started)) await end(started, clock);
    context.signal.throwIfAborted();
    if (isOffstageError(error)) throw error;
    throw offstageError('agent.start_failed', { agentId, message: errorMessage(error) }, { cause: error });
  }
}

async function converse(
  agent: Agent,
  content: ReturnType<typeof contentOf>,
  context: JobContext,
  options: AgentExecutorOptions,
): Promise<Outcome> {
  const { signal } = context;
  const reader = new FrameReader(agent, context, options);
  const going = reader.read();
  let hasAnswered = false;
  const answer = Promise.resolve()
    .then(() => agent.prompt(content, { generation: GENERATION, origin: 'human', signal }))
    .finally(() => {
      hasAnswered = true;
      // All that it told before its answer is part of it.
      return reader.heard();
    });
  // An answer that comes along with its end counts.
  const gone = going.then((error) => (hasAnswered ? answer : Promise.reject(error)));
  // What it comes to after the job has given it up is for nobody.
  answer.catch(() => {});
  gone.catch(() => {});
  const limit = cancelLimit(agent, context, options.clock);
  try {
    return conclude(await Promise.race([answer, gone, limit.promise]), reader.text, signal);
  } catch (error) {
    throw asFailure(error);
  } finally {
    limit.dispose();
    reader.leave();
  }
}

/** When the job is told to end: asks the agent to cancel, and rejects when that took too long. */
function cancelLimit(
  agent: Agent,
  { signal, execution }: JobContext,
  clock: Clock,
): { readonly promise: Promise<never>; dispose(): void } {
  let stop = (): void => {};
  let onAbort = (): void => {};
  const promise = new Promise<never>((_, reject) => {
    onAbort = () => {
      Promise.resolve()
        .then(() => agent.cancel?.(GENERATION))
        .catch(() => {});
      const askedAt = clock.monotonic();
      const shareMs = (execution.graceMs ?? Number.POSITIVE_INFINITY) * CANCEL_SHARE;
      const look = (): void => {
        // The moment first, then what is left until then: a rest that is too small to move the clock would be looked at for ever.
        const dueAt = askedAt + Math.min(execution.killAfterMs, shareMs);
        const restMs = dueAt - clock.monotonic();
        if (restMs <= 0) reject(signal.reason);
        else stop = clock.schedule(Math.min(restMs, LOOK_MS), look);
      };
      look();
      execution.onForce(() => reject(signal.reason));
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  return {
    promise,
    dispose() {
      stop();
      signal.removeEventListener('abort', onAbort);
    },
  };
}

function conclude({ stopReason }: TurnEnd, text: string, signal: AbortSignal): Outcome {
  if (stopReason === 'cancelled') {
    signal.throwIfAborted();
    throw offstageError('agent.failed', { message: 'its turn was cancelled, which nobody here asked for.' });
  }
  if (stopReason === 'refusal') throw offstageError('agent.failed', { message: 'it refused the prompt.' });
  if (stopReason === 'error') throw offstageError('agent.failed', { message: 'its turn ended with an error.' });
  return outcome({ text, value: { stopReason } });
}

function asFailure(error: unknown): unknown {
  if (isOffstageError(error)) return error;
  return offstageError('agent.failed', { message: errorMessage(error) }, { cause: error });
}

/** Listens to the agent of one job. */
class FrameReader {
  readonly #agent: Agent;
  readonly #context: JobContext;
  readonly #options: AgentExecutorOptions;
  readonly #pace: FramePace = { isResting: false };
  readonly #said = new TailText(LIMITS.resultTextBytes);
  #isOver = false;
  #isNewParagraph = false;
  #doing = 'thinking';

  constructor(agent: Agent, context: JobContext, options: AgentExecutorOptions) {
    this.#agent = agent;
    this.#context = context;
    this.#options = options;
  }

  /** What the agent said so far, at most `LIMITS.resultTextBytes`. */
  get text(): string {
    return this.#said.text();
  }

  /** Resolves, with the reason, a turn of the event loop after the agent has gone or was left. */
  async read(): Promise<OffstageError> {
    const { clock, onUnreadable } = this.#options;
    let cause: unknown;
    let message = 'it has closed its connection.';
    try {
      await pumpFrames(this.#agent.frames, {
        clock,
        pace: this.#pace,
        isOver: () => this.#isOver,
        take: (frame) => this.#take(frame),
        unreadable: (error) => onUnreadable?.(error),
      });
    } catch (error) {
      cause = error;
      message = errorMessage(error);
    }
    await new Promise<void>((resolve) => clock.nextTurn(resolve));
    return isOffstageError(cause, 'agent.gone') ? cause : offstageError('agent.gone', { message }, { cause });
  }

  /** Resolves when all that was told until now has been heard. */
  heard(): Promise<void> {
    return new Promise((resolve) => whenHeard(this.#pace, this.#options.clock, resolve));
  }

  /** Nothing more is heard. */
  leave(): void {
    this.#isOver = true;
  }

  #take(frame: Frame): void {
    switch (frame.type) {
      case 'output':
        if (frame.channel === 'thought') this.#working('thinking');
        else if (frame.parentToolCallId === undefined) this.#say(frame.text);
        else this.#working(this.#doing);
        break;
      case 'tool.call':
        if (frame.parentToolCallId === undefined) this.#isNewParagraph = true;
        this.#working(titleOf(frame) ?? 'using a tool');
        break;
      case 'tool.update':
        this.#working(titleOf(frame) ?? this.#doing);
        break;
      case 'permission.request':
        this.#decline(frame.requestId, frame.options);
        break;
      default:
        // What has nothing to do with a single prompt, or is unknown.
        break;
    }
  }

  #say(text: unknown): void {
    if (typeof text !== 'string') return;
    // Between two messages lies a tool call; nothing else tells that one has ended.
    const whole = this.#isNewParagraph && this.#said.totalBytes > 0 ? `\n\n${text}` : text;
    this.#isNewParagraph = false;
    this.#said.append(whole);
    quietly(() => this.#context.output(whole));
  }

  /** A sign of life, and what it is at. */
  #working(doing: string): void {
    this.#doing = doing;
    quietly(() => this.#context.progress({ doing: doing.slice(0, 200) }));
  }

  /** AGJ3. */
  #decline(requestId: string, options: unknown): void {
    Promise.resolve()
      .then(() => rejection(options))
      .catch(() => null)
      .then((choice) => this.#agent.answer?.(requestId, choice))
      .catch(() => {});
  }
}

const titleOf = ({ title }: { readonly title?: unknown }): string | undefined => (typeof title === 'string' ? title : undefined);

/** The option that says no, as ACP names it; null where there is none. */
function rejection(options: unknown): string | null {
  const ids = new Map<unknown, string>();
  for (const option of Array.isArray(options) ? options : []) {
    const { kind, optionId } = readOption(option);
    if (typeof optionId === 'string' && !ids.has(kind)) ids.set(kind, optionId);
  }
  return ids.get('reject_once') ?? ids.get('reject_always') ?? null;
}

/** Nothing of one that cannot be read: another may say no. */
function readOption(option: unknown): { readonly kind?: unknown; readonly optionId?: unknown } {
  try {
    const { kind, optionId } = option as { readonly kind?: unknown; readonly optionId?: unknown };
    return { kind, optionId };
  } catch {
    return {};
  }
}
