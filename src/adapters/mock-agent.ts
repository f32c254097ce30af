/**
 * An agent that does what its script and its test say, and nothing else.
 *
 * MOK1  It attests what its script declares; by default nothing.
 * MOK2  A prompt ends only by `end`, by `fail`, by its signal (unless `ignoreCancel`), or when the agent has gone (`agent.gone`).
 * MOK3  Frames are told exactly as given to `emit`; nothing is made up but `prompt.accepted`, and that only with `acceptAtOnce`.
 * MOK4  `replay` tells what a real provider said, through the mapping of its adapter; what is attested is the script's all the same.
 */
import type {
  Agent,
  AgentContext,
  AgentFactory,
  Attestation,
  Frame,
  PromptContent,
  PromptContext,
  PromptOrigin,
  TurnEnd,
} from '../model/agent.ts';
import { offstageError } from '../model/errors.ts';
import type { JsonValue } from '../model/json.ts';
import { type AdapterFixture, FixtureReplay } from './adapter-fixture.ts';
import { FrameQueue } from './frame-queue.ts';

/** What the mock is to do by itself. Read anew at each use, so a test may change it between two starts or prompts. */
export interface MockAgentScript {
  /** What is left out is not attested. */
  attests?: Partial<Attestation>;
  /** Every prompt is followed by a `prompt.accepted` of its generation at once; default true. */
  acceptAtOnce?: boolean;
  /** The start throws this, or what this function returns or throws; a function that returns undefined lets it start. */
  failStart?: unknown;
  /** The start hangs until its signal fires. */
  hangStart?: boolean;
  /** An aborted prompt stays open; default false: it ends with `cancelled`. */
  ignoreCancel?: boolean;
  /** `close` ends nothing and never resolves, like a process that does not die. */
  ignoreClose?: boolean;
  /** The steps of a turn; what it throws fails the prompt. */
  onPrompt?: (prompt: MockPrompt, agent: MockRunningAgent) => void | Promise<void>;
}

/** One call of `prompt`. */
export interface MockPrompt {
  readonly content: PromptContent;
  readonly generation: number;
  readonly origin: PromptOrigin;
  readonly signal: AbortSignal;
  /** The agent that was asked. */
  readonly agent: MockRunningAgent;
  /** Its promise has not settled. */
  readonly isOpen: boolean;
  /** Emits `prompt.accepted` of its generation. */
  accept(): void;
  /** Resolves it; default `end_turn`. Without effect when it has settled. */
  end(stopReason?: string): void;
  /** Rejects it. Without effect when it has settled. */
  fail(error: unknown): void;
}

/** One started agent. */
export interface MockRunningAgent {
  readonly context: AgentContext;
  readonly prompts: readonly MockPrompt[];
  /** Generations `cancel` was called with, in order. */
  readonly cancels: readonly number[];
  readonly answers: readonly { readonly requestId: string; readonly choice: JsonValue }[];
  /** `close` was called. */
  readonly isClosed: boolean;
  /** Its frames have ended. */
  readonly isGone: boolean;
  /** False when the frame was dropped, because the agent has gone. */
  emit(frame: Frame): boolean;
  /** Tells a fixture as its adapter would, and ends the prompts whose turn it ends; `shift` is added to its generations. */
  replay(fixture: AdapterFixture, shift?: number): void;
  /** Its frames throw and its open prompts reject `agent.gone`. */
  crash(error?: unknown): void;
  /** Its frames return and its open prompts reject `agent.gone`. */
  exit(): void;
}

/** The controls of a mock. Verbs without an agent mean the newest one. */
export interface MockAgent {
  /** Goes into the option `agents`. */
  readonly factory: AgentFactory;
  readonly script: MockAgentScript;
  /** Every start asked for, failed ones included. */
  readonly starts: readonly AgentContext[];
  /** Every agent that started, oldest first. */
  readonly agents: readonly MockRunningAgent[];
  /** Every prompt of every agent, in order. */
  readonly prompts: readonly MockPrompt[];
  /** How many agents were closed. */
  readonly closed: number;
  emit(frame: Frame): boolean;
  replay(fixture: AdapterFixture, shift?: number): void;
  crash(error?: unknown): void;
  exit(): void;
  /** The next prompt that no earlier call has taken; waits for it. */
  nextPrompt(): Promise<MockPrompt>;
  /** The next agent that no earlier call has taken; waits for its start. */
  nextAgent(): Promise<MockRunningAgent>;
}

/** Things handed out once each, in order, to whoever waits. */
class Series<Item> {
  readonly items: Item[] = [];
  readonly #waiting: ((item: Item) => void)[] = [];
  #taken = 0;

  add(item: Item): void {
    this.items.push(item);
    const waiter = this.#waiting.shift();
    if (waiter === undefined) return;
    this.#taken += 1;
    waiter(item);
  }

  next(): Promise<Item> {
    const item = this.items[this.#taken];
    if (item === undefined) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#taken += 1;
    return Promise.resolve(item);
  }
}

class RunningMock implements MockRunningAgent, Agent {
  readonly attests: Attestation;
  readonly context: AgentContext;
  readonly frames = new FrameQueue();
  readonly prompts: OpenPrompt[] = [];
  readonly cancels: number[] = [];
  readonly answers: { requestId: string; choice: JsonValue }[] = [];
  isClosed = false;
  readonly #script: MockAgentScript;
  readonly #onPrompt: (prompt: MockPrompt) => void;
  readonly #replay = new FixtureReplay();

  constructor(context: AgentContext, script: MockAgentScript, onPrompt: (prompt: MockPrompt) => void) {
    this.context = context;
    this.attests = { workloads: [], yield: false, handoff: false, snapshot: false, ...script.attests };
    this.#script = script;
    this.#onPrompt = onPrompt;
  }

  get isGone(): boolean {
    return this.frames.isClosed;
  }

  prompt(content: PromptContent, context: PromptContext): Promise<TurnEnd> {
    if (this.isGone) return Promise.reject(offstageError('agent.gone', { message: 'the mock has ended' }));
    const prompt = new OpenPrompt(content, context, this);
    this.prompts.push(prompt);
    if (this.#script.acceptAtOnce !== false) prompt.accept();
    const cancel = () => {
      if (this.#script.ignoreCancel !== true) prompt.end('cancelled');
    };
    if (context.signal.aborted) cancel();
    else context.signal.addEventListener('abort', cancel, { once: true });
    this.#onPrompt(prompt);
    void this.#steps(prompt);
    return prompt.settled;
  }

  async #steps(prompt: OpenPrompt): Promise<void> {
    try {
      await this.#script.onPrompt?.(prompt, this);
    } catch (error) {
      prompt.fail(error);
    }
  }

  cancel(generation: number): void {
    this.cancels.push(generation);
  }

  answer(requestId: string, choice: JsonValue): void {
    this.answers.push({ requestId, choice });
  }

  close(): Promise<void> {
    this.isClosed = true;
    if (this.#script.ignoreClose === true) return new Promise(() => {});
    this.exit();
    return Promise.resolve();
  }

  emit(frame: Frame): boolean {
    return this.frames.push(frame);
  }

  replay(fixture: AdapterFixture, shift = 0): void {
    for (const frame of this.#replay.frames(fixture, shift)) {
      this.emit(frame);
      if (frame.type !== 'turn.ended') continue;
      for (const prompt of this.prompts) if (prompt.generation === frame.generation) prompt.end(frame.stopReason);
    }
  }

  crash(error: unknown = offstageError('agent.gone', { message: 'the mock has crashed' })): void {
    this.frames.fail(error);
    this.#reject(error);
  }

  exit(): void {
    this.frames.end();
    this.#reject();
  }

  #reject(cause?: unknown): void {
    for (const prompt of this.prompts) prompt.fail(offstageError('agent.gone', { message: 'the mock has ended' }, { cause }));
  }
}

class OpenPrompt implements MockPrompt {
  readonly content: PromptContent;
  readonly generation: number;
  readonly origin: PromptOrigin;
  readonly signal: AbortSignal;
  readonly agent: RunningMock;
  readonly settled: Promise<TurnEnd>;
  isOpen = true;
  readonly #resolve: (end: TurnEnd) => void;
  readonly #reject: (error: unknown) => void;

  constructor(content: PromptContent, { generation, origin, signal }: PromptContext, agent: RunningMock) {
    this.content = content;
    this.generation = generation;
    this.origin = origin;
    this.signal = signal;
    this.agent = agent;
    let resolve: (end: TurnEnd) => void = () => {};
    let reject: (error: unknown) => void = () => {};
    this.settled = new Promise((onEnd, onError) => {
      resolve = onEnd;
      reject = onError;
    });
    this.#resolve = resolve;
    this.#reject = reject;
  }

  accept(): void {
    this.agent.emit({ type: 'prompt.accepted', generation: this.generation });
  }

  end(stopReason = 'end_turn'): void {
    this.isOpen = false;
    this.#resolve({ stopReason });
  }

  fail(error: unknown): void {
    this.isOpen = false;
    this.#reject(error);
  }
}

/**
 * A mock agent and its controls: for tests, and for programs that show Offstage without a provider.
 * @example
 * const mock = mockAgent({ attests: { workloads: ['subagent'], yield: true } });
 * const offstage = await open({ store: memoryStore(), agents: { default: mock.factory } });
 * await offstage.sessions.prompt(sessionId, { content: 'hello' });
 * const prompt = await mock.nextPrompt();
 * mock.emit({ type: 'output', generation: prompt.generation, text: 'hi' });
 * prompt.end();
 */
export function mockAgent(script: MockAgentScript = {}): MockAgent {
  const starts: AgentContext[] = [];
  const agents = new Series<RunningMock>();
  const prompts = new Series<MockPrompt>();
  const newest = (): RunningMock => {
    const agent = agents.items.at(-1);
    if (agent === undefined) throw new TypeError('No agent has been started yet.');
    return agent;
  };
  return {
    script,
    starts,
    agents: agents.items,
    prompts: prompts.items,
    get closed() {
      return agents.items.filter(({ isClosed }) => isClosed).length;
    },
    async factory(context) {
      starts.push(context);
      if (script.hangStart === true) await aborted(context.signal);
      const failure: unknown = typeof script.failStart === 'function' ? await script.failStart() : script.failStart;
      if (failure !== undefined) throw failure;
      const agent = new RunningMock(context, script, (prompt) => prompts.add(prompt));
      agents.add(agent);
      return agent;
    },
    emit: (frame) => newest().emit(frame),
    replay: (fixture, shift) => newest().replay(fixture, shift),
    crash: (error) => newest().crash(error),
    exit: () => newest().exit(),
    nextPrompt: () => prompts.next(),
    nextAgent: () => agents.next(),
  };
}

/** Rejects with the reason of the signal when it fires. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
