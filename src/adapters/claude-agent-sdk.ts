/**
 * An agent over the Claude Agent SDK, whose `query` the host calls itself: the SDK is no dependency (liveness 8).
 *
 * CAS1  A prompt is accepted when the SDK took its message from the input.
 * CAS2  Its kinds of work are shown, but admit nothing: the fixtures that show them were derived from published types.
 * CAS3  A tool is used without asking only where the host's own settings say so; what the SDK asks, a person answers.
 */
import { createHash } from 'node:crypto';
import type { Agent, Attestation, Frame, PromptContent, PromptContext, TurnEnd } from '../model/agent.ts';
import { offstageError } from '../model/errors.ts';
import type { JsonValue } from '../model/json.ts';
import { claudeStreamMapping } from './claude-agent-sdk-mapping.ts';
import type { FrameMapping, MappingStep } from './frame-mapping.ts';
import { FrameQueue } from './frame-queue.ts';
import { PermissionDesk } from './permission-desk.ts';
import { fieldsOf, textOf } from './read-json.ts';

const SHOWN: Attestation = {
  workloads: [],
  shown: ['subagent', 'shell', 'monitor'],
  yield: false,
  handoff: false,
  snapshot: true,
};

/** A message as the SDK takes it from its input. */
export interface ClaudeUserMessage {
  readonly type: 'user';
  readonly message: { readonly role: 'user'; readonly content: JsonValue };
  readonly parent_tool_use_id: null;
  readonly uuid?: string;
  readonly origin?: { readonly kind: 'human' };
}

/** What the SDK's `query` returns, as far as it is used. */
export interface ClaudeQuery extends AsyncIterable<unknown> {
  interrupt?(): Promise<unknown>;
  close?(): unknown;
}

/** What the SDK's option `canUseTool` is answered. */
export type ClaudePermission =
  | { readonly behavior: 'allow'; readonly updatedInput: Record<string, unknown> }
  | { readonly behavior: 'deny'; readonly message: string };

/** What the host hands to the SDK. */
export interface ClaudeQueryParts {
  /** The option `prompt`. */
  readonly input: AsyncIterable<ClaudeUserMessage>;
  /** The option `canUseTool`. */
  readonly canUseTool: (
    tool: string,
    input: Record<string, unknown>,
    options: { readonly signal?: AbortSignal; readonly toolUseID?: string; readonly title?: string },
  ) => Promise<ClaudePermission>;
}

export interface ClaudeAgentSdkOptions {
  /** Calls the SDK. */
  readonly query: (parts: ClaudeQueryParts) => ClaudeQuery;
  /** Unguessable; names the messages, so that their echoes prove what belongs to whom. Pass `context.execution.executionId`. */
  readonly executionId?: string | undefined;
  /** Ends the agent; pass that of the agent's context. */
  readonly signal?: AbortSignal | undefined;
  /** Names the agent in errors. */
  readonly agentId?: string | undefined;
}

/**
 * An agent over a query of the Claude Agent SDK.
 * @throws agent.start_failed, or the reason of `options.signal`
 * @example
 * const agent = claudeAgentSdkAgent({
 *   query: ({ input, canUseTool }) => query({ prompt: input, options: { canUseTool, cwd: '/srv' } }),
 *   executionId: context.execution.executionId,
 *   signal: context.signal,
 * });
 */
export function claudeAgentSdkAgent(options: ClaudeAgentSdkOptions): Agent {
  const { signal, agentId = 'default' } = options;
  signal?.throwIfAborted();
  const conversation = new ClaudeConversation(options.executionId);
  let query: ClaudeQuery;
  try {
    query = options.query({ input: conversation.input(), canUseTool: conversation.canUseTool });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw offstageError('agent.start_failed', { agentId, message }, { cause: error });
  }
  return conversation.agent(query, signal);
}

interface OpenPrompt {
  isCancelled: boolean;
  resolve(end: TurnEnd): void;
  reject(error: unknown): void;
}

interface Unread {
  readonly generation: number;
  readonly message: ClaudeUserMessage;
}

class ClaudeConversation {
  readonly #frames = new FrameQueue();
  readonly #desk = new PermissionDesk((frame) => this.#frames.push(frame));
  readonly #mapping: FrameMapping;
  readonly #messageIdOf: (generation: number) => string | undefined;
  readonly #prompts = new Map<number, OpenPrompt>();
  readonly #unread: Unread[] = [];
  #wake: () => void = () => {};
  #query: ClaudeQuery | null = null;

  constructor(executionId: string | undefined) {
    this.#messageIdOf = (generation) => (executionId === undefined ? undefined : messageId(executionId, generation));
    this.#mapping = claudeStreamMapping(this.#messageIdOf);
  }

  agent(query: ClaudeQuery, signal: AbortSignal | undefined): Agent {
    this.#query = query;
    const end = (): void => this.#end('it was closed');
    signal?.addEventListener('abort', end, { once: true });
    void this.#read(query).finally(() => signal?.removeEventListener('abort', end));
    return {
      attests: SHOWN,
      frames: this.#frames,
      prompt: (content, context) => this.#prompt(content, context),
      answer: (requestId, choice) => this.#desk.answer(requestId, choice),
      cancel: (generation) => this.#cancel(generation),
      close: async () => end(),
    };
  }

  /** What the SDK reads. Taking a message from it accepts the prompt (CAS1). */
  async *input(): AsyncGenerator<ClaudeUserMessage> {
    while (!this.#frames.isClosed) {
      const next = this.#unread.shift();
      if (next === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      this.#step({ step: 'accepted', generation: next.generation });
      yield next.message;
    }
  }

  readonly canUseTool: ClaudeQueryParts['canUseTool'] = async (tool, input, { signal, toolUseID, title }) => {
    const options = [
      { optionId: 'allow', name: 'Allow', tool, input },
      { optionId: 'deny', name: 'Deny', tool },
    ];
    const generation = this.#mapping.generationOf(toolUseID);
    const choice = await this.#desk.ask({ generation, title: textOf(title), options, signal });
    const chosen = textOf(choice) ?? textOf(fieldsOf(choice).optionId);
    if (chosen === 'allow') return { behavior: 'allow', updatedInput: input };
    return { behavior: 'deny', message: textOf(fieldsOf(choice).message) ?? 'The user did not allow it.' };
  };

  async #read(query: ClaudeQuery): Promise<void> {
    try {
      for await (const message of query) this.#step({ step: 'told', message });
      this.#gone('its stream has ended');
    } catch (error) {
      this.#gone(error instanceof Error ? error.message : String(error), error);
    }
  }

  #step(step: MappingStep): void {
    for (const frame of this.#mapping.step(step)) this.#tell(frame);
  }

  #tell(frame: Frame): void {
    this.#frames.push(frame);
    if (frame.type !== 'turn.ended') return;
    this.#settle(frame.generation, (prompt) => prompt.resolve({ stopReason: frame.stopReason }));
  }

  async #prompt(content: PromptContent, { generation, origin, signal }: PromptContext): Promise<TurnEnd> {
    if (this.#frames.isClosed) throw offstageError('agent.gone', { message: 'its stream has ended' });
    signal.throwIfAborted();
    const onAbort = (): void => void this.#cancel(generation);
    signal.addEventListener('abort', onAbort, { once: true });
    const ended = new Promise<TurnEnd>((resolve, reject) => {
      this.#prompts.set(generation, { isCancelled: false, resolve, reject });
    });
    this.#step({ step: 'prompt', generation });
    const uuid = this.#messageIdOf(generation);
    this.#unread.push({
      generation,
      message: {
        type: 'user',
        message: { role: 'user', content: messageContent(content) },
        parent_tool_use_id: null,
        ...(uuid === undefined ? {} : { uuid }),
        ...(origin === 'human' ? { origin: { kind: 'human' } } : {}),
      },
    });
    this.#wake();
    try {
      return await ended;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  async #cancel(generation: number): Promise<void> {
    const prompt = this.#prompts.get(generation);
    if (prompt === undefined || prompt.isCancelled) return;
    prompt.isCancelled = true;
    this.#desk.cancel(generation);
    const unread = this.#unread.findIndex((waiting) => waiting.generation === generation);
    if (unread >= 0) {
      // Nobody has taken it yet, so there is nothing to interrupt.
      this.#unread.splice(unread, 1);
      this.#step({ step: 'refused', generation });
      this.#settle(generation, () =>
        prompt.reject(offstageError('prompt.interrupted', { message: 'it had not been taken yet.' })),
      );
      return;
    }
    this.#step({ step: 'cancelled', generation });
    try {
      await this.#query?.interrupt?.();
    } catch {
      // An SDK that cannot interrupt any more ends its stream, and the prompt with it.
    }
  }

  #settle(generation: number, how: (prompt: OpenPrompt) => void): void {
    const prompt = this.#prompts.get(generation);
    if (prompt === undefined) return;
    this.#prompts.delete(generation);
    how(prompt);
  }

  #end(message: string): void {
    this.#gone(message);
    try {
      this.#query?.close?.();
    } catch {
      // It has ended already.
    }
  }

  #gone(message: string, cause?: unknown): void {
    const error = offstageError('agent.gone', { message }, { cause });
    if (cause === undefined) this.#frames.end();
    else this.#frames.fail(error);
    this.#desk.cancel();
    this.#wake();
    for (const generation of [...this.#prompts.keys()]) this.#settle(generation, (prompt) => prompt.reject(error));
  }
}

/** Content blocks and text stay as they are; any other value is told as JSON. */
const messageContent = (content: PromptContent): JsonValue =>
  typeof content === 'string' || Array.isArray(content) ? content : JSON.stringify(content);

/** The same generation of the same execution always has the same name, in the shape of a UUID. */
function messageId(executionId: string, generation: number): string {
  const hex = createHash('sha256').update(`${executionId}:${generation}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
