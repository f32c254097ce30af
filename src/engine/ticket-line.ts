/** A prompt that waits for its turn (liveness 3): what the line of a session holds. */
import type { PromptRequest } from './open-prompt.ts';

export interface WaitingPrompt {
  readonly ticketId: string;
  readonly request: PromptRequest;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** The agent that was loaded then; what the program asked of it is not for another one. */
  readonly executionId: string | null;
  /** Its row is stored, and it may be served. */
  isStored: boolean;
}
