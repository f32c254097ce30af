/**
 * The port to one adapter's translation: what happens on the wire, in its order, becomes frames. No clock, no I/O.
 *
 * MAP1  The same steps give the same frames; that is what fixtures hold on to.
 * MAP2  Total: no message, however malformed, throws (G16); at worst it gives no frame.
 */
import type { Frame } from '../model/agent.ts';

/** One thing that happened between Offstage and a provider. */
export type MappingStep =
  /** What the provider answered when it was connected. */
  | { readonly step: 'connected'; readonly message: unknown }
  /** A message of the history that the provider tells again while it resumes a conversation, and the end of that. */
  | { readonly step: 'replayed'; readonly message: unknown }
  | { readonly step: 'resumed' }
  /** The prompt of this generation is on its way. */
  | { readonly step: 'prompt'; readonly generation: number }
  /** The transport took it. */
  | { readonly step: 'accepted'; readonly generation: number }
  /** The provider did not take it, or could not go on with it. */
  | { readonly step: 'refused'; readonly generation: number }
  /** The provider answered the prompt: its turn is over. */
  | { readonly step: 'answered'; readonly generation: number; readonly stopReason: string }
  /** The provider was asked to end the turn. */
  | { readonly step: 'cancelled'; readonly generation: number }
  /** A message of the provider. */
  | { readonly step: 'told'; readonly message: unknown };

export interface FrameMapping {
  step(step: MappingStep): Frame[];
  /** The generation that a request of the provider belongs to, as far as it is proven; 0 when it is not. */
  generationOf(toolCallId: string | undefined): number;
}
