/**
 * The rooms of sessions, put together: prompts, turns, agents, frames, requests, workloads and views (liveness).
 *
 * SRM1  What frees the foreground, whoever says so, serves the prompts that wait.
 */
import type { SessionView, TaskView, WorkloadView } from '../model/activity.ts';
import type { Card, ContextItem } from '../model/cards.ts';
import { type OffstageError, offstageError } from '../model/errors.ts';
import type { JsonValue } from '../model/json.ts';
import type { TaskState } from '../model/records.ts';
import type { CardQuery, ContextBlock, RowQuery, TaskQuery } from '../model/requests.ts';
import type {
  Changed,
  CompleteWorkload,
  InterruptOptions,
  PromptAnswer,
  PromptOptions,
  PromptTicket,
  RegisterWorkload,
  WorkloadSnapshot,
} from '../model/session-requests.ts';
import type { ConfirmedAnswer, ConfirmOptions, RemoveOptions, StopOptions, StopResult } from '../model/stop.ts';
import type { StoredNotice } from '../persistence/notice-rows.ts';
import { AgentRunner } from './agent-runner.ts';
import type { Canceller } from './canceller.ts';
import { Cards } from './cards.ts';
import type { Core } from './core.ts';
import { FrameIntake } from './frame-intake.ts';
import { Interrupts } from './interrupts.ts';
import type { LiveSession } from './live-session.ts';
import { Notices } from './notices.ts';
import { Prompts } from './prompts.ts';
import { Removals } from './removals.ts';
import { SessionRequests } from './session-requests.ts';
import { SessionStates } from './session-states.ts';
import { SessionViews } from './session-views.ts';
import type { CreateSessionOptions, CreateTaskOptions, Sessions } from './sessions.ts';
import { checkId } from './spawn-request.ts';
import { Stalls, type StallsHost } from './stalls.ts';
import { Stops } from './stops.ts';
import { Turns } from './turns.ts';
import { Workloads } from './workloads.ts';

export class SessionRooms {
  readonly #core: Core;
  readonly #agents: AgentRunner;
  readonly #prompts: Prompts;
  readonly #notices: Notices;
  readonly views: SessionViews;
  readonly sessionVerbs;
  readonly taskVerbs;
  readonly workloadVerbs;
  readonly cardVerbs;
  readonly noticeVerbs;

  constructor(core: Core, sessions: Sessions, canceller: Canceller) {
    this.#core = core;
    const states = new SessionStates(core, sessions);
    const requests = new SessionRequests(core, states);
    const onFree = (session: LiveSession): void => this.#prompts.serve(session);
    core.liveness.onFree = onFree;
    const clearRequests = (session: LiveSession, generation: number | 'all'): void => requests.clear(session, generation);
    const showRequests = (session: LiveSession): void => requests.show(session);
    const turns = new Turns(core, {
      states,
      showRequests,
      clearRequests,
      onFree,
      onGone: (session, execution, error) => this.#agents.retire(session, execution, error),
    });
    const frames = new FrameIntake(core, { turns, requests, onFree });
    this.#agents = new AgentRunner(core, {
      states,
      onFree,
      onFrame: (session, execution, frame) => frames.take(session, execution, frame),
      onRetire: (session, execution, error) => turns.executionGone(session, execution, error),
    });
    this.#prompts = new Prompts(core, { sessions, states, agents: this.#agents, turns });
    const interrupts = new Interrupts(core, { sessions, turns, canceller });
    const fail: StallsHost['fail'] = (session, execution, error) =>
      this.#agents.end(session, [execution], { error, event: { type: 'session.fail' } });
    const stalls = new Stalls(core, { turns, fail });
    core.liveness.onTold = (session) => stalls.follow(session);
    const workloads = new Workloads(core, sessions);
    this.views = new SessionViews(core, sessions, turns);
    this.#notices = new Notices(core, { prompts: this.#prompts, sessions });
    core.onJobsCommitted = (changes) => this.#notices.committed(changes);
    const stops = new Stops(core, {
      sessions,
      agents: this.#agents,
      prompts: this.#prompts,
      canceller,
      notices: this.#notices,
    });
    const removals = new Removals(core, { sessions, stops, prompts: this.#prompts });
    const rooms: Rooms = { sessions, views: this.views, prompts: this.#prompts, requests, interrupts, stops, removals };
    this.sessionVerbs = sessionVerbs(core, rooms);
    this.taskVerbs = taskVerbs(core, rooms);
    this.workloadVerbs = workloadVerbs(core, workloads);
    this.noticeVerbs = noticeVerbs(core, this.#notices);
    this.cardVerbs = cardVerbs(core, new Cards(core, sessions));
  }

  /** What an earlier process has not told its agents is told now. */
  tellLeft(left: readonly StoredNotice[]): void {
    this.#notices.start(left);
  }

  /** Ends prompts and agents; resolves when the agents have closed. */
  async close(): Promise<void> {
    const error: OffstageError = offstageError('engine.closing', {});
    this.#prompts.refuseAll(error);
    await this.#agents.closeAll(error);
    this.#core.liveness.settle();
  }

  /** Nobody looks after agents any more: who waits for the end of one goes on. */
  abandon(): void {
    this.#agents.abandon();
  }
}

interface Rooms {
  readonly sessions: Sessions;
  readonly views: SessionViews;
  readonly prompts: Prompts;
  readonly requests: SessionRequests;
  readonly interrupts: Interrupts;
  readonly stops: Stops;
  readonly removals: Removals;
}

const sessionVerbs = (core: Core, { sessions, views, prompts, requests, interrupts, stops, removals }: Rooms) => ({
  /** @throws OffstageError `task.not_found`, `agent.unknown`, `session.expired`, `input.invalid` (the id exists) */
  create: async (options?: CreateSessionOptions): Promise<SessionView> => views.session(await sessions.create(options)),
  /** @throws OffstageError `session.not_found` */
  get: (sessionId: string): Promise<SessionView> => core.whileOpen(async () => views.session(await sessions.get(sessionId))),
  /** Newest first. */
  list: (query?: RowQuery): Promise<readonly SessionView[]> =>
    core.whileOpen(async () => (await sessions.list(query)).map((row) => views.session(row))),
  /**
   * Asks the session's agent, starting it if need be. Resolves when the agent has taken the prompt, or with a ticket (`whenBusy: 'queue'`).
   * @throws OffstageError `prompt.busy`, `prompt.interrupted`, `session.not_promptable`, `session.not_found`, `agent.unknown`,
   *   `agent.start_failed`, `agent.gone`, `agent.failed`, `limit.tickets`, `limit.input_bytes`, `input.invalid`, `engine.closing`,
   *   `engine.degraded`
   */
  prompt: (sessionId: string, options: PromptOptions): Promise<PromptAnswer> =>
    core.whileOpen(() => prompts.prompt(sessionId, options)),
  /** Ends the open turn and the jobs it waits for; background work goes on. Without an open turn: `{changed: false}`. @throws OffstageError `session.not_found` */
  interrupt: (sessionId: string, options?: InterruptOptions): Promise<Changed> =>
    core.whileOpen(() => interrupts.interrupt(sessionId, options)),
  /**
   * Ends all that the session owns: its agent, the prompts that wait, the jobs it runs and those it asked for. Resolves when everything was
   * told to end, with what that was; `settled` resolves when it has, or its grace is over.
   * @throws OffstageError `session.not_found`, `stop.nothing_running`, `stop.failed`, `input.invalid`, `engine.closing`
   */
  stop: (sessionId: string, options?: StopOptions): Promise<StopResult> =>
    core.whileOpen(() => stops.stopSession(sessionId, options)),
  /**
   * Removes the session and all its jobs for good. Live work is answered with a warning, and nothing is done; with `confirm` it is stopped
   * first. Waits that are open resolve with the last record.
   * @throws OffstageError `session.not_found`, `remove.refused` (something may be at work still, and nothing was removed), `input.invalid`,
   *   `engine.closing`, `engine.degraded`, `store.failed`
   */
  remove: (sessionId: string, options?: RemoveOptions): Promise<ConfirmedAnswer> =>
    core.whileOpen(() => removals.removeSession(sessionId, options)),
  /** Answers the request that the session shows as `pending`. @throws OffstageError `request.not_found`, `agent.failed` */
  answer: (sessionId: string, requestId: string, choice: JsonValue): Promise<void> =>
    core.whileOpen(() => requests.answer(sessionId, requestId, choice)),
  /** The prompts that wait, in their order. @throws OffstageError `session.not_found` */
  tickets: (sessionId: string): Promise<readonly PromptTicket[]> => core.whileOpen(() => prompts.tickets(sessionId)),
  /** @throws OffstageError `ticket.not_found` */
  cancelTicket: (ticketId: string): Promise<Changed> => core.whileOpen(() => prompts.cancelTicket(ticketId)),
});

const taskVerbs = (core: Core, { sessions, views, stops, removals }: Rooms) => ({
  /** @throws OffstageError `task.expired`, `input.invalid` (the id exists) */
  create: async (options?: CreateTaskOptions): Promise<TaskView> => views.task(await sessions.createTask(options)),
  /** @throws OffstageError `task.not_found` */
  get: (taskId: string): Promise<TaskView> => core.whileOpen(async () => views.task(await sessions.getTask(taskId))),
  /** Newest first; archived ones only with `archived: true`, or while something of them lives. */
  list: (query?: TaskQuery): Promise<readonly TaskView[]> =>
    core.whileOpen(async () => (await views.tasks(await sessions.listTasks(query)))()),
  /**
   * Ends all that the task still owns, also what the records say is over, and nothing of another task. Resolves when everything was told to
   * end, with what that was; `settled` resolves when it has, or its grace is over.
   * @throws OffstageError `task.not_found`, `stop.nothing_running`, `stop.failed`, `input.invalid`, `engine.closing`
   */
  stop: (taskId: string, options?: StopOptions): Promise<StopResult> => core.whileOpen(() => stops.stopTask(taskId, options)),
  /**
   * The same as `sessions.remove` for a task, all its sessions and all their jobs.
   * @throws OffstageError `task.not_found`, `remove.refused` (something may be at work still, and nothing was removed), `input.invalid`,
   *   `engine.closing`, `engine.degraded`, `store.failed`
   */
  remove: (taskId: string, options?: RemoveOptions): Promise<ConfirmedAnswer> =>
    core.whileOpen(() => removals.removeTask(taskId, options)),
  /**
   * Puts the task away; its work goes on, and while anything of it lives it stays listed. Live work is answered with a warning, and nothing is
   * done, unless it is confirmed, or `confirmArchive` is off.
   * @throws OffstageError `task.not_found`, `input.invalid`, `engine.closing`, `engine.degraded`, `store.failed`
   */
  archive: (taskId: string, options?: ConfirmOptions): Promise<ConfirmedAnswer> =>
    core.whileOpen(() => removals.archiveTask(taskId, options)),
  /** Where the task stands on the board is the host's to say. @throws OffstageError `task.not_found`, `input.invalid` */
  setState: (taskId: string, state: TaskState): Promise<TaskView> =>
    core.whileOpen(async () => views.task(await sessions.setTaskState(taskId, state))),
});

const workloadVerbs = (core: Core, workloads: Workloads) => ({
  /** @throws OffstageError `execution.not_found`, `workload.not_attested`, `limit.workloads`, `input.invalid` */
  register: (options: RegisterWorkload): Promise<Changed> => core.whileOpen(() => workloads.register(options)),
  /** By id exactly; without one the oldest ends and the rest become `uncertain`. Repeated: `{changed: false}`. @throws OffstageError `session.not_found`, `input.invalid` */
  complete: (options: CompleteWorkload): Promise<Changed> => core.whileOpen(() => workloads.complete(options)),
  /** Replaces what is known of one execution; `[]` says that nothing is live. @throws OffstageError `execution.not_found`, `workload.not_attested`, `input.invalid` */
  snapshot: (options: WorkloadSnapshot): Promise<Changed> => core.whileOpen(() => workloads.snapshot(options)),
  /** Takes one registration of an agent away, because a person knows better. @throws OffstageError `workload.not_found`, `session.not_found` */
  dismiss: (sessionId: string, workloadId: string): Promise<Changed> =>
    core.whileOpen(() => workloads.dismiss(sessionId, workloadId)),
  /** Jobs and work of agents, oldest first. @throws OffstageError `session.not_found` */
  list: (sessionId: string): Promise<readonly WorkloadView[]> => core.whileOpen(() => workloads.list(sessionId)),
});

const cardVerbs = (core: Core, cards: Cards) => ({
  cards: {
    /** As it is with its job at this instant. @throws OffstageError `card.not_found` */
    get: (cardId: string): Promise<Card> => core.whileOpen(() => cards.get(cardId)),
    /** The cards of one conversation, newest first. @throws OffstageError `session.not_found`, `card.not_found`, `input.invalid` */
    list: (query: CardQuery): Promise<readonly Card[]> => core.whileOpen(() => cards.list(query)),
  },
  context: {
    /**
     * The items of a conversation as a model is to see them: running cards are left out, completed ones become blocks, once per source, of
     * cancelled and errored ones the mark stands there. Every other item passes as it is.
     * @throws OffstageError `session.not_found`, `input.invalid`
     */
    expand: <Item>(sessionId: string, items: readonly (Item | ContextItem)[]): Promise<readonly (Item | ContextBlock)[]> =>
      core.whileOpen(() => cards.expand(sessionId, items)),
  },
});

const noticeVerbs = (core: Core, notices: Notices) => ({
  /** The session's agent is about to cancel this job: it is not told of its end, nor of the ends of what that has started. */
  stopping: (sessionId: string, jobId: string): void => {
    core.assertOpen();
    notices.stopping(checkId('sessionId', sessionId), checkId('jobId', jobId));
  },
  /** The session's agent has got the end of this job by other means: it is not told of it. */
  received: (sessionId: string, jobId: string): void => {
    core.assertOpen();
    notices.received(checkId('sessionId', sessionId), checkId('jobId', jobId));
  },
});
