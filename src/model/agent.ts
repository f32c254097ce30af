/**
 * The port to one agent, and the frames in which its adapter tells what the agent does (liveness 6 and 8).
 *
 * AGT1  Adapters translate; they decide nothing. What is not attested relaxes no admission.
 * AGT2  A frame is stamped only with the generation its adapter can prove, else 0; 0 yields nothing while a prompt is open.
 * AGT3  The end of `frames`, by return or by throw, says that the agent has gone.
 */
import type { ExecutionHandle, WorkloadKind } from './executor.ts';
import type { JsonValue } from './json.ts';
import type { ContextMode } from './records.ts';

/** Who asks: a person, or the program itself (a wake-up, a notice). Only a person's prompt takes a hand-off. */
export type PromptOrigin = 'human' | 'synthetic';

/** What an adapter vouches for, because a pair of fixtures (launch, accountable end) in its repository shows it. */
export interface Attestation {
  /** Kinds whose launch and end are both told; while only such work is live, a prompt may be let in beside it. */
  readonly workloads: readonly WorkloadKind[];
  /** Kinds that are registered and shown, and that keep prompts out while a turn is open; default none. */
  readonly shown?: readonly WorkloadKind[];
  /** A `foreground.idle` frame is the provider's own word. */
  readonly yield: boolean;
  /** After such a yield the provider takes the next prompt although the earlier one has not returned. */
  readonly handoff: boolean;
  /** Lists of live work are complete: what is not on them has ended. */
  readonly snapshot: boolean;
}

/** How a turn ended. */
export interface TurnEnd {
  /** The provider's word: `end_turn`, `cancelled`, `refusal`, … */
  readonly stopReason: string;
}

export type ToolStatus = 'pending' | 'running' | 'completed' | 'failed' | 'cancelled';

/** A tool call that is background work, or that launches some. */
export interface ToolWork {
  readonly kind: WorkloadKind;
  /** The end of the call is not the end of the work (async subagent, background shell, monitor). */
  readonly isDetached: boolean;
  /** The provider's id of the work, where it differs from the tool call's. */
  readonly workloadId?: string;
}

interface FrameHead {
  /** The prompt it belongs to, proven by the open request, the order of messages or a run id; 0 when it cannot be proven. */
  readonly generation: number;
}

interface ToolFields {
  readonly toolCallId: string;
  readonly title?: string;
  /** The call that this one belongs to; missing in an update says nothing. */
  readonly parentToolCallId?: string;
  /** Given when the adapter recognises the call as background work; missing says nothing. */
  readonly work?: ToolWork;
  /** The frame carries text of the tool. */
  readonly hasOutput?: boolean;
}

/** Everything an adapter may tell. */
export type Frame = FrameHead &
  (
    | { readonly type: 'prompt.accepted' }
    /** What the agent says; `parentToolCallId` marks the voice of a child. */
    | {
        readonly type: 'output';
        readonly text: string;
        readonly channel?: 'message' | 'thought';
        readonly parentToolCallId?: string;
      }
    | ({ readonly type: 'tool.call'; readonly status: ToolStatus } & ToolFields)
    | ({ readonly type: 'tool.update'; readonly status?: ToolStatus } & ToolFields)
    /** Known already: a sign of life. Ended already: nothing. */
    | {
        readonly type: 'workload.started';
        readonly kind: WorkloadKind;
        readonly workloadId: string;
        readonly toolCallId?: string;
      }
    /** By work id or tool-call id it is exact; with neither it ends one, and the rest become uncertain. */
    | {
        readonly type: 'workload.ended';
        readonly workloadId?: string;
        readonly toolCallId?: string;
        readonly kind?: WorkloadKind;
        /** Names the delivery: the same one again is inert. */
        readonly eventId?: string;
      }
    /** All that is live of this agent; `[]` says that nothing is. Ids that were never announced are `uncertain`. */
    | {
        readonly type: 'workload.snapshot';
        readonly workloads: readonly {
          readonly workloadId: string;
          readonly kind?: WorkloadKind;
          readonly toolCallId?: string;
        }[];
      }
    /** The provider says that the foreground of this generation is free, whatever still runs behind it. */
    | { readonly type: 'foreground.idle' }
    | { readonly type: 'turn.ended'; readonly stopReason: string }
    | {
        readonly type: 'permission.request';
        readonly requestId: string;
        readonly kind: 'permission' | 'clarification';
        /** What it is about, for people. */
        readonly title?: string;
        readonly options: readonly JsonValue[];
      }
    /** What the provider said of itself at connect; what it leaves out, or garbles, is not there. */
    | { readonly type: 'capability'; readonly handoff: boolean; readonly snapshot: boolean }
    /** Replaces what was told of the same generation before. */
    | { readonly type: 'usage'; readonly usage: Readonly<Record<string, number>> }
  );

/** What the engine tells the agent with a prompt. */
export interface PromptContext {
  readonly generation: number;
  /** Fires when the turn is interrupted; its reason is a typed error. */
  readonly signal: AbortSignal;
  readonly origin: PromptOrigin;
}

/** A prompt's content; passed through unchanged. */
export type PromptContent = JsonValue;

/**
 * The port to one running agent: one conversation. Made, and started, by a factory in the option `agents`.
 * @example
 * const echo: AgentFactory = () => {
 *   const frames = new PassThrough({ objectMode: true });
 *   return {
 *     attests: { workloads: [], yield: false, handoff: false, snapshot: false },
 *     frames,
 *     prompt: async (content, { generation }) => {
 *       frames.write({ type: 'output', generation, text: String(content) });
 *       return { stopReason: 'end_turn' };
 *     },
 *     close: () => void frames.end(),
 *   };
 * };
 */
export interface Agent {
  readonly attests: Attestation;
  /** The provider's name of the conversation, where it can be taken up again; kept with the session, and given to its next agent. */
  readonly conversationId?: string | null;
  readonly frames: AsyncIterable<Frame>;
  /** Resolves when the provider's turn is over. Rejecting before it was accepted means that nothing of it was taken. */
  prompt(content: PromptContent, context: PromptContext): Promise<TurnEnd>;
  /** Answers a `permission.request`. */
  answer?(requestId: string, choice: JsonValue): Promise<void> | void;
  /** Asks the provider to end the turn; its promise still decides when that is. */
  cancel?(generation: number): Promise<void> | void;
  /** Ends the agent and all its processes; resolves when they are gone, and may be called more than once. */
  close(): Promise<void> | void;
}

/** For whom an agent is started, and what its processes need to be found again. */
export interface AgentContext {
  /** The entry of `agents`. */
  readonly agentId: string;
  readonly sessionId: string;
  readonly taskId: string;
  /** The job it runs for; null when it is the session's own agent. */
  readonly jobId: string | null;
  /** Of a job: whether it is to start with the conversation of its session (`inherit`), where it can, or with none. Else null. */
  readonly contextMode: ContextMode | null;
  /** What the session's last agent called the conversation; null when there is none to take up. */
  readonly conversationId: string | null;
  /** Fires when the start is no longer wanted, and when the agent is to end. */
  readonly signal: AbortSignal;
  /** Put `executionId` into the environment of every process; note it with `launched`. */
  readonly execution: ExecutionHandle;
}

/** Starts an agent; throwing or rejecting is a failed start. */
export type AgentFactory = (context: AgentContext) => Agent | Promise<Agent>;

/** An agent with rules of its own. */
export interface AgentProfile {
  readonly start: AgentFactory;
  /** Overrides the engine's `display` for its sessions. */
  readonly display?: 'attested' | 'coarse';
  /** Overrides the engine's `admission` for its sessions. */
  readonly admission?: 'attested' | 'conservative';
}

/** Agents by the name that sessions and jobs give as `agentId`; the one named `default` serves those that give none. */
export type Agents = Readonly<Record<string, AgentFactory | AgentProfile>>;
