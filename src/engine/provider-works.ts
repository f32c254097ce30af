/**
 * The background work of one session that agents told of (liveness 6): who owns it, what ends it, what leaves it in doubt.
 *
 * PWK1  Every registration belongs to one execution; ids of different executions are different work.
 * PWK2  A completion by id is exact, idempotent and remembered: neither a late start nor a second completion does anything.
 * PWK3  A completion without an id ends the oldest candidate, whoever owns it; the other candidates become uncertain. As it may mean the work
 *       of any execution, a delivery counts once per session and not once per execution: an agent that takes up a conversation may tell
 *       again what the one before it has told.
 * PWK4  A snapshot replaces what is known of its execution, and of no other.
 * PWK5  Counts are sizes of sets, never counters of their own.
 * PWK6  Work beyond the limit is not registered, and the first of it is told.
 */
import { BoundedMap } from '../model/bounded-map.ts';
import type { WorkloadKind } from '../model/executor.ts';
import { LIMITS } from '../model/limits.ts';

export interface ProviderWork {
  readonly workloadId: string;
  readonly executionId: string;
  readonly kind: WorkloadKind;
  readonly toolCallId: string | null;
  /** Whether its kind is attested for admission, and not merely shown. */
  readonly admits: boolean;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Given by time of registration, over all executions. */
  readonly order: number;
  isUncertain: boolean;
  /** Monotonic milliseconds. */
  lastHeard: number;
  /** Other ids of it: its tool call, and what the provider calls it since. */
  readonly aliases: string[];
}

/** What is known of the work of one execution. */
interface ExecutionWorks {
  readonly live: Map<string, ProviderWork>;
  /** Live work by its other ids. */
  readonly aliases: Map<string, ProviderWork>;
  /** Ids of work, and of tool calls, whose end was told. */
  readonly ended: BoundedMap<string, true>;
}

export interface Completion {
  readonly executionId: string | null;
  readonly workloadId: string | null;
  readonly toolCallId: string | null;
  readonly kind: WorkloadKind | null;
  readonly eventId: string | null;
}

export interface ListedWork {
  readonly workloadId: string;
  readonly kind: WorkloadKind | null;
  readonly toolCallId: string | null;
  readonly admits: boolean;
}

export interface Moment {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Monotonic milliseconds. */
  readonly heardAt: number;
}

export class ProviderWorks {
  readonly #executions = new Map<string, ExecutionWorks>();
  readonly #subagents = new Set<ProviderWork>();
  readonly #deliveries = new BoundedMap<string, true>(LIMITS.endingsPerExecution);
  readonly #onFull: () => void;
  #size = 0;
  #order = 0;
  #hasBeenFull = false;

  /** `onFull` is called once, when work is not registered for want of room. */
  constructor(onFull: () => void = () => {}) {
    this.#onFull = onFull;
  }

  get size(): number {
    return this.#size;
  }

  get subagentCount(): number {
    return this.#subagents.size;
  }

  get uncertainCount(): number {
    let count = 0;
    for (const { live } of this.#executions.values()) for (const work of live.values()) if (work.isUncertain) count += 1;
    return count;
  }

  /** Oldest first. */
  list(): readonly ProviderWork[] {
    return [...this.#executions.values()].flatMap(({ live }) => [...live.values()]).sort((a, b) => a.order - b.order);
  }

  /** Whether work is live of a kind that is only shown. */
  get hasUnadmitting(): boolean {
    for (const { live } of this.#executions.values()) for (const work of live.values()) if (!work.admits) return true;
    return false;
  }

  find(executionId: string, id: string): ProviderWork | null {
    const works = this.#executions.get(executionId);
    return works?.live.get(id) ?? works?.aliases.get(id) ?? null;
  }

  /** The registration that a list means, by either of its ids. */
  findListed(
    executionId: string,
    { workloadId, toolCallId }: Pick<ListedWork, 'workloadId' | 'toolCallId'>,
  ): ProviderWork | null {
    return this.find(executionId, workloadId) ?? (toolCallId === null ? null : this.find(executionId, toolCallId));
  }

  /** Known already: a sign of life. Ended already: nothing. Answers whether anything is registered that was not before. */
  register(
    executionId: string,
    listed: ListedWork & { readonly kind: WorkloadKind },
    moment: Moment,
    isUncertain = false,
  ): boolean {
    const works = this.#worksOf(executionId);
    const known = this.findListed(executionId, listed);
    if (known !== null) {
      // A launch is often known by its tool call first, and gets its own id with the result.
      this.#alias(works, known, listed.workloadId);
      if (listed.toolCallId !== null) this.#alias(works, known, listed.toolCallId);
      this.#heard(known, moment);
      return false;
    }
    if (works.ended.has(listed.workloadId) || (listed.toolCallId !== null && works.ended.has(listed.toolCallId))) return false;
    if (this.#size >= LIMITS.workloadsPerSession) {
      if (!this.#hasBeenFull) this.#onFull();
      this.#hasBeenFull = true;
      return false;
    }
    const work: ProviderWork = {
      workloadId: listed.workloadId,
      executionId,
      kind: listed.kind,
      toolCallId: listed.toolCallId,
      admits: listed.admits,
      startedAt: moment.at,
      order: this.#order++,
      isUncertain,
      lastHeard: moment.heardAt,
      aliases: [],
    };
    works.live.set(work.workloadId, work);
    if (work.toolCallId !== null) this.#alias(works, work, work.toolCallId);
    if (work.kind === 'subagent') this.#subagents.add(work);
    this.#size += 1;
    return true;
  }

  /** Any frame of it: it is not quiet, and not in doubt. */
  heard(executionId: string, id: string, moment: Moment): void {
    const work = this.find(executionId, id);
    if (work !== null) this.#heard(work, moment);
  }

  /** Answers whether a registration has gone. */
  complete(completion: Completion): boolean {
    const { executionId, workloadId, toolCallId, eventId } = completion;
    if (eventId !== null) {
      if (this.#deliveries.has(eventId)) return false;
      this.#deliveries.set(eventId, true);
    }
    if (workloadId === null && toolCallId === null) return this.#completeOne(completion.kind);
    if (executionId === null) return false;
    const found =
      (workloadId === null ? null : this.find(executionId, workloadId)) ??
      (toolCallId === null ? null : this.find(executionId, toolCallId));
    const works = this.#worksOf(executionId);
    for (const id of [workloadId, toolCallId]) if (id !== null) works.ended.set(id, true);
    return found !== null && this.#end(found);
  }

  /** PWK4. Answers whether the set of registrations has changed. */
  replace(executionId: string, listed: readonly ListedWork[], moment: Moment): boolean {
    const kept = new Set<ProviderWork>();
    const added: ListedWork[] = [];
    for (const entry of listed) {
      const known = this.findListed(executionId, entry);
      if (known === null) added.push(entry);
      else {
        kept.add(known);
        this.#heard(known, moment);
      }
    }
    let hasChanged = false;
    for (const work of [...this.#worksOf(executionId).live.values()])
      if (!kept.has(work)) hasChanged = this.#retire(work) || hasChanged;
    for (const entry of added) {
      // Never announced: what it is, and when it will be told to end, is anybody's guess.
      hasChanged = this.register(executionId, { ...entry, kind: entry.kind ?? 'shell' }, moment, true) || hasChanged;
    }
    return hasChanged;
  }

  /** Answers whether there was one. */
  dismiss(workloadId: string): boolean {
    const found = this.list().find((work) => work.workloadId === workloadId);
    if (found === undefined) return false;
    this.complete({ executionId: found.executionId, workloadId, toolCallId: null, kind: null, eventId: null });
    return true;
  }

  /** Everything the execution owned. */
  retireExecution(executionId: string): boolean {
    const works = this.#executions.get(executionId);
    this.#executions.delete(executionId);
    if (works === undefined || works.live.size === 0) return false;
    for (const work of works.live.values()) this.#forget(work);
    return true;
  }

  #completeOne(kind: WorkloadKind | null): boolean {
    const candidates = this.list().filter((work) => kind === null || work.kind === kind);
    const [oldest, ...rest] = candidates;
    if (oldest === undefined) return false;
    this.#end(oldest);
    for (const work of rest) work.isUncertain = true;
    return true;
  }

  #alias(works: ExecutionWorks, work: ProviderWork, id: string): void {
    if (id === work.workloadId || works.live.has(id) || works.aliases.has(id)) return;
    works.aliases.set(id, work);
    work.aliases.push(id);
  }

  /** Its end was told: no id of it is heard again (PWK2). */
  #end(work: ProviderWork): boolean {
    const { ended } = this.#worksOf(work.executionId);
    for (const id of [work.workloadId, ...work.aliases]) ended.set(id, true);
    return this.#retire(work);
  }

  #retire(work: ProviderWork): boolean {
    const works = this.#worksOf(work.executionId);
    if (works.live.get(work.workloadId) !== work) return false;
    works.live.delete(work.workloadId);
    for (const id of work.aliases) if (works.aliases.get(id) === work) works.aliases.delete(id);
    this.#forget(work);
    return true;
  }

  #forget(work: ProviderWork): void {
    this.#subagents.delete(work);
    this.#size -= 1;
  }

  #heard(work: ProviderWork, moment: Moment): void {
    work.lastHeard = moment.heardAt;
    work.isUncertain = false;
  }

  #worksOf(executionId: string): ExecutionWorks {
    let works = this.#executions.get(executionId);
    if (works === undefined) {
      works = { live: new Map(), aliases: new Map(), ended: new BoundedMap(LIMITS.endingsPerExecution) };
      this.#executions.set(executionId, works);
    }
    return works;
  }
}
