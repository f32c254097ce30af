/**
 * Every session of which anything lives: its record, and what is told of it, in order (liveness 2 and 7).
 *
 * LVN1  What is told is computed from the record at the instant of telling, and only when it differs from what was told last.
 * LVN2  Per session and per task in order: a telling that was held back tells the newest value, once, or nothing.
 * LVN3  The aggregate of a task is one pure function over what was told of its sessions.
 * LVN4  A record goes when nothing is left in it. An execution that has retired is heard no more, so its late frames make no new one.
 * LVN5  Jobs become workloads in the reveal of their commit, before its events; what that changes is told after them.
 * LVN6  Of what was removed nothing is told any more, a telling that was held back included.
 */
import { startTaskActor, type TaskActor } from '../actors/task-actor.ts';
import type { ActivityEvent } from '../machines/session-activity.ts';
import { type ActivityValue, aggregateActivity, isSameActivity, NO_ACTIVITY } from '../model/activity.ts';
import type { OffstageEvent } from '../model/events.ts';
import { LIMITS } from '../model/limits.ts';
import type { TaskState } from '../model/records.ts';
import { isFinished } from '../persistence/job-codec.ts';
import { KEYS } from '../persistence/row-keys.ts';
import { isRemoved, readTaskRow } from '../persistence/session-rows.ts';
import { ActivityRecord } from './activity-record.ts';
import type { Core } from './core.ts';
import { LiveSession } from './live-session.ts';
import type { PausePoints } from './pause-points.ts';
import type { Change } from './transaction.ts';
import { isForegroundJob, noteDispatched } from './workload-rules.ts';

/** More than these are begun anew when something is told of them: an actor weighs two kilobytes. */
const QUIET_TASKS = 1_000;

interface LiveTask {
  readonly actor: TaskActor;
  /** The host's state is the row's to know; what lives does not depend on it. It is looked up when somebody watches the actor. */
  isStateKnown: boolean;
  /** What was told of its sessions, as far as it is not nothing. */
  readonly values: Map<string, ActivityValue>;
}

export class Liveness {
  readonly #core: Core;
  readonly #points: PausePoints | null;
  readonly #sessions = new Map<string, LiveSession>();
  readonly #tasks = new Map<string, LiveTask>();
  readonly #touched = new Set<LiveSession>();
  /** One of their sessions was removed: what it had told counts no more. */
  readonly #bereft = new Set<string>();
  readonly #changed = new Set<LiveSession>();
  /** Tasks of which nothing lives, oldest first: the next thing that is told of them need not start over. */
  readonly #quietTasks = new Set<string>();
  /** Their work has changed while prompts wait, perhaps for just that. */
  readonly #freed = new Set<LiveSession>();
  /** Set by the room that serves the prompts that wait. */
  onFree: (session: LiveSession) => void = () => {};
  /** Set by the room that watches for silence: something may have begun, or ended. */
  onTold: (session: LiveSession) => void = () => {};
  readonly #resume = (): void => this.settle();
  // Shared by all sessions: numbers that only grow need nobody to remember them.
  #claimId = 0;
  #generation = 0;
  #activityEpoch = 0;
  #sessionSeq = 0;
  #taskSeq = 0;
  #stopEpoch = 0;

  constructor(core: Core, points: PausePoints | null) {
    this.#core = core;
    this.#points = points;
  }

  find(sessionId: string): LiveSession | null {
    return this.#sessions.get(sessionId) ?? null;
  }

  /** Of which anything lives. */
  values(): IterableIterator<LiveSession> {
    return this.#sessions.values();
  }

  /** Tasks that something was told of. */
  *taskActors(): Generator<readonly [string, TaskActor]> {
    for (const [taskId, task] of this.#tasks) {
      this.#learnState(taskId, task);
      yield [taskId, task.actor];
    }
  }

  at(sessionId: string, taskId: string): LiveSession {
    let session = this.#sessions.get(sessionId);
    if (session === undefined) {
      session = new LiveSession(sessionId, taskId);
      this.#sessions.set(sessionId, session);
    }
    return session;
  }

  recordOf(session: LiveSession): ActivityRecord {
    session.record ??= this.#newRecord(session);
    return session.record;
  }

  #newRecord({ sessionId, taskId }: LiveSession): ActivityRecord {
    const { system, settings } = this.#core;
    const limit = LIMITS.workloadsPerSession;
    this.#activityEpoch += 1;
    return new ActivityRecord(system.sessions, this.#activityEpoch, () =>
      settings.log('warn', 'workload.limit', { sessionId, taskId, limit }),
    );
  }

  nextClaimId(): number {
    return ++this.#claimId;
  }

  /** Generations only grow, over all sessions, and none is ever given twice. */
  nextGeneration(): number {
    return ++this.#generation;
  }

  /** Whether the chart of the session took the event. Tell it with `settle`. */
  send(session: LiveSession, event: ActivityEvent): boolean {
    const record = this.recordOf(session);
    const { inspection } = this.#core;
    if (inspection.isOn && record.actor === null) inspection.activityStarted(session, record.wake());
    const hasTaken = record.send(event);
    if (!hasTaken) this.#core.rejectedEvents += 1;
    this.touch(session);
    return hasTaken;
  }

  /** The number of the last telling of any session: all of them are part of what is shown now. */
  get sessionSeq(): number {
    return this.#sessionSeq;
  }

  /** The number of the last telling of the task; of one that nothing lives of, none that is to come has a lower one. */
  taskSeqOf(taskId: string): number {
    return this.#tasks.get(taskId)?.actor.getSnapshot().context.taskSeq ?? this.#taskSeq;
  }

  /** A stop of the task has decided. */
  taskStopped(taskId: string, epoch: number): void {
    this.#stopEpoch = epoch;
    const task = this.#task(taskId, null);
    task.actor.send({ type: 'task.stop', epoch });
    this.#forgetTask(taskId, task);
  }

  /** Something of it may have changed, or may be over. */
  touch(session: LiveSession): void {
    if (!session.isRemoved) this.#touched.add(session);
  }

  /** The registrations of the session have changed. */
  workChanged(session: LiveSession): void {
    if (session.isRemoved) return;
    session.record?.noteWork();
    if (session.ticketCount > 0) this.#freed.add(session);
    this.touch(session);
  }

  /** As it is at this instant; `isRunning` tells of a row that has no record. */
  valueOf(session: LiveSession | null, row: { readonly state: string; readonly agentId: string | null } | null): ActivityValue {
    const value = session?.record?.value() ?? NO_ACTIVITY;
    if (row === null || value.foregroundActivity === 'generating') return value;
    // Its end is decided and not stored: for everybody else it is running until then.
    const isEnding = (row.state === 'cancelled' || row.state === 'failed') && (session?.record?.context.turns.length ?? 0) > 0;
    if (row.state !== 'running' && !isEnding) return value;
    const { agents, display } = this.#core.settings;
    const isCoarse = (agents[row.agentId ?? 'default']?.display ?? display) === 'coarse';
    return isCoarse || session?.record == null ? { ...value, foregroundActivity: 'generating' } : value;
  }

  /** Serves who waited for work to end, tells what differs, and forgets what is over. */
  settle(): void {
    for (const session of this.#freed) {
      this.#freed.delete(session);
      this.onFree(session);
    }
    if (this.#touched.size + this.#bereft.size === 0) return;
    if (this.#points?.isPaused('publish', this.#resume) === true) return;
    for (const session of this.#touched) {
      // Telling may touch it again.
      this.#touched.delete(session);
      this.#tell(session);
      this.#release(session);
      this.onTold(session);
    }
    for (const taskId of this.#bereft) {
      this.#bereft.delete(taskId);
      const task = this.#tasks.get(taskId);
      if (task !== undefined) this.#tellTask(taskId, task);
    }
  }

  /** It was removed (LVN6). Nothing of it is at work, but for what cannot be ended and is heard no more. */
  sessionRemoved(sessionId: string, taskId: string): void {
    const session = this.#sessions.get(sessionId);
    if (session !== undefined) {
      session.isRemoved = true;
      session.record?.drop();
      session.record = null;
      for (const sessions of [this.#touched, this.#changed, this.#freed]) sessions.delete(session);
      this.#sessions.delete(sessionId);
      // Nobody has to watch it any more.
      this.onTold(session);
      if (!isSameActivity(session.told, NO_ACTIVITY)) this.#core.models.sessionTold({ sessionId, taskId, ...NO_ACTIVITY });
    }
    if (this.#tasks.get(taskId)?.values.delete(sessionId) === true) this.#bereft.add(taskId);
  }

  /** It was removed, and its sessions with it (LVN6). */
  taskRemoved(taskId: string): void {
    this.#quietTasks.delete(taskId);
    this.#bereft.delete(taskId);
    const task = this.#tasks.get(taskId);
    if (task === undefined) return;
    this.#tasks.delete(taskId);
    if (!isSameActivity(task.actor.getSnapshot().context.told, NO_ACTIVITY)) this.#core.models.taskTold(taskId, NO_ACTIVITY);
    task.actor.send({ type: 'task.remove' });
  }

  /** Jobs as they are committed (LVN5). */
  jobsCommitted(changes: readonly Change[]): void {
    for (const { job, before, after } of changes) {
      const { base } = job;
      const session = this.at(base.callerSessionId ?? base.sessionId, base.taskId);
      const host = base.callerSessionId === null ? null : this.at(base.sessionId, base.taskId);
      if (before === null) {
        this.recordOf(session).jobs.add(job);
        if (job.toolCall !== null) noteDispatched(session, job.toolCall.executionId, job.toolCall.toolCallId);
        if (host !== null) this.recordOf(host).jobs.addHosted(job);
      }
      if (isFinished(after.state)) {
        session.record?.jobs.retire(job);
        host?.record?.jobs.retire(job);
        if (isForegroundJob(job)) session.lastWaited = this.#core.settings.clock.monotonic();
      } else if (after.state === 'active' && session.record !== null) {
        const { workload } = this.#core.executors.get(base.kind)?.capabilities ?? { workload: 'subagent' };
        session.record.jobs.started(job, workload);
      } else if (before !== null) {
        continue;
      }
      this.#changed.add(session);
      if (host !== null) this.#changed.add(host);
    }
    // Once for each session, however many of its jobs are in the commit.
    for (const session of this.#changed) this.workChanged(session);
    this.#changed.clear();
  }

  /** A record event with what lives of its session or task, as of its reveal. */
  decorate(event: OffstageEvent): OffstageEvent {
    if (event.type === 'session.state_changed') {
      const session = this.find(event.sessionId);
      const value = this.valueOf(session, session?.row ?? null);
      if (session !== null) session.shown = value;
      return Object.assign(event, value, {
        activityEpoch: session?.record?.activityEpoch ?? this.#activityEpoch,
        sessionSeq: ++this.#sessionSeq,
      });
    }
    if ((event.type === 'task.updated' || event.type === 'task.created') && 'state' in event) {
      const task = this.#task(event.taskId, event.state);
      task.isStateKnown = true;
      task.actor.send({ type: 'task.move', to: event.state });
      task.actor.send({ type: 'task.tell' });
      const { told, taskSeq } = this.#noteSeq(task);
      this.#forgetTask(event.taskId, task);
      return Object.assign(event, told, { taskSeq });
    }
    return event;
  }

  #tell(session: LiveSession): void {
    const value = this.valueOf(session, session.row);
    if (isSameActivity(value, session.told) && isSameActivity(value, session.shown)) return;
    session.told = value;
    session.shown = value;
    const { sessionId, taskId } = session;
    this.#core.models.sessionTold({ sessionId, taskId, ...value });
    this.#publish({
      type: 'session.activity_changed',
      ...this.#head(),
      sessionId,
      taskId,
      ...value,
      activityEpoch: session.record?.activityEpoch ?? this.#activityEpoch,
      sessionSeq: ++this.#sessionSeq,
    });
    const task = this.#task(taskId, null);
    if (isSameActivity(value, NO_ACTIVITY)) task.values.delete(sessionId);
    else task.values.set(sessionId, value);
    this.#tellTask(taskId, task);
  }

  #tellTask(taskId: string, task: LiveTask): void {
    const value = aggregateActivity(task.values.values());
    const before = task.actor.getSnapshot();
    // Nothing to tell, most of the time: not worth an event.
    if (!isSameActivity(value, before.context.told)) task.actor.send({ type: 'activity.aggregated', value });
    if (task.actor.getSnapshot() !== before) {
      const { told, taskSeq } = this.#noteSeq(task);
      this.#core.models.taskTold(taskId, told);
      this.#publish({ type: 'task.updated', ...this.#head(), taskId, ...told, taskSeq, isVolatile: true });
    }
    this.#forgetTask(taskId, task);
  }

  #noteSeq(task: LiveTask): { readonly told: ActivityValue; readonly taskSeq: number } {
    const { told, taskSeq } = task.actor.getSnapshot().context;
    this.#taskSeq = Math.max(this.#taskSeq, taskSeq);
    return { told, taskSeq };
  }

  #task(taskId: string, state: TaskState | null): LiveTask {
    this.#quietTasks.delete(taskId);
    let task = this.#tasks.get(taskId);
    if (task === undefined) {
      const from = { taskSeq: this.#taskSeq, stopEpoch: this.#stopEpoch };
      const actor = startTaskActor(this.#core.system.tasks, state ?? 'open', from);
      task = { actor, isStateKnown: state !== null, values: new Map() };
      this.#tasks.set(taskId, task);
      if (this.#core.inspection.isOn) {
        this.#core.inspection.taskStarted(taskId, actor);
        this.#learnState(taskId, task);
      }
    }
    return task;
  }

  #learnState(taskId: string, task: LiveTask): void {
    if (task.isStateKnown) return;
    const learn = (value: string | undefined): void => {
      const row = readTaskRow(value);
      if (row === null || isRemoved(row) || task.isStateKnown || this.#tasks.get(taskId) !== task) return;
      task.isStateKnown = true;
      task.actor.send({ type: 'task.move', to: row.state });
    };
    this.#core.store
      .get(KEYS.task(taskId))
      .then(learn)
      .catch((error) => this.#core.report('task.unreadable', error));
  }

  #forgetTask(taskId: string, task: LiveTask): void {
    if (task.values.size > 0) return;
    this.#quietTasks.add(taskId);
    if (this.#quietTasks.size <= QUIET_TASKS) return;
    const [oldest] = this.#quietTasks;
    this.#quietTasks.delete(oldest as string);
    this.#tasks.get(oldest as string)?.actor.send({ type: 'task.forget' });
    this.#tasks.delete(oldest as string);
  }

  #release(session: LiveSession): void {
    const { record } = session;
    if (record !== null) {
      const isHeld =
        session.agent !== null ||
        session.hasRetiring ||
        session.ticketCount > 0 ||
        session.claimant !== null ||
        session.promptCount > 0;
      if (isHeld || !record.isEmpty) return;
      session.record = null;
      record.drop();
      // Dropped: what was told of it must be nothing by now, whatever the row says.
      this.#tell(session);
    }
    if (session.isOver && this.#sessions.get(session.sessionId) === session) this.#sessions.delete(session.sessionId);
  }

  #head(): { readonly seq: number; readonly epoch: string; readonly at: number } {
    const { loop, epoch, settings } = this.#core;
    return { seq: loop.toldSeq, epoch, at: settings.clock.now() };
  }

  #publish(event: OffstageEvent): void {
    this.#core.bus.publish(event);
  }
}
