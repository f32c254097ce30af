/**
 * Agents for scenes in which somebody stops things: they start, speak, leave and close well, late, badly or not at all, and note in the
 * ledger what is asked of them.
 */
import fc from 'fast-check';
import { FrameQueue } from '../../src/adapters/frame-queue.ts';
import type { Agent, AgentContext, AgentFactory, PromptContent, PromptContext, TurnEnd } from '../../src/model/agent.ts';
import { offstageError } from '../../src/model/errors.ts';
import type { AgentNote, StopLedger } from './stop-ledger.ts';

const start = fc.constantFrom(
  'at once' as const,
  'at once' as const,
  'slow' as const,
  'slow' as const,
  'fails' as const,
  /** Hears of nothing while it starts. */
  'deaf' as const,
  /** Until the end of the scene. */
  'never' as const,
);
const close = fc.constantFrom(
  'at once' as const,
  'at once' as const,
  'slow' as const,
  'fails once' as const,
  'throws once' as const,
  'fails' as const,
  'hangs' as const,
);
const deed = fc.constantFrom(
  'accept' as const,
  'speak' as const,
  'launch' as const,
  'yield' as const,
  'return' as const,
  'return' as const,
  'refuse' as const,
  'leave' as const,
);
export type Start = (typeof start extends fc.Arbitrary<infer One> ? One : never) | 'held';
export type Close = typeof close extends fc.Arbitrary<infer One> ? One : never;
export type Deed = typeof deed extends fc.Arbitrary<infer One> ? One : never;

/** What agents do, one after the other; then from the beginning. */
export const lives = fc.record({
  starts: fc.array(start, { minLength: 1, maxLength: 4 }),
  closes: fc.array(close, { minLength: 1, maxLength: 4 }),
  turns: fc.array(fc.array(deed, { maxLength: 4 }), { minLength: 1, maxLength: 4 }),
});
export type Lives = typeof lives extends fc.Arbitrary<infer One> ? One : never;

/** What the first agent of a session is to do while the scene is set. */
export interface Plan {
  readonly start: Start;
  readonly turn: readonly Deed[];
  readonly close: Close;
}

/** Told by the scene when it is time. */
export interface Cue {
  readonly given: Promise<void>;
  give(): void;
  readonly isGiven: boolean;
}

export function cue(): Cue {
  let isGiven = false;
  let resolve: () => void = () => {};
  const given = new Promise<void>((go) => {
    resolve = go;
  });
  return {
    given,
    get isGiven() {
      return isGiven;
    },
    give() {
      isGiven = true;
      resolve();
    },
  };
}

export class StopAgents {
  readonly #ledger: StopLedger;
  readonly #lives: Lives;
  readonly #plans = new Map<string, Plan>();
  readonly #running: RaceAgent[] = [];
  readonly begin = cue();
  /** Whatever hangs goes on, and what was refused is granted. */
  readonly letGo = cue();
  #started = 0;
  #asked = 0;

  constructor(ledger: StopLedger, given: Lives) {
    this.#ledger = ledger;
    this.#lives = given;
  }

  /** For the next agent of the session. */
  plan(sessionId: string, plan: Plan): void {
    this.#plans.set(sessionId, plan);
  }

  readonly factory: AgentFactory = async (context) => {
    const ledger = this.#ledger;
    const { sessionId, signal } = context;
    const note = ledger.agentCalled(context.execution.executionId, sessionId);
    if (signal.aborted) ledger.problems.push(`${note.executionId} is started although it was told to end`);
    const plan = this.#next(sessionId);
    const toldToEnd = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => {
        if (note.signalAt !== null) ledger.problems.push(`${note.executionId} is told to end twice`);
        note.signalAt ??= ledger.now;
        reject(signal.reason);
      });
    });
    toldToEnd.catch(() => {});
    try {
      await this.#launch(plan.start, toldToEnd);
    } catch (error) {
      note.refusedAt = ledger.now;
      throw error;
    }
    note.startedAt = ledger.now;
    const agent = new RaceAgent(note, context, plan, this);
    this.#running.push(agent);
    return agent;
  };

  /** One of those that are there goes by itself. */
  leave(which: number): void {
    const there = this.#running.filter(({ note }) => note.leftAt === null && note.goneAt === null && note.closes.length === 0);
    there[which % Math.max(1, there.length)]?.leave();
  }

  /** The last one of the session has answered, and goes. */
  unload(sessionId: string): void {
    const agent = this.#running.findLast(({ note }) => note.sessionId === sessionId);
    agent?.answerAll();
    agent?.leave();
  }

  /** All that was asked is answered. */
  answerAll(): void {
    for (const agent of this.#running) agent.answerAll();
  }

  get ledger(): StopLedger {
    return this.#ledger;
  }

  hop(label: string): Promise<void> {
    return this.#ledger.ticks.hop(label);
  }

  /** The next turn, for an agent that was not told otherwise. */
  nextTurn(): readonly Deed[] {
    const { turns } = this.#lives;
    return turns[this.#asked++ % turns.length] ?? [];
  }

  #next(sessionId: string): Plan | Omit<Plan, 'turn'> {
    const plan = this.#plans.get(sessionId);
    this.#plans.delete(sessionId);
    if (plan !== undefined) return plan;
    const { starts, closes } = this.#lives;
    const index = this.#started++;
    return { start: starts[index % starts.length] ?? 'at once', close: closes[index % closes.length] ?? 'at once' };
  }

  async #launch(how: Start, toldToEnd: Promise<never>): Promise<void> {
    if (how === 'held') await Promise.race([this.begin.given, toldToEnd]);
    if (how === 'slow' || how === 'held') {
      for (let step = 0; step < 2; step++) await Promise.race([this.hop('an agent starts'), toldToEnd]);
    } else if (how === 'deaf') for (let step = 0; step < 4; step++) await this.hop('an agent starts');
    else if (how !== 'at once') {
      await (how === 'never' ? this.letGo.given : this.hop('an agent starts'));
      throw new Error('not today');
    }
  }
}

interface OpenPrompt {
  isOpen: boolean;
  readonly generation: number;
  end(): void;
  fail(error: unknown): void;
}

class RaceAgent implements Agent {
  readonly attests = { workloads: ['subagent', 'shell'], yield: true, handoff: true, snapshot: true } as const;
  readonly frames = new FrameQueue();
  readonly note: AgentNote;
  readonly #context: AgentContext;
  readonly #close: Close;
  readonly #stage: StopAgents;
  readonly #prompts: OpenPrompt[] = [];
  /** For its first prompt, if the scene has one. */
  #turn: readonly Deed[] | null;

  constructor(note: AgentNote, context: AgentContext, plan: Plan | Omit<Plan, 'turn'>, stage: StopAgents) {
    this.note = note;
    this.#context = context;
    this.#close = plan.close;
    this.#stage = stage;
    this.#turn = 'turn' in plan ? plan.turn : null;
    this.frames.push({ type: 'capability', generation: 0, handoff: true, snapshot: true });
  }

  prompt(content: PromptContent, { generation, signal }: PromptContext): Promise<TurnEnd> {
    const { ledger } = this.#stage;
    const { note } = this;
    ledger.prompts.find(({ promptId }) => promptId === content)?.reached.push({ agent: note, at: ledger.now });
    if (this.#context.signal.aborted || note.closes.length > 0)
      ledger.problems.push(`${note.executionId} is asked ${content} after it was told to end`);
    return new Promise((resolve, reject) => {
      const prompt: OpenPrompt = {
        isOpen: true,
        generation,
        end() {
          prompt.isOpen = false;
          resolve({ stopReason: 'end_turn' });
        },
        fail(error) {
          prompt.isOpen = false;
          reject(error);
        },
      };
      if (this.frames.isClosed) return prompt.fail(gone());
      this.#prompts.push(prompt);
      signal.addEventListener('abort', () => prompt.end());
      const turn = this.#turn ?? this.#stage.nextTurn();
      this.#turn = null;
      void this.#take(prompt, turn);
    });
  }

  async #take(prompt: OpenPrompt, turn: readonly Deed[]): Promise<void> {
    const { generation } = prompt;
    for (const one of turn) {
      await this.#stage.hop('an agent');
      if (!prompt.isOpen) return;
      if (one === 'accept') this.frames.push({ type: 'prompt.accepted', generation });
      else if (one === 'speak') this.frames.push({ type: 'output', generation, text: 'text' });
      else if (one === 'launch')
        this.frames.push({ type: 'workload.started', generation, kind: 'subagent', workloadId: `w${generation}` });
      else if (one === 'yield') this.frames.push({ type: 'foreground.idle', generation });
      else if (one === 'return') prompt.end();
      else if (one === 'refuse') prompt.fail(new Error('no'));
      else this.leave();
    }
  }

  answerAll(): void {
    for (const prompt of this.#prompts) prompt.end();
  }

  /** Its frames end, and whatever it was asked fails; only a `close` that resolves says that nothing of it is left. */
  leave(): void {
    this.note.leftAt ??= this.#stage.ledger.now;
    this.#end();
  }

  close(): Promise<void> {
    const { ledger } = this.#stage;
    const { closes, executionId } = this.note;
    if (closes.some(({ settledAt }) => settledAt === null))
      ledger.problems.push(`${executionId} is closed while it is being closed`);
    const call = { at: ledger.now, settledAt: null as number | null };
    closes.push(call);
    if (this.#close === 'throws once' && closes.length === 1) {
      call.settledAt = ledger.now;
      throw new Error('it throws');
    }
    return this.#closing(closes.length).finally(() => {
      call.settledAt = ledger.now;
    });
  }

  async #closing(count: number): Promise<void> {
    const { letGo, ledger } = this.#stage;
    const how = this.#close;
    if (how === 'hangs') await letGo.given;
    else if (how !== 'at once') await this.#stage.hop('an agent closes');
    if ((how === 'fails once' && count === 1) || (how === 'fails' && !letGo.isGiven)) throw new Error('it does not close');
    this.note.goneAt ??= ledger.now;
    this.#end();
  }

  #end(): void {
    this.frames.end();
    for (const prompt of this.#prompts) if (prompt.isOpen) prompt.fail(gone());
  }
}

const gone = (): Error => offstageError('agent.gone', { message: 'it has left' });
