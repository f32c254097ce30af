/**
 * Background work by what was said of it in this life: which of it may be there, and which has ended for good.
 *
 * WBK1  Work is nobody's invention: its agent, or the host on behalf of it, has named it.
 * WBK2  An end that names its work is remembered: no id of it is heard again.
 */
import type { Fact, FactOf } from '../facts.ts';
import type { Known } from '../known.ts';

interface Named {
  readonly ids: Set<string>;
  /** Ended by their own id. */
  readonly ended: Set<string>;
}

export class WorkBook {
  /** By execution. */
  readonly #named = new Map<string, Named>();
  /** Ids of deliveries, of whichever session. */
  readonly #deliveries = new Set<unknown>();

  note(fact: Fact, known: Known): void {
    if (fact.type === 'crashed' || fact.type === 'closed') {
      this.#named.clear();
      this.#deliveries.clear();
    } else if (fact.type === 'agent.said') {
      const executionId = known.agents.get(fact.agent)?.started.executionId;
      if (executionId !== undefined) this.#said(this.#of(executionId), fact.frame);
    } else if (fact.type === 'asked') this.#asked(fact);
    else if (fact.type === 'answered') this.#answered(fact, known);
  }

  /** Whether anybody has ever spoken of it. */
  isNamed(executionId: string, workloadId: string): boolean {
    return this.#named.get(executionId)?.ids.has(workloadId) === true;
  }

  hasEnded(executionId: string, workloadId: string): boolean {
    return this.#named.get(executionId)?.ended.has(workloadId) === true;
  }

  #of(executionId: string): Named {
    let named = this.#named.get(executionId);
    if (named === undefined) {
      named = { ids: new Set(), ended: new Set() };
      this.#named.set(executionId, named);
    }
    return named;
  }

  #said({ ids, ended }: Named, frame: FactOf<'agent.said'>['frame']): void {
    const { work } = frame as { readonly work?: { readonly workloadId?: unknown } };
    for (const id of [frame.workloadId, frame.toolCallId, work?.workloadId]) if (isId(id)) ids.add(id);
    if (Array.isArray(frame.workloads)) addListed(ids, frame.workloads);
    if (frame.type !== 'workload.ended') return;
    const isReadable = [frame.toolCallId, frame.eventId].every((id) => id === undefined || isId(id));
    // One that names its delivery may be the same one again.
    const isFirst = frame.eventId === undefined || !this.#deliveries.has(frame.eventId);
    this.#deliveries.add(frame.eventId);
    if (isReadable && isFirst && isId(frame.workloadId)) ended.add(frame.workloadId);
  }

  #asked({ verb, args }: FactOf<'asked'>): void {
    const given = (args[0] ?? {}) as { readonly [name: string]: unknown };
    if (typeof given.executionId !== 'string') return;
    if (verb === 'workloads.register' && isId(given.workloadId)) this.#of(given.executionId).ids.add(given.workloadId);
    if (verb === 'workloads.snapshot' && Array.isArray(given.workloads))
      addListed(this.#of(given.executionId).ids, given.workloads);
  }

  #answered({ call, verb, value }: FactOf<'answered'>, known: Known): void {
    if (verb !== 'workloads.complete' || (value as { readonly changed: boolean }).changed !== true) return;
    const given = known.calls.get(call)?.asked.args[0] as { readonly executionId?: string; readonly workloadId?: string };
    if (given.executionId !== undefined && given.workloadId !== undefined)
      this.#of(given.executionId).ended.add(given.workloadId);
  }
}

const isId = (value: unknown): value is string => typeof value === 'string' && value !== '';

function addListed(ids: Set<string>, listed: readonly unknown[]): void {
  for (const entry of listed) {
    const { workloadId } = (entry ?? {}) as { readonly workloadId?: unknown };
    if (isId(workloadId)) ids.add(workloadId);
  }
}
