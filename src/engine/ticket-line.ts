/** A prompt that waits for its turn (liveness 3): what the line of a session holds. */
import type { PromptRequest } from './open-prompt.ts';

export interface WaitingPrompt {
  readonly ticketId: string;
  readonly request: PromptRequest;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** The agent that was loaded then, or starting; what the program asked of it is not for another one. Null again if it never came. */
  executionId: string | null;
  /** Its row is stored, and it may be served. */
  isStored: boolean;
}
