/**
 * One conversation with an ACP agent, in either version: what of both is the same.
 *
 * ACS1  Everything is seen in the order of the wire, and becomes frames by the version's mapping.
 * ACS2  A prompt's promise settles when its turn is over, when the provider refuses it, or when the agent has gone (`agent.gone`).
 * ACS3  The end of the provider's output ends the frames; after that nothing is told.
 */
import type { Agent, Attestation, Frame, PromptContent, PromptContext, TurnEnd } from '../model/agent.ts';
import { offstageError } from '../model/errors.ts';
import type { JsonValue } from '../model/json.ts';
import { contentBlocks } from './acp-frames.ts';
import type { WireWatch } from './acp-wire.ts';
import type { FrameMapping, MappingStep } from './frame-mapping.ts';
import { FrameQueue } from './frame-queue.ts';
import { PermissionDesk } from './permission-desk.ts';
import { fieldsOf, textOf } from './read-json.ts';

/** What a version does differently. */
export interface AcpDialect {
  readonly attests: Attestation;
  readonly mapping: FrameMapping;
  /** A cancel takes all permission requests along, and not only those of the turn. */
  readonly cancelsAllRequests: boolean;
  /** A prompt is accepted when its bytes were handed to the agent. */
  readonly acceptsWhenWritten: boolean;
  /** What the answer to a prompt says; null when it is malformed. */
  readPromptAnswer(result: unknown, generation: number): MappingStep | null;
}

/** The library's connection, without its types. */
export interface AcpPeer {
  prompt(conversationId: string, blocks: readonly JsonValue[]): Promise<unknown>;
  cancel(conversationId: string): Promise<void>;
  close(reason: unknown): void;
}

/** An agent, and the id by which its provider resumes the conversation. */
export interface AcpAgent extends Agent {
  readonly conversationId: string;
}

interface OpenPrompt {
  isCancelled: boolean;
  resolve(end: TurnEnd): void;
  reject(error: unknown): void;
}

const PROMPT = 'session/prompt';

export class AcpSession implements WireWatch {
  readonly frames = new FrameQueue();
  readonly desk = new PermissionDesk((frame) => this.frames.push(frame));
  readonly #dialect: AcpDialect;
  readonly #prompts = new Map<number, OpenPrompt>();
  /** Generations whose request is not written yet, in order. */
  readonly #unsent: number[] = [];
  readonly #generationByRequest = new Map<unknown, number>();
  #conversationId: string | null = null;
  #isReplaying = false;
  /** Updates that came before the conversation had an id. */
  #early: unknown[] = [];
  #peer: AcpPeer | null = null;

  constructor(dialect: AcpDialect) {
    this.#dialect = dialect;
  }

  /** While it is true, updates are history. */
  set isReplaying(value: boolean) {
    this.#isReplaying = value;
    if (!value) this.#step({ step: 'resumed' });
  }

  /** From now on updates of this conversation are told; those that came before it had an id come first. Null: there is none yet. */
  set conversationId(id: string | null) {
    this.#conversationId = id;
    for (const params of this.#early.splice(0)) this.onUpdate(params);
  }

  connected(message: unknown): void {
    this.#step({ step: 'connected', message });
  }

  onUpdate(params: unknown): void {
    const { sessionId, update } = fieldsOf(params);
    if (this.#conversationId === null) this.#early.push(params);
    else if (sessionId === this.#conversationId) this.#step({ step: this.#isReplaying ? 'replayed' : 'told', message: update });
  }

  onRequest(method: string, requestId: unknown): (() => void) | undefined {
    if (method !== PROMPT) return undefined;
    const generation = this.#unsent.shift();
    if (generation === undefined) return undefined;
    this.#generationByRequest.set(requestId, generation);
    return this.#dialect.acceptsWhenWritten ? () => this.#step({ step: 'accepted', generation }) : undefined;
  }

  onAnswer(requestId: unknown, answer: { readonly result: unknown } | { readonly error: unknown }): void {
    const generation = this.#generationByRequest.get(requestId);
    if (generation === undefined) return;
    this.#generationByRequest.delete(requestId);
    if ('error' in answer) {
      this.#refuse(generation, textOf(fieldsOf(answer.error).message) ?? 'it gave no reason');
      return;
    }
    const step = this.#dialect.readPromptAnswer(answer.result, generation);
    if (step === null) this.#refuse(generation, 'its answer is not what the protocol says');
    else this.#step(step);
  }

  onEnd(error: unknown): void {
    this.gone('its output has ended', error ?? undefined);
  }

  /** Nothing more comes of it. With a cause the frames throw. */
  gone(message: string, cause?: unknown): void {
    const error = offstageError('agent.gone', { message }, { cause });
    if (cause === undefined) this.frames.end();
    else this.frames.fail(error);
    for (const generation of [...this.#prompts.keys()]) this.#settle(generation, (prompt) => prompt.reject(error));
  }

  /** The agent, now that there is somebody to talk to. */
  agent(peer: AcpPeer, close: () => Promise<void>): AcpAgent {
    this.#peer = peer;
    return {
      attests: this.#dialect.attests,
      frames: this.frames,
      conversationId: this.#conversationId ?? '',
      prompt: (content, context) => this.#prompt(content, context),
      answer: (requestId, choice) => this.desk.answer(requestId, chosenOption(choice, this.desk.optionsOf(requestId))),
      cancel: (generation) => this.#cancel(generation),
      close,
    };
  }

  #step(step: MappingStep): void {
    for (const frame of this.#dialect.mapping.step(step)) this.#tell(frame);
  }

  #tell(frame: Frame): void {
    this.frames.push(frame);
    if (frame.type !== 'turn.ended') return;
    this.#settle(frame.generation, (prompt) => prompt.resolve({ stopReason: frame.stopReason }));
  }

  async #prompt(content: PromptContent, { generation, signal }: PromptContext): Promise<TurnEnd> {
    if (this.frames.isClosed || this.#peer === null) throw offstageError('agent.gone', { message: 'its output has ended' });
    signal.throwIfAborted();
    const blocks = contentBlocks(content);
    if (blocks.length === 0) {
      throw offstageError('input.invalid', { argument: 'content', message: 'must hold at least one block' });
    }
    const onAbort = (): void => void this.#cancel(generation);
    signal.addEventListener('abort', onAbort, { once: true });
    const ended = new Promise<TurnEnd>((resolve, reject) => {
      this.#prompts.set(generation, { isCancelled: false, resolve, reject });
    });
    this.#step({ step: 'prompt', generation });
    this.#unsent.push(generation);
    // Its answer is read from the wire; what can fail here is the connection itself.
    this.#peer.prompt(this.#conversationId ?? '', blocks).catch((error) => this.#lost(generation, error));
    try {
      return await ended;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** The library gave the request up. An answer that was read has settled it already. */
  #lost(generation: number, error: unknown): void {
    const index = this.#unsent.indexOf(generation);
    if (index >= 0) this.#unsent.splice(index, 1);
    this.#step({ step: 'refused', generation });
    this.#settle(generation, (prompt) =>
      prompt.reject(offstageError('agent.gone', { message: 'the connection has ended' }, { cause: error })),
    );
  }

  #refuse(generation: number, message: string): void {
    this.#step({ step: 'refused', generation });
    this.#settle(generation, (prompt) => prompt.reject(offstageError('agent.failed', { message })));
  }

  #settle(generation: number, how: (prompt: OpenPrompt) => void): void {
    const prompt = this.#prompts.get(generation);
    if (prompt === undefined) return;
    this.#prompts.delete(generation);
    how(prompt);
  }

  async #cancel(generation: number): Promise<void> {
    const prompt = this.#prompts.get(generation);
    if (prompt === undefined || prompt.isCancelled || this.#peer === null || this.#conversationId === null) return;
    prompt.isCancelled = true;
    this.#step({ step: 'cancelled', generation });
    // A connection that cannot be written to ends the prompt by itself.
    await this.#peer.cancel(this.#conversationId).catch(() => {});
    this.desk.cancel(this.#dialect.cancelsAllRequests ? undefined : generation);
  }
}

/**
 * The option's id in an answer: the id itself, or an object with `optionId`; null, and the outcome `cancelled`, choose none.
 * @throws input.invalid
 */
function chosenOption(choice: JsonValue, options: readonly JsonValue[]): string | null {
  const { outcome, optionId } = fieldsOf(choice);
  if (choice === null || outcome === 'cancelled') return null;
  const known = options.flatMap((option) => textOf(fieldsOf(option).optionId) ?? []);
  const chosen = textOf(choice) ?? textOf(optionId);
  if (chosen !== undefined && known.includes(chosen)) return chosen;
  throw offstageError('input.invalid', { argument: 'choice', message: `must name one of the options: ${known.join(', ')}` });
}
