/**
 * Who a tool call belongs to (liveness 6): the foreground, background work, or a child of it.
 *
 * TCL1  Ownership is set by the first frame of (execution, tool call) and kept; what a later frame leaves out changes nothing.
 * TCL2  A parent makes it a child; attestation may make a foreground call background work. Nothing leads back.
 * TCL3  Another execution's ownership of the same id is no evidence.
 * TCL4  It is forgotten at its terminal frame, and with its execution; a turn that ends sweeps only what it opened in the foreground.
 * TCL5  That a call only launched its work is remembered beyond its end: told again, that end is not the work's either.
 */
import { BoundedMap } from '../model/bounded-map.ts';
import { LIMITS } from '../model/limits.ts';

export type ToolOwner = 'foreground' | 'background' | 'child';

interface ToolCall {
  owner: ToolOwner;
  readonly generation: number;
}

export class ToolCalls {
  readonly #executions = new Map<string, BoundedMap<string, ToolCall>>();
  /** By execution: calls that only launched their work. */
  readonly #launches = new Map<string, BoundedMap<string, true>>();

  /** Null: unknown, which never changes activity. */
  ownerOf(executionId: string, toolCallId: string): ToolOwner | null {
    return this.#executions.get(executionId)?.get(toolCallId)?.owner ?? null;
  }

  /** Notes what a frame proves. `isCall`: it is the call itself, so without further evidence it is the foreground's. */
  note(
    executionId: string,
    toolCallId: string,
    evidence: { readonly hasParent: boolean; readonly isWork: boolean; readonly isCall: boolean; readonly generation: number },
  ): ToolOwner | null {
    const known = this.#executions.get(executionId)?.get(toolCallId);
    const isWork = evidence.isWork || this.isDetached(executionId, toolCallId);
    if (known !== undefined) {
      if (evidence.hasParent) known.owner = 'child';
      else if (isWork && known.owner === 'foreground') known.owner = 'background';
      return known.owner;
    }
    const owner = evidence.hasParent ? 'child' : isWork ? 'background' : evidence.isCall ? 'foreground' : null;
    if (owner !== null) this.#callsOf(executionId).set(toolCallId, { owner, generation: evidence.generation });
    return owner;
  }

  /** The call launched work that goes on without it. */
  noteDetached(executionId: string, toolCallId: string): void {
    const known = this.#executions.get(executionId)?.get(toolCallId);
    if (known?.owner === 'foreground') known.owner = 'background';
    let launches = this.#launches.get(executionId);
    if (launches === undefined) {
      launches = new BoundedMap(LIMITS.toolCallsPerExecution);
      this.#launches.set(executionId, launches);
    }
    launches.set(toolCallId, true);
  }

  isDetached(executionId: string, toolCallId: string): boolean {
    return this.#launches.get(executionId)?.has(toolCallId) === true;
  }

  forget(executionId: string, toolCallId: string): void {
    this.#executions.get(executionId)?.delete(toolCallId);
  }

  sweep(executionId: string, generation: number): void {
    const calls = this.#executions.get(executionId);
    if (calls === undefined) return;
    for (const toolCallId of [...calls.keys()]) {
      const call = calls.get(toolCallId);
      if (call?.owner === 'foreground' && call.generation === generation) calls.delete(toolCallId);
    }
  }

  retireExecution(executionId: string): void {
    this.#executions.delete(executionId);
    this.#launches.delete(executionId);
  }

  #callsOf(executionId: string): BoundedMap<string, ToolCall> {
    let calls = this.#executions.get(executionId);
    if (calls === undefined) {
      calls = new BoundedMap(LIMITS.toolCallsPerExecution);
      this.#executions.set(executionId, calls);
    }
    return calls;
  }
}
