/**
 * One session while anything of it lives in this process: its row as decided, its record, its agent, the prompts that wait.
 *
 * LSE1  `row` runs ahead of the stored one; outsiders are shown the stored one.
 * LSE2  What was told last (`told`) outlives the record, so that a record made anew tells only what differs.
 */
import { type ActivityValue, NO_ACTIVITY } from '../model/activity.ts';
import type { BoundedMap } from '../model/bounded-map.ts';
import type { StopTimer } from '../model/clock.ts';
import type { SessionRow } from '../model/records.ts';
import type { ActivityRecord } from './activity-record.ts';
import type { AgentExecution } from './agent-execution.ts';
import type { OpenPrompt } from './open-prompt.ts';
import type { AskedRequest } from './session-requests.ts';
import type { WaitingPrompt } from './ticket-line.ts';

/** Shared while there are none. */
const NONE: readonly AskedRequest[] = [];
const NOBODY: readonly AgentExecution[] = [];

export class LiveSession {
  readonly sessionId: string;
  readonly taskId: string;
  /** As decided; null until somebody needed it. */
  row: SessionRow | null = null;
  record: ActivityRecord | null = null;
  #agent: AgentExecution | null = null;
  told: ActivityValue = NO_ACTIVITY;
  /** What the last event of any kind has said: while tellings are held back, a state's event says more than they did. */
  shown: ActivityValue = NO_ACTIVITY;
  /** Writes of its row that are not stored yet. */
  unstored = 0;
  /** Nothing is stored or told of it any more, whoever still holds on to it. */
  isRemoved = false;
  /** Calls that hold on to it across an await. */
  holds = 0;
  #retiring: Set<AgentExecution> | null = null;
  #tickets: WaitingPrompt[] | null = null;
  #prompts: Map<number, OpenPrompt> | null = null;
  /** The prompt that holds the claim. */
  claimant: OpenPrompt | null = null;
  /** Requests of the agent that nobody has answered; the first one is the row's. */
  requests: readonly AskedRequest[] = NONE;
  /** Monotonic milliseconds of when its agent waited last, for an answer or for a foreground job. */
  lastWaited = Number.NEGATIVE_INFINITY;
  /** Not null while somebody looks after it from time to time, because it could fall silent. */
  stopWatch: StopTimer | null = null;
  /** Usage of turns that are closed; the open ones keep theirs. */
  usage: Readonly<Record<string, number>> | null = null;
  /** Tool calls that became jobs, with their executions (W3). */
  dispatched: BoundedMap<string, true> | null = null;
  /** Resolves when a start that is under way is over. */
  starting: Promise<AgentExecution> | null = null;

  constructor(sessionId: string, taskId: string) {
    this.sessionId = sessionId;
    this.taskId = taskId;
  }

  /** The current one, also while it starts. */
  get agent(): AgentExecution | null {
    return this.#agent;
  }

  /** Only if it is the expected one (REG4). */
  swapAgent(expected: AgentExecution | null, next: AgentExecution | null): boolean {
    if (this.#agent !== expected) return false;
    this.#agent = next;
    return true;
  }

  /** Predecessors whose `close` has not resolved. */
  get retiring(): Iterable<AgentExecution> {
    return this.#retiring ?? NOBODY;
  }

  get retiringCount(): number {
    return this.#retiring?.size ?? 0;
  }

  get hasRetiring(): boolean {
    return this.#retiring !== null;
  }

  retire(execution: AgentExecution): void {
    this.#retiring ??= new Set();
    this.#retiring.add(execution);
  }

  hasRetired(execution: AgentExecution): void {
    this.#retiring?.delete(execution);
    if (this.#retiring?.size === 0) this.#retiring = null;
  }

  get tickets(): WaitingPrompt[] {
    this.#tickets ??= [];
    return this.#tickets;
  }

  get ticketCount(): number {
    return this.#tickets?.length ?? 0;
  }

  /** By generation: prompts whose agent has not answered, also late ones that are inert. */
  get prompts(): Map<number, OpenPrompt> {
    this.#prompts ??= new Map();
    return this.#prompts;
  }

  /** Its agent has answered, or is gone. */
  forgetPrompt(generation: number): void {
    this.#prompts?.delete(generation);
    if (this.#prompts?.size === 0) this.#prompts = null;
  }

  get promptCount(): number {
    return this.#prompts?.size ?? 0;
  }

  /** Nothing is left that the store does not know. */
  get isOver(): boolean {
    return (
      this.record === null &&
      this.agent === null &&
      this.#retiring === null &&
      this.ticketCount === 0 &&
      this.promptCount === 0 &&
      this.claimant === null &&
      this.unstored === 0 &&
      this.holds === 0
    );
  }
}
