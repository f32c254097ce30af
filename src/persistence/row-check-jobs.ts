/**
 * The part of the check of rows that is about jobs: their rows, and all that leads to them or hangs on them.
 *
 * RCJ1  Of two rows of one job the finished one is newer; of two jobs with one id, the one that the id leads to is the one that was kept.
 * RCJ2  A row of a newer release is no damage: the check is given up.
 */
import { offstageError } from '../model/errors.ts';
import type { SessionRow } from '../model/records.ts';
import { contentHash } from './content-hash.ts';
import { decodeJobRow, encodeJobRow, isFinished, JOB_ROW_VERSION, type JobBase, parseRow, type StoredJob } from './job-codec.ts';
import {
  idOf,
  isRow,
  jobIdOfStone,
  ordinalOf,
  pagesOf,
  parsed,
  pointerOf,
  type RowCheckNotes,
  sessionIn,
} from './row-check-notes.ts';
import { EXPIRED, KEYS, RANGES } from './row-keys.ts';
import { sessionOperations } from './session-rows.ts';
import type { Store, StoreEntry } from './store.ts';

const INPUT_LOST = 'The input and the description were lost with damaged data.';
/** Decodes a row without its large part. */
const NO_PART = '["",null]';

type Read = ReadonlyMap<string, string>;

export class JobRowCheck {
  readonly #store: Store;
  readonly #notes: RowCheckNotes;
  readonly #at: number;
  /** Ids found in rows that cannot be read. */
  readonly #suspects = new Set<string>();
  /** Of jobs that came back and go again. */
  readonly #going = new Set<number>();
  /** Jobs that stay. */
  count = 0;
  /** Of the unfinished jobs. */
  lowestLive = Number.POSITIVE_INFINITY;

  constructor(store: Store, notes: RowCheckNotes, at: number) {
    this.#store = store;
    this.#notes = notes;
    this.#at = at;
  }

  /** What leads to a job, and what hangs on it, is judged after all jobs. */
  async run(): Promise<void> {
    await this.#walk(RANGES.live, (page) => this.#checkJobs(page, true));
    await this.#walk(RANGES.finished, (page) => this.#checkJobs(page, false));
    await this.#loseSuspects();
    await this.#walk(RANGES.ids, (page) => this.#checkIds(page));
    await this.#walk(RANGES.sessionIndex, (page) => this.#checkParts(page, isListedIn));
    await this.#walk(RANGES.large, (page) => this.#checkParts(page, (job) => job.base.isLarge));
    await this.#walk(RANGES.outputs, (page) => this.#checkParts(page, (_, { value }) => isRow(value)));
  }

  async #walk(range: { gte: string; lt: string }, check: (page: readonly StoreEntry[]) => Promise<void>): Promise<void> {
    for await (const page of pagesOf(this.#store, range)) {
      await check(page);
      await this.#notes.flush();
    }
  }

  async #checkJobs(page: readonly StoreEntry[], isLive: boolean): Promise<void> {
    const jobs: StoredJob[] = [];
    for (const { key, value } of page) {
      this.#notes.see(ordinalOf(key) ?? 0);
      const job = jobOf(key, value);
      if (job !== null) {
        jobs.push(job);
        continue;
      }
      this.#notes.drop('unreadable', key, [key]);
      const jobId = idInRuin(value);
      if (jobId !== null) this.#suspects.add(jobId);
    }
    const got = await this.#notes.read(jobs.flatMap((job) => relatedKeys(job, isLive)));
    const owners = await this.#owners(jobs.flatMap(({ base }) => pointerOf(got.get(KEYS.id(base.jobId)))?.ordinal ?? []));
    for (const job of jobs) {
      const { base } = job;
      const finished = KEYS.finished(base.ordinal);
      if (isLive && jobOf(finished, got.get(finished)) !== null) {
        this.#notes.drop('live_and_finished', base.jobId, [KEYS.live(base.ordinal)]);
      } else if (wasPruned(base, got)) {
        this.#dropAgain(base);
        this.#notes.goneIds.add(base.jobId);
        this.#notes.write({ type: 'put', key: KEYS.id(base.jobId), value: EXPIRED });
      } else if (wasReplaced(base, got, owners) || this.#notes.settledIds.has(base.jobId)) {
        this.#dropAgain(base);
      } else {
        this.#keep(job, got);
        if (isLive) this.lowestLive = Math.min(this.lowestLive, base.ordinal);
      }
    }
  }

  #dropAgain(base: JobBase): void {
    this.#going.add(base.ordinal);
    this.#notes.drop('came_back', base.jobId, keysOf(base));
  }

  /** The jobs with these ordinals that stay. */
  async jobsAt(ordinals: readonly number[]): Promise<ReadonlyMap<number, StoredJob>> {
    return this.#owners(ordinals.filter((ordinal) => !this.#going.has(ordinal)));
  }

  #keep(job: StoredJob, got: Read): void {
    const notes = this.#notes;
    this.count += 1;
    const base = this.#withInput(job, got);
    const { jobId, ordinal } = base;
    if (pointerOf(got.get(KEYS.id(jobId)))?.ordinal !== ordinal) {
      notes.settledIds.add(jobId);
      notes.put('index_lost', jobId, KEYS.id(jobId), `${ordinal} ${contentHash(base)}`);
    }
    const missing = indexKeys(base).filter((key) => !got.has(key));
    if (missing.length > 0) notes.find('index_lost', jobId);
    for (const key of missing) notes.write({ type: 'put', key, value: '' });
    for (const sessionId of sessionsOf(base)) {
      const key = KEYS.session(sessionId);
      const row = got.get(key);
      if ((row !== undefined && sessionIn(key, row) !== null) || notes.settledKeys.has(key)) continue;
      notes.settledKeys.add(key).add(KEYS.taskSession(base.taskId, sessionId));
      notes.find('session_lost', sessionId);
      notes.write(...sessionOperations(sessionOf(base, sessionId)));
    }
  }

  /** The job with its large part; without, when that is lost, and then the row says so. */
  #withInput({ base, snapshot, revision }: StoredJob, got: Read): JobBase {
    if (!base.isLarge) return base;
    const part = parsed(got.get(KEYS.large(base.ordinal)) ?? '');
    if (Array.isArray(part) && part.length === 2 && typeof part[0] === 'string') {
      return { ...base, description: part[0], input: part[1] };
    }
    const kept: JobBase = { ...base, description: '', input: null, isLarge: false };
    const notes = [...snapshot.notes, { at: this.#at, type: 'note', detail: INPUT_LOST } as const];
    const key = isFinished(snapshot.state) ? KEYS.finished(base.ordinal) : KEYS.live(base.ordinal);
    this.#notes.put('input_lost', base.jobId, key, encodeJobRow(kept, { ...snapshot, notes }, revision + 1));
    this.#notes.write({ type: 'del', key: KEYS.large(base.ordinal) });
    return kept;
  }

  async #loseSuspects(): Promise<void> {
    const got = await this.#notes.read([...this.#suspects].map((jobId) => KEYS.id(jobId)));
    // Where the id still leads somewhere, what it leads to is looked at next.
    for (const jobId of this.#suspects) if (!got.has(KEYS.id(jobId))) this.#notes.lose(jobId);
  }

  async #checkIds(page: readonly StoreEntry[]): Promise<void> {
    const owners = await this.#owners(page.flatMap(({ value }) => pointerOf(value)?.ordinal ?? []));
    for (const { key, value } of page) {
      const jobId = idOf(key);
      const pointer = pointerOf(value);
      if (pointer !== null) this.#notes.see(pointer.ordinal);
      if (jobId === null) this.#notes.drop('unreadable', key, [key]);
      else if (value !== EXPIRED && (pointer === null || owners.get(pointer.ordinal)?.base.jobId !== jobId)) {
        this.#notes.lose(jobId);
      }
    }
  }

  /** Rows that end with a job's number, and mean nothing without it. */
  async #checkParts(page: readonly StoreEntry[], belongs: (job: StoredJob, entry: StoreEntry) => boolean): Promise<void> {
    const owners = await this.#owners(page.flatMap(({ key }) => ordinalOf(key) ?? []));
    for (const entry of page) {
      const ordinal = ordinalOf(entry.key);
      if (ordinal !== null) this.#notes.see(ordinal);
      const job = ordinal === null ? undefined : owners.get(ordinal);
      if (job === undefined || !belongs(job, entry)) this.#notes.drop('left_over', entry.key, [entry.key]);
    }
  }

  /** The jobs with these ordinals, as far as they can be read. */
  async #owners(ordinals: readonly number[]): Promise<ReadonlyMap<number, StoredJob>> {
    const got = await this.#notes.read(ordinals.flatMap((ordinal) => [KEYS.finished(ordinal), KEYS.live(ordinal)]));
    const owners = new Map<number, StoredJob>();
    for (const [key, value] of got) {
      const job = jobOf(key, value);
      if (job !== null && !owners.has(job.base.ordinal)) owners.set(job.base.ordinal, job);
    }
    return owners;
  }
}

/** The job of a row under `l/` or `f/`, without its large part; null when the row is none. @throws OffstageError `store.failed` (RCJ2) */
function jobOf(key: string, value: string | undefined): StoredJob | null {
  if (value === undefined) return null;
  try {
    const row = parseRow(value);
    if ((row[0] as number) > JOB_ROW_VERSION) throw newerRow();
    const job = decodeJobRow(row, NO_PART);
    const { ordinal, jobId, sessionId, taskId } = job.base;
    const isSound = [jobId, sessionId, taskId].every((text) => typeof text === 'string') && ordinal === ordinalOf(key);
    return isSound && isFinished(job.snapshot.state) === key.startsWith('f/') ? job : null;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'store.failed') throw error;
    return null;
  }
}

const newerRow = () => offstageError('store.failed', { message: 'it has rows that a newer release has written' });

/** The id in what is left of a row. */
function idInRuin(value: string): string | null {
  const [, text] = /^\[\d+,\d+,("(?:[^"\\]|\\.)*")/.exec(value) ?? [];
  const jobId = text === undefined ? null : parsed(text);
  return typeof jobId === 'string' && jobId.isWellFormed() ? jobId : null;
}

const sessionsOf = ({ sessionId, callerSessionId }: JobBase): readonly string[] =>
  callerSessionId === null || callerSessionId === sessionId ? [sessionId] : [sessionId, callerSessionId];

const indexKeys = (base: JobBase): readonly string[] =>
  sessionsOf(base).map((sessionId) => KEYS.sessionJob(sessionId, base.ordinal));

const relatedKeys = ({ base }: StoredJob, isLive: boolean): readonly string[] => [
  KEYS.id(base.jobId),
  KEYS.tombstone(base.ordinal),
  ...indexKeys(base),
  ...sessionsOf(base).map((sessionId) => KEYS.session(sessionId)),
  ...(base.isLarge ? [KEYS.large(base.ordinal)] : []),
  ...(isLive ? [KEYS.finished(base.ordinal)] : []),
];

/** All rows of a job but its id. */
const keysOf = (base: JobBase): readonly string[] => [
  KEYS.live(base.ordinal),
  KEYS.finished(base.ordinal),
  KEYS.large(base.ordinal),
  KEYS.output(base.ordinal),
  ...indexKeys(base),
];

function wasPruned({ jobId, ordinal }: JobBase, got: Read): boolean {
  return got.get(KEYS.id(jobId)) === EXPIRED || jobIdOfStone(got.get(KEYS.tombstone(ordinal)) ?? '') === jobId;
}

/** The job was refused, and its id belongs to another one by now. */
function wasReplaced({ jobId, ordinal }: JobBase, got: Read, owners: ReadonlyMap<number, StoredJob>): boolean {
  const pointer = pointerOf(got.get(KEYS.id(jobId)));
  return pointer !== null && pointer.ordinal !== ordinal && owners.get(pointer.ordinal)?.base.jobId === jobId;
}

function isListedIn({ base }: StoredJob, { key }: StoreEntry): boolean {
  const sessionId = idOf(key, key.lastIndexOf('/'));
  return sessionId !== null && sessionsOf(base).includes(sessionId);
}

/** What the job knows of a session that is lost. */
const sessionOf = (base: JobBase, sessionId: string): SessionRow => ({
  sessionId,
  taskId: base.taskId,
  agentId: null,
  state: 'created',
  interrupted: false,
  pending: null,
  createdAt: base.createdAt,
  updatedAt: base.createdAt,
  revision: 1,
});
