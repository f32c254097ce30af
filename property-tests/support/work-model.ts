/**
 * The reference for background work that agents tell of: plain lists and sets, one frame after the other (liveness 5 W3, 6, 8).
 *
 * MWK1  It knows the specification only, and nothing of how the engine does it.
 */
import type { Attestation, ToolStatus, ToolWork } from '../../src/model/agent.ts';
import type { WorkloadKind } from '../../src/model/executor.ts';

export const QUIET_AFTER_MS = 300_000;

export interface ModelWork {
  readonly execution: string;
  readonly workloadId: string;
  readonly toolCallId: string | null;
  /** Everything it was ever called. */
  readonly names: Set<string>;
  readonly kind: WorkloadKind;
  readonly admits: boolean;
  isUncertain: boolean;
  /** Elapsed milliseconds. */
  heardAt: number;
}

export interface ListedWork {
  readonly workloadId: string;
  readonly kind?: WorkloadKind;
  readonly toolCallId?: string;
}

export interface ToolFrame {
  readonly isCall: boolean;
  readonly toolCallId: string;
  readonly status?: ToolStatus;
  readonly parentToolCallId?: string;
  readonly work?: ToolWork;
  readonly hasOutput?: boolean;
  /** The turn it is said in; 0 for none. */
  readonly generation: number;
}

interface ToolCall {
  owner: 'foreground' | 'background' | 'child';
  readonly generation: number;
}

const ENDS: readonly (ToolStatus | undefined)[] = ['completed', 'failed', 'cancelled'];

export class WorkModel {
  /** Oldest first. */
  works: ModelWork[] = [];
  readonly #attests: Attestation;
  readonly #calls = new Map<string, ToolCall>();
  /** Calls that only launch their work. */
  readonly #launches = new Set<string>();
  readonly #ended = new Set<string>();
  readonly #deliveries = new Set<string>();
  /** Calls that have become jobs. */
  readonly #dispatched = new Set<string>();

  constructor(attests: Attestation) {
    this.#attests = attests;
  }

  /** How far this kind is vouched for; null: not at all. */
  ruleOf(kind: WorkloadKind): { readonly admits: boolean } | null {
    if (this.#attests.workloads.includes(kind)) return { admits: true };
    return this.#attests.shown?.includes(kind) === true ? { admits: false } : null;
  }

  /** Whether a listed entry may be listed at all: it is known, or vouched for. */
  isVouchedFor(execution: string, { workloadId, toolCallId, kind = 'shell' }: ListedWork): boolean {
    return this.#known(execution, [workloadId, toolCallId]) !== undefined || this.ruleOf(kind) !== null;
  }

  #known(execution: string, names: readonly (string | undefined)[]): ModelWork | undefined {
    for (const name of names) {
      const found = name === undefined ? undefined : this.find(execution, name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  find(execution: string, id: string): ModelWork | undefined {
    const own = this.works.filter((work) => work.execution === execution);
    return own.find((work) => work.workloadId === id) ?? own.find(({ names }) => names.has(id));
  }

  /** Answers whether it is new. */
  register(execution: string, { workloadId, kind, toolCallId }: ListedWork, now: number, isUncertain = false): boolean {
    const rule = this.ruleOf(kind ?? 'shell');
    if (rule === null || this.isDispatched(execution, toolCallId)) return false;
    const names = toolCallId === undefined ? [workloadId] : [workloadId, toolCallId];
    const known = this.#known(execution, names);
    if (known !== undefined) {
      for (const name of names) if (this.find(execution, name) === undefined) known.names.add(name);
      known.heardAt = now;
      known.isUncertain = false;
      return false;
    }
    if (names.some((name) => this.#ended.has(key(execution, name)))) return false;
    const { admits } = rule;
    this.works.push({
      execution,
      workloadId,
      toolCallId: toolCallId ?? null,
      names: new Set(names.filter((name) => this.find(execution, name) === undefined)),
      kind: kind ?? 'shell',
      admits,
      isUncertain,
      heardAt: now,
    });
    return true;
  }

  /** A launch that was announced as work of its own. */
  started(execution: string, listed: ListedWork & { readonly kind: WorkloadKind }, now: number): void {
    const { toolCallId } = listed;
    if (this.ruleOf(listed.kind) === null || this.isDispatched(execution, toolCallId)) return;
    this.register(execution, listed, now);
    if (toolCallId === undefined) return;
    const call = this.#calls.get(key(execution, toolCallId));
    if (call?.owner === 'foreground') call.owner = 'background';
    this.#launches.add(key(execution, toolCallId));
  }

  /** What the frame says of the foreground: it speaks, and may open a turn; or it speaks, if there is a turn. */
  tool(execution: string, frame: ToolFrame, now: number): 'speaks' | 'goes on' | null {
    const { toolCallId, parentToolCallId, work } = frame;
    const id = key(execution, toolCallId);
    const isEnd = ENDS.includes(frame.status);
    const isWork = work !== undefined && this.ruleOf(work.kind) !== null;
    // Also a call that was told to have launched work before it was told itself.
    const isBackground = isWork || this.#launches.has(id);
    let call = this.#calls.get(id);
    if (call === undefined && (frame.isCall || isBackground || parentToolCallId !== undefined)) {
      call = { owner: isBackground ? 'background' : 'foreground', generation: frame.generation };
      this.#calls.set(id, call);
    }
    if (call !== undefined && isBackground && call.owner === 'foreground') call.owner = 'background';
    if (call !== undefined && parentToolCallId !== undefined) call.owner = 'child';
    if (isWork && !this.isDispatched(execution, toolCallId) && (!isEnd || work.isDetached)) {
      this.register(execution, { workloadId: work.workloadId ?? toolCallId, toolCallId, kind: work.kind }, now);
      if (work.isDetached) this.#launches.add(id);
    }
    this.heard(execution, toolCallId, now);
    if (parentToolCallId !== undefined) this.heard(execution, parentToolCallId, now);
    if (isEnd) {
      this.#calls.delete(id);
      const isLaunch = work?.isDetached === true || this.#launches.has(id);
      const isOfWork = isWork || call?.owner === 'background' || this.find(execution, toolCallId) !== undefined;
      if (isOfWork && !isLaunch) this.complete({ execution, toolCallId });
    }
    if (call?.owner !== 'foreground') return null;
    if (!isEnd) return 'speaks';
    return frame.hasOutput === true ? 'goes on' : null;
  }

  heard(execution: string, id: string, now: number): void {
    const work = this.find(execution, id);
    if (work === undefined) return;
    work.heardAt = now;
    work.isUncertain = false;
  }

  /** Answers whether one has gone. */
  complete(told: {
    readonly execution: string | null;
    readonly workloadId?: string;
    readonly toolCallId?: string;
    readonly kind?: WorkloadKind;
    readonly eventId?: string;
  }): boolean {
    const { execution, workloadId, toolCallId, kind, eventId } = told;
    if (eventId !== undefined && this.#deliveries.has(eventId)) return false;
    if (eventId !== undefined) this.#deliveries.add(eventId);
    if (workloadId === undefined && toolCallId === undefined) {
      const [oldest, ...rest] = this.works.filter((work) => kind === undefined || work.kind === kind);
      for (const work of rest) work.isUncertain = true;
      return oldest !== undefined && this.#end(oldest);
    }
    if (execution === null) return false;
    const found = this.#known(execution, [workloadId, toolCallId]);
    for (const id of [workloadId, toolCallId]) if (id !== undefined) this.#ended.add(key(execution, id));
    return found !== undefined && this.#end(found);
  }

  /** Answers whether anything was registered, or has gone. */
  snapshot(execution: string, listed: readonly ListedWork[], now: number): boolean {
    const kept = new Set<ModelWork>();
    const fresh: ListedWork[] = [];
    for (const entry of listed) {
      // A job of the engine, by another name.
      if (this.isDispatched(execution, entry.toolCallId)) continue;
      const known = this.#known(execution, [entry.workloadId, entry.toolCallId]);
      if (known === undefined) fresh.push(entry);
      else {
        kept.add(known);
        known.heardAt = now;
        known.isUncertain = false;
      }
    }
    const gone = this.works.filter((work) => work.execution === execution && !kept.has(work));
    this.works = this.works.filter((work) => !gone.includes(work));
    const added = fresh.filter((entry) => this.register(execution, entry, now, true));
    return gone.length + added.length > 0;
  }

  dismiss(workloadId: string): boolean {
    const found = this.works.find((work) => work.workloadId === workloadId);
    return found !== undefined && this.complete({ execution: found.execution, workloadId });
  }

  /** The call has become a job of the engine. */
  dispatched(execution: string, toolCallId: string): void {
    this.#dispatched.add(key(execution, toolCallId));
    this.complete({ execution, toolCallId });
  }

  isDispatched(execution: string, toolCallId: string | undefined): boolean {
    return toolCallId !== undefined && this.#dispatched.has(key(execution, toolCallId));
  }

  /** The turn is over: what it opened in the foreground is forgotten. */
  sweep(execution: string, generation: number): void {
    for (const [id, call] of this.#calls) {
      if (call.owner === 'foreground' && call.generation === generation && id.startsWith(key(execution, '')))
        this.#calls.delete(id);
    }
  }

  /** Nothing holds what was remembered. */
  forget(): void {
    this.#deliveries.clear();
  }

  retire(execution: string): void {
    this.works = this.works.filter((work) => work.execution !== execution);
  }

  #end(work: ModelWork): boolean {
    this.works = this.works.filter((other) => other !== work);
    for (const name of [work.workloadId, ...work.names]) this.#ended.add(key(work.execution, name));
    return true;
  }
}

const key = (execution: string, id: string): string => `${execution}/${id}`;
