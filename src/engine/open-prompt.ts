/**
 * One prompt from its claim to the answer of its agent (liveness 3).
 *
 * OPP1  Its caller is answered once: accepted, or why not.
 * OPP2  Its turn ends once; whatever the agent answers later is inert.
 */
import type { PromptContent, PromptOrigin } from '../model/agent.ts';
import type { StopTimer } from '../model/clock.ts';
import type { OffstageError } from '../model/errors.ts';
import type { AgentExecution } from './agent-execution.ts';
import { fencedController } from './fenced-signal.ts';

export interface PromptRequest {
  readonly promptId: string;
  readonly content: PromptContent;
  readonly origin: PromptOrigin;
}

export class OpenPrompt {
  readonly request: PromptRequest;
  readonly claimId: number;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Resolves with its generation when the agent has taken it. */
  readonly accepted: Promise<number>;
  /** 0 until it has begun. */
  generation = 0;
  execution: AgentExecution | null = null;
  /** It has waited for its turn, and its row is still there until it begins. */
  ticketId: string | null = null;
  /** What its turn has begun with is in the store. */
  isStored = false;
  /** The agent was called. */
  isDispatched = false;
  isAccepted = false;
  hasEnded = false;
  /** The agent's promise has settled, or never will. */
  hasReturned = false;
  /** The agent has answered, and what it told before is still being heard. */
  answer: (() => void) | null = null;
  /** Monotonic milliseconds of the last frame of it. */
  lastHeard: number;
  usage: Readonly<Record<string, number>> | null = null;
  stopTimers: StopTimer[] = [];
  /** Called when the agent has taken it, before anything else is told of its turn. */
  onAccepted: (() => void) | null = null;
  readonly #controller: AbortController;
  readonly #resolve: (generation: number) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    request: PromptRequest,
    claimId: number,
    moment: { readonly at: number; readonly heardAt: number },
    onListenerError: (error: unknown) => void,
  ) {
    this.request = request;
    this.claimId = claimId;
    this.startedAt = moment.at;
    this.lastHeard = moment.heardAt;
    this.#controller = fencedController(onListenerError);
    let resolve: (generation: number) => void = () => {};
    let reject: (error: unknown) => void = () => {};
    this.accepted = new Promise((onAccept, onRefuse) => {
      resolve = onAccept;
      reject = onRefuse;
    });
    // Somebody may have gone who would have looked.
    this.accepted.catch(() => {});
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  accept(): void {
    this.isAccepted = true;
    this.onAccepted?.();
    this.#resolve(this.generation);
  }

  refuse(error: unknown): void {
    this.#reject(error);
  }

  abort(reason: OffstageError): void {
    if (!this.signal.aborted) this.#controller.abort(reason);
  }

  /** Stops its timers. */
  rest(): void {
    for (const stop of this.stopTimers.splice(0)) stop();
  }
}
