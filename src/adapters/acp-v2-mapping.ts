/**
 * The draft of ACP v2, as frames: states with lists of what runs behind them (liveness 8).
 *
 * AVM1  A prompt is accepted by the answer with its message id. No request stays open: `idle` ends the turn.
 * AVM2  Only a change to idle ends a turn. Idle told again is no second end, and idle before the prompt was accepted belongs to others;
 *       unless the whole turn lay between the prompt and its answer.
 * AVM3  A list that is left out, or malformed, says nothing; `[]` says that nothing runs. What was never announced has no kind.
 * AVM4  While the state is idle, tools are work behind the foreground: they are told as updates, which open no turn.
 */
import type { Frame } from '../model/agent.ts';
import { BoundedMap } from '../model/bounded-map.ts';
import type { WorkloadKind } from '../model/executor.ts';
import { LIMITS } from '../model/limits.ts';
import { isFinal, outputFrame, toolFields, toolStatusOf, usageFrame } from './acp-frames.ts';
import type { FrameMapping, MappingStep } from './frame-mapping.ts';
import { type Fields, fieldsOf, isFields, listOf, textOf } from './read-json.ts';

/** The protocol has no kinds of work; the programmatic name of a tool says what it launches. Anything else is a shell. */
const KIND_BY_TOOL: Readonly<Record<string, WorkloadKind>> = {
  agent: 'subagent',
  subagent: 'subagent',
  task: 'subagent',
  monitor: 'monitor',
  watch: 'monitor',
};
const UNSPECIFIED = 'unspecified';

interface OpenPrompt {
  readonly generation: number;
  isAccepted: boolean;
  isCancelled: boolean;
  /** Nothing was at work in the foreground when it was sent. */
  readonly wasIdle: boolean;
  /** How a turn ended that lay between the prompt and its answer. */
  endedEarly: string | null;
}

interface Announced {
  readonly generation: number;
  readonly kind: WorkloadKind;
}

type ListedWork = Extract<Frame, { type: 'workload.snapshot' }>['workloads'][number];

export class AcpV2Mapping implements FrameMapping {
  #prompts: OpenPrompt[] = [];
  #isBusy = false;
  readonly #tools = new BoundedMap<string, Announced>(LIMITS.toolCallsPerExecution);
  readonly #terminals = new BoundedMap<string, true>(LIMITS.toolCallsPerExecution);
  /** Messages that were told in pieces, and are not told again as a whole. */
  readonly #pieced = new BoundedMap<string, true>(LIMITS.toolCallsPerExecution);
  #listed = new Set<string>();

  step(step: MappingStep): Frame[] {
    switch (step.step) {
      case 'connected':
        return [{ type: 'capability', generation: 0, handoff: false, snapshot: fieldsOf(step.message).protocolVersion === 2 }];
      case 'prompt':
        return this.#sent(step.generation);
      case 'accepted':
        return this.#accepted(step.generation);
      case 'refused':
        this.#prompts = this.#prompts.filter(({ generation }) => generation !== step.generation);
        return [];
      case 'cancelled':
        for (const prompt of this.#prompts) prompt.isCancelled ||= prompt.generation === step.generation;
        return [];
      case 'told':
        return this.#told(fieldsOf(step.message));
      default:
        return [];
    }
  }

  generationOf(toolCallId: string | undefined): number {
    return (toolCallId === undefined ? undefined : this.#tools.get(toolCallId)?.generation) ?? this.#current();
  }

  /** The accepted prompt, when there is exactly one. */
  #current(): number {
    const [first, ...others] = this.#prompts.filter(({ isAccepted }) => isAccepted);
    return first !== undefined && others.length === 0 ? first.generation : 0;
  }

  #sent(generation: number): Frame[] {
    this.#prompts.push({ generation, isAccepted: false, isCancelled: false, wasIdle: !this.#isBusy, endedEarly: null });
    return [];
  }

  #accepted(generation: number): Frame[] {
    const prompt = this.#prompts.find((open) => open.generation === generation);
    if (prompt === undefined || prompt.isAccepted) return [];
    prompt.isAccepted = true;
    const frames: Frame[] = [{ type: 'prompt.accepted', generation }];
    if (prompt.endedEarly !== null && !this.#isBusy) frames.push(...this.#end(prompt, prompt.endedEarly));
    return frames;
  }

  #end(prompt: OpenPrompt, stopReason: string): Frame[] {
    this.#prompts = this.#prompts.filter((open) => open !== prompt);
    return [{ type: 'turn.ended', generation: prompt.generation, stopReason }];
  }

  #told(update: Fields): Frame[] {
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
        return this.#piece(update, 'message');
      case 'agent_thought_chunk':
        return this.#piece(update, 'thought');
      case 'agent_message':
        return this.#whole(update, 'message');
      case 'agent_thought':
        return this.#whole(update, 'thought');
      case 'state_update':
        return this.#state(update);
      case 'tool_call_update':
        return this.#tool(update);
      case 'tool_call_content_chunk':
        return this.#tool({ toolCallId: update.toolCallId, content: [update.content] });
      case 'terminal_update':
        return this.#terminal(update);
      case 'terminal_output_chunk':
        return this.#signOfLife(textOf(update.terminalId));
      case 'usage_update':
        return usageFrame(update, this.#current());
      default:
        return [];
    }
  }

  #piece(update: Fields, channel: 'message' | 'thought'): Frame[] {
    const messageId = textOf(update.messageId);
    if (messageId !== undefined) this.#pieced.set(messageId, true);
    return outputFrame(update, this.#current(), channel);
  }

  #whole(update: Fields, channel: 'message' | 'thought'): Frame[] {
    const messageId = textOf(update.messageId);
    if (messageId === undefined || this.#pieced.has(messageId)) return [];
    return listOf(update.content).flatMap((content) => this.#piece({ messageId, content }, channel));
  }

  #state(update: Fields): Frame[] {
    const { state } = update;
    const wasBusy = this.#isBusy;
    // A state that is not known is a busy one, and what it lists is not known either.
    this.#isBusy = state !== 'idle';
    const isKnown = state === 'idle' || state === 'running' || state === 'requires_action';
    const frames = isKnown ? this.#snapshot(update.background) : [];
    if (this.#isBusy) return frames;
    return [...frames, ...this.#idle(wasBusy, textOf(update.stopReason) ?? UNSPECIFIED)];
  }

  #idle(wasBusy: boolean, stopReason: string): Frame[] {
    const ended = this.#prompts.filter(({ isAccepted, isCancelled }) => isAccepted && (wasBusy || isCancelled));
    for (const prompt of this.#prompts) {
      if (!prompt.isAccepted && prompt.wasIdle && wasBusy) prompt.endedEarly = stopReason;
    }
    if (ended.length === 0) return [{ type: 'foreground.idle', generation: 0 }];
    return ended.flatMap((prompt) => this.#end(prompt, stopReason));
  }

  #snapshot(background: unknown): Frame[] {
    if (!Array.isArray(background)) return [];
    const works = background.map((item, index) => this.#work(item, index));
    if (!works.every((work): work is ListedWork => work !== null)) return [];
    this.#listed = new Set(works.map(({ workloadId }) => workloadId));
    return [{ type: 'workload.snapshot', generation: 0, workloads: works }];
  }

  /** Null when the item is malformed. */
  #work(item: unknown, index: number): ListedWork | null {
    if (!isFields(item) || typeof item.type !== 'string') return null;
    if (item.type === 'terminal') {
      const workloadId = textOf(item.terminalId);
      if (workloadId === undefined) return null;
      return this.#terminals.has(workloadId) ? { workloadId, kind: 'shell' } : { workloadId };
    }
    if (item.type === 'tool_call') {
      const workloadId = textOf(item.toolCallId);
      if (workloadId === undefined) return null;
      const announced = this.#tools.get(workloadId);
      return { workloadId, ...(announced === undefined ? {} : { kind: announced.kind }), toolCallId: workloadId };
    }
    // Something runs, of a sort that this version does not know.
    return { workloadId: textOf(item.id) ?? `${item.type}#${index}` };
  }

  #tool(update: Fields): Frame[] {
    const toolCallId = textOf(update.toolCallId);
    if (toolCallId === undefined) return [];
    const status = toolStatusOf(update.status);
    const known = this.#tools.get(toolCallId);
    const generation = known?.generation ?? (this.#isBusy ? this.#current() : 0);
    const named = textOf(update.name)?.toLowerCase();
    if (known === undefined || named !== undefined) {
      const kind = (named !== undefined && Object.hasOwn(KIND_BY_TOOL, named) ? KIND_BY_TOOL[named] : undefined) ?? 'shell';
      this.#tools.set(toolCallId, { generation, kind });
    }
    for (const { type, terminalId } of listOf(update.content).map(fieldsOf)) {
      const id = textOf(terminalId);
      if (type === 'terminal' && id !== undefined) this.#terminals.set(id, true);
    }
    const fields = { generation, toolCallId, ...toolFields(update) };
    const frame: Frame =
      known === undefined && this.#isBusy
        ? { type: 'tool.call', ...fields, status: status ?? 'pending' }
        : { type: 'tool.update', ...fields, ...(status === undefined ? {} : { status }) };
    return [frame, ...(isFinal(status) ? this.#ended(toolCallId, toolCallId) : [])];
  }

  #terminal(update: Fields): Frame[] {
    const terminalId = textOf(update.terminalId);
    if (terminalId === undefined) return [];
    this.#terminals.set(terminalId, true);
    return isFields(update.exitStatus) ? this.#ended(terminalId) : this.#signOfLife(terminalId);
  }

  #ended(workloadId: string, toolCallId?: string): Frame[] {
    if (!this.#listed.delete(workloadId)) return [];
    return [{ type: 'workload.ended', generation: 0, workloadId, ...(toolCallId === undefined ? {} : { toolCallId }) }];
  }

  #signOfLife(workloadId: string | undefined): Frame[] {
    if (workloadId === undefined || !this.#listed.has(workloadId)) return [];
    return [{ type: 'workload.started', generation: 0, kind: 'shell', workloadId }];
  }
}
