/** Facts of a simulated world written by hand, with few words: what its sessions, agents and jobs do, and what a checker says of it. */
import { NEW_JOB } from '../../src/machines/job.ts';
import type { SessionView, TaskView, WorkloadView } from '../../src/model/activity.ts';
import type { OffstageEvent } from '../../src/model/events.ts';
import type { ReasonCode, SessionRow, SessionState } from '../../src/model/records.ts';
import type { PromptTicket } from '../../src/model/session-requests.ts';
import type { StopReport } from '../../src/model/stop.ts';
import { encodeJobRow, type JobBase, type JobState } from '../../src/persistence/job-codec.ts';
import { KEYS } from '../../src/persistence/row-keys.ts';
import { removeSessionOperations, sessionOperations, taskOperations } from '../../src/persistence/session-rows.ts';
import type { StoreOperation } from '../../src/persistence/store.ts';
import type { Checker } from '../../src/testing/simulation/checker.ts';
import type { Fact, FactBody, LifeSettings, RestView } from '../../src/testing/simulation/facts.ts';
import { Known } from '../../src/testing/simulation/known.ts';

/** At `at` milliseconds; without it in the same moment as the one before. */
export type Told = FactBody & { readonly at?: number };

/** Runs the checker over the facts, of one life after the other; throws what it throws. */
export const judging = (checker: Checker) => (facts: readonly (Told | readonly Told[])[]) => (): void => {
  const known = new Known();
  const check = checker.begin();
  let at = 0;
  let life = 1;
  for (const [step, body] of facts.flat().entries()) {
    at = body.at ?? at;
    const fact: Fact = { ...body, step, at, life };
    known.learn(fact);
    check(fact, known);
    if (body.type === 'closed' || body.type === 'crashed') life += 1;
  }
};

/** Those of an engine that was opened without options, and four jobs at once. */
const SETTINGS: LifeSettings = { ...new Known().settings, workers: 4 };

export const opened = (settings: Partial<LifeSettings> = {}, epoch = 'first'): Told => ({
  type: 'opened',
  settings: { ...SETTINGS, ...settings },
  epoch,
  seq: 0,
});

// Callers.

export const asked = (call: number, verb: string, ...args: readonly unknown[]): Told => ({
  type: 'asked',
  call,
  by: { who: 'person' },
  verb,
  args,
});

export const answered = (call: number, verb: string, value: unknown): Told => ({ type: 'answered', call, verb, value });

export const refused = (call: number, verb: string, code: string): Told => ({
  type: 'refused',
  call,
  verb,
  code,
  message: `it is ${code}`,
});

/** A prompt for `s`, by content. */
export const ask = (call: number, content: string, more: object = {}): Told =>
  asked(call, 'sessions.prompt', 's', { content, ...more });

export const accepted = (call: number, generation: number, promptId = `prompt ${call}`): Told =>
  answered(call, 'sessions.prompt', { accepted: true, promptId, generation });

export const busy = (call: number): Told => refused(call, 'sessions.prompt', 'prompt.busy');

const NOTHING: StopReport = {
  stopped: [],
  recovered: [],
  alreadyStopping: [],
  detached: [],
  absent: [],
  failed: [],
  loadErrors: [],
  sourceError: null,
  durable: true,
};

export const stopped = (call: number, verb: string, report: Partial<StopReport>): Told =>
  answered(call, verb, { ...NOTHING, ...report });

/** The last report of the stop of call `of`. */
export const settled = (call: number, of: number, report: Partial<StopReport>): readonly Told[] => [
  asked(call, 'stop.settled', of),
  stopped(call, 'stop.settled', report),
];

// What is stored.

export const wrote = (...operations: readonly StoreOperation[]): Told => ({
  type: 'wrote',
  operations,
  sync: true,
  outcome: 'written',
});

const rowOf = (sessionId: string, taskId: string, state: SessionState, agentId: string | null = null): SessionRow => ({
  sessionId,
  taskId,
  agentId,
  state,
  interrupted: false,
  pending: null,
  createdAt: 0,
  updatedAt: 0,
  revision: 1,
});

export const session = (sessionId = 's', taskId = 't', state: SessionState = 'created', agentId: string | null = null): Told =>
  wrote(...sessionOperations(rowOf(sessionId, taskId, state, agentId)));

export const task = (taskId = 't'): Told =>
  wrote(...taskOperations({ taskId, title: taskId, state: 'open', createdAt: 0, revision: 1 }));

export const removedSession = (sessionId = 's', taskId = 't'): Told =>
  wrote(...removeSessionOperations(rowOf(sessionId, taskId, 'created'), 0));

export interface JobWish {
  readonly jobId: string;
  readonly state: JobState;
  readonly sessionId?: string;
  readonly taskId?: string;
  readonly callerSessionId?: string;
  readonly parentJobId?: string;
  readonly parentMessageId?: string;
  readonly wait?: boolean;
  readonly kind?: string;
  readonly reasonCode?: ReasonCode;
}

/** Stored in this state, in a batch of its own. */
export function job({ jobId, state, reasonCode, ...wish }: JobWish): Told {
  const ordinal = [...jobId].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7) % 1_000_000;
  const base: JobBase = {
    ordinal,
    jobId,
    kind: 'work',
    subject: jobId,
    description: '',
    agentId: null,
    input: null,
    createdAt: 0,
    sessionId: 's',
    callerSessionId: null,
    taskId: 't',
    parentJobId: null,
    parentMessageId: null,
    contextMode: 'inherit',
    wait: false,
    timeoutMs: null,
    idleTimeoutMs: null,
    notifies: false,
    depth: 0,
    isLarge: false,
    ...wish,
  };
  const context = { ...NEW_JOB, reasonCode: reasonCode ?? null };
  const isOver = state === 'completed' || state === 'cancelled' || state === 'errored';
  const value = encodeJobRow(base, { state, context, lastActivityAt: null, notes: [] }, 1);
  return wrote(
    { type: 'put', key: isOver ? KEYS.finished(ordinal) : KEYS.live(ordinal), value },
    ...(isOver ? [{ type: 'del', key: KEYS.live(ordinal) } as const] : []),
  );
}

// Bodies and agents.

export const called = (run: number, jobId: string): Told => ({
  type: 'body.called',
  run,
  jobId,
  kind: 'work',
  sessionId: 's',
  isWaited: false,
  isObedient: true,
});

export const bodyTold = (run: number, jobId: string, code = 'job.cancelled'): Told => ({ type: 'body.told', run, jobId, code });

export const bodyOver = (run: number, jobId: string): Told => ({ type: 'body.settled', run, jobId, how: 'returned' });

export const started = (agent: number, sessionId = 's', jobId: string | null = null): Told => ({
  type: 'agent.started',
  agent,
  executionId: `exec ${agent}`,
  sessionId,
  jobId,
});

export const prompted = (agent: number, generation: number, content: unknown, more: object = {}): Told => ({
  type: 'agent.prompted',
  agent,
  sessionId: 's',
  jobId: null,
  generation,
  origin: 'human',
  content,
  ...more,
});

export const over = (agent: number, generation: number, how: 'returned' | 'threw' = 'returned', sessionId = 's'): Told => ({
  type: 'agent.prompt-over',
  agent,
  sessionId,
  generation,
  how,
});

export const said = (agent: number, type: string, generation: number, more: object = {}): Told => ({
  type: 'agent.said',
  agent,
  sessionId: 's',
  frame: { type, generation, ...more },
});

/** It says that it hands off. */
export const able = (agent: number): Told => said(agent, 'capability', 0, { handoff: true, snapshot: true });

export const speaks = (agent: number, generation: number): Told => said(agent, 'output', generation, { text: 'words' });

export const endTold = (agent: number, sessionId = 's'): Told => ({ type: 'agent.told-to-end', agent, sessionId });

export const gone = (agent: number, sessionId = 's'): Told => ({ type: 'agent.gone', agent, sessionId });

// What observers are told.

const EVENT = { seq: 1, epoch: 'first', at: 0 };

export const told = (event: object, observer = 0): Told => ({
  type: 'told',
  observer,
  event: { ...EVENT, ...event } as OffstageEvent,
});

export const ended = (generation: number, sessionId = 's'): Told =>
  told({ type: 'session.turn_ended', sessionId, generation, stopReason: null, error: null });

export const ticket = (ticketId: string, promptId: string, status: string, generation = 0, sessionId = 's'): Told =>
  told({ type: 'session.ticket', sessionId, ticketId, promptId, status, generation, error: null });

type Tier = 'generating' | 'background' | null;

export const activity = (sessionSeq: number, foregroundActivity: Tier, activeSubagentCount = 0, more: object = {}): object => ({
  type: 'session.activity_changed',
  sessionId: 's',
  taskId: 't',
  foregroundActivity,
  activeSubagentCount,
  activityEpoch: 1,
  sessionSeq,
  ...more,
});

export const moved = (oldState: SessionState | null, newState: SessionState, sessionSeq: number, more: object = {}): object => ({
  type: 'session.state_changed',
  sessionId: 's',
  taskId: 't',
  oldState,
  newState,
  foregroundActivity: null,
  activeSubagentCount: 0,
  activityEpoch: 1,
  sessionSeq,
  ...more,
});

export const aggregate = (taskSeq: number, foregroundActivity: Tier, activeSubagentCount = 0): object => ({
  type: 'task.updated',
  taskId: 't',
  foregroundActivity,
  activeSubagentCount,
  taskSeq,
  isVolatile: true,
});

// Everything at rest.

export const sessionView = (more: Partial<SessionView> = {}): SessionView => ({
  ...rowOf(more.sessionId ?? 's', more.taskId ?? 't', more.state ?? 'created'),
  foregroundActivity: null,
  activeSubagentCount: 0,
  uncertainCount: 0,
  quietCount: 0,
  queuedPrompts: 0,
  turn: null,
  executionId: null,
  endingAgents: 0,
  usage: {},
  sessionSeq: 0,
  ...more,
});

export const taskView = (more: Partial<TaskView> = {}): TaskView => ({
  taskId: 't',
  title: 't',
  state: 'open',
  createdAt: 0,
  revision: 1,
  foregroundActivity: null,
  activeSubagentCount: 0,
  pending: null,
  sessions: ['s'],
  runningJobs: 0,
  taskSeq: 0,
  ...more,
});

export const work = (workloadId: string, more: Partial<WorkloadView> = {}): WorkloadView => ({
  sessionId: 's',
  workloadId,
  kind: 'subagent',
  source: 'engine',
  phase: 'live',
  executionId: null,
  toolCallId: null,
  hosted: false,
  uncertain: false,
  quiet: false,
  startedAt: 0,
  ...more,
});

export const waiting = (ticketId: string, promptId: string): PromptTicket => ({
  ticketId,
  promptId,
  sessionId: 's',
  origin: 'human',
  position: 1,
  createdAt: 0,
});

const HEALTH: RestView['health'] = {
  status: 'ok',
  pool: { workers: 4, running: 0, waiting: 0, queued: 0, detached: 0 },
  agents: { live: 0, ending: 0, detached: 0 },
  store: { durability: 'full', pendingWrites: 0, lastError: null },
};

export const rested = (view: Partial<RestView> = {}): Told => ({
  type: 'rested',
  view: {
    jobs: [],
    jobsOf: new Map(),
    sessions: [],
    tasks: [],
    workloads: new Map(),
    tickets: new Map(),
    cards: new Map(),
    health: HEALTH,
    seq: 1,
    log: [],
    logAfter: 0,
    canStore: true,
    isLast: false,
    ...view,
  },
});

/** The last one, with the health that it shows. */
export const restedAtLast = (health: Partial<RestView['health']> = {}): Told =>
  rested({ isLast: true, health: { ...HEALTH, ...health } });
