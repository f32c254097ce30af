/**
 * A server as a plain object: rows, a log of record events, connections. What it answers is computed at once and reaches the other side when the
 * test lets it: events and snapshots in their order, answers to questions whenever.
 */
import type { WebSocketLike } from '../../src/doors/client/web-socket-wire.ts';
import type { WireFields } from '../../src/doors/wire/rename.ts';
import { eventToWire } from '../../src/doors/wire/wire-events.ts';
import { jobToWire } from '../../src/doors/wire/wire-names.ts';
import { sessionToWire, taskToWire } from '../../src/doors/wire/wire-sessions.ts';
import { type ActivityValue, NO_ACTIVITY, type SessionView, type TaskView } from '../../src/model/activity.ts';
import { isVolatileEvent, type OffstageEvent } from '../../src/model/events.ts';
import type { JsonValue } from '../../src/model/json.ts';
import { isTerminal, type JobStatus, type JobView, type SessionState } from '../../src/model/records.ts';

const LARGE = ['input', 'description', 'result', 'result_text', 'partial_result'];
const FIRST_PAGE = 3;
/** More than any test has processes. */
const PROCESSES = 1_000;

/** Of which process the number of a telling is; null: it has told nothing yet. */
export const epochOfTold = (number: number): string | null => (number === 0 ? null : `epoch_${(number % PROCESSES) + 1}`);

/** An event without what the server adds to it. */
type Told = OffstageEvent extends infer Event
  ? Event extends OffstageEvent
    ? Omit<Event, 'seq' | 'epoch' | 'at'>
    : never
  : never;

export const briefly = (job: JobView): WireFields =>
  Object.fromEntries(Object.entries(jobToWire(job)).filter(([name]) => !LARGE.includes(name)));

export class ModelServer {
  readonly tasks = new Map<string, TaskView>();
  readonly sessions = new Map<string, SessionView>();
  readonly jobs = new Map<string, JobView>();
  readonly connections = new Set<ModelSocket>();
  /** Every record event there was. */
  readonly log: OffstageEvent[] = [];
  /** Requests by action. */
  readonly asked: WireFields[] = [];
  epoch = 'epoch_1';
  seq = 0;
  /** The log begins after it. */
  forgottenTo = 0;
  /** Rows of one answer, at most. */
  pageRows = 1_000;
  /** `answers`: wait until they are let go one by one. */
  holdsAnswers = false;
  /** That of the last snapshot that has reached a client. */
  shownEpoch = '';
  /** Set to fail the next requests of an action. */
  readonly failing = new Map<string, WireFields>();
  #told = 0;
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The socket of a client that connects, open in the next tick. */
  connect(): ModelSocket {
    return new ModelSocket(this);
  }

  addTask(taskId: string): void {
    const row = { taskId, title: `Task ${taskId}`, state: 'open', createdAt: this.#now(), revision: 1 } as const;
    const counted = { ...NO_ACTIVITY, pending: null, sessions: [], runningJobs: 0, taskSeq: this.#count() };
    this.tasks.set(taskId, { ...row, ...counted });
    this.tell({ type: 'task.created', taskId, title: row.title, state: 'open', ...NO_ACTIVITY, taskSeq: this.#told });
  }

  rename(taskId: string, title: string): void {
    const task = this.#task(taskId);
    this.tasks.set(taskId, { ...task, title, revision: task.revision + 1, taskSeq: this.#count() });
    const { state, foregroundActivity, activeSubagentCount, taskSeq } = this.#task(taskId);
    this.tell({ type: 'task.updated', taskId, title, state, foregroundActivity, activeSubagentCount, taskSeq });
  }

  removeTask(taskId: string): void {
    const { title, state } = this.#task(taskId);
    for (const session of [...this.sessions.values()]) if (session.taskId === taskId) this.removeSession(session.sessionId);
    this.tasks.delete(taskId);
    this.tell({ type: 'task.removed', taskId, title, state });
  }

  addSession(sessionId: string, taskId: string): void {
    const at = this.#now();
    this.sessions.set(sessionId, {
      sessionId,
      taskId,
      agentId: null,
      state: 'created',
      interrupted: false,
      pending: null,
      createdAt: at,
      updatedAt: at,
      revision: 1,
      ...NO_ACTIVITY,
      uncertainCount: 0,
      quietCount: 0,
      queuedPrompts: 0,
      turn: null,
      executionId: null,
      endingAgents: 0,
      usage: {},
      sessionSeq: this.#count(),
    });
    const task = this.#task(taskId);
    this.tasks.set(taskId, { ...task, sessions: [...task.sessions, sessionId] });
    this.#tellState(sessionId, null);
  }

  setState(sessionId: string, state: SessionState): void {
    const session = this.#session(sessionId);
    const { state: oldState, revision } = session;
    this.sessions.set(sessionId, {
      ...session,
      state,
      updatedAt: this.#now(),
      revision: revision + 1,
      sessionSeq: this.#count(),
    });
    this.#tellState(sessionId, oldState);
  }

  setActivity(sessionId: string, value: ActivityValue): void {
    const session = this.#session(sessionId);
    const { taskId } = session;
    this.sessions.set(sessionId, { ...session, ...value, sessionSeq: this.#count() });
    this.tell({ type: 'session.activity_changed', sessionId, taskId, ...value, activityEpoch: 1, sessionSeq: this.#told });
    const task = this.#task(taskId);
    this.tasks.set(taskId, { ...task, ...value, taskSeq: this.#count() });
    this.tell({ type: 'task.updated', taskId, ...value, taskSeq: this.#told, isVolatile: true });
  }

  /** Something that only its row shows. */
  ticket(sessionId: string): void {
    const session = this.#session(sessionId);
    this.sessions.set(sessionId, { ...session, queuedPrompts: session.queuedPrompts + 1 });
    const ids = { sessionId, ticketId: 'ticket', promptId: 'prompt' };
    this.tell({ type: 'session.ticket', ...ids, status: 'queued', generation: 0, error: null });
  }

  removeSession(sessionId: string): void {
    const { taskId } = this.#session(sessionId);
    this.sessions.delete(sessionId);
    for (const job of [...this.jobs.values()]) if (job.sessionId === sessionId) this.jobs.delete(job.jobId);
    const task = this.#task(taskId);
    this.tasks.set(taskId, { ...task, sessions: task.sessions.filter((id) => id !== sessionId), ...this.#running(taskId) });
    this.tell({ type: 'session.removed', sessionId, taskId });
  }

  spawn(jobId: string, sessionId: string): void {
    const { taskId } = this.#session(sessionId);
    this.jobs.set(jobId, jobOf({ jobId, sessionId, taskId, createdAt: this.#now() }));
    this.#tellJob(jobId, 'job.created');
  }

  /** To its next status, or to this one. */
  advance(jobId: string, to?: JobStatus): void {
    const job = this.#job(jobId);
    if (isTerminal(job.status)) return;
    const next = { pending: 'queued', queued: 'running', running: 'completed' } as const;
    const status = to ?? next[job.status as keyof typeof next];
    const at = this.#now();
    const times = {
      ...(status === 'queued' ? { queuedAt: at } : {}),
      ...(status === 'running' ? { startedAt: at, bodyLive: true } : {}),
      ...(isTerminal(status) ? { completedAt: at, bodyLive: false, progress: null, reasonCode: 'completed' as const } : {}),
    };
    this.jobs.set(jobId, { ...job, ...times, status, revision: job.revision + 1 });
    this.#countTask(job.taskId);
    this.#tellJob(jobId, 'job.status');
  }

  progress(jobId: string, progress: JsonValue): void {
    const job = this.#job(jobId);
    if (job.status !== 'running') return;
    this.jobs.set(jobId, { ...job, progress, lastActivityAt: this.#now() });
    this.tell({ type: 'job.progress', jobId, sessionId: job.sessionId, progress });
  }

  /** Retention: nobody is told. */
  prune(jobId: string): void {
    if (isTerminal(this.#job(jobId).status)) this.jobs.delete(jobId);
  }

  /** Another process takes over: what ran is abandoned, what was shown of activity is gone, and all connections. */
  restart(): void {
    this.dropAll();
    this.epoch = `epoch_${Number(this.epoch.slice(6)) + 1}`;
    this.#told = Number(this.epoch.slice(6)) - 1;
    for (const session of this.sessions.values())
      this.sessions.set(session.sessionId, { ...session, ...NO_ACTIVITY, queuedPrompts: 0, sessionSeq: 0 });
    for (const task of this.tasks.values()) this.tasks.set(task.taskId, { ...task, ...NO_ACTIVITY, taskSeq: 0 });
    for (const job of this.jobs.values()) if (!isTerminal(job.status)) this.advance(job.jobId, 'errored');
  }

  /** Cursors from before now get a `resync`. */
  forgetLog(): void {
    this.log.length = 0;
    this.forgottenTo = this.seq;
  }

  /** A reader that was too slow: it gets a `resync`, and misses the next events. */
  fallBehind(): void {
    for (const socket of this.connections) socket.fallBehind();
  }

  dropAll(code = 1006): void {
    for (const socket of [...this.connections]) socket.drop(code);
  }

  tell(told: Told): OffstageEvent {
    const isVolatile = isVolatileEvent(told as OffstageEvent);
    if (!isVolatile) this.seq += 1;
    const event = { ...told, seq: this.seq, epoch: this.epoch, at: this.#now() } as OffstageEvent;
    if (!isVolatile) this.log.push(event);
    for (const socket of this.connections) socket.publish(event);
    return event;
  }

  answer(request: WireFields, socket: ModelSocket): WireFields | null {
    this.asked.push(request);
    const { action } = request;
    const failure = this.failing.get(action as string);
    if (failure !== undefined) {
      this.failing.delete(action as string);
      return { type: 'error', ...failure };
    }
    const notFound = { type: 'error', error: 'It is not there.', error_code: 'session.not_found', retryable: false };
    switch (action) {
      case 'subscribe':
        socket.subscribe(request);
        return null;
      case 'list_tasks':
        return this.#page('tasks', [...this.tasks.values()].reverse().map(taskToWire), 'task_id', request);
      case 'list_sessions':
        return this.#page('sessions', [...this.sessions.values()].reverse().map(sessionToWire), 'session_id', request);
      case 'list_jobs':
        return this.#page('tasks', this.#jobsOf(request), 'job_id', request);
      case 'get_task': {
        const task = this.tasks.get(request.task_id as string);
        return task === undefined ? notFound : { type: 'result', ...taskToWire(task) };
      }
      case 'get_session': {
        const session = this.sessions.get(request.session_id as string);
        return session === undefined ? notFound : { type: 'result', ...sessionToWire(session) };
      }
      case 'get_job': {
        const job = this.jobs.get(request.job_id as string);
        return job === undefined ? { ...notFound, error_code: 'job.not_found' } : { type: 'result', ...jobToWire(job) };
      }
      case 'await_jobs':
        return {
          type: 'result',
          tasks: (request.job_ids as readonly string[]).map((id) => {
            const job = this.jobs.get(id);
            if (job === undefined) return { job_id: id, error: 'No such job.', error_code: 'job.not_found' };
            return { ...briefly(job), ...(isTerminal(job.status) ? {} : { timed_out: true }) };
          }),
        };
      case 'never':
        return null;
      default:
        return { type: 'error', error: 'There is no such action.', error_code: 'control.protocol', retryable: false };
    }
  }

  snapshot(): WireFields {
    const counts = { pending: 0, queued: 0, running: 0 };
    for (const { status } of this.jobs.values()) if (!isTerminal(status)) counts[status as keyof typeof counts] += 1;
    const jobs = [...this.jobs.values()].reverse().slice(0, FIRST_PAGE);
    return {
      type: 'snapshot',
      epoch: this.epoch,
      seq: this.seq,
      tasks: [...this.tasks.values()].slice(0, this.pageRows).map(taskToWire),
      sessions: [...this.sessions.values()].slice(0, this.pageRows).map(sessionToWire),
      jobs: jobs.map(briefly),
      next_before: jobs.at(-1)?.jobId ?? null,
      counts,
    };
  }

  #jobsOf({ status_filter: wanted }: WireFields): readonly WireFields[] {
    const rows = [...this.jobs.values()].reverse().map(briefly);
    return wanted === undefined ? rows : rows.filter(({ status }) => (wanted as readonly JsonValue[]).includes(status as string));
  }

  #page(name: string, rows: readonly WireFields[], idName: string, { before, limit }: WireFields): WireFields {
    const from = before === undefined ? 0 : rows.findIndex((row) => row[idName] === before) + 1;
    if (before !== undefined && from === 0) {
      return { type: 'error', error: 'It has gone.', error_code: 'session.not_found', retryable: false };
    }
    const most = Math.min((limit as number | undefined) ?? 50, this.pageRows);
    const page = rows.slice(from, from + most);
    return { type: 'result', [name]: page, next_before: page.length === most ? (page.at(-1)?.[idName] ?? null) : null };
  }

  /** Numbers of tellings begin anew with each process, and no two processes have the same: it can be told which one a row is of. */
  #count(): number {
    this.#told += PROCESSES;
    return this.#told;
  }

  #tellState(sessionId: string, oldState: SessionState | null): void {
    const { taskId, state, foregroundActivity, activeSubagentCount, sessionSeq } = this.#session(sessionId);
    const value = { foregroundActivity, activeSubagentCount, sessionSeq, activityEpoch: 1 };
    this.tell({ type: 'session.state_changed', sessionId, taskId, oldState, newState: state, ...value });
  }

  #tellJob(jobId: string, type: 'job.created' | 'job.status'): void {
    const { sessionId, callerSessionId, taskId, parentJobId, status, reasonCode, completedAt, detached, revision } =
      this.#job(jobId);
    const ids = { jobId, sessionId, callerSessionId, taskId, parentJobId };
    this.tell({ type, ...ids, status, reasonCode, cancelRequestedAt: null, completedAt, detached, revision });
  }

  #countTask(taskId: string): void {
    this.tasks.set(taskId, { ...this.#task(taskId), ...this.#running(taskId) });
  }

  #running(taskId: string): { readonly runningJobs: number } {
    const running = [...this.jobs.values()].filter((job) => job.taskId === taskId && job.status === 'running');
    return { runningJobs: running.length };
  }

  #task = (taskId: string): TaskView => known(this.tasks.get(taskId));
  #session = (sessionId: string): SessionView => known(this.sessions.get(sessionId));
  #job = (jobId: string): JobView => known(this.jobs.get(jobId));
}

function known<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new Error('the test speaks of something that is not there');
  return row;
}

/** A job that was just accepted. */
export const jobOf = (given: Partial<JobView> & Pick<JobView, 'jobId' | 'sessionId' | 'taskId' | 'createdAt'>): JobView => ({
  kind: 'work',
  subject: `Job ${given.jobId}`,
  description: 'long',
  agentId: null,
  input: { large: true },
  status: 'pending',
  queuedAt: null,
  startedAt: null,
  completedAt: null,
  lastActivityAt: null,
  callerSessionId: null,
  parentJobId: null,
  parentMessageId: null,
  contextMode: 'inherit',
  wait: false,
  headId: null,
  sourceCommitId: null,
  resultText: null,
  result: null,
  error: null,
  reasonCode: null,
  cancelRequestedAt: null,
  cancelReason: null,
  detached: false,
  attempt: 1,
  timeoutMs: null,
  idleTimeoutMs: null,
  cardId: `card_${given.jobId}`,
  revision: 1,
  bodyLive: false,
  progress: null,
  partialText: null,
  ...given,
});

type Listener = (event: never) => void;

/** Both ends of one connection. */
export class ModelSocket implements WebSocketLike {
  readonly #server: ModelServer;
  readonly #listeners = new Map<string, Listener[]>();
  /** Frames on their way to the client, in order. */
  readonly frames: WireFields[] = [];
  /** Answers that wait to be let go. */
  readonly answers: WireFields[] = [];
  isOpen = false;
  hasEnded = false;
  /** Frames wait until `deliver` is called. */
  holdsFrames = false;
  #isSubscribed = false;
  #isBehind = false;

  get readyState(): number {
    if (this.hasEnded) return 3;
    return this.isOpen ? 1 : 0;
  }

  constructor(server: ModelServer) {
    this.#server = server;
    setImmediate(() => this.open());
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
  }

  open(): void {
    if (this.hasEnded || this.isOpen) return;
    this.isOpen = true;
    this.#server.connections.add(this);
    this.#emit('open', {});
  }

  /** The client sends. */
  send(text: string): void {
    if (this.hasEnded) return;
    const request = JSON.parse(text) as WireFields;
    const answer = this.#server.answer(request, this);
    if (answer === null) return;
    this.answers.push({ ...answer, request_id: request.request_id ?? null });
    if (!this.#server.holdsAnswers) this.letGo(0);
  }

  /** The client closes. */
  close(): void {
    this.drop(1005);
  }

  /** The n-th waiting answer is on its way, behind everything that is, or before. */
  letGo(index: number, isFirst = false): void {
    const [answer] = this.answers.splice(index, 1);
    if (answer === undefined) return;
    if (isFirst) this.frames.unshift(answer);
    else this.frames.push(answer);
    if (!this.holdsFrames) this.deliver();
  }

  subscribe({ after, request_id }: WireFields): void {
    const server = this.#server;
    this.#isSubscribed = true;
    this.#isBehind = false;
    if (typeof after === 'number') {
      const { seq, epoch } = server;
      if (after > seq || after < server.forgottenTo) this.push(eventToWire({ type: 'resync', seq, epoch, at: 0 }));
      for (const event of server.log) if (event.seq > after) this.push(replayed(event));
    }
    this.push({ ...server.snapshot(), request_id: request_id ?? null });
  }

  publish(event: OffstageEvent): void {
    if (this.#isSubscribed && !this.#isBehind) this.push(eventToWire(event));
  }

  fallBehind(): void {
    if (!this.#isSubscribed || this.#isBehind) return;
    this.#isBehind = true;
    const { seq, epoch } = this.#server;
    this.push(eventToWire({ type: 'resync', seq, epoch, at: 0 }));
  }

  push(frame: WireFields): void {
    this.frames.push(frame);
    if (!this.holdsFrames) this.deliver();
  }

  /** Hands over what is on its way, or so many of it. */
  deliver(most = Number.POSITIVE_INFINITY): void {
    for (let count = 0; count < most && this.frames.length > 0 && !this.hasEnded; count += 1) {
      const frame = this.frames.shift() as WireFields;
      if (frame.type === 'snapshot') this.#server.shownEpoch = frame.epoch as string;
      this.#emit('message', { data: JSON.stringify(frame) });
    }
  }

  drop(code: number): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.#server.connections.delete(this);
    this.#emit('close', { code, reason: '' });
  }

  /** The peer hears nothing of it: frames of a socket that is gone for the client. */
  emitLate(frame: WireFields): void {
    this.#emit('message', { data: JSON.stringify(frame) });
  }

  emitText(text: string): void {
    this.#emit('message', { data: text });
  }

  #emit(type: string, event: object): void {
    for (const listener of this.#listeners.get(type) ?? []) listener(event as never);
  }
}

/** From the log: without what only a live event knows. */
function replayed(event: OffstageEvent): WireFields {
  const {
    foreground_activity: _activity,
    active_subagent_count: _count,
    session_seq: _session,
    task_seq: _task,
    activity_epoch: _epoch,
    ...rest
  } = eventToWire(event);
  return rest;
}
