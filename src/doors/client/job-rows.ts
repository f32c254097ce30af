/**
 * The rows of jobs: as `row-table.ts`, with their ends, their numbers, and a bound.
 *
 * JRW1  See LRW2: the end is the end, a revision never falls.
 * JRW2  There are at most `maxJobs`. Of those that have ended the oldest go first; then something is left out, and it is said.
 */
import type { JobRecordEvent } from '../../model/events.ts';
import { isTerminal, JOB_STATUSES, type JobStatus } from '../../model/records.ts';
import type { Asking } from './asking.ts';
import type { JobRow } from './live-state.ts';
import { RowTable } from './row-table.ts';

type LiveCounts = Readonly<Record<'pending' | 'queued' | 'running', number>>;

/** When there are too many, a few more go, so that not every new one has to look for the oldest. */
const SLACK = 0.02;

export class JobRows {
  readonly #table = new RowTable<JobRow>({ idOf: (job) => job.jobId, isNewer });
  readonly maximum: number;
  readonly #counts = Object.fromEntries(JOB_STATUSES.map((status) => [status, 0])) as Record<JobStatus, number>;
  /** As a snapshot has told them; null once the rows of all live jobs were read. */
  #liveCounts: LiveCounts | null = null;
  #isLeftOut = false;

  constructor(maxJobs: number) {
    this.maximum = maxJobs;
  }

  get rows(): ReadonlyMap<string, JobRow> {
    return this.#table.rows;
  }

  get dirty(): Set<string> {
    return this.#table.dirty;
  }

  get isComplete(): boolean {
    return this.#table.isComplete && !this.#isLeftOut;
  }

  /** All that can be read was read. */
  get isRead(): boolean {
    return this.#table.isComplete;
  }

  get counts(): Readonly<Record<JobStatus, number>> {
    return { ...this.#counts, ...this.#liveCounts };
  }

  takeChanged(): boolean {
    return this.#table.takeChanged();
  }

  takeDirty(most: number): string[] {
    return this.#table.takeDirty(most);
  }

  ask<Answer>(question: (asking: Asking) => Promise<Answer>): Promise<Answer> {
    return this.#table.ask(question);
  }

  snapshotCame(): void {
    this.#table.snapshotCame();
  }

  beginReading(counts: LiveCounts, isOther: boolean): void {
    this.#table.beginReading(isOther);
    this.#liveCounts = counts;
    this.#isLeftOut = false;
  }

  /** The rows of all live jobs are here, as far as there is room for them. */
  liveRead(): void {
    this.#liveCounts = null;
  }

  /** @param isLeftOut there are more, and no room for them */
  endReading(isLeftOut: boolean): void {
    this.#liveCounts = null;
    this.#isLeftOut ||= isLeftOut;
    const before = [...this.rows.values()];
    this.#table.endReading();
    for (const job of before) if (!this.rows.has(job.jobId)) this.#counts[job.status] -= 1;
    this.#makeRoom();
  }

  take(row: JobRow, asking?: Asking): void {
    const known = this.rows.get(row.jobId);
    if (this.#table.take(asking?.hasHeard(row.jobId) === true ? this.#withHeard(row, known) : row, asking))
      this.#count(known, row);
    this.#makeRoom();
  }

  /** A sign of life was heard while the row was asked for, and no revision tells whether the row knows of it. What it does not know of is kept. */
  #withHeard(row: JobRow, known: JobRow | undefined): JobRow {
    if (known === undefined || this.#table.isForeign(row.jobId)) {
      this.dirty.add(row.jobId);
      return row;
    }
    if (known.revision !== row.revision || isTerminal(row.status)) return row;
    return { ...row, progress: known.progress, lastActivityAt: Math.max(known.lastActivityAt ?? 0, row.lastActivityAt ?? 0) };
  }

  merge(event: JobRecordEvent): void {
    const known = this.rows.get(event.jobId);
    if (known !== undefined && known.revision >= event.revision) {
      if (this.#table.isForeign(event.jobId)) this.dirty.add(event.jobId);
      return;
    }
    if (known === undefined || !isTerminal(known.status) || isTerminal(event.status)) this.dirty.add(event.jobId);
    if (known === undefined || (isTerminal(known.status) && !isTerminal(event.status))) return;
    const row = { ...known, ...changesOf(event, known) };
    this.#table.put(row);
    this.#count(known, row);
  }

  /** It gave a sign of life. */
  heard(jobId: string, at: number, changes: Partial<Pick<JobRow, 'progress'>>): void {
    const known = this.rows.get(jobId);
    this.#table.heard(jobId);
    if (this.#table.isForeign(jobId)) this.dirty.add(jobId);
    else if (known !== undefined && !isTerminal(known.status)) this.#table.put({ ...known, ...changes, lastActivityAt: at });
  }

  /** Bodies that were given up settle without an event: their records do not change any more. They are to be read again. */
  touchGivenUp(): void {
    for (const job of this.rows.values()) if (job.detached && job.bodyLive) this.dirty.add(job.jobId);
  }

  /** Signs of life were missed, perhaps: they are not recorded. */
  touchRunning(): void {
    for (const job of this.rows.values()) if (job.status === 'running') this.dirty.add(job.jobId);
  }

  remove(jobId: string): void {
    const known = this.rows.get(jobId);
    if (known !== undefined) this.#counts[known.status] -= 1;
    this.#table.remove(jobId);
  }

  removeWhere(isMeant: (job: JobRow) => boolean): void {
    for (const job of this.rows.values()) if (isMeant(job)) this.remove(job.jobId);
  }

  #count(before: JobRow | undefined, after: JobRow): void {
    if (before !== undefined) this.#counts[before.status] -= 1;
    this.#counts[after.status] += 1;
  }

  /** JRW2. */
  #makeRoom(): void {
    if (this.rows.size <= this.maximum) return;
    this.#isLeftOut = true;
    const kept = Math.floor(this.maximum * (1 - SLACK));
    const ended = [...this.rows.values()].filter(({ status }) => isTerminal(status)).sort((a, b) => a.createdAt - b.createdAt);
    const live = [...this.rows.values()].filter(({ status }) => !isTerminal(status)).sort((a, b) => a.createdAt - b.createdAt);
    for (const job of [...ended, ...live].slice(0, this.rows.size - kept)) this.remove(job.jobId);
  }
}

/** LRW2. */
const isNewer = (a: JobRow, b: JobRow): boolean => a.revision >= b.revision && (isTerminal(a.status) || !isTerminal(b.status));

function changesOf({ at, status, ...event }: JobRecordEvent, known: JobRow): Partial<JobRow> {
  const { reasonCode, cancelRequestedAt, completedAt, detached, revision } = event;
  const facts = { status, reasonCode, cancelRequestedAt, completedAt, detached, revision };
  if (isTerminal(status)) return { ...facts, progress: null, bodyLive: detached };
  // A cancel that is asked for comes at its own time.
  if (status === 'running' && known.startedAt === null && cancelRequestedAt === null)
    return { ...facts, startedAt: at, bodyLive: true };
  if (status === 'queued' && known.queuedAt === null) return { ...facts, queuedAt: at };
  return facts;
}
