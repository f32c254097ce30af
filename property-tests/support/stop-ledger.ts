/**
 * What happened in a scene in which somebody stops things, and in which tick (`ticks.ts`). Noted by the scene's own agents and bodies, by
 * who asked, and by an observer of events.
 *
 * SLG1  Nothing here asks the engine what runs.
 */
import type { OffstageEvent } from '../../src/model/events.ts';
import { isTerminal, type ReasonCode, type SessionState } from '../../src/model/records.ts';
import type { StopReport } from '../../src/model/stop.ts';
import type { Ticks } from './ticks.ts';

/** The states that a stop moves. */
export const AT_WORK: readonly (SessionState | null)[] = ['starting', 'running', 'waiting_for_input'];

/** One start of an agent, whatever came of it. */
export interface AgentNote {
  readonly executionId: string;
  readonly sessionId: string;
  /** When the engine decided to start it. */
  readonly launchedAt: number;
  readonly calledAt: number;
  startedAt: number | null;
  /** The start has failed: there is nothing to end. */
  refusedAt: number | null;
  /** It went by itself. */
  leftAt: number | null;
  signalAt: number | null;
  readonly closes: { readonly at: number; settledAt: number | null }[];
  /** A `close` has resolved. */
  goneAt: number | null;
}

export interface PromptNote {
  readonly promptId: string;
  readonly sessionId: string;
  readonly askedAt: number;
  answer: 'accepted' | 'queued' | { readonly refused: string } | null;
  /** Which agents were asked, and when. */
  readonly reached: { readonly agent: AgentNote; readonly at: number }[];
  readonly told: string[];
}

export interface JobNote {
  readonly number: number;
  readonly host: string;
  readonly caller: string | null;
  readonly parent: JobNote | null;
  readonly wait: boolean;
  readonly askedAt: number;
  jobId: string | null;
  refused: string | null;
  isAnswered: boolean;
  bodyAt: number | null;
  bodyEndedAt: number | null;
  signalAt: number | null;
  /** How often its executor was asked to end it. */
  cancels: number;
  /** A person has cancelled it. */
  cancelledAt: number | null;
}

/** What events told of a job. */
export interface JobTold {
  readonly createdAt: number;
  endedAt: number | null;
  reasonCode: ReasonCode | null;
  isDetached: boolean;
}

export interface StopNote {
  readonly taskId: string;
  /** Null: the whole task. */
  readonly sessionId: string | null;
  readonly askedAt: number;
  /** Called when it has read its sources. */
  onRead: () => void;
  /** Called in the tick in which it decides. */
  onDecided: () => void;
  decidedAt: number | null;
  /** Of what it covers, what lived when it decided. */
  found: { readonly agents: readonly AgentNote[]; readonly jobs: readonly JobNote[]; readonly atWork: readonly string[] };
  readonly isForced: boolean;
  /** Answered, by a report or by an error. */
  answeredAt: number | null;
  refused: string | null;
  report: StopReport | null;
  /** Sessions whose rows it could not read. */
  unreadable: readonly string[];
  /** Its last report was given, or it was refused. */
  isSettled: boolean;
}

export class StopLedger {
  readonly ticks: Ticks;
  readonly taskOf: (sessionId: string) => string;
  readonly problems: string[] = [];
  readonly agents: AgentNote[] = [];
  readonly prompts: PromptNote[] = [];
  readonly jobs: JobNote[] = [];
  readonly stops: StopNote[] = [];
  readonly told = new Map<string, JobTold>();
  readonly states = new Map<string, { readonly at: number; readonly from: SessionState | null; readonly to: SessionState }[]>();
  readonly interrupts: { readonly sessionId: string; readonly at: number }[] = [];
  /** The store has refused a write: ends may be acted upon long before they are told. */
  isDegraded = false;
  /** Called once, when the first stop has decided. */
  onDecided: (() => void) | null = null;
  /** When the engine was told to close. */
  closedAt = Number.POSITIVE_INFINITY;
  readonly #launches = new Map<string, number>();

  constructor(ticks: Ticks, taskOf: (sessionId: string) => string) {
    this.ticks = ticks;
    this.taskOf = taskOf;
  }

  get now(): number {
    return this.ticks.now;
  }

  /** The engine gives an execution its name when it decides to start it. */
  launched(executionId: string): void {
    this.#launches.set(executionId, this.now);
  }

  agentCalled(executionId: string, sessionId: string): AgentNote {
    const note: AgentNote = {
      executionId,
      sessionId,
      launchedAt: this.#launches.get(executionId) ?? -1,
      calledAt: this.now,
      startedAt: null,
      refusedAt: null,
      leftAt: null,
      signalAt: null,
      closes: [],
      goneAt: null,
    };
    this.agents.push(note);
    return note;
  }

  asked(sessionId: string): PromptNote {
    const promptId = `p${this.prompts.length}`;
    const note: PromptNote = { promptId, sessionId, askedAt: this.now, answer: null, reached: [], told: [] };
    this.prompts.push(note);
    return note;
  }

  spawned(given: Pick<JobNote, 'host' | 'caller' | 'parent' | 'wait'>): JobNote {
    const note: JobNote = {
      ...given,
      number: this.jobs.length,
      askedAt: this.now,
      jobId: null,
      refused: null,
      isAnswered: false,
      bodyAt: null,
      bodyEndedAt: null,
      signalAt: null,
      cancels: 0,
      cancelledAt: null,
    };
    this.jobs.push(note);
    return note;
  }

  stopped(taskId: string, sessionId: string | null, isForced: boolean): StopNote {
    const note: StopNote = {
      taskId,
      sessionId,
      isForced,
      askedAt: this.now,
      onRead: () => {},
      onDecided: () => {},
      decidedAt: null,
      found: { agents: [], jobs: [], atWork: [] },
      answeredAt: null,
      refused: null,
      report: null,
      unreadable: [],
      isSettled: false,
    };
    this.stops.push(note);
    return note;
  }

  /** It decides in this very tick. */
  decided(stop: StopNote): void {
    stop.decidedAt = this.now;
    const agents = this.agents.filter((agent) => this.covers(stop, agent.sessionId) && isAgentLive(agent));
    // A start that could not be stored has ended its job, whatever was told of it.
    const lives = (job: JobNote): boolean =>
      isBodyLive(job) || (job.bodyAt === null && !this.isDegraded && this.isUnfinished(job));
    const jobs = this.jobs.filter((job) => this.coversJob(stop, job) && lives(job));
    // Their agents are there, and nobody has told them to end.
    const current = agents.filter(
      ({ leftAt, signalAt, startedAt }) => startedAt !== null && leftAt === null && signalAt === null,
    );
    const atWork = current.filter(({ sessionId }) => AT_WORK.includes(this.states.get(sessionId)?.at(-1)?.to ?? 'created'));
    stop.found = { agents, jobs, atWork: atWork.map(({ sessionId }) => sessionId) };
    stop.onDecided();
    this.onDecided?.();
    this.onDecided = null;
  }

  readonly observe = (event: OffstageEvent): void => {
    if (event.type === 'session.state_changed') {
      const { sessionId, oldState, newState, foregroundActivity } = event;
      // What it was doing has ended in the same instant; only jobs may still be ending.
      if (newState === 'cancelled' && foregroundActivity === 'generating')
        this.problems.push(`${sessionId} is cancelled, and generating`);
      const before = this.states.get(sessionId) ?? [];
      this.states.set(sessionId, [...before, { at: this.now, from: oldState, to: newState }]);
    } else if (event.type === 'job.created' || event.type === 'job.status') {
      const told = this.told.get(event.jobId) ?? { createdAt: this.now, endedAt: null, reasonCode: null, isDetached: false };
      this.told.set(event.jobId, told);
      if (!isTerminal(event.status)) return;
      told.endedAt ??= this.now;
      told.reasonCode = event.reasonCode;
      told.isDetached = event.detached;
    } else if (event.type === 'session.ticket') {
      this.prompts.find(({ promptId }) => promptId === event.promptId)?.told.push(event.status);
    }
  };

  covers({ taskId, sessionId }: StopNote, of: string): boolean {
    return sessionId === null ? this.taskOf(of) === taskId : of === sessionId;
  }

  /** Jobs that it hosts, those that it asked for, and the children of those that had not ended. */
  coversJob(stop: StopNote, { host, caller, parent }: JobNote): boolean {
    if (this.covers(stop, host) || (caller !== null && this.covers(stop, caller))) return true;
    if (parent === null) return false;
    const end = Math.min(parent.bodyEndedAt ?? this.now, this.toldOf(parent)?.endedAt ?? this.now);
    return end >= (stop.decidedAt ?? 0) && this.coversJob(stop, parent);
  }

  /** Accepted, and its end was not told. */
  isUnfinished({ jobId }: JobNote): boolean {
    const told = jobId === null ? undefined : this.told.get(jobId);
    return told !== undefined && told.endedAt === null;
  }

  toldOf({ jobId }: JobNote): JobTold | null {
    return jobId === null ? null : (this.told.get(jobId) ?? null);
  }
}

/** Started, or perhaps still to start, and not closed. */
export const isAgentLive = ({ refusedAt, goneAt }: AgentNote): boolean => refusedAt === null && goneAt === null;

export const isBodyLive = ({ bodyAt, bodyEndedAt }: JobNote): boolean => bodyAt !== null && bodyEndedAt === null;
