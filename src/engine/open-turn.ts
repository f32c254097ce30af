/**
 * The turn that has the foreground of a session, and since when it is silent (liveness 3 and 6).
 *
 * OTN1  The turn that is shown as quiet, told of, and declared failed is the same one, and so is its silence.
 * OTN2  An agent that waits, for somebody's answer or for jobs of the engine, is not silent; silence counts from the end of that.
 */
import type { AgentExecution } from './agent-execution.ts';
import type { LiveSession } from './live-session.ts';
import type { OpenPrompt } from './open-prompt.ts';
import type { ProviderTurn, Turns } from './turns.ts';
import { isForegroundJob } from './workload-rules.ts';

export interface OpenTurn {
  /** `provider`: the agent speaks without having been asked. */
  readonly origin: 'prompt' | 'provider';
  readonly turn: OpenPrompt | ProviderTurn;
  /** The agent that was asked, or speaks; null while the prompt is on its way to it. */
  readonly execution: AgentExecution | null;
  /** Monotonic milliseconds of its last word, or of the end of its last wait. */
  readonly lastHeard: number;
}

/** Null while the foreground is idle. */
export function openTurnOf(session: LiveSession, turns: Turns): OpenTurn | null {
  const { record, claimant, lastWaited } = session;
  if (record === null || record.isForegroundIdle) return null;
  const open = record.context.turns.findLast((turn) => !turn.hasYielded && turn.supersededBy === null);
  const byProvider = turns.byProvider(session);
  if (byProvider !== null && open?.generation === byProvider.generation) {
    const { execution, lastHeard } = byProvider;
    return { origin: 'provider', turn: byProvider, execution, lastHeard: Math.max(lastHeard, lastWaited) };
  }
  const prompt = (open === undefined ? undefined : session.prompts.get(open.generation)) ?? claimant;
  if (prompt === null) return null;
  const execution = prompt.isDispatched ? prompt.execution : null;
  return { origin: 'prompt', turn: prompt, execution, lastHeard: Math.max(prompt.lastHeard, lastWaited) };
}

/** OTN2. */
export function waitsForOthers({ requests, record }: LiveSession): boolean {
  if (requests.length > 0) return true;
  if (record !== null) for (const job of record.jobs.own) if (isForegroundJob(job)) return true;
  return false;
}
