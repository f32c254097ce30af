/**
 * Frames of agents become facts of sessions (liveness 3, 4 and 6).
 *
 * FRM1  A frame counts only for the generation that it proves; of another execution's generation, or of a turn that has ended, it changes no activity.
 * FRM2  Any frame of a generation that was not accepted yet accepts it first.
 * FRM3  Frames of children, and of tool calls that nobody knows, never change activity.
 * FRM4  A yield counts only if the adapter attests yield and hand-off, the provider has said so, and the generation is the current one.
 * FRM5  Whatever a frame holds, it harms nobody: what cannot be read is counted and left out.
 */
import { currentTurn } from '../machines/session-activity.ts';
import type { Attestation, Frame, ToolStatus } from '../model/agent.ts';
import type { WorkloadKind } from '../model/executor.ts';
import type { AgentExecution } from './agent-execution.ts';
import type { Core } from './core.ts';
import type { LiveSession } from './live-session.ts';
import type { OpenPrompt } from './open-prompt.ts';
import type { Moment } from './provider-works.ts';
import type { SessionRequests } from './session-requests.ts';
import { isId } from './spawn-request.ts';
import type { Turns } from './turns.ts';
import { usageOf } from './usage.ts';
import { isNotDispatched, workKind } from './workload-rules.ts';

type FrameOf<Type extends Frame['type']> = Extract<Frame, { type: Type }>;

export interface FrameIntakeHost {
  readonly turns: Turns;
  readonly requests: SessionRequests;
  /** The foreground may be free. */
  onFree(session: LiveSession): void;
}

export class FrameIntake {
  readonly #core: Core;
  readonly #host: FrameIntakeHost;
  /** Frames that could not be read. */
  unreadable = 0;

  constructor(core: Core, host: FrameIntakeHost) {
    this.#core = core;
    this.#host = host;
  }

  take(session: LiveSession, execution: AgentExecution, frame: Frame): void {
    if (execution.hasRetired) return;
    // Whatever it is, and whether it can be read or not.
    execution.lastHeard = this.#core.settings.clock.monotonic();
    try {
      const prompt = this.#promptOf(session, execution, frame);
      if (prompt !== null) this.#host.turns.accepted(session, prompt);
      this.#apply(session, execution, frame, prompt);
    } catch (error) {
      this.unreadable += 1;
      this.#core.report('frame.unreadable', error);
    }
    this.#core.liveness.settle();
  }

  /** The open prompt that the frame proves to belong to. */
  #promptOf(session: LiveSession, execution: AgentExecution, frame: Frame): OpenPrompt | null {
    const { generation } = frame;
    if (session.promptCount === 0 || !Number.isSafeInteger(generation) || generation <= 0) return null;
    const prompt = session.prompts.get(generation);
    // Before its agent was called with it no frame can be of it, whatever number that has guessed.
    if (prompt === undefined || prompt.execution !== execution || !prompt.isDispatched) return null;
    prompt.lastHeard = execution.lastHeard;
    return prompt;
  }

  #apply(session: LiveSession, execution: AgentExecution, frame: Frame, prompt: OpenPrompt | null): void {
    switch (frame.type) {
      case 'prompt.accepted':
        break;
      case 'output':
        this.#output(session, execution, frame);
        break;
      case 'tool.call':
      case 'tool.update':
        this.#tool(session, execution, frame);
        break;
      case 'workload.started':
        this.#started(session, execution, frame);
        break;
      case 'workload.ended':
        this.#ended(session, execution, frame);
        break;
      case 'workload.snapshot':
        this.#snapshot(session, execution, frame);
        break;
      case 'foreground.idle':
        this.#idle(session, execution, frame);
        break;
      case 'turn.ended':
        if (prompt !== null) this.#host.turns.ended(session, prompt, String(frame.stopReason), null);
        else if (this.#isOfProviderTurn(session, execution, frame))
          this.#host.turns.endByProvider(session, String(frame.stopReason));
        break;
      case 'permission.request':
        // Of a turn that is over nobody is asked any more.
        if (this.#isOver(session, execution, frame, prompt)) break;
        this.#host.requests.ask(session, execution, frame, this.#provenTurn(session, execution, frame));
        break;
      case 'capability':
        execution.hasHandoff = frame.handoff === true;
        execution.hasSnapshot = frame.snapshot === true;
        break;
      case 'usage':
        this.#usage(session, execution, frame, prompt);
        break;
      default:
        throw new TypeError(`there is no frame of type ${JSON.stringify((frame as { type: unknown }).type)}`);
    }
  }

  #output(session: LiveSession, execution: AgentExecution, frame: FrameOf<'output'>): void {
    const { text, parentToolCallId } = frame;
    if (typeof text !== 'string' || text === '') return;
    if (parentToolCallId !== undefined) {
      session.record?.heard(execution.executionId, parentToolCallId, this.#moment(execution));
      return;
    }
    const generation = this.#foreground(session, execution, frame.generation, true);
    const { bus, loop, epoch, settings } = this.#core;
    if (!bus.hasObservers) return;
    const channel = frame.channel === 'thought' ? 'thought' : 'message';
    const { sessionId } = session;
    bus.publish({
      type: 'session.output',
      seq: loop.toldSeq,
      epoch,
      at: settings.clock.now(),
      sessionId,
      generation,
      channel,
      text,
    });
  }

  #tool(session: LiveSession, execution: AgentExecution, frame: FrameOf<'tool.call' | 'tool.update'>): void {
    const { toolCallId, parentToolCallId, work } = frame;
    if (!isId(toolCallId)) throw new TypeError('a tool call has no id');
    const record = this.#core.liveness.recordOf(session);
    const { executionId } = execution;
    const moment = this.#moment(execution);
    const isTerminal = isEnd(frame.status);
    const kind = work === undefined ? null : workKind(execution, work.kind);
    const generation = this.#turnOf(session, execution, frame.generation);
    const owner = record.tools.note(executionId, toolCallId, {
      hasParent: parentToolCallId !== undefined,
      isWork: kind !== null,
      isCall: frame.type === 'tool.call',
      generation,
    });
    let hasChanged = false;
    if (kind !== null && work !== undefined && isNotDispatched(session, executionId, toolCallId)) {
      const workloadId = isId(work.workloadId) ? work.workloadId : toolCallId;
      if (!isTerminal || work.isDetached) {
        const listed = { workloadId, toolCallId, kind: work.kind, admits: kind.admits };
        hasChanged = record.provider.register(executionId, listed, moment);
        if (work.isDetached) record.tools.noteDetached(executionId, toolCallId);
      }
    }
    record.heard(executionId, toolCallId, moment);
    if (parentToolCallId !== undefined) record.heard(executionId, parentToolCallId, moment);
    if (isTerminal) {
      const isLaunch = work?.isDetached === true || record.tools.isDetached(executionId, toolCallId);
      const isWork = kind !== null || owner === 'background' || record.hasWorkOf(executionId, toolCallId);
      record.tools.forget(executionId, toolCallId);
      // The end of a call that is the work itself; that of a mere launch, or of a call without work, says nothing of any.
      if (isWork && !isLaunch) this.#complete(session, { executionId, workloadId: null, toolCallId, kind: null, eventId: null });
    }
    if (hasChanged) this.#core.liveness.workChanged(session);
    if (owner !== 'foreground') return;
    if (!isTerminal) this.#foreground(session, execution, frame.generation, true);
    else if (frame.hasOutput === true) this.#foreground(session, execution, frame.generation, false);
  }

  #started(session: LiveSession, execution: AgentExecution, frame: FrameOf<'workload.started'>): void {
    const kind = workKind(execution, frame.kind);
    const { workloadId } = frame;
    if (!isId(workloadId)) throw new TypeError('a workload has no id');
    const toolCallId = idOf(frame.toolCallId);
    if (kind === null) return;
    if (toolCallId !== null && !isNotDispatched(session, execution.executionId, toolCallId)) return;
    const record = this.#core.liveness.recordOf(session);
    const listed = { workloadId, toolCallId, kind: frame.kind, admits: kind.admits };
    const hasChanged = record.provider.register(execution.executionId, listed, this.#moment(execution));
    if (toolCallId !== null) record.tools.noteDetached(execution.executionId, toolCallId);
    if (hasChanged) this.#core.liveness.workChanged(session);
  }

  #ended(session: LiveSession, execution: AgentExecution, frame: FrameOf<'workload.ended'>): void {
    this.#complete(session, {
      executionId: execution.executionId,
      workloadId: idOf(frame.workloadId),
      toolCallId: idOf(frame.toolCallId),
      kind: frame.kind ?? null,
      eventId: idOf(frame.eventId),
    });
  }

  #complete(
    session: LiveSession,
    completion: {
      executionId: string;
      workloadId: string | null;
      toolCallId: string | null;
      kind: WorkloadKind | null;
      eventId: string | null;
    },
  ): void {
    if (this.#core.liveness.recordOf(session).provider.complete(completion)) this.#core.liveness.workChanged(session);
  }

  #snapshot(session: LiveSession, execution: AgentExecution, frame: FrameOf<'workload.snapshot'>): void {
    if (execution.agent?.attests.snapshot !== true || !execution.hasSnapshot || !Array.isArray(frame.workloads)) return;
    const { provider } = this.#core.liveness.recordOf(session);
    const listed = frame.workloads.flatMap((entry) => {
      const { workloadId, kind = null } = entry ?? {};
      const toolCallId = isId(entry?.toolCallId) ? entry.toolCallId : null;
      // What has no id cannot be told apart, ended or dismissed.
      if (!isId(workloadId)) return [];
      // What is registered already stays what it is, whatever the list calls it.
      const known = provider.findListed(execution.executionId, { workloadId, toolCallId });
      const rule = known ?? workKind(execution, kind ?? 'shell');
      if (rule === null || (toolCallId !== null && !isNotDispatched(session, execution.executionId, toolCallId))) return [];
      return [{ workloadId, kind, toolCallId, admits: rule.admits }];
    });
    const { liveness } = this.#core;
    if (provider.replace(execution.executionId, listed, this.#moment(execution))) liveness.workChanged(session);
  }

  /** FRM4. */
  #idle(session: LiveSession, execution: AgentExecution, frame: FrameOf<'foreground.idle'>): void {
    if (this.#isOfProviderTurn(session, execution, frame)) {
      this.#host.turns.endByProvider(session, null);
      return;
    }
    const attests = execution.agent?.attests as Attestation;
    if (!attests.yield || !attests.handoff || !execution.hasHandoff) {
      this.#noteIgnoredIdle(execution, attests);
      return;
    }
    if (session.record === null) return;
    const current = currentTurn(session.record.context);
    if (current === null || current.generation !== frame.generation || current.executionId !== execution.executionId) return;
    if (this.#core.liveness.send(session, { type: 'turn.yield', generation: frame.generation })) {
      this.#core.liveness.settle();
      this.#host.onFree(session);
    }
  }

  /** Once: whoever writes an agent wonders why its prompts stay out. */
  #noteIgnoredIdle(execution: AgentExecution, { yield: isYield, handoff }: Attestation): void {
    if (execution.hasIgnoredIdle) return;
    execution.hasIgnoredIdle = true;
    const { agentId, sessionId, hasHandoff } = execution;
    this.#core.settings.log('debug', 'foreground_idle.ignored', {
      agentId,
      sessionId,
      yield: isYield,
      handoff,
      capability: hasHandoff,
    });
  }

  #usage(session: LiveSession, execution: AgentExecution, frame: FrameOf<'usage'>, proven: OpenPrompt | null): void {
    const generation = this.#turnOf(session, execution, frame.generation);
    const prompt = proven ?? session.prompts.get(generation) ?? null;
    // Usage of a turn that is over was counted with its end.
    if (prompt !== null && !prompt.hasEnded) prompt.usage = usageOf(frame.usage);
  }

  /** The foreground speaks. Answers the generation of the turn it speaks in; 0 for none. */
  #foreground(session: LiveSession, execution: AgentExecution, proven: number, mayOpen: boolean): number {
    const { liveness } = this.#core;
    const record = liveness.recordOf(session);
    const generation = this.#turnOf(session, execution, proven);
    const { turns } = record.context;
    const turn = turns.find((open) => open.generation === generation);
    if (turn !== undefined) {
      if (turn.hasYielded) liveness.send(session, { type: 'output.seen', generation });
      const prompt = proven === 0 ? session.prompts.get(generation) : undefined;
      if (prompt !== undefined) prompt.lastHeard = execution.lastHeard;
      const byProvider = this.#host.turns.byProvider(session);
      if (byProvider?.generation === generation) byProvider.lastHeard = execution.lastHeard;
      return generation;
    }
    // Of a turn that has ended: late, and nobody's.
    if (proven > 0 || !mayOpen) return proven;
    if (record.isClaimed) liveness.send(session, { type: 'output.seen', generation: 0 });
    else this.#host.turns.openByProvider(session, execution);
    return currentTurn(record.context)?.generation ?? 0;
  }

  /** The turn a frame speaks of: the proven one, else the execution's newest open one, else none. */
  #turnOf(session: LiveSession, execution: AgentExecution, proven: number): number {
    const turns = session.record?.context.turns ?? [];
    if (Number.isSafeInteger(proven) && proven > 0) return proven;
    return turns.findLast((turn) => turn.executionId === execution.executionId && turn.isAccepted)?.generation ?? 0;
  }

  /** The turn a question belongs to: the proven one, or the one that the agent opened by itself; else none. */
  #provenTurn(session: LiveSession, execution: AgentExecution, frame: Frame): number {
    if (frame.generation > 0) return frame.generation;
    const turn = this.#isOfProviderTurn(session, execution, frame) ? this.#host.turns.byProvider(session) : null;
    return turn?.generation ?? 0;
  }

  #isOver(session: LiveSession, execution: AgentExecution, frame: Frame, prompt: OpenPrompt | null): boolean {
    if (!(frame.generation > 0) || this.#isOfProviderTurn(session, execution, frame)) return false;
    return prompt === null || prompt.hasEnded;
  }

  #isOfProviderTurn(session: LiveSession, execution: AgentExecution, frame: Frame): boolean {
    const turn = this.#host.turns.byProvider(session);
    return turn !== null && turn.execution === execution && (frame.generation === 0 || frame.generation === turn.generation);
  }

  /** Of the frame that is being taken. */
  #moment({ lastHeard }: AgentExecution): Moment {
    return { at: this.#core.settings.clock.now(), heardAt: lastHeard };
  }
}

/** Null when none is given; one that is none must not be taken for none. */
function idOf(given: string | undefined): string | null {
  if (given === undefined) return null;
  if (isId(given)) return given;
  throw new TypeError('an id is not one');
}

const isEnd = (status: ToolStatus | undefined): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';
