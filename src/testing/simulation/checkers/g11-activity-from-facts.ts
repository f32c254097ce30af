/**
 * G11: activity = recomputed from facts, count = live registrations.
 *
 * AFF1  At rest tier and count of a session follow from its turn and its workloads, those of a task from its sessions.
 * AFF2  Its workloads are the jobs that are stored and have not ended, each where it was asked for and, as hosted, where it runs; and what its
 *       loaded agent, or somebody for it, has named and not ended.
 * AFF3  A turn that is shown is one that an agent was asked for and has not ended, or one of an agent that speaks by itself; and what an agent was
 *       asked for and nobody has ended is shown.
 * AFF4  What was told last is what is shown.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  type ActivityValue,
  aggregateActivity,
  aggregatePending,
  isSameActivity,
  NO_ACTIVITY,
  type SessionView,
  type TaskView,
  tierOf,
  type WorkloadView,
} from '../../../model/activity.ts';
import type { OffstageEvent } from '../../../model/events.ts';
import { callerOf, isTerminal, type JobRecord } from '../../../model/records.ts';
import { type Check, type Checker, violating } from '../checker.ts';
import type { Fact, RestView } from '../facts.ts';
import type { Known, KnownAgent } from '../known.ts';
import { displayOf, isLoaded, isOwn, TurnBook } from './turn-book.ts';
import { WorkBook } from './work-book.ts';
import { WriteWatch } from './write-watch.ts';

const violate = violating('G11');

export const activityFromFacts: Checker = {
  guarantee: 'G11',
  promise: 'activity = recomputed from facts, count = live registrations',
  begin(): Check {
    const watch = new Watch();
    return (fact, known) => watch.take(fact, known);
  },
};

class Watch {
  readonly #turns = new TurnBook();
  readonly #works = new WorkBook();
  readonly #writes = new WriteWatch();
  readonly #told = new LastTold();
  /** By kind of job: what its work counts as. */
  readonly #kinds = new Map<string, string>();
  /** Agents that have spoken where nobody asked. */
  readonly #speakers = new Set<number>();

  take(fact: Fact, known: Known): void {
    this.#turns.note(fact, known);
    this.#works.note(fact, known);
    this.#writes.note(fact);
    if (fact.type === 'told' && fact.observer === 0) {
      this.#told.note(fact.event);
      if (fact.event.type === 'session.turn_ended') {
        const page = this.#turns.pages.get(fact.event.generation);
        if (page !== undefined) this.#turns.told(page);
      }
    } else if (fact.type === 'agent.said') {
      if (fact.frame.generation === 0) this.#speakers.add(fact.agent);
    } else if (fact.type === 'crashed' || fact.type === 'closed') {
      this.#told.forget();
      this.#kinds.clear();
      this.#speakers.clear();
    } else if (fact.type === 'rested') this.#rested(fact.view, known);
  }

  #rested(view: RestView, known: Known): void {
    const isCalm = this.#writes.isCalm(view);
    for (const session of view.sessions) {
      const works = view.workloads.get(session.sessionId) ?? [];
      this.#checkValue(session, works, isCalm, known);
      if (!isCalm) continue;
      this.#checkTurn(session, view.isLast, known);
      this.#checkWorks(session, works, known);
      this.#checkCounts(session, works, view);
      this.#told.checkSession(session);
    }
    if (!isCalm) return;
    for (const task of view.tasks) {
      this.#checkTask(task, view, known);
      this.#told.checkTask(task);
    }
  }

  /** AFF1. */
  #checkValue(session: SessionView, works: readonly WorkloadView[], isCalm: boolean, known: Known): void {
    const { sessionId, agentId, state, turn, foregroundActivity, activeSubagentCount } = session;
    const count = works.filter(({ kind, phase, hosted }) => kind === 'subagent' && phase === 'live' && !hosted).length;
    if (activeSubagentCount !== count)
      violate(`${sessionId} counts ${activeSubagentCount} subagents, and ${count} are registered: ${listOf(works)}`);
    const isCoarse = displayOf(known, agentId) === 'coarse' && state === 'running';
    const tier = tierOf(turn === null && !isCoarse, works.length > 0);
    // While nothing can be stored, the row that counts may be decided and not shown yet.
    if (foregroundActivity !== tier && (isCalm || displayOf(known, agentId) !== 'coarse'))
      violate(
        `${sessionId} (${state}) shows ${foregroundActivity} with ${turn === null ? 'no turn' : `the turn ${turn.generation}`} and the works ${listOf(works)}`,
      );
  }

  /** AFF3. */
  #checkTurn(
    { sessionId, agentId, state, turn, executionId, foregroundActivity }: SessionView,
    isLast: boolean,
    known: Known,
  ): void {
    const agents = [...known.agents].filter(
      ([, agent]) => isOwn(agent) && agent.started.sessionId === sessionId && isLoaded(agent),
    );
    const ids = agents.map(([, { started }]) => started.executionId);
    if (ids.length > 1) violate(`${sessionId} has ${ids.length} loaded agents: ${ids.join(', ')}`);
    if (executionId !== (ids[0] ?? null))
      violate(`${sessionId} shows the agent ${executionId}, and ${ids[0] ?? 'none'} is loaded`);
    if ((state === 'failed' || state === 'cancelled') && ids.length > 0)
      violate(`${sessionId} is ${state}, and ${ids[0]} is loaded`);
    if (isLast && foregroundActivity === 'generating')
      violate(`${sessionId} (${state}) generates, and nothing is left that could say anything`);
    const isCoarse = displayOf(known, agentId) === 'coarse';
    if (foregroundActivity === 'generating' && turn === null && !(isCoarse && state === 'running'))
      violate(`${sessionId} (${state}) generates without a turn`);
    if (state === 'running' && turn === null && !this.#hasHeldTurn(agents))
      violate(`${sessionId} is running, and nobody was asked`);
    const [loaded] = agents;
    if (turn !== null) this.#checkShown(sessionId, turn, loaded);
    if (foregroundActivity !== 'generating' && loaded !== undefined) this.#checkUnshown(sessionId, loaded);
  }

  /** A prompt that was handed off, or is not answered although it is over, keeps its session running. */
  #hasHeldTurn(agents: readonly (readonly [number, KnownAgent])[]): boolean {
    return agents.some(([number]) => this.#turns.openOf(number).length > 0);
  }

  #checkShown(
    sessionId: string,
    { generation, origin }: NonNullable<SessionView['turn']>,
    loaded: readonly [number, KnownAgent] | undefined,
  ): void {
    const name = `${sessionId} shows the turn ${generation}`;
    const page = this.#turns.pages.get(generation);
    if (origin === 'provider') {
      if (page !== undefined) violate(`${name} of its agent's own, and somebody has asked for it`);
      if (loaded === undefined) violate(`${name} of its agent's own, and none is loaded`);
      else if (!this.#speakers.has(loaded[0])) violate(`${name} of its agent's own, which has said nothing by itself`);
      return;
    }
    if (page === undefined) return;
    const { prompted, over, isTold, hasEnded } = page;
    if (prompted.sessionId !== sessionId) violate(`${name}, which is that of ${prompted.sessionId}`);
    if (over !== null || hasEnded) violate(`${name}, which its agent has said to be over`);
    if (isTold) violate(`${name}, whose end was told`);
    if (loaded === undefined || prompted.agent !== loaded[0])
      violate(`${name} of agent ${prompted.agent}, which has gone or was told to`);
  }

  /** Nothing is shown: then nobody was asked, or it is over, or its foreground was said to be free. */
  #checkUnshown(sessionId: string, [agent]: readonly [number, KnownAgent]): void {
    for (const { prompted, isTold, hasEnded, isSuperseded, yielded } of this.#turns.openOf(agent)) {
      if (!isTold && !hasEnded && !isSuperseded && !yielded.said)
        violate(`${sessionId} does not show that its agent ${agent} was asked as generation ${prompted.generation}`);
    }
  }

  /** AFF2. */
  #checkWorks({ sessionId }: SessionView, works: readonly WorkloadView[], known: Known): void {
    const shown = works.filter(({ source }) => source === 'engine').map((work) => this.#wordsOf(work));
    const stored = [...known.jobs.values()].flatMap(({ record }) => registrationsOf(record, sessionId));
    if (!isDeepStrictEqual(shown.toSorted(), stored.toSorted()))
      violate(`${sessionId} shows the jobs ${shown.join(', ') || 'none'}, and stored are ${stored.join(', ') || 'none'}`);
    for (const { workloadId, kind, source } of works) {
      const job = known.jobs.get(workloadId)?.record.kind;
      if (source !== 'engine' || job === undefined) continue;
      const before = this.#kinds.get(job) ?? kind;
      if (before !== kind) violate(`the job ${workloadId} of kind ${job} counts as ${kind}, and others of its kind as ${before}`);
      this.#kinds.set(job, kind);
    }
    const ids = works.map(({ workloadId, executionId, hosted }) => JSON.stringify([executionId, workloadId, hosted]));
    for (const [index, id] of ids.entries()) if (ids.indexOf(id) !== index) violate(`${sessionId} shows the work ${id} twice`);
    for (const work of works) if (work.source === 'provider') this.#checkProvided(sessionId, work, known);
  }

  #wordsOf({ workloadId, phase, hosted, executionId }: WorkloadView): string {
    return `${workloadId} ${phase}${hosted ? ' hosted' : ''}${executionId === null ? '' : ` of ${executionId}`}`;
  }

  #checkProvided(sessionId: string, { workloadId, executionId, phase, hosted }: WorkloadView, known: Known): void {
    const name = `the work ${workloadId} of ${executionId} in ${sessionId}`;
    const agent = [...known.agents.values()].find(({ started }) => started.executionId === executionId);
    if (executionId === null || !isOwn(agent)) {
      violate(`${name} belongs to no agent`);
      return;
    }
    if (agent.started.sessionId !== sessionId) violate(`${name} belongs to an agent of ${agent.started.sessionId}`);
    if (!isLoaded(agent)) violate(`${name} belongs to an agent that has gone, or was told to`);
    if (phase !== 'live' || hosted) violate(`${name} is ${phase}${hosted ? ', and hosted' : ''}`);
    if (!this.#works.isNamed(executionId, workloadId)) violate(`${name} was named by nobody`);
    if (this.#works.hasEnded(executionId, workloadId)) violate(`${name} was said to have ended`);
  }

  #checkCounts(session: SessionView, works: readonly WorkloadView[], view: RestView): void {
    const { sessionId, uncertainCount, quietCount, queuedPrompts } = session;
    const uncertain = works.filter((work) => work.uncertain).length;
    const quiet = works.filter((work) => work.quiet).length;
    const waiting = view.tickets.get(sessionId)?.length ?? 0;
    if (uncertainCount !== uncertain) violate(`${sessionId} counts ${uncertainCount} uncertain works, and lists ${uncertain}`);
    if (quietCount !== quiet) violate(`${sessionId} counts ${quietCount} quiet works, and lists ${quiet}`);
    if (queuedPrompts !== waiting) violate(`${sessionId} counts ${queuedPrompts} queued prompts, and lists ${waiting}`);
  }

  #checkTask(task: TaskView, view: RestView, known: Known): void {
    const { taskId } = task;
    const sessions = view.sessions.filter((session) => session.taskId === taskId);
    const value = aggregateActivity(sessions);
    if (!isSameActivity(task, value))
      violate(`the task ${taskId} shows ${textOf(task)}, and its sessions come to ${textOf(value)}`);
    const pending = aggregatePending(sessions);
    if (task.pending !== pending) violate(`the task ${taskId} waits for ${task.pending}, and its sessions for ${pending}`);
    const ids = sessions.map(({ sessionId }) => sessionId);
    if (!isDeepStrictEqual([...task.sessions].toSorted(), ids.toSorted()))
      violate(`the task ${taskId} lists the sessions ${task.sessions.join(', ')}, and there are ${ids.join(', ')}`);
    const running = [...known.jobs.values()].filter(
      ({ record }) => record.taskId === taskId && record.status === 'running',
    ).length;
    if (task.runningJobs !== running)
      violate(`the task ${taskId} counts ${task.runningJobs} running jobs, and ${running} are stored`);
  }
}

/** AFF4. */
class LastTold {
  readonly #sessions = new Map<string, ActivityValue>();
  readonly #states = new Map<string, string>();
  readonly #tasks = new Map<string, ActivityValue>();

  note(event: OffstageEvent): void {
    const { foregroundActivity, activeSubagentCount } = event as Partial<ActivityValue>;
    if (foregroundActivity === undefined || activeSubagentCount === undefined) return;
    const value = { foregroundActivity, activeSubagentCount };
    if (event.type === 'session.activity_changed') this.#sessions.set(event.sessionId, value);
    else if (event.type === 'session.state_changed') {
      this.#sessions.set(event.sessionId, value);
      this.#states.set(event.sessionId, event.newState);
    } else if (event.type === 'task.updated' || event.type === 'task.created') this.#tasks.set(event.taskId, value);
  }

  forget(): void {
    for (const memory of [this.#sessions, this.#states, this.#tasks]) memory.clear();
  }

  checkSession(session: SessionView): void {
    const { sessionId, state } = session;
    const told = this.#sessions.get(sessionId) ?? NO_ACTIVITY;
    if (!isSameActivity(told, session)) violate(`${sessionId} shows ${textOf(session)}, and was told to be ${textOf(told)} last`);
    const toldState = this.#states.get(sessionId) ?? state;
    if (toldState !== state) violate(`${sessionId} is ${state}, and was told to be ${toldState} last`);
  }

  checkTask(task: TaskView): void {
    const told = this.#tasks.get(task.taskId) ?? NO_ACTIVITY;
    if (!isSameActivity(told, task))
      violate(`the task ${task.taskId} shows ${textOf(task)}, and was told to be ${textOf(told)} last`);
  }
}

/** W1, W6: counted where it was asked for, and shown where it runs. */
function registrationsOf(record: JobRecord, sessionId: string): readonly string[] {
  if (isTerminal(record.status)) return [];
  const words = `${record.jobId} ${record.status === 'running' ? 'live' : 'queued'}`;
  return [
    ...(callerOf(record) === sessionId ? [words] : []),
    ...(record.callerSessionId !== null && record.sessionId === sessionId ? [`${words} hosted`] : []),
  ];
}

const textOf = ({ foregroundActivity, activeSubagentCount }: ActivityValue): string =>
  `${foregroundActivity ?? 'nothing'} with ${activeSubagentCount} subagents`;

const listOf = (works: readonly WorkloadView[]): string =>
  works.map(({ workloadId, kind, phase, hosted }) => `${workloadId} (${kind}, ${phase}${hosted ? ', hosted' : ''})`).join(', ') ||
  'none';
