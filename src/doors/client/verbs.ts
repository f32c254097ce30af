/**
 * The verbs of spec 13 as typed methods: what goes out is put into the words of the wire, what comes back is a record of the model.
 *
 * VRB1  A verb translates and never decides: defaults and rules are the engine's; what was not given is not sent.
 * VRB2  A list answers as many rows as were asked for, also when they did not fit into one answer.
 * VRB3  A request is asked once. What rejects with `control.lost` may have been done: repeat it by an id of your own, or look.
 */
import type { SessionView, TaskView, WorkloadView } from '../../model/activity.ts';
import type { Card } from '../../model/cards.ts';
import type { JsonValue } from '../../model/json.ts';
import { OffstageError } from '../../model/offstage-error.ts';
import type { HistoryEntry, JobStatus, JobView, ProcessRecord, TaskState } from '../../model/records.ts';
import type {
  CancelManyResult,
  CancelManySelector,
  CancelOptions,
  CardQuery,
  Health,
  ListQuery,
  RowQuery,
  SpawnOptions,
  TaskQuery,
  WaitManyEntry,
} from '../../model/requests.ts';
import type { Changed, InterruptOptions, PromptAnswer, PromptOptions, PromptTicket } from '../../model/session-requests.ts';
import type { ConfirmedAnswer, ConfirmOptions, RemoveOptions, StopOptions, StopReport } from '../../model/stop.ts';
import { rename, type WireFields } from '../wire/rename.ts';
import {
  cancelledFromWire,
  cancelledManyFromWire,
  cardFromWire,
  healthFromWire,
  historyFromWire,
  processFromWire,
  spawnToWire,
} from '../wire/wire-answers.ts';
import { jobFromWire } from '../wire/wire-names.ts';
import {
  changedFromWire,
  promptAnswerFromWire,
  sessionFromWire,
  taskFromWire,
  ticketFromWire,
  workloadFromWire,
} from '../wire/wire-sessions.ts';
import { confirmedFromWire, stopReportFromWire } from '../wire/wire-stop.ts';
import type { OnPart, Requester } from './requester.ts';

/** What to run. Without `kind`: an agent, which is asked `description`. */
export type ClientSpawnOptions = Omit<SpawnOptions, 'kind'> & { readonly kind?: string };

/** The acknowledgement of a spawn: the job is durable. */
export interface Spawned {
  readonly jobId: string;
  readonly status: JobStatus;
  readonly parentMessageId: string | null;
}

/** The acknowledgement of a cancel. */
export interface Cancelled {
  readonly jobId: string;
  readonly status: JobStatus;
  /** Epoch milliseconds; null where the job had ended before. */
  readonly cancelRequestedAt: number | null;
  /** Present when the store refuses: it is acted upon, and not stored yet. */
  readonly durable?: false;
}

/** Which of the jobs are waited for, and how long. */
export interface AwaitOptions {
  /** `all` (default) settles with the last end, `any` with the first. */
  readonly mode?: 'all' | 'any';
  /** Milliseconds; 0 peeks, null waits without limit. Default: the engine's 30,000. */
  readonly timeoutMs?: number | null;
}

/** The end of what a job has printed. */
export interface OutputText {
  readonly text: string;
  /** Something that was printed before it is not in it. */
  readonly isCut: boolean;
  /** Characters printed so far: what comes later has this `offset`, or a higher one. */
  readonly end: number;
}

/** A stop, and whether it is waited for. */
export interface StopAndWaitOptions extends StopOptions {
  /** Answer when everything has ended, or its grace is over. Default false: once everything was told to end. */
  readonly wait?: boolean;
}

/** Who one is, for the server. */
export interface WhoAmI {
  /** `observe`, `operate`, or `session:<id>`. */
  readonly scope: string;
  /** Names the server's process. */
  readonly epoch: string;
  /** Of Offstage. */
  readonly version: string;
}

interface PageKind<Row> {
  readonly action: string;
  /** Under which the rows stand in the answer. */
  readonly name: string;
  readonly fromWire: (wire: WireFields) => Row;
}

const JOBS: PageKind<JobView> = { action: 'list_jobs', name: 'tasks', fromWire: jobFromWire };
const TASKS: PageKind<TaskView> = { action: 'list_tasks', name: 'tasks', fromWire: taskFromWire };
const SESSIONS: PageKind<SessionView> = { action: 'list_sessions', name: 'sessions', fromWire: sessionFromWire };
const CARDS: PageKind<Card> = { action: 'list_cards', name: 'cards', fromWire: cardFromWire };

/** As many as a list answers when nobody says how many, and at most at once. */
const PAGE = { usual: 50, largest: 1_000 } as const;

/** Which jobs; the names of a query that differ on the wire. */
const SELECTION = {
  ids: 'job_ids',
  sessionId: 'session_id',
  callerSessionId: 'caller_session_id',
  taskId: 'task_id',
  parentJobId: 'parent_job_id',
  parentMessageId: 'parent_msg_id',
  kind: 'kind',
  status: 'status_filter',
  before: 'before',
  archived: 'archived',
} as const;

const PROMPT = { content: 'content', origin: 'origin', whenBusy: 'when_busy', promptId: 'prompt_id' } as const;

const rowsIn = (value: JsonValue | undefined): readonly WireFields[] => (value ?? []) as readonly WireFields[];

export class Verbs {
  readonly #requester: Requester;

  constructor(requester: Requester) {
    this.#requester = requester;
  }

  /**
   * Any action of spec 13, by the words of the wire.
   * @param onPart gets the text of frames that come before the answer; the next one waits for the promise it returns
   * @throws OffstageError whatever the other side answers; `control.lost` when the connection went before the answer
   */
  request(action: string, fields?: WireFields, onPart?: OnPart): Promise<WireFields> {
    return this.#requester.request(action, fields, onPart);
  }

  /** Starts a job. With a `jobId` it is idempotent: asking again starts nothing anew. */
  async spawn({ input, ...options }: ClientSpawnOptions): Promise<Spawned> {
    const fields = spawnToWire({ ...options, ...(input === undefined ? {} : { input }) } as SpawnOptions);
    const { job_id: jobId, status, parent_msg_id: parentMessageId } = await this.request('spawn_job', fields);
    return { jobId, status, parentMessageId } as unknown as Spawned;
  }

  /** @throws OffstageError `job.not_found`, `job.expired` */
  async getJob(jobId: string): Promise<JobView> {
    return jobFromWire(await this.request('get_job', { job_id: jobId }));
  }

  /** Newest first; 50, unless `limit` says otherwise, which may be any number here. */
  listJobs(query: ListQuery = {}): Promise<readonly JobView[]> {
    return this.#list(JOBS, query);
  }

  /** The same, page by page, as they come; without `limit` all. */
  jobPages(query: ListQuery = {}): AsyncGenerator<readonly JobView[]> {
    return this.#pages(JOBS, query, query.limit ?? Number.POSITIVE_INFINITY);
  }

  async cancelJob(jobId: string, options: CancelOptions = {}): Promise<Cancelled> {
    return cancelledFromWire(await this.request('cancel_job', { job_id: jobId, ...reasonOf(options) }));
  }

  async cancelJobs(selector: CancelManySelector, options: CancelOptions = {}): Promise<CancelManyResult> {
    const fields = { ...rename(selector, SELECTION), ...reasonOf(options) };
    return cancelledManyFromWire(await this.request('cancel_jobs', fields));
  }

  /** One entry for each id, in their order. */
  async awaitJobs(jobIds: readonly string[], { mode, timeoutMs }: AwaitOptions = {}): Promise<readonly WaitManyEntry[]> {
    const how = { ...(mode === undefined ? {} : { mode }), ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }) };
    const { tasks } = await this.request('await_jobs', { job_ids: jobIds, ...how });
    return rowsIn(tasks).map(entryFromWire);
  }

  async history(jobId: string): Promise<readonly HistoryEntry[]> {
    return rowsIn((await this.request('get_history', { job_id: jobId })).history).map(historyFromWire);
  }

  /** The end of what it has printed, at most 128 Ki characters. @param options `tail`: so many lines of it */
  async output(jobId: string, options: { readonly tail?: number } = {}): Promise<OutputText> {
    const { output, cut, end } = await this.request('get_output', { job_id: jobId, ...rename(options, { tail: 'tail' }) });
    return { text: output, isCut: cut, end } as unknown as OutputText;
  }

  /** All that is kept of it, piece by piece with the offset of each. Resolves with `end`, as in `output`. */
  async readOutput(jobId: string, options: { readonly tail?: number }, onPart: OnPart): Promise<number> {
    const fields = { job_id: jobId, parts: true, ...rename(options, { tail: 'tail' }) };
    return (await this.request('get_output', fields, onPart)).end as number;
  }

  /** Ids that are not given are made up. */
  async createTask(options: { readonly taskId?: string; readonly title?: string } = {}): Promise<TaskView> {
    return taskFromWire(await this.request('create_task', rename(options, { taskId: 'task_id', title: 'title' })));
  }

  /** @throws OffstageError `task.not_found` */
  async getTask(taskId: string): Promise<TaskView> {
    return taskFromWire(await this.request('get_task', { task_id: taskId }));
  }

  listTasks(query: TaskQuery = {}): Promise<readonly TaskView[]> {
    return this.#list(TASKS, query);
  }

  stopTask(taskId: string, options: StopAndWaitOptions = {}): Promise<StopReport> {
    return this.#stop('stop_task', { task_id: taskId }, options);
  }

  /** Without `confirm`, live work is answered with a warning, and nothing is done. */
  removeTask(taskId: string, options: RemoveOptions = {}): Promise<ConfirmedAnswer> {
    return this.#confirm('remove_task', { task_id: taskId }, options);
  }

  archiveTask(taskId: string, options: ConfirmOptions = {}): Promise<ConfirmedAnswer> {
    return this.#confirm('archive_task', { task_id: taskId }, options);
  }

  async setTaskState(taskId: string, state: TaskState): Promise<TaskView> {
    return taskFromWire(await this.request('set_task_state', { task_id: taskId, state }));
  }

  /** Without a `taskId` the session gets a task of its own. */
  async createSession(
    options: { readonly sessionId?: string; readonly taskId?: string; readonly agentId?: string } = {},
  ): Promise<SessionView> {
    const names = { sessionId: 'session_id', taskId: 'task_id', agentId: 'agent_id' };
    return sessionFromWire(await this.request('create_session', rename(options, names)));
  }

  /** @throws OffstageError `session.not_found` */
  async getSession(sessionId: string): Promise<SessionView> {
    return sessionFromWire(await this.request('get_session', { session_id: sessionId }));
  }

  listSessions(query: RowQuery = {}): Promise<readonly SessionView[]> {
    return this.#list(SESSIONS, query);
  }

  /** Answered when the agent has taken it, or when it waits in line; what becomes of it then is told by events. */
  async prompt(sessionId: string, options: PromptOptions): Promise<PromptAnswer> {
    const fields = { session_id: sessionId, ...rename(options, PROMPT) };
    return promptAnswerFromWire(await this.request('submit_prompt', fields));
  }

  async interrupt(sessionId: string, options: InterruptOptions = {}): Promise<Changed> {
    return this.#change('interrupt_session', { session_id: sessionId, ...rename(options, { promptId: 'prompt_id' }) });
  }

  /** Answers a question of the agent's: `requestId` is that of the session's `pending`. @throws OffstageError `request.not_found` */
  async answer(sessionId: string, requestId: string, choice: JsonValue): Promise<void> {
    await this.request('answer_request', { session_id: sessionId, pending_request_id: requestId, choice });
  }

  stopSession(sessionId: string, options: StopAndWaitOptions = {}): Promise<StopReport> {
    return this.#stop('stop_session', { session_id: sessionId }, options);
  }

  /** Without `confirm`, live work is answered with a warning, and nothing is done. */
  removeSession(sessionId: string, options: RemoveOptions = {}): Promise<ConfirmedAnswer> {
    return this.#confirm('remove_session', { session_id: sessionId }, options);
  }

  /** Prompts that wait for the session, the next one first. */
  async tickets(sessionId: string): Promise<readonly PromptTicket[]> {
    return rowsIn((await this.request('list_tickets', { session_id: sessionId })).tickets).map(ticketFromWire);
  }

  cancelTicket(ticketId: string): Promise<Changed> {
    return this.#change('cancel_ticket', { ticket_id: ticketId });
  }

  /** Background work of the session. */
  async workloads(sessionId: string): Promise<readonly WorkloadView[]> {
    return rowsIn((await this.request('list_workloads', { session_id: sessionId })).workloads).map(workloadFromWire);
  }

  dismissWorkload(sessionId: string, workloadId: string): Promise<Changed> {
    return this.#change('dismiss_workload', { session_id: sessionId, workload_id: workloadId });
  }

  /** @throws OffstageError `card.not_found` */
  async getCard(cardId: string): Promise<Card> {
    return cardFromWire(await this.request('get_card', { card_id: cardId }));
  }

  /** Newest first; 50, unless `limit` says otherwise. */
  listCards(query: CardQuery): Promise<readonly Card[]> {
    return this.#list(CARDS, query);
  }

  /** What recovery would need to find the processes that run now. */
  async processes(): Promise<readonly ProcessRecord[]> {
    return rowsIn((await this.request('list_processes')).processes).map(processFromWire);
  }

  async health(): Promise<Health> {
    return healthFromWire(await this.request('health'));
  }

  async whoami(): Promise<WhoAmI> {
    const { scope, epoch, version } = await this.request('whoami');
    return { scope, epoch, version } as unknown as WhoAmI;
  }

  async #list<Row>(kind: PageKind<Row>, query: RowQuery): Promise<readonly Row[]> {
    const all: Row[] = [];
    for await (const page of this.#pages(kind, query, query.limit ?? PAGE.usual)) all.push(...page);
    return all;
  }

  async *#pages<Row>(kind: PageKind<Row>, query: RowQuery, limit: number): AsyncGenerator<readonly Row[]> {
    if (limit !== Number.POSITIVE_INFINITY && !(Number.isInteger(limit) && limit > 0)) {
      const message = 'it must be a whole number of 1 or more';
      throw new OffstageError('input.invalid', `limit is not valid: ${message}.`, { argument: 'limit', message });
    }
    let fields = rename(query, SELECTION);
    for (let rest = limit; rest > 0; ) {
      const answer = await this.request(kind.action, { ...fields, limit: Math.min(rest, PAGE.largest) });
      const rows = rowsIn(answer[kind.name]).map(kind.fromWire);
      if (rows.length > 0) yield rows;
      rest -= rows.length;
      const { next_before: before } = answer;
      if (before === null || before === undefined || rows.length === 0) return;
      fields = { ...fields, before };
    }
  }

  async #stop(action: string, id: WireFields, options: StopAndWaitOptions): Promise<StopReport> {
    const how = rename(options, { reason: 'reason', force: 'force', wait: 'wait' });
    return stopReportFromWire(await this.request(action, { ...id, ...how }));
  }

  async #confirm(action: string, id: WireFields, options: RemoveOptions): Promise<ConfirmedAnswer> {
    const how = rename(options, { confirm: 'confirm', reason: 'reason', force: 'force' });
    return confirmedFromWire(await this.request(action, { ...id, ...how }));
  }

  async #change(action: string, fields: WireFields): Promise<Changed> {
    return changedFromWire(await this.request(action, fields));
  }
}

const reasonOf = ({ reason }: CancelOptions): WireFields => (reason === undefined ? {} : { reason });

const entryFromWire = (wire: WireFields): WaitManyEntry =>
  'status' in wire ? jobFromWire(wire) : ({ jobId: wire.job_id, error: { code: wire.error_code } } as unknown as WaitManyEntry);
