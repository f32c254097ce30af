/**
 * ACP v1 as frames: a request per prompt, whose answer is the end of its turn (liveness 8).
 *
 * AOM1  Without metadata nothing is recognised: no work, no parents, no yield, no hand-off (L21, L123).
 * AOM2  What arrives belongs to the one request that is open. With two open, it belongs to the later one only if it was sent after the
 *       provider had said that the foreground of the earlier ones is free; else to none that can be proven.
 * AOM3  A foreground that is free is told with a generation only while exactly one request is open.
 * AOM4  History told again while a conversation is resumed makes no frames. What was at work in it ended with the old process (L124).
 */
import type { Frame } from '../model/agent.ts';
import { BoundedMap } from '../model/bounded-map.ts';
import { LIMITS } from '../model/limits.ts';
import { outputFrame, toolFields, toolStatusOf, usageFrame } from './acp-frames.ts';
import { type ClaudeCall, claimsHandoff, claudeOrigin, claudeParent, claudeWork, readClaudeCall } from './claude-metadata.ts';
import type { FrameMapping, MappingStep } from './frame-mapping.ts';
import { type Fields, fieldsOf, textOf } from './read-json.ts';

interface OpenRequest {
  readonly generation: number;
  isAccepted: boolean;
  /** The provider has said that its foreground is free. */
  isYielded: boolean;
  /** It was sent after all requests before it had yielded. */
  isAfterYield: boolean;
}

interface KnownCall {
  readonly generation: number;
  readonly claude: ClaudeCall | undefined;
}

export interface AcpV1MappingOptions {
  /** Whose metadata is to be read. Default: nobody's. */
  readonly metadata?: 'claude' | undefined;
}

export class AcpV1Mapping implements FrameMapping {
  readonly #readsClaude: boolean;
  #requests: OpenRequest[] = [];
  readonly #calls = new BoundedMap<string, KnownCall>(LIMITS.toolCallsPerExecution);

  constructor({ metadata }: AcpV1MappingOptions = {}) {
    this.#readsClaude = metadata === 'claude';
  }

  step(step: MappingStep): Frame[] {
    switch (step.step) {
      case 'connected':
        if (!this.#readsClaude) return [];
        return [{ type: 'capability', generation: 0, handoff: claimsHandoff(step.message), snapshot: false }];
      case 'replayed':
        this.#replayed(fieldsOf(step.message));
        return [];
      case 'resumed':
        return this.#resumed();
      case 'prompt':
        this.#requests.push({ generation: step.generation, isAccepted: false, isYielded: false, isAfterYield: false });
        return [];
      case 'accepted':
        return this.#accepted(step.generation);
      case 'answered': {
        const accepted = this.#accepted(step.generation);
        if (!this.#close(step.generation)) return [];
        return [...accepted, { type: 'turn.ended', generation: step.generation, stopReason: step.stopReason }];
      }
      case 'refused':
        this.#close(step.generation);
        return [];
      case 'told':
        return this.#told(fieldsOf(step.message));
      default:
        return [];
    }
  }

  generationOf(toolCallId: string | undefined): number {
    return (toolCallId === undefined ? undefined : this.#calls.get(toolCallId)?.generation) ?? this.#current();
  }

  #accepted(generation: number): Frame[] {
    const request = this.#requests.find((open) => open.generation === generation);
    if (request === undefined || request.isAccepted) return [];
    request.isAfterYield = this.#open().every(({ isYielded }) => isYielded);
    request.isAccepted = true;
    return [{ type: 'prompt.accepted', generation }];
  }

  #close(generation: number): boolean {
    const before = this.#requests.length;
    this.#requests = this.#requests.filter((open) => open.generation !== generation);
    return this.#requests.length < before;
  }

  /** What was not written yet can have caused nothing. */
  #open(): OpenRequest[] {
    return this.#requests.filter(({ isAccepted }) => isAccepted);
  }

  #current(): number {
    const open = this.#open();
    const last = open.at(-1);
    if (last === undefined) return 0;
    return open.length === 1 || last.isAfterYield ? last.generation : 0;
  }

  #told(update: Fields): Frame[] {
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        return this.#output(update, 'message');
      case 'agent_thought_chunk':
        return this.#output(update, 'thought');
      case 'tool_call':
      case 'tool_call_update':
        return this.#tool(update);
      case 'usage_update':
        return [...usageFrame(update, this.#current()), ...this.#cycleEnded(update)];
      default:
        return [];
    }
  }

  #output(update: Fields, channel: 'message' | 'thought'): Frame[] {
    const parent = this.#parentOf(update);
    const generation = parent === undefined ? this.#current() : this.generationOf(parent);
    return outputFrame(update, generation, channel).map((frame) =>
      parent === undefined || frame.type !== 'output' ? frame : { ...frame, parentToolCallId: parent },
    );
  }

  #parentOf(update: Fields): string | undefined {
    return this.#readsClaude ? claudeParent(update) : undefined;
  }

  #tool(update: Fields): Frame[] {
    const toolCallId = textOf(update.toolCallId);
    if (toolCallId === undefined) return [];
    const isCall = update.sessionUpdate === 'tool_call';
    const status = toolStatusOf(update.status);
    const parent = this.#parentOf(update);
    const before = this.#calls.get(toolCallId);
    const { generation, claude } = this.#note(toolCallId, update, parent);
    const work = claude === undefined ? undefined : claudeWork(claude);
    const fields = {
      generation,
      toolCallId,
      ...toolFields(update),
      ...(parent === undefined ? {} : { parentToolCallId: parent }),
      ...(work === undefined ? {} : { work }),
    };
    const frame: Frame = isCall
      ? { type: 'tool.call', ...fields, status: status ?? 'pending' }
      : { type: 'tool.update', ...fields, ...(status === undefined ? {} : { status }) };
    if (claude?.isOver !== true || before?.claude?.isOver === true) return [frame];
    const { workloadId } = claude;
    return [frame, { type: 'workload.ended', generation: 0, toolCallId, ...(workloadId === undefined ? {} : { workloadId }) }];
  }

  /** What is known of the call now. Its generation is that of its announcement; one that was never announced has none. */
  #note(toolCallId: string, update: Fields, parent: string | undefined): KnownCall {
    const before = this.#calls.get(toolCallId);
    const announced = parent === undefined ? this.#current() : this.generationOf(parent);
    const isCall = update.sessionUpdate === 'tool_call';
    const call: KnownCall = {
      generation: before?.generation ?? (isCall ? announced : 0),
      claude: this.#readsClaude ? readClaudeCall(before?.claude, update, toolStatusOf(update.status)) : undefined,
    };
    this.#calls.set(toolCallId, call);
    return call;
  }

  #cycleEnded(update: Fields): Frame[] {
    const origin = this.#readsClaude ? claudeOrigin(update) : null;
    if (origin === null) return [];
    if (origin.kind === 'completion') {
      return [{ type: 'workload.ended', generation: 0, ...(origin.eventId === undefined ? {} : { eventId: origin.eventId }) }];
    }
    const [only, ...others] = this.#open();
    if (only === undefined || others.length > 0) return [{ type: 'foreground.idle', generation: 0 }];
    only.isYielded = true;
    return [{ type: 'foreground.idle', generation: only.generation }];
  }

  #replayed(update: Fields): void {
    const toolCallId = textOf(update.toolCallId);
    if (toolCallId === undefined) return;
    if (update.sessionUpdate === 'tool_call' || update.sessionUpdate === 'tool_call_update') {
      this.#note(toolCallId, update, undefined);
    }
  }

  #resumed(): Frame[] {
    const frames: Frame[] = [];
    for (const [toolCallId, { claude }] of this.#calls.entries()) {
      if (claude?.isLaunched !== true || claude.isOver) continue;
      const title = 'Ended with the restart of the agent';
      frames.push({ type: 'tool.update', generation: 0, toolCallId, status: 'cancelled', title });
    }
    for (const toolCallId of [...this.#calls.keys()]) this.#calls.delete(toolCallId);
    return frames;
  }
}
