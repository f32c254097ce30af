/**
 * Rows that follow an engine: events, snapshots and rows that were read are merged here, in whatever order they come. Pure: no clock, no I/O.
 *
 * LRW1  A record event counts once: one that is not newer than what is shown is no news (B53). What is volatile counts only for the process whose
 *       snapshot is shown.
 * LRW2  A terminal job never goes back, and no older revision takes the place of a newer one, whichever way it comes (J138).
 * LRW3  What is told as null is cleared, what is not told stays (L171). What a row shows already, by its `sessionSeq` or `taskSeq`, is not news.
 * LRW4  What is removed takes its jobs along, and comes back by no late row.
 * LRW5  A snapshot is the truth: rows that it and the pages read after it do not show are gone once all pages are read, and until then stay as
 *       they were. A snapshot of the same process that follows without a gap leaves the jobs as they are, and those that run are
 *       read again: nobody could tell of their progress.
 * LRW6  An event says less than a row has: what it touches is noted, to be read again.
 */
import type { ActivityValue, SessionView, TaskView } from '../../model/activity.ts';
import { isVolatileEvent, type JobRecordEvent, type OffstageEvent } from '../../model/events.ts';
import type { Asking } from './asking.ts';
import { JobRows } from './job-rows.ts';
import type { JobRow } from './live-state.ts';
import { RowTable } from './row-table.ts';

/** The answer to a subscription, in the words of the model. */
export interface LiveSnapshot {
  readonly epoch: string;
  readonly seq: number;
  readonly tasks: readonly TaskView[];
  readonly sessions: readonly SessionView[];
  readonly jobs: readonly JobRow[];
  /** Jobs that have not ended, all of them. */
  readonly counts: Readonly<Record<'pending' | 'queued' | 'running', number>>;
}

type SessionEvent = Extract<OffstageEvent, { type: 'session.state_changed' | 'session.activity_changed' }>;
type TaskEvent = Extract<OffstageEvent, { type: 'task.created' | 'task.updated' | 'task.removed' }>;

/** Ids are never used again: these are kept as long as an answer from before the removal may still be under way, and longer. */
const REMEMBERED = 10_000;

export class LiveRows {
  readonly tasks = new RowTable<TaskView>({ idOf: (task) => task.taskId, isNewer: (a, b) => isNewerView(a, b, 'taskSeq') });
  readonly sessions = new RowTable<SessionView>({
    idOf: (session) => session.sessionId,
    isNewer: (a, b) => isNewerView(a, b, 'sessionSeq'),
  });
  readonly jobs: JobRows;
  readonly #removed = new Set<string>();
  #seq = 0;
  #epoch: string | null = null;
  /** What is shown was never true, or record events are missing since. */
  #isStale = true;

  constructor(maxJobs: number) {
    this.jobs = new JobRows(maxJobs);
  }

  /** The last record event that is part of what is shown. */
  get seq(): number {
    return this.#seq;
  }

  /** The process whose snapshot is shown; null before the first one. */
  get epoch(): string | null {
    return this.#epoch;
  }

  get isComplete(): boolean {
    return this.#epoch !== null && this.tasks.isComplete && this.sessions.isComplete && this.jobs.isComplete;
  }

  /** Whether it is news (LRW1). */
  apply(event: OffstageEvent): boolean {
    if (event.type === 'resync') {
      this.#isStale = true;
      return true;
    }
    if (isVolatileEvent(event)) {
      if (event.epoch !== this.#epoch) return false;
    } else {
      if (event.seq <= this.#seq) return false;
      this.#seq = event.seq;
    }
    this.#merge(event);
    return true;
  }

  /** Answers whether it was taken: one that is older than what is shown is not (LRW1). */
  applySnapshot({ epoch, seq, tasks, sessions, jobs, counts }: LiveSnapshot): boolean {
    const isSameProcess = epoch === this.#epoch;
    if (isSameProcess && !this.#isStale && seq < this.#seq) return false;
    // The numbers of one process only grow.
    const isOther = !isSameProcess || seq < this.#seq;
    for (const table of [this.tasks, this.sessions, this.jobs]) table.snapshotCame();
    this.tasks.beginReading(isOther);
    this.sessions.beginReading(isOther);
    if (this.#isStale || isOther) this.jobs.beginReading(counts, isOther);
    else this.jobs.touchRunning();
    this.#isStale = false;
    this.#epoch = epoch;
    this.#seq = seq;
    // Here they are, whatever was heard of others by these names.
    for (const { taskId } of tasks) this.#removed.delete(taskKey(taskId));
    for (const { sessionId } of sessions) this.#removed.delete(sessionKey(sessionId));
    this.applyTasks(tasks);
    this.applySessions(sessions);
    this.applyJobs(jobs);
    return true;
  }

  /** @param asking of rows that were asked for */
  applyTasks(rows: readonly TaskView[], asking?: Asking): void {
    for (const row of rows) if (!this.#isRemoved(row)) this.tasks.take(row, asking);
  }

  /** @param asking of rows that were asked for */
  applySessions(rows: readonly SessionView[], asking?: Asking): void {
    for (const row of rows) if (!this.#isRemoved(row)) this.sessions.take(row, asking);
  }

  /** @param asking of rows that were asked for */
  applyJobs(rows: readonly JobRow[], asking?: Asking): void {
    for (const row of rows) if (!this.#isRemoved(row)) this.jobs.take(row, asking);
  }

  #isRemoved({ taskId, sessionId }: { readonly taskId: string; readonly sessionId?: string }): boolean {
    return this.#removed.has(taskKey(taskId)) || (sessionId !== undefined && this.#removed.has(sessionKey(sessionId)));
  }

  #merge(event: OffstageEvent): void {
    switch (event.type) {
      case 'job.created':
      case 'job.status':
        if (!this.#isRemoved(event)) this.#mergeJob(event);
        break;
      case 'job.progress':
        this.jobs.heard(event.jobId, event.at, { progress: event.progress });
        break;
      case 'job.output':
        this.jobs.heard(event.jobId, event.at, {});
        break;
      case 'session.state_changed':
      case 'session.activity_changed':
        if (!this.#isRemoved(event)) this.#mergeSession(event);
        break;
      case 'session.turn_ended':
      case 'session.ticket':
      case 'session.quiet':
        // Also one that is not here yet: its row may be on its way, from before this.
        if (!this.#removed.has(sessionKey(event.sessionId))) this.sessions.dirty.add(event.sessionId);
        break;
      case 'session.removed':
        this.#removeSession(event.sessionId);
        this.tasks.dirty.add(event.taskId);
        break;
      case 'task.created':
      case 'task.updated':
      case 'task.removed':
        if (event.type === 'task.removed') this.#removeTask(event.taskId);
        else if (!this.#isRemoved(event)) this.#mergeTask(event);
        break;
      default:
    }
  }

  #mergeJob(event: JobRecordEvent): void {
    this.jobs.merge(event);
    this.tasks.dirty.add(event.taskId);
  }

  #mergeSession(event: SessionEvent): void {
    const { sessionId, taskId, sessionSeq } = event;
    const row = this.sessions.rows.get(sessionId);
    const isForeign = this.sessions.isForeign(sessionId);
    const isOfThis = event.epoch === this.#epoch && !isForeign;
    if (row !== undefined && sessionSeq !== undefined && sessionSeq <= row.sessionSeq && isOfThis) return;
    this.sessions.dirty.add(sessionId);
    this.tasks.dirty.add(taskId);
    if (row === undefined || isForeign) return;
    const state = event.type === 'session.state_changed' ? { state: event.newState, updatedAt: event.at } : {};
    this.sessions.put({
      ...row,
      ...state,
      ...activityOf(event, this.#epoch),
      ...(sessionSeq === undefined ? {} : { sessionSeq }),
    });
  }

  #mergeTask(event: TaskEvent): void {
    const { taskId, taskSeq } = event;
    const row = this.tasks.rows.get(taskId);
    const isForeign = this.tasks.isForeign(taskId);
    const isOfThis = event.epoch === this.#epoch && !isForeign;
    if (row !== undefined && taskSeq !== undefined && taskSeq <= row.taskSeq && isOfThis) return;
    this.tasks.dirty.add(taskId);
    if (row === undefined || isForeign) return;
    const named = 'title' in event ? { title: event.title, state: event.state } : {};
    this.tasks.put({ ...row, ...named, ...activityOf(event, this.#epoch), ...(taskSeq === undefined ? {} : { taskSeq }) });
  }

  #removeSession(sessionId: string): void {
    this.#remember(sessionKey(sessionId));
    this.sessions.remove(sessionId);
    this.jobs.removeWhere((job) => job.sessionId === sessionId);
  }

  #removeTask(taskId: string): void {
    this.#remember(taskKey(taskId));
    this.tasks.remove(taskId);
    for (const session of this.sessions.rows.values()) if (session.taskId === taskId) this.sessions.remove(session.sessionId);
    this.jobs.removeWhere((job) => job.taskId === taskId);
  }

  #remember(key: string): void {
    this.#removed.add(key);
    for (const oldest of this.#removed) {
      if (this.#removed.size <= REMEMBERED) return;
      this.#removed.delete(oldest);
    }
  }
}

const taskKey = (taskId: string): string => `t ${taskId}`;
const sessionKey = (sessionId: string): string => `s ${sessionId}`;

/** LRW3. Of another process it would be said of what is no more. */
function activityOf(event: SessionEvent | TaskEvent, epoch: string | null): Partial<ActivityValue> {
  if (event.epoch !== epoch) return {};
  const { foregroundActivity, activeSubagentCount } = event;
  return {
    ...(foregroundActivity === undefined ? {} : { foregroundActivity }),
    ...(activeSubagentCount === undefined ? {} : { activeSubagentCount }),
  };
}

/** Of the same instant counts as newer: it may know more. */
function isNewerView<View extends { readonly revision: number }>(a: View, b: View, counter: keyof View): boolean {
  return a.revision >= b.revision && (a[counter] as number) >= (b[counter] as number);
}
