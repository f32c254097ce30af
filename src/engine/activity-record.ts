/**
 * What is known of one session while anything of it lives: its activity chart, its background work, its tool calls (liveness 2).
 *
 * ARC1  The chart hears of work only when its presence changes; everything shown is computed from chart and registrations (G11).
 * ARC2  A session in which only jobs run needs no actor: it starts, in the state that it would be in, with the first event of the foreground.
 * ARC3  The record is empty exactly when it holds no registration, claim, turn, and nothing that was closed without its agent.
 */
import {
  type ActivityActor,
  contextOf,
  isClaimed,
  isForegroundIdle,
  startActivityActor,
  takes,
} from '../actors/activity-actor.ts';
import type { Roster } from '../actors/supervisor-actor.ts';
import { type ActivityContext, type ActivityEvent, NEW_ACTIVITY } from '../machines/session-activity.ts';
import { type ActivityValue, tierOf } from '../model/activity.ts';
import { JobWorks } from './job-works.ts';
import { type Moment, type ProviderWork, ProviderWorks } from './provider-works.ts';
import { ToolCalls } from './tool-calls.ts';

export class ActivityRecord {
  readonly activityEpoch: number;
  readonly #roster: Roster;
  readonly #onFull: () => void;
  #actor: ActivityActor | null = null;
  #jobs: JobWorks | null = null;
  #provider: ProviderWorks | null = null;
  #tools: ToolCalls | null = null;

  /** `onFull`: see `ProviderWorks`. */
  constructor(roster: Roster, activityEpoch: number, onFull: () => void) {
    this.#roster = roster;
    this.activityEpoch = activityEpoch;
    this.#onFull = onFull;
  }

  // Made when first asked for: most sessions need only some of them.
  get jobs(): JobWorks {
    this.#jobs ??= new JobWorks();
    return this.#jobs;
  }

  get provider(): ProviderWorks {
    this.#provider ??= new ProviderWorks(this.#onFull);
    return this.#provider;
  }

  get tools(): ToolCalls {
    this.#tools ??= new ToolCalls();
    return this.#tools;
  }

  get context(): ActivityContext {
    return this.#actor === null ? NEW_ACTIVITY : contextOf(this.#actor);
  }

  get isForegroundIdle(): boolean {
    return this.#actor === null || isForegroundIdle(this.#actor);
  }

  get isClaimed(): boolean {
    return this.#actor !== null && isClaimed(this.#actor);
  }

  get hasWork(): boolean {
    return (this.#jobs?.size ?? 0) + (this.#provider?.size ?? 0) > 0;
  }

  /** Whether work is live that an agent told of. */
  get hasProviderWork(): boolean {
    return (this.#provider?.size ?? 0) > 0;
  }

  /** Whether work is live that is shown and does not admit. */
  get hasUnadmittingWork(): boolean {
    return this.#provider?.hasUnadmitting === true;
  }

  get uncertainCount(): number {
    return this.#provider?.uncertainCount ?? 0;
  }

  /** Work that the agent told of, oldest first. */
  get providerWorks(): readonly ProviderWork[] {
    return this.#provider?.list() ?? [];
  }

  /** ARC2. */
  get actor(): ActivityActor | null {
    return this.#actor;
  }

  /** The actor, from here on in any case. */
  wake(): ActivityActor {
    this.#actor ??= startActivityActor(this.#roster, this.hasWork);
    return this.#actor;
  }

  /** Whether the chart took it. */
  send(event: ActivityEvent): boolean {
    return takes(this.wake(), event);
  }

  /** Tells the chart when the presence of work has changed. */
  noteWork(): void {
    if (this.#actor === null) return;
    const { hasWork } = this;
    if (hasWork !== this.#actor.getSnapshot().hasTag('has-work'))
      this.#actor.send({ type: hasWork ? 'work.began' : 'work.ended' });
  }

  value(): ActivityValue {
    return {
      foregroundActivity: tierOf(this.isForegroundIdle, this.hasWork),
      activeSubagentCount: (this.#jobs?.subagentCount ?? 0) + (this.#provider?.subagentCount ?? 0),
    };
  }

  /** A sign of life of whatever goes by that id. */
  heard(executionId: string, id: string, moment: Moment): void {
    this.#provider?.heard(executionId, id, moment);
  }

  /** Whether work that the agent told of goes by that id. */
  hasWorkOf(executionId: string, id: string): boolean {
    return this.#provider?.find(executionId, id) != null;
  }

  /** The turn is over: what it opened in the foreground is forgotten. */
  sweepTools(executionId: string, generation: number): void {
    this.#tools?.sweep(executionId, generation);
  }

  retireExecution(executionId: string): void {
    this.#provider?.retireExecution(executionId);
    this.#tools?.retireExecution(executionId);
    this.#actor?.send({ type: 'execution.retire', executionId });
    this.noteWork();
  }

  /** ARC3. */
  get isEmpty(): boolean {
    if (this.hasWork || !this.isForegroundIdle) return false;
    const { turns, stuck } = this.context;
    return turns.length === 0 && stuck.length === 0;
  }

  drop(): void {
    this.#actor?.send({ type: 'record.drop' });
  }
}
