/**
 * One engine with sessions, agents and jobs that do what random steps say. It performs; `SessionModel` says what ought to be.
 *
 * SCN1  Executions and prompts are paired with the model's by their order: the n-th start, the n-th call of an agent.
 */
import { type MockAgent, type MockRunningAgent, mockAgent } from '../../src/adapters/mock-agent.ts';
import type { AgentContext, AgentFactory, PromptOrigin } from '../../src/model/agent.ts';
import { isOffstageError, offstageError } from '../../src/model/errors.ts';
import type { SpawnOptions } from '../../src/model/requests.ts';
import type { PromptAnswer } from '../../src/model/session-requests.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { type ControlledExecutor, controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { type ControlledStore, controlledStore } from '../../src/testing/controlled-store.ts';
import { type PauseControl, pausePoints } from '../../src/testing/pause-at.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';
import { type TestEngine, testEngine } from '../../test/support/test-engine.ts';
import type { Rules } from './session-facts.ts';

export const TASKS = ['one', 'two'] as const;
/** The first two sessions are of one task. */
export const SESSIONS = ['a', 'b', 'c'] as const;
export const taskOf = (sessionId: string): string => (sessionId === 'c' ? 'two' : 'one');

export interface AskedPrompt {
  readonly sessionId: string;
  readonly promptId: string;
  /** Null while nobody was answered. */
  answer: PromptAnswer | { readonly refused: string } | null;
}

interface Start {
  readonly context: AgentContext;
  readonly decide: (isWell: boolean) => void;
}

export const codeOf = (error: unknown): string => (isOffstageError(error) ? error.code : String(error));

export class SessionScene {
  readonly clock = virtualClock();
  readonly rules: Rules;
  readonly mock: MockAgent;
  readonly pauses: PauseControl = pausePoints();
  readonly store: ControlledStore = controlledStore(memoryStore());
  readonly starts: Start[] = [];
  readonly asked: AskedPrompt[] = [];
  readonly jobs: { readonly jobId: string; readonly executor: ControlledExecutor }[] = [];
  readonly startsAs = new Map<string, 'at once' | 'later' | 'never'>();
  readonly acceptsAtOnce = new Map<string, boolean>();
  readonly #script = { ignoreCancel: false };
  readonly #kinds: Readonly<Record<'agentish' | 'shellish' | 'deaf', ControlledExecutor>> = {
    agentish: controlledExecutor(),
    shellish: controlledExecutor({ capabilities: { workload: 'shell' } }),
    deaf: controlledExecutor({ stubborn: true }),
  };
  engine!: TestEngine;

  constructor(rules: Rules) {
    this.rules = rules;
    const { acceptsAtOnce } = this;
    const script = this.#script;
    this.mock = mockAgent({
      attests: rules.attests,
      acceptAtOnce: false,
      get ignoreCancel() {
        return script.ignoreCancel;
      },
      onPrompt: (prompt, agent) => {
        if (acceptsAtOnce.get(agent.context.sessionId) !== false) prompt.accept();
      },
    });
  }

  async open(): Promise<void> {
    const { clock, store, rules } = this;
    this.engine = await testEngine({
      clock,
      store,
      workers: 2,
      executors: this.#kinds,
      agents: { default: this.#start },
      display: rules.display,
      admission: rules.admission,
      points: this.pauses.points,
      // Prompts of the engine itself are no part of the model.
      notices: false,
    });
    for (const taskId of TASKS) await this.engine.offstage.tasks.create({ taskId });
    for (const sessionId of SESSIONS) await this.engine.offstage.sessions.create({ sessionId, taskId: taskOf(sessionId) });
    await clock.settle();
  }

  readonly #start: AgentFactory = async (context) => {
    const startsAs = this.startsAs.get(context.sessionId) ?? 'at once';
    const isWell = await new Promise<boolean>((decide) => {
      this.starts.push({ context, decide });
      if (startsAs !== 'later') decide(startsAs === 'at once');
    });
    if (!isWell) throw new Error('not today');
    const agent = await this.mock.factory(context);
    const { isCapable } = this.rules;
    if (isCapable) this.agentOf(context)?.emit({ type: 'capability', generation: 0, handoff: true, snapshot: true });
    return agent;
  };

  agentOf({ execution }: AgentContext): MockRunningAgent | undefined {
    return this.mock.agents.find(({ context }) => context.execution.executionId === execution.executionId);
  }

  /** The newest agent of the session, which may be gone. */
  newestAgent(sessionId: string): MockRunningAgent | undefined {
    return this.mock.agents.findLast(({ context }) => context.sessionId === sessionId);
  }

  /** The execution that the model calls by this name. */
  executionId(name: string): string {
    return this.starts[Number(name.slice(1))]?.context.execution.executionId ?? 'nobody';
  }

  ask(sessionId: string, given: { promptId: string; origin: PromptOrigin; whenBusy: 'reject' | 'queue' }): Promise<void> {
    const asked: AskedPrompt = { sessionId, promptId: given.promptId, answer: null };
    this.asked.push(asked);
    return this.engine.offstage.sessions.prompt(sessionId, { content: given.promptId, ...given }).then(
      (answer) => {
        asked.answer = answer;
      },
      (error) => {
        asked.answer = { refused: codeOf(error) };
      },
    );
  }

  interrupt(sessionId: string, isHeeded: boolean): Promise<boolean> {
    this.#script.ignoreCancel = !isHeeded;
    return this.engine.offstage.sessions.interrupt(sessionId).then(({ changed }) => changed);
  }

  gone(sessionId: string, isCrash: boolean): void {
    const agent = this.newestAgent(sessionId);
    if (isCrash) agent?.crash(offstageError('agent.gone', { message: 'it crashed' }));
    else agent?.exit();
  }

  /** Answers the jobId, or the code of the refusal. */
  async spawn(options: SpawnOptions & { kind: 'agentish' | 'shellish' | 'deaf' }): Promise<string> {
    try {
      const { jobId } = await this.engine.offstage.spawn(options);
      this.jobs.push({ jobId, executor: this.#kinds[options.kind] });
      return jobId;
    } catch (error) {
      return codeOf(error);
    }
  }

  settleJob(index: number, isWell: boolean): void {
    const live = this.jobs.filter(({ jobId, executor }) => executor.live.has(jobId));
    const job = live[index % Math.max(1, live.length)];
    if (isWell) void job?.executor.release(job.jobId, 'done');
    else void job?.executor.fail(job.jobId, new Error('failed'));
  }

  async close(): Promise<void> {
    this.store.release();
    await this.engine[Symbol.asyncDispose]();
  }
}
