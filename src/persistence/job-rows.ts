/**
 * Jobs as rows: which writes a change needs, and how jobs are found again.
 *
 * ROW1  A job has exactly one row: under `l/` while it lives, under `f/` from its end on.
 * ROW2  A pruned id leaves a tombstone and nothing else of the job.
 * ROW3  Reading one job costs one look-up where its id tells the ordinal, else two; listing the newest costs what is listed, whatever is stored.
 * ROW4  A row that cannot be read costs the many nothing but itself, and is said once; whoever asks for that very job is told `store.corrupt`.
 */
import { ordinalHint } from '../actors/id-source.ts';
import { LIMITS } from '../model/limits.ts';
import type { Log } from '../model/requests.ts';
import { contentHash } from './content-hash.ts';
import {
  decodeJobRow,
  encodeJobRow,
  encodeLargePart,
  isFinished,
  type JobBase,
  type JobSnapshot,
  needsLargePart,
  parseRow,
  type Row,
  type StoredJob,
} from './job-codec.ts';
import { EXPIRED, KEYS, RANGES } from './row-keys.ts';
import { isIdText, isNumber, ordinalAt } from './row-shape.ts';
import type { Store, StoreEntry, StoreOperation } from './store.ts';

/** The rows that are written once, at acceptance. */
export function acceptOperations(base: JobBase): StoreOperation[] {
  const operations: StoreOperation[] = [
    { type: 'put', key: KEYS.id(base.jobId), value: `${base.ordinal} ${contentHash(base)}` },
    { type: 'put', key: KEYS.sessionJob(base.sessionId, base.ordinal), value: '' },
  ];
  if (base.callerSessionId !== null) {
    operations.push({ type: 'put', key: KEYS.sessionJob(base.callerSessionId, base.ordinal), value: '' });
  }
  if (base.isLarge) operations.push({ type: 'put', key: KEYS.large(base.ordinal), value: encodeLargePart(base) });
  return operations;
}

/** The row of the job's state. */
export function stateOperations(base: JobBase, snapshot: JobSnapshot, revision: number): StoreOperation[] {
  const value = encodeJobRow(base, snapshot, revision);
  if (!isFinished(snapshot.state)) return [{ type: 'put', key: KEYS.live(base.ordinal), value }];
  return [
    { type: 'put', key: KEYS.finished(base.ordinal), value },
    { type: 'del', key: KEYS.live(base.ordinal) },
  ];
}

/** Takes back an acceptance whose batch was reported as failed and may have been written all the same. */
export function retractOperations(base: JobBase): StoreOperation[] {
  return [
    ...acceptOperations(base).map(({ key }): StoreOperation => ({ type: 'del', key })),
    { type: 'del', key: KEYS.live(base.ordinal) },
    { type: 'del', key: KEYS.finished(base.ordinal) },
  ];
}

/** Replaces a finished job by its tombstone. */
export function pruneOperations(base: JobBase, at: number): StoreOperation[] {
  return [
    ...acceptOperations(base)
      .slice(1)
      .map(({ key }): StoreOperation => ({ type: 'del', key })),
    { type: 'del', key: KEYS.finished(base.ordinal) },
    { type: 'del', key: KEYS.output(base.ordinal) },
    { type: 'put', key: KEYS.id(base.jobId), value: EXPIRED },
    { type: 'put', key: KEYS.tombstone(base.ordinal), value: JSON.stringify([base.jobId, at]) },
  ];
}

/** What a tombstone says; null when it is none. `at` in epoch milliseconds. */
export function readTombstone(value: string): { readonly jobId: string; readonly at: number } | null {
  try {
    const [jobId, at] = JSON.parse(value) as unknown[];
    return isIdText(jobId) && isNumber(at) ? { jobId, at } : null;
  } catch {
    return null;
  }
}

/** How a session's finished jobs are narrowed down while they are read. */
export interface FinishedQuery {
  /** Only jobs with a lower ordinal. */
  readonly before: number;
  /** Read through this session's index. */
  readonly sessionId?: string | undefined;
  readonly matches: (job: StoredJob) => boolean;
  readonly limit: number;
}

const PAGE = 256;
/** So many are of a store that fails all day; the oldest of them were taken back long ago. */
const MOST_REFUSED = 10_000;
/** Decodes a row without its large part. */
const NO_LARGE_PART = '["",null]';

/** A job looked up by its id. */
export interface FoundJob extends StoredJob {
  /** SHA-256 of what was asked for, as stored at acceptance. */
  readonly contentHash: string;
}

/** Wherever the row of a job may lie, and its large part. */
const rowKeys = (ordinal: number): readonly string[] => [KEYS.finished(ordinal), KEYS.live(ordinal), KEYS.large(ordinal)];

interface StoredRow {
  readonly ordinal: number;
  readonly row: Row;
}

export class JobRows {
  readonly #store: Store;
  /** Refused acceptances whose rows may lie in the store, or have: nobody is shown them. */
  readonly #refused = new Set<number>();
  readonly #log: Log;
  /** Ordinals of rows, and keys without one, that were said to be unreadable. */
  readonly #bad = new Set<number | string>();

  readonly #isBeingAccepted: (jobId: string) => boolean;

  /**
   * @param log is told `row.unreadable`, once per row (ROW4)
   * @param isBeingAccepted whether its acceptance was given to the store and is not answered: nobody is shown its row, it may be refused yet
   */
  constructor(store: Store, log: Log, isBeingAccepted: (jobId: string) => boolean = () => false) {
    this.#store = store;
    this.#log = log;
    this.#isBeingAccepted = isBeingAccepted;
  }

  #isHidden(jobId: string, ordinal: number): boolean {
    return this.#refused.has(ordinal) || this.#isBeingAccepted(jobId);
  }

  /** For good: a read that began before they were taken back may still come upon them, and no ordinal is given twice. */
  hide(ordinal: number): void {
    this.#refused.add(ordinal);
    const [oldest] = this.#refused;
    if (this.#refused.size > MOST_REFUSED && oldest !== undefined) this.#refused.delete(oldest);
  }

  /** The stored job, `expired` for a pruned id, null for an unknown one. */
  async find(jobId: string): Promise<FoundJob | 'expired' | null> {
    const hint = ordinalHint(jobId);
    const [pointer, ...guessed] = await this.#store.getMany([KEYS.id(jobId), ...(hint === null ? [] : rowKeys(hint))]);
    if (pointer === undefined) return null;
    if (pointer === EXPIRED) return 'expired';
    const [ordinal, contentHash] = [Number.parseInt(pointer, 10), pointer.slice(pointer.indexOf(' ') + 1)];
    const [finished, live, large] = hint === ordinal ? guessed : await this.#store.getMany(rowKeys(ordinal));
    // Looked at last: meanwhile it may have been refused.
    if (this.#isHidden(jobId, ordinal)) return null;
    const row = finished ?? live;
    // Pruned between the two reads.
    if (row === undefined) return (await this.#store.get(KEYS.id(jobId))) === EXPIRED ? 'expired' : null;
    return { ...decodeJobRow(parseRow(row), large), contentHash };
  }

  /** Finished jobs, newest first. */
  async listFinished(query: FinishedQuery): Promise<readonly StoredJob[]> {
    const found: StoredJob[] = [];
    for await (const page of this.#pages(query)) {
      for (const job of await this.#decodeMany(page)) {
        if (!this.#isHidden(job.base.jobId, job.base.ordinal) && query.matches(job)) found.push(job);
        if (found.length === query.limit) return found;
      }
    }
    return found;
  }

  /** The ended jobs that run in a session, newest first, in pages; of large ones without input and description. */
  async *hostedBy(sessionId: string): AsyncGenerator<readonly StoredJob[]> {
    const query = { before: Number.MAX_SAFE_INTEGER, sessionId, limit: PAGE, matches: () => true };
    for await (const page of this.#pages(query)) {
      const jobs = page.flatMap(({ ordinal, row }) => this.#readable(ordinal, () => decodeJobRow(row, NO_LARGE_PART)));
      yield jobs.filter(({ base }) => base.sessionId === sessionId);
    }
  }

  /** Unfinished jobs of an earlier process, oldest first. */
  async listLive(fromOrdinal: number): Promise<readonly StoredJob[]> {
    const rows: StoreEntry[] = [];
    for await (const entry of this.#store.range({ gte: KEYS.live(fromOrdinal), lt: RANGES.live.lt })) rows.push(entry);
    return this.#decodeMany(this.#parseMany(rows));
  }

  /** Finished jobs created after the one with the ordinal `after`, oldest first, for pruning; none only when there are no more. */
  async oldestFinished(limit: number, after = 0): Promise<readonly StoredJob[]> {
    for (let from = KEYS.finished(after); ; ) {
      const rows: StoreEntry[] = [];
      for await (const entry of this.#store.range({ gt: from, lt: RANGES.finished.lt, limit })) rows.push(entry);
      const jobs = await this.#decodeMany(this.#parseMany(rows));
      const last = rows.at(-1);
      if (jobs.length > 0 || last === undefined) return jobs;
      from = last.key;
    }
  }

  /** The highest ordinal in use, or 0. */
  async highestOrdinal(): Promise<number> {
    let highest = 0;
    for (const range of [RANGES.live, RANGES.finished, RANGES.tombstones]) {
      for await (const { key } of this.#store.range({ ...range, reverse: true })) {
        const [ordinal] = this.#readable(key, () => ordinalAt(key, 2));
        if (ordinal === undefined) continue;
        highest = Math.max(highest, ordinal);
        break;
      }
    }
    return highest;
  }

  async *#pages(query: FinishedQuery): AsyncGenerator<readonly StoredRow[]> {
    // The first page is as large as the answer: a plain "newest 50" reads 50 rows. What does not match is let go in small pages.
    let size = Math.min(PAGE, Math.max(query.limit, 16));
    if (query.sessionId === undefined) {
      let page: StoreEntry[] = [];
      for await (const entry of this.#store.range({
        gte: RANGES.finished.gte,
        lt: KEYS.finished(query.before),
        reverse: true,
      })) {
        page.push(entry);
        if (page.length < size) continue;
        yield this.#parseMany(page);
        page = [];
        size = Math.max(size, LIMITS.recordsAtOnce);
      }
      yield this.#parseMany(page);
      return;
    }
    const prefix = RANGES.sessionJobs(query.sessionId);
    let ordinals: number[] = [];
    for await (const { key } of this.#store.range({
      gte: prefix.gte,
      lt: KEYS.sessionJob(query.sessionId, query.before),
      reverse: true,
    })) {
      ordinals.push(...this.#readable(key, () => ordinalAt(key, prefix.gte.length)));
      if (ordinals.length < size) continue;
      yield await this.#rowsOf(ordinals);
      ordinals = [];
      size = Math.max(size, LIMITS.recordsAtOnce);
    }
    yield await this.#rowsOf(ordinals);
  }

  async #rowsOf(ordinals: readonly number[]): Promise<readonly StoredRow[]> {
    const keys = ordinals.map((ordinal) => KEYS.finished(ordinal));
    const rows = await this.#store.getMany(keys);
    return this.#parseMany(
      keys.flatMap((key, index) => {
        const value = rows[index];
        return value === undefined ? [] : [{ key, value }];
      }),
    );
  }

  /** Of the entries of `l/` or `f/`. */
  #parseMany(entries: readonly StoreEntry[]): readonly StoredRow[] {
    return entries.flatMap(({ key, value }) =>
      this.#readable(key, () => ordinalAt(key, 2)).flatMap((ordinal) =>
        this.#readable(ordinal, () => ({ ordinal, row: parseRow(value) })),
      ),
    );
  }

  async #decodeMany(rows: readonly StoredRow[]): Promise<readonly StoredJob[]> {
    const large = rows.filter(({ row }) => needsLargePart(row)).map(({ ordinal }) => ordinal);
    const parts = large.length === 0 ? [] : await this.#store.getMany(large.map((ordinal) => KEYS.large(ordinal)));
    const partOf = new Map(large.map((ordinal, index) => [ordinal, parts[index]]));
    return rows.flatMap(({ ordinal, row }) => this.#readable(ordinal, () => decodeJobRow(row, partOf.get(ordinal))));
  }

  /** What `read` answers, or nothing where the row, or its key, is none (ROW4). */
  #readable<Result>(where: number | string, read: () => Result): readonly Result[] {
    try {
      return [read()];
    } catch (error) {
      const place = typeof where === 'number' ? { ordinal: where } : { key: where };
      if (!this.#bad.has(where)) this.#log('error', 'row.unreadable', { ...place, error: (error as Error).message });
      this.#bad.add(where);
      return [];
    }
  }
}
