/**
 * What callers hand in and get back about sessions, prompts and workloads (liveness 3, 6; api.md): shapes only.
 */
import type { PromptContent, PromptOrigin } from './agent.ts';
import type { WorkloadKind } from './executor.ts';

/** A prompt, and what becomes of it when the session is busy. */
export interface PromptOptions {
  /** Any JSON; passed to the agent unchanged. */
  readonly content: PromptContent;
  /** Default `human`. Synthetic prompts never take a hand-off. */
  readonly origin?: PromptOrigin;
  /** `reject` (default): `prompt.busy`. `queue`: a ticket, served once, in order. */
  readonly whenBusy?: 'reject' | 'queue';
  /** The same id gets the same answer while this process lives. Default: made up. */
  readonly promptId?: string;
}

/** The agent has taken the prompt, or it waits as a ticket. */
export type PromptAnswer =
  | {
      readonly accepted: true;
      readonly promptId: string;
      readonly generation: number;
      /** Present when the store refuses: the agent has it, and that the session runs, or its ticket is served, is not stored yet. */
      readonly durable?: false;
    }
  | { readonly queued: true; readonly promptId: string; readonly ticketId: string; readonly position: number };

/** A prompt that waits for its turn. */
export interface PromptTicket {
  readonly ticketId: string;
  readonly promptId: string;
  readonly sessionId: string;
  readonly origin: PromptOrigin;
  /** 1 is the next one. */
  readonly position: number;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

/** Whether the call changed anything. */
export interface Changed {
  readonly changed: boolean;
  /** Present when the store refuses: it is acted upon, and not stored yet. */
  readonly durable?: false;
}

/** Which turn; by default whatever has the foreground. */
export interface InterruptOptions {
  /** Only the turn of this prompt: another one that has the foreground meanwhile is left alone. */
  readonly promptId?: string;
}

/** Background work that a host itself vouches for, on behalf of an agent it runs. */
export interface RegisterWorkload {
  readonly sessionId: string;
  /** The agent execution that owns it (`SessionView.executionId`). */
  readonly executionId: string;
  readonly kind: WorkloadKind;
  readonly workloadId: string;
  readonly toolCallId?: string;
}

/** Which work has ended; with neither id, one of the session's, oldest first. */
export interface CompleteWorkload {
  readonly sessionId: string;
  /** Required with an id: the same id of another execution is other work. */
  readonly executionId?: string;
  readonly workloadId?: string;
  readonly toolCallId?: string;
  readonly kind?: WorkloadKind;
  /** Names the delivery; the same one again changes nothing. */
  readonly eventId?: string;
}

/** All that is live of one execution. */
export interface WorkloadSnapshot {
  readonly sessionId: string;
  readonly executionId: string;
  readonly workloads: readonly {
    readonly workloadId: string;
    readonly kind?: WorkloadKind;
    readonly toolCallId?: string;
  }[];
}
