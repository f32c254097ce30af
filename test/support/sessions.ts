/**
 * Sessions in the words of the acceptance rows (cases: liveness and stop): an engine whose agents are mocks that vouch for everything and
 * have said so at connect, and REG, IDLE, OUT, DONE, BGC for each session.
 *
 * Every verb resolves when what it caused has settled.
 */
import {
  type MockAgent,
  type MockAgentScript,
  type MockPrompt,
  type MockRunningAgent,
  mockAgent,
} from '../../src/adapters/mock-agent.ts';
import type { Activity, SessionView } from '../../src/model/activity.ts';
import type { AgentFactory, Agents, Attestation, Frame, ToolStatus, ToolWork } from '../../src/model/agent.ts';
import type { OffstageEvent } from '../../src/model/events.ts';
import type { WorkloadKind } from '../../src/model/executor.ts';
import type { Changed, PromptAnswer, PromptOptions } from '../../src/model/session-requests.ts';
import { type TestEngine, type TestEngineOptions, testEngine } from './test-engine.ts';

/** Everything that an adapter can vouch for. */
export const FULL: Attestation = { workloads: ['subagent', 'shell', 'monitor'], yield: true, handoff: true, snapshot: true };

/** Tier and count, as told. */
export type Told = readonly [Activity, number];

export interface SessionLabOptions extends TestEngineOptions {
  /** Default: attests everything (`FULL`). */
  readonly script?: MockAgentScript;
  /** What each agent says of itself at connect; null: nothing. Default: hand-off and snapshots. */
  readonly announces?: { readonly handoff: boolean; readonly snapshot: boolean } | null;
  /** Further names under which the same mock is an agent. */
  readonly names?: readonly string[];
}

export interface SessionLab extends AsyncDisposable {
  readonly engine: TestEngine;
  readonly offstage: TestEngine['offstage'];
  readonly clock: TestEngine['clock'];
  readonly mock: MockAgent;
  /** Resolves when the engine is quiet: nothing is on its way any more that needs no time to pass. */
  settled(): Promise<void>;
  /** A session that nobody has prompted yet. */
  create(sessionId?: string, taskId?: string, agentId?: string): Promise<LabSession>;
  /** A session whose agent has taken its first prompt. */
  running(sessionId?: string, taskId?: string): Promise<LabSession>;
  /** What was told of the session's tier and count, in order; from the event at `since` on. */
  publications(sessionId: string, since?: number): readonly Told[];
  /** What was told of the task's aggregate, in order (without the changes of its row). */
  taskUpdates(taskId: string, since?: number): readonly Told[];
}

export interface ToolOptions {
  readonly status?: ToolStatus;
  readonly parent?: string;
  readonly work?: ToolWork;
  readonly hasOutput?: boolean;
  readonly generation?: number;
}

/** One session, its newest agent and its newest prompt. */
export class LabSession {
  readonly sessionId: string;
  readonly taskId: string;
  readonly #lab: SessionLab;

  constructor(lab: SessionLab, { sessionId, taskId }: SessionView) {
    this.#lab = lab;
    this.sessionId = sessionId;
    this.taskId = taskId;
  }

  /** The newest one. */
  get agent(): MockRunningAgent {
    const agent = this.#lab.mock.agents.findLast(({ context }) => context.sessionId === this.sessionId && context.jobId === null);
    if (agent === undefined) throw new Error(`no agent was started for ${this.sessionId}`);
    return agent;
  }

  /** Of the newest agent. */
  get executionId(): string {
    return this.agent.context.execution.executionId;
  }

  /** Every prompt that reached an agent of this session, in order. */
  get prompts(): readonly MockPrompt[] {
    return this.#lab.mock.prompts.filter(
      ({ agent }) => agent.context.sessionId === this.sessionId && agent.context.jobId === null,
    );
  }

  /** The newest one that reached an agent. */
  get prompt(): MockPrompt {
    const prompt = this.prompts.at(-1);
    if (prompt === undefined) throw new Error(`no prompt has reached an agent of ${this.sessionId}`);
    return prompt;
  }

  /** Of the newest prompt. */
  get generation(): number {
    return this.prompt.generation;
  }

  view(): Promise<SessionView> {
    return this.#lab.offstage.sessions.get(this.sessionId);
  }

  async tier(): Promise<Activity> {
    return (await this.view()).foregroundActivity;
  }

  async count(): Promise<number> {
    return (await this.view()).activeSubagentCount;
  }

  /** Ids of the live workloads, oldest first. */
  async works(): Promise<readonly string[]> {
    return (await this.#lab.offstage.workloads.list(this.sessionId)).map(({ workloadId }) => workloadId);
  }

  ask(content: PromptOptions['content'] = 'go on', more: Omit<PromptOptions, 'content'> = {}): Promise<PromptAnswer> {
    return this.#lab.offstage.sessions.prompt(this.sessionId, { content, ...more });
  }

  /** Prompts, and tells what came of it: `accepted`, `queued`, or the code of the refusal. */
  async attempt(more: Omit<PromptOptions, 'content'> = {}): Promise<string> {
    const outcome = await this.ask('may I?', more).then(
      (answer) => ('accepted' in answer ? 'accepted' : 'queued'),
      (error: { code: string }) => error.code,
    );
    await this.#lab.settled();
    return outcome;
  }

  /** A frame of the newest agent, or of the given one. */
  async tell(frame: Frame, agent: MockRunningAgent = this.agent): Promise<void> {
    agent.emit(frame);
    await this.#lab.settled();
  }

  /** REG as the agent's word. */
  reg(workloadId: string, kind: WorkloadKind = 'subagent', toolCallId?: string): Promise<void> {
    return this.tell({
      type: 'workload.started',
      generation: this.prompts.length === 0 ? 0 : this.generation,
      kind,
      workloadId,
      ...(toolCallId === undefined ? {} : { toolCallId }),
    });
  }

  /** REG as the host's word. */
  async hostReg(workloadId: string, kind: WorkloadKind = 'subagent', executionId = this.executionId): Promise<Changed> {
    const changed = await this.#lab.offstage.workloads.register({ sessionId: this.sessionId, executionId, kind, workloadId });
    await this.#lab.settled();
    return changed;
  }

  /** IDLE. */
  idle(generation = this.generation): Promise<void> {
    return this.tell({ type: 'foreground.idle', generation });
  }

  /** OUT. */
  out(text = 'text', generation = this.generation): Promise<void> {
    return this.tell({ type: 'output', generation, text });
  }

  /** DONE: the prompt returns. */
  async done(prompt: MockPrompt = this.prompt, stopReason = 'end_turn'): Promise<void> {
    prompt.end(stopReason);
    await this.#lab.settled();
  }

  /** BGC. */
  bgc(
    of: {
      readonly workloadId?: string;
      readonly toolCallId?: string;
      readonly kind?: WorkloadKind;
      readonly eventId?: string;
    } = {},
    agent: MockRunningAgent = this.agent,
  ): Promise<void> {
    return this.tell({ type: 'workload.ended', generation: 0, ...of }, agent);
  }

  /** A tool call; running unless told otherwise. */
  call(toolCallId: string, options: ToolOptions = {}): Promise<void> {
    return this.tell({ type: 'tool.call', status: options.status ?? 'running', ...this.#tool(toolCallId, options) });
  }

  /** An update of a tool call; without a status unless given. */
  update(toolCallId: string, options: ToolOptions = {}): Promise<void> {
    const status = options.status === undefined ? {} : { status: options.status };
    return this.tell({ type: 'tool.update', ...status, ...this.#tool(toolCallId, options) });
  }

  #tool(toolCallId: string, { parent, work, hasOutput, generation = this.generation }: ToolOptions) {
    return {
      generation,
      toolCallId,
      ...(parent === undefined ? {} : { parentToolCallId: parent }),
      ...(work === undefined ? {} : { work }),
      ...(hasOutput === undefined ? {} : { hasOutput }),
    };
  }
}

/** Disposing closes the engine. */
export async function sessionLab(options: SessionLabOptions = {}): Promise<SessionLab> {
  const { script, announces = { handoff: true, snapshot: true }, names = [], agents, ...engineOptions } = options;
  const mock = mockAgent(script ?? { attests: FULL });
  const connecting: AgentFactory = async (context) => {
    const agent = await mock.factory(context);
    if (announces !== null) mock.emit({ type: 'capability', generation: 0, ...announces });
    return agent;
  };
  const all: Agents = { default: connecting, ...Object.fromEntries(names.map((name) => [name, connecting])), ...agents };
  // Told by prompts only where a test is about that: they would take the foreground in the middle of every other story.
  const engine = await testEngine({ notices: false, ...engineOptions, agents: all });
  const { offstage, clock } = engine;
  const told = <Type extends OffstageEvent['type']>(type: Type, since: number) =>
    engine.events.slice(since).filter((event): event is Extract<OffstageEvent, { type: Type }> => event.type === type);
  const lab: SessionLab = {
    engine,
    offstage,
    clock,
    mock,
    settled: () => clock.settle(),
    async create(sessionId = 's', taskId, agentId) {
      const given = { ...(taskId === undefined ? {} : { taskId }), ...(agentId === undefined ? {} : { agentId }) };
      return new LabSession(lab, await offstage.sessions.create({ sessionId, ...given }));
    },
    async running(sessionId = 's', taskId) {
      const session = await lab.create(sessionId, taskId);
      await session.ask('begin');
      await lab.settled();
      return session;
    },
    publications: (sessionId, since = 0) =>
      told('session.activity_changed', since)
        .filter((event) => event.sessionId === sessionId)
        .map((event) => [event.foregroundActivity, event.activeSubagentCount]),
    taskUpdates: (taskId, since = 0) =>
      told('task.updated', since).flatMap((event) =>
        event.taskId === taskId && 'isVolatile' in event && event.isVolatile
          ? [[event.foregroundActivity, event.activeSubagentCount] as const]
          : [],
      ),
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
  return lab;
}
