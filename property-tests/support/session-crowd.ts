/**
 * People, agents and jobs that all act at once on a few sessions, and what must hold however their steps are mixed (G10, G11, G12).
 *
 * CRD1  What agents were asked is noted by the agents themselves, what was told by `ActivityWitness`; nothing here asks the engine's rooms.
 */
import fc from 'fast-check';
import { type MockAgent, type MockPrompt, type MockRunningAgent, mockAgent } from '../../src/adapters/mock-agent.ts';
import { type ActivityValue, aggregateActivity, isSameActivity, NO_ACTIVITY, tierOf } from '../../src/model/activity.ts';
import type { AgentFactory, Frame, PromptOrigin } from '../../src/model/agent.ts';
import { isTerminal } from '../../src/model/records.ts';
import type { PromptAnswer } from '../../src/model/session-requests.ts';
import { readNotices } from '../../src/persistence/notice-rows.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { type HeldPoint, type PauseControl, pausePoints } from '../../src/testing/pause-at.ts';
import type { TestEngine } from '../../test/support/test-engine.ts';
import { ActivityWitness } from './activity-witness.ts';
import type { Hop } from './scheduled.ts';
import { codeOf, SESSIONS, TASKS, taskOf } from './session-scene.ts';

const session = fc.constantFrom(0, 0, 0, 1, 2);
const which = fc.nat(20);

/** What somebody does. */
const wish = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      wish: fc.constant('ask' as const),
      session,
      origins: fc.array(fc.constantFrom('human' as const, 'human' as const, 'synthetic' as const), {
        minLength: 1,
        maxLength: 3,
      }),
      whenBusy: fc.constantFrom('reject' as const, 'queue' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ wish: fc.constant('interrupt' as const), session }) },
  { weight: 4, arbitrary: fc.record({ wish: fc.constant('look' as const), session }) },
  { weight: 2, arbitrary: fc.record({ wish: fc.constant('spawn' as const), session, wait: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ wish: fc.constant('release' as const), which }) },
  { weight: 1, arbitrary: fc.record({ wish: fc.constant('cancelJob' as const), which }) },
  { weight: 1, arbitrary: fc.record({ wish: fc.constant('cancelTicket' as const), session }) },
  { weight: 1, arbitrary: fc.record({ wish: fc.constant('hold' as const) }) },
  { weight: 1, arbitrary: fc.record({ wish: fc.constant('let go' as const) }) },
);
export type Wish = typeof wish extends fc.Arbitrary<infer One> ? One : never;
export const people = fc.array(fc.array(wish, { maxLength: 8 }), { minLength: 1, maxLength: 3 });

/** What an agent does with a prompt, one thing per turn; whatever is not ended is ended at the end of the scene. */
const deed = fc.constantFrom(
  'accept' as const,
  'accept' as const,
  'speak' as const,
  'speak of nobody' as const,
  'yield' as const,
  'yield' as const,
  'launch' as const,
  'work ends' as const,
  'some work ends' as const,
  'list nothing' as const,
  'turn ends' as const,
  'return' as const,
  'return' as const,
  'refuse' as const,
  'crash' as const,
  'crash' as const,
);
/** One for each start of an agent, one list of deeds for each prompt; then they begin again. */
export const lives = fc.record({
  starts: fc.array(fc.constantFrom(true, true, true, false), { minLength: 1, maxLength: 4 }),
  turns: fc.array(fc.array(deed, { maxLength: 6 }), { minLength: 1, maxLength: 6 }),
  launched: fc.constantFrom('subagent' as const, 'shell' as const),
});
type Lives = typeof lives extends fc.Arbitrary<infer One> ? One : never;
type Deed = Lives['turns'][number][number];

/** What does not say that the prompt was taken. */
const UNPROVEN: readonly Deed[] = ['speak of nobody', 'some work ends', 'list nothing', 'refuse', 'crash'];

interface Asked {
  readonly sessionId: string;
  readonly promptId: string;
  readonly origin: PromptOrigin;
  answer: PromptAnswer | { readonly refused: string } | null;
}

export class SessionCrowd {
  readonly witness = new ActivityWitness();
  readonly problems: string[] = [];
  readonly pauses: PauseControl = pausePoints();
  readonly gate = controlledExecutor();
  readonly mock: MockAgent;
  readonly #hop: Hop;
  readonly #lives: Lives;
  readonly #asked: Asked[] = [];
  readonly #jobs: string[] = [];
  /** Prompts whose agent has said that its foreground is free. */
  readonly #yielded = new Set<MockPrompt>();
  readonly #accepted = new Set<MockPrompt>();
  /** Prompts of which the agent has said that their turn is over. */
  readonly #ended = new Set<MockPrompt>();
  readonly #calls = new Set<string>();
  /** Sessions in which a person has ended something by itself. */
  readonly #meddled = new Set<string>();
  /** The last one of each session. */
  readonly #generations = new Map<string, number>();
  #held: HeldPoint | null = null;
  #starts = 0;
  #turns = 0;
  engine!: TestEngine;

  constructor(hop: Hop, given: Lives) {
    this.#hop = hop;
    this.#lives = given;
    this.mock = mockAgent({
      attests: { workloads: ['subagent', 'shell'], yield: true, handoff: true, snapshot: true },
      acceptAtOnce: false,
      onPrompt: (prompt, agent) => this.#takeTurn(prompt, agent),
    });
  }

  readonly factory: AgentFactory = async (context) => {
    await this.#hop('an agent starts');
    const { starts } = this.#lives;
    if (starts[this.#starts++ % starts.length] === false) throw new Error('not today');
    const agent = await this.mock.factory(context);
    this.mock.emit({ type: 'capability', generation: 0, handoff: true, snapshot: true });
    return agent;
  };

  async person(wishes: readonly Wish[]): Promise<void> {
    for (const one of wishes) {
      await this.#hop('a person');
      await this.#act(one);
    }
  }

  async #act(one: Wish): Promise<void> {
    const { offstage } = this.engine;
    if (one.wish === 'hold') this.#held ??= this.pauses.pauseAt('publish');
    else if (one.wish === 'let go') this.letGo();
    else if (one.wish === 'release' || one.wish === 'cancelJob') {
      const jobId = this.#jobs[one.which % Math.max(1, this.#jobs.length)];
      if (jobId === undefined) return;
      if (one.wish === 'cancelJob') await offstage.cancel(jobId);
      else if (this.gate.live.has(jobId)) await this.gate.release(jobId);
    } else {
      const sessionId = SESSIONS[one.session] as string;
      if (one.wish === 'ask') for (const origin of one.origins) this.#ask(sessionId, origin, one.whenBusy);
      else if (one.wish === 'interrupt') {
        this.#meddled.add(sessionId);
        await offstage.sessions.interrupt(sessionId);
      } else if (one.wish === 'look') await this.#look(sessionId);
      else if (one.wish === 'spawn') this.#jobs.push((await offstage.spawn({ kind: 'gate', sessionId, wait: one.wait })).jobId);
      else {
        this.#meddled.add(sessionId);
        const [ticket] = await offstage.sessions.tickets(sessionId);
        if (ticket !== undefined) await offstage.sessions.cancelTicket(ticket.ticketId).catch(codeOf);
      }
    }
  }

  letGo(): void {
    this.#held?.release();
    this.#held = null;
  }

  #ask(sessionId: string, origin: PromptOrigin, whenBusy: 'reject' | 'queue'): void {
    const promptId = `p${this.#asked.length}`;
    const asked: Asked = { sessionId, promptId, origin, answer: null };
    this.#asked.push(asked);
    this.engine.offstage.sessions.prompt(sessionId, { content: promptId, origin, whenBusy, promptId }).then(
      (answer) => {
        asked.answer = answer;
      },
      (error) => {
        asked.answer = { refused: codeOf(error) };
      },
    );
  }

  /** Whoever looks sees something that was so between his question and the answer. */
  async #look(sessionId: string): Promise<void> {
    const begin = this.witness.history(sessionId).length;
    const isHeld = this.#held !== null;
    const view = await this.engine.offstage.sessions.get(sessionId);
    if (isHeld || this.#held !== null) return;
    const so = [NO_ACTIVITY, ...this.witness.history(sessionId)].slice(begin);
    if (!so.some((value) => isSameActivity(value, view)))
      this.problems.push(`a view shows ${JSON.stringify(pick(view))}, told was ${JSON.stringify(so)}`);
  }

  async #takeTurn(prompt: MockPrompt, agent: MockRunningAgent): Promise<void> {
    this.#called(prompt, agent);
    const { turns } = this.#lives;
    for (const one of turns[this.#turns++ % turns.length] ?? []) {
      await this.#hop('an agent');
      if (!prompt.isOpen) return;
      this.#do(one, prompt, agent);
    }
  }

  /** G10: nobody else is asked, unless he has handed the foreground on. */
  #called(prompt: MockPrompt, agent: MockRunningAgent): void {
    const { sessionId } = agent.context;
    const promptId = String(prompt.content);
    // A notice that was not taken comes again.
    const isKnown = isNotice(promptId) ? this.#takers(promptId).length > 0 : this.#calls.has(promptId);
    if (isKnown) this.problems.push(`${promptId} reached its agent twice`);
    this.#calls.add(promptId);
    // An interrupt makes it return, and what returns was taken.
    prompt.signal.addEventListener('abort', () => this.#accepted.add(prompt));
    const { generation } = prompt;
    const last = this.#generations.get(sessionId) ?? 0;
    const isUsed = this.mock.prompts.some((other) => other !== prompt && other.generation === generation);
    if (generation <= last || isUsed) this.problems.push(`generation ${generation} is given after ${last}, or twice`);
    this.#generations.set(sessionId, generation);
    for (const other of this.mock.prompts) {
      if (other === prompt || !other.isOpen || other.agent.context.sessionId !== sessionId) continue;
      if (!this.#yielded.has(other)) this.problems.push(`${promptId} was let in beside ${other.content}`);
      else if (prompt.origin !== 'human' && !this.#isOver(other)) this.problems.push(`${promptId} of a program took a hand-off`);
    }
  }

  /** Its turn is over although its agent has not answered: it said so, or another prompt has taken its place. */
  #isOver(prompt: MockPrompt): boolean {
    const { prompts } = this.mock;
    const { sessionId } = prompt.agent.context;
    const later = prompts.slice(prompts.indexOf(prompt) + 1).filter(({ agent }) => agent.context.sessionId === sessionId);
    return prompt.agent.isGone || this.#ended.has(prompt) || later.some((other) => this.#accepted.has(other));
  }

  #do(one: Deed, prompt: MockPrompt, agent: MockRunningAgent): void {
    const { generation } = prompt;
    const emit = (frame: Frame): void => void agent.emit(frame);
    const workloadId = `w${generation}`;
    if (!UNPROVEN.includes(one)) this.#accepted.add(prompt);
    if (one === 'accept') prompt.accept();
    else if (one === 'speak') emit({ type: 'output', generation, text: 'text' });
    else if (one === 'speak of nobody') emit({ type: 'output', generation: 0, text: 'text' });
    else if (one === 'yield') {
      this.#yielded.add(prompt);
      emit({ type: 'foreground.idle', generation });
    } else if (one === 'launch') emit({ type: 'workload.started', generation, kind: this.#lives.launched, workloadId });
    else if (one === 'work ends') emit({ type: 'workload.ended', generation, workloadId });
    else if (one === 'some work ends') emit({ type: 'workload.ended', generation: 0 });
    else if (one === 'list nothing') emit({ type: 'workload.snapshot', generation: 0, workloads: [] });
    else if (one === 'turn ends') {
      this.#yielded.add(prompt);
      this.#ended.add(prompt);
      emit({ type: 'turn.ended', generation, stopReason: 'end_turn' });
    } else if (one === 'return') prompt.end();
    else if (one === 'refuse') prompt.fail(new Error('no'));
    else {
      agent.crash();
      // Somebody looks at once, and perhaps before it is stored what became of the session.
      for (let looks = 0; looks < 3; looks++) void this.#hop('a witness').then(() => this.#look(agent.context.sessionId));
    }
  }

  /** Prompts of this content that were taken. */
  #takers(content: string): readonly MockPrompt[] {
    return [...this.#accepted].filter((prompt) => prompt.content === content);
  }

  /** NTC1: a background job that has ended was told once, or its notice is stored, or a person has ended what would have told of it. */
  async checkNotices(): Promise<void> {
    const { offstage, store } = this.engine;
    const stored = (await readNotices(store)).notices.map(({ jobId }) => jobId);
    for (const jobId of this.#jobs) {
      const job = await offstage.get(jobId);
      const told = [...this.#accepted].filter(({ content }) => String(content).startsWith(`[task ${jobId} `)).length;
      const isStored = stored.includes(jobId);
      const fate = `${jobId} (${job.status}, wait ${job.wait}) was told ${told} times, and its notice is ${isStored ? '' : 'not '}stored`;
      if (job.wait || !isTerminal(job.status)) {
        if (told > 0 || isStored) this.problems.push(fate);
      } else if (told + Number(isStored) > 1) this.problems.push(fate);
      else if (told === 0 && !isStored && !this.#meddled.has(job.sessionId)) this.problems.push(fate);
    }
  }

  /** Everything that is open ends. */
  finish(): void {
    this.letGo();
    for (const prompt of this.mock.prompts) {
      if (prompt.isOpen) this.#accepted.add(prompt);
      prompt.end();
    }
    for (const jobId of this.gate.live) void this.gate.release(jobId);
  }

  get isBusy(): boolean {
    return this.gate.live.size > 0 || this.mock.prompts.some(({ isOpen }) => isOpen);
  }

  /** G11 and G12, when nothing is on its way. */
  async check(): Promise<void> {
    const { sessions, tasks, workloads } = this.engine.offstage;
    const values = new Map<string, ActivityValue>();
    for (const sessionId of SESSIONS) {
      const [view, listed] = [await sessions.get(sessionId), await workloads.list(sessionId)];
      const facts = {
        foregroundActivity: tierOf(view.turn === null, listed.length > 0),
        activeSubagentCount: listed.filter(({ kind, phase, hosted }) => kind === 'subagent' && phase === 'live' && !hosted)
          .length,
      };
      values.set(sessionId, facts);
      this.#compare(`session ${sessionId}`, facts, view, this.witness.valueOf('sessions', sessionId));
      if ((view.turn === null) === (view.state === 'running') && view.turn !== null)
        this.problems.push(`session ${sessionId} is ${view.state} with a turn`);
    }
    for (const taskId of TASKS) {
      const aggregate = aggregateActivity(SESSIONS.filter((id) => taskOf(id) === taskId).flatMap((id) => values.get(id) ?? []));
      this.#compare(`task ${taskId}`, aggregate, await tasks.get(taskId), this.witness.valueOf('tasks', taskId));
    }
  }

  #compare(of: string, facts: ActivityValue, view: ActivityValue, told: ActivityValue): void {
    if (!isSameActivity(facts, view))
      this.problems.push(`${of}: shown ${JSON.stringify(pick(view))}, it is ${JSON.stringify(facts)}`);
    if (!isSameActivity(facts, told)) this.problems.push(`${of}: told ${JSON.stringify(told)}, it is ${JSON.stringify(facts)}`);
  }

  /** Everybody was answered, as it was. */
  checkAnswers(): void {
    for (const { promptId, sessionId, answer } of this.#asked) {
      const call = this.mock.prompts.find(({ content }) => content === promptId);
      const told = this.witness.tickets.get(promptId) ?? [];
      if (answer === null) this.problems.push(`${promptId} was never answered`);
      else if ('accepted' in answer && (call?.generation !== answer.generation || call.agent.context.sessionId !== sessionId))
        this.problems.push(`${promptId} was answered as accepted, and was not`);
      else if ('refused' in answer && answer.refused === 'prompt.busy' && call !== undefined)
        this.problems.push(`${promptId} was refused, and reached its agent`);
      else if ('queued' in answer && (told[0] !== 'queued' || told.length !== 2))
        this.problems.push(`the ticket of ${promptId} was told ${told.join(', ')}`);
    }
    this.problems.push(...this.witness.problems);
  }
}

const isNotice = (content: string): boolean => content.startsWith('[task ');

const pick = ({ foregroundActivity, activeSubagentCount }: ActivityValue): ActivityValue => ({
  foregroundActivity,
  activeSubagentCount,
});
