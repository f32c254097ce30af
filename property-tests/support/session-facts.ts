/** What the reference for sessions keeps, plain values, and what follows from them at any instant (`session-model.ts`). */

import type { ActivityValue } from '../../src/model/activity.ts';
import type { Attestation, PromptOrigin } from '../../src/model/agent.ts';
import type { SessionState } from '../../src/model/records.ts';
import type { WorkModel } from './work-model.ts';

export interface Rules {
  readonly attests: Attestation;
  /** Whether agents say at connect that they hand off and list. */
  readonly isCapable: boolean;
  readonly display: 'attested' | 'coarse';
  readonly admission: 'attested' | 'conservative';
}

export interface ModelExecution {
  readonly id: string;
  hasHandoff: boolean;
  hasSnapshot: boolean;
}

export type Answer = 'pending' | 'queued' | { readonly refused: string } | { readonly accepted: ModelPrompt };

export interface ModelAsk {
  readonly promptId: string;
  readonly origin: PromptOrigin;
  readonly whenBusy: 'reject' | 'queue';
  answer: Answer;
  /** What was told of its ticket. */
  readonly told: string[];
}

export interface ModelPrompt {
  readonly ask: ModelAsk;
  readonly isTicket: boolean;
  execution: ModelExecution | null;
  /** Given by the engine; 0 until it was seen. */
  generation: number;
  phase: 'claimed' | 'called' | 'open' | 'over';
  /** The agent was called and has not answered. */
  isRpcOpen: boolean;
  hasYielded: boolean;
  isInterrupted: boolean;
  /** Elapsed milliseconds at which it is closed without the agent. */
  closesAt: number;
}

export interface Start {
  readonly execution: ModelExecution;
  readonly from: SessionState;
}

/** A turn that the agent opened by itself. */
interface OwnTurn {
  generation: number;
  heardAt: number;
  endsAt: number | null;
}

export class ModelSession {
  readonly id: string;
  readonly work: WorkModel;
  state: SessionState = 'created';
  isInterrupted = false;
  execution: ModelExecution | null = null;
  start: Start | null = null;
  /** Starts that were given up, and whose factory never came to an end. */
  givenUp = 0;
  /** Elapsed milliseconds by which each of those has ended, or is looked after no more; as long as that is to come. */
  ending: number[] = [];
  claim: ModelPrompt | null = null;
  /** Accepted, and neither over nor replaced. */
  turns: ModelPrompt[] = [];
  own: OwnTurn | null = null;
  /** Closed without their agent, which has not answered yet. */
  readonly stuck = new Set<ModelPrompt>();
  hasStray = false;
  readonly prompts: ModelPrompt[] = [];
  readonly tickets: { readonly ask: ModelAsk; execution: ModelExecution | null }[] = [];
  /** Asks that wait for a start under way. */
  waiting: ModelAsk[] = [];
  startsAs: 'at once' | 'later' | 'never' = 'at once';
  acceptsAtOnce = true;
  /** Facts about its jobs: how many keep it from being quiet, and how many are running subagents of its own. */
  jobs = { present: 0, subagents: 0 };
  told: ActivityValue = { foregroundActivity: null, activeSubagentCount: 0 };
  published: ActivityValue[] = [];

  constructor(id: string, work: WorkModel) {
    this.id = id;
    this.work = work;
  }

  get isSpeaking(): boolean {
    return this.claim !== null || this.own !== null || this.turns.some(({ hasYielded }) => !hasYielded);
  }

  /** Whether anything is left to be remembered. */
  get isHeld(): boolean {
    const { execution, start, claim, givenUp, tickets, jobs, work } = this;
    if (execution !== null || start !== null || claim !== null) return true;
    return givenUp + tickets.length + jobs.present + work.works.length > 0;
  }

  /** Whether there is anything that a stop could end. */
  get isLive(): boolean {
    const { execution, start, claim, state, tickets, jobs, ending } = this;
    if (execution !== null || start !== null || claim !== null || tickets.length + ending.length > 0) return true;
    return state === 'running' || jobs.present > 0;
  }

  get hasHandoff(): boolean {
    return this.turns.length > 0 || this.own !== null;
  }
}

/** Its ticket came to an end before it was served: the same promptId is a new prompt. */
export const hasLostTicket = ({ answer, told }: ModelAsk): boolean =>
  answer === 'queued' && ['failed', 'cancelled', 'dropped', 'stopped'].includes(told.at(-1) ?? '');

export const isRefused = ({ answer }: ModelAsk): boolean => typeof answer === 'object' && 'refused' in answer;

export const claimOf = (ask: ModelAsk, isTicket: boolean): ModelPrompt => ({
  ask,
  isTicket,
  execution: null,
  generation: 0,
  phase: 'claimed',
  isRpcOpen: false,
  hasYielded: false,
  isInterrupted: false,
  closesAt: Number.POSITIVE_INFINITY,
});

export const isOwn = ({ own }: ModelSession, generation: number): boolean =>
  own !== null && (generation === 0 || generation === own.generation);

/** The turn that a frame speaks of: the proven one, else the newest open one. */
export const turnNumber = ({ turns, own }: ModelSession, generation: number): number =>
  generation > 0 ? generation : (turns.at(-1)?.generation ?? own?.generation ?? 0);

/** Tier and count: two facts, one derived tier (liveness 2). */
export function activityOf({ work, jobs, state, isSpeaking }: ModelSession, { display }: Rules): ActivityValue {
  const isShownCoarse = display === 'coarse' && state === 'running';
  const hasWork = work.works.length + jobs.present > 0;
  return {
    foregroundActivity: isSpeaking || isShownCoarse ? 'generating' : hasWork ? 'background' : null,
    activeSubagentCount: work.works.filter(({ kind }) => kind === 'subagent').length + jobs.subagents,
  };
}

/** Whether a prompt is let in at this instant (liveness 3 and 4). */
export function admits(session: ModelSession, origin: PromptOrigin, { admission }: Rules): boolean {
  const { turns, stuck, work, isSpeaking, prompts } = session;
  if (isSpeaking || stuck.size > 0) return false;
  if (admission === 'conservative' && prompts.some(({ isRpcOpen }) => isRpcOpen)) return false;
  if (turns.length === 0) return true;
  return origin === 'human' && admission === 'attested' && work.works.every((one) => one.admits);
}
