/** A prompt that waits for its turn (liveness 3): what the line of a session holds. */
import type { PromptRequest } from './open-prompt.ts';

export interface WaitingPrompt {
  readonly ticketId: string;
  readonly request: PromptRequest;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Its row is stored, and it may be served. */
  isStored: boolean;
}
