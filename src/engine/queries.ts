/**
 * Reading: jobs, their history and output, and the whole state at one instant (spec 18).
 *
 * QRY1  get, list, history and events never disagree: all show what is committed.
 * QRY2  list is newest first by creation order, over live and finished jobs alike.
 */
import { offstageError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import { type HistoryEntry, isTerminal, JOB_STATUSES, type JobStatus, type JobView } from '../model/records.ts';
import type { Health, ListQuery, Snapshot } from '../model/requests.ts';
import { historyOf, isFinished, type JobBase, type StoredJob, statusOfState } from '../persistence/job-codec.ts';
import { KEYS } from '../persistence/row-keys.ts';
import { namesOf, readArray, readOptions } from './check-options.ts';
import type { Core } from './core.ts';
import { explain } from './explain.ts';
import { checkListLimit } from './list-limit.ts';
import type { LiveJob } from './live-job.ts';
import {
  joinOutput,
  joinPieces,
  lastPieces,
  outputPieces,
  type PrintedOptions,
  type PrintedOutput,
  readStoredOutput,
  type StoredOutput,
} from './output-log.ts';
import type { SessionViews } from './session-views.ts';
import type { Sessions } from './sessions.ts';
import { checkId, invalidInput } from './spawn-request.ts';
import { storedView } from './stored-view.ts';
import type { Waiting } from './waiting.ts';

type Matched = Pick<JobBase, 'sessionId' | 'callerSessionId' | 'taskId' | 'parentJobId' | 'parentMessageId' | 'kind'>;
type Matcher = (base: Matched, status: JobStatus) => boolean;

export class Queries {
  readonly #core: Core;
  readonly #sessions: Sessions;
  readonly #views: SessionViews;
  readonly #waiting: Waiting;

  constructor(core: Core, host: { readonly sessions: Sessions; readonly views: SessionViews; readonly waiting: Waiting }) {
    this.#core = core;
    this.#sessions = host.sessions;
    this.#views = host.views;
    this.#waiting = host.waiting;
  }

  async get(jobId: string): Promise<JobView> {
    const live = this.#core.committedJob(checkId('jobId', jobId));
    if (live !== undefined) return live.view();
    const stored = await this.#stored(jobId);
    return this.#core.committedJob(jobId)?.view() ?? storedView(stored);
  }

  async list(given?: ListQuery): Promise<readonly JobView[]> {
    const query = readOptions('query', given, LIST_NAMES);
    const limit = checkListLimit(query.limit);
    const matches = matcherOf(query);
    const before = query.before === undefined ? Number.MAX_SAFE_INTEGER : await this.#ordinalOf(query.before);
    return this.#listNow(query, matches, before, limit);
  }

  /**
   * The list as of this very tick, although the store is read later: what is live now answers from memory, whatever the store says of it by then,
   * and what is accepted later has a higher ordinal.
   */
  async #listNow(query: ListQuery, matches: Matcher, before: number, limit: number): Promise<readonly JobView[]> {
    const { jobs, loop, rows } = this.#core;
    const bound = Math.min(before, loop.lastOrdinal + 1);
    const live = new Set<number>();
    const found: LiveJob[] = [];
    // In the order of their acceptance.
    for (const job of jobs.values()) {
      live.add(job.base.ordinal);
      if (job.committed !== null && job.base.ordinal < bound && matches(job.base, statusOfState(job.committed.state)))
        found.push(job);
    }
    const newest = found.slice(-limit).reverse();
    const views = newest.map((job) => ({ ordinal: job.base.ordinal, view: job.view() }));
    const statuses = statusesOf(query.status);
    if (statuses === null || statuses.some((status) => isTerminal(status))) {
      const finished = await rows.listFinished({
        before: bound,
        sessionId: query.sessionId ?? query.callerSessionId ?? query.forSessionId,
        matches: ({ base, snapshot }) => !live.has(base.ordinal) && matches(base, statusOfState(snapshot.state)),
        limit,
      });
      for (const job of finished) views.push({ ordinal: job.base.ordinal, view: storedView(job) });
      views.sort((a, b) => b.ordinal - a.ordinal);
    }
    return views.slice(0, limit).map(({ view }) => view);
  }

  async history(jobId: string): Promise<readonly HistoryEntry[]> {
    const live = this.#core.committedJob(checkId('jobId', jobId));
    if (live?.committed != null) {
      const now = explain(this.#core, live, this.#waiting.awaitedBy(jobId));
      return now === null ? historyOf(live.base, live.committed) : [...historyOf(live.base, live.committed), now];
    }
    const stored = await this.#stored(jobId);
    return historyOf(stored.base, stored.snapshot);
  }

  /** What the job has printed, or its last `tail` lines. */
  async output(jobId: string, options?: { readonly tail?: number }): Promise<string> {
    const { tail } = readOptions('options', options, OUTPUT_NAMES);
    if (tail !== undefined) return joinPieces((await this.printed(jobId, { tail })).pieces);
    const { stored, ordinal } = await this.#storedOutput(checkId('jobId', jobId));
    return stored === null ? '' : joinOutput(stored, this.#core.settings.spillDirectory, ordinal);
  }

  /** What is kept of it, with its places; with `onlyEnd`, just the last 256 KiB or so; with `tail`, the last lines. */
  async printed(jobId: string, options?: PrintedOptions): Promise<PrintedOutput> {
    const { onlyEnd = false, tail } = readOptions('options', options, PRINTED_NAMES);
    if (tail !== undefined && (!Number.isInteger(tail) || tail < 0))
      throw invalidInput('tail', 'it must be a number of lines of 0 or more');
    const { stored, ordinal } = await this.#storedOutput(checkId('jobId', jobId));
    if (stored === null) return { pieces: [], end: 0 };
    const directory = onlyEnd ? null : this.#core.settings.spillDirectory;
    const pieces = tail === undefined ? outputPieces(stored, directory, ordinal) : lastPieces(stored, directory, ordinal, tail);
    return { pieces, end: stored.cut + stored.text.length };
  }

  async snapshot(): Promise<Snapshot> {
    // Sessions and tasks may be newer than `seq` by what is stored meanwhile; following the events from there brings both together.
    const [taskRows, sessionRows] = await Promise.all([
      this.#sessions.listTasks({ limit: LIMITS.listMaximum }),
      this.#sessions.list({ limit: LIMITS.listMaximum }),
    ]);
    const tasksNow = await this.#views.tasks(taskRows);
    // From here on in one tick.
    const tasks = tasksNow();
    const sessions = sessionRows.map((row) => this.#views.session(this.#sessions.cached(row.sessionId) ?? row));
    const { seq } = this.#core.loop;
    const counts = { pending: 0, queued: 0, running: 0 };
    for (const job of this.#core.jobs.values()) {
      if (job.committed === null || isFinished(job.committed.state)) continue;
      counts[statusOfState(job.committed.state) as keyof typeof counts] += 1;
    }
    const jobs = await this.#listNow({}, matcherOf({}), Number.MAX_SAFE_INTEGER, LIMITS.listDefault);
    return { epoch: this.#core.epoch, seq, tasks, sessions, jobs, counts };
  }

  health(): Health {
    const core = this.#core;
    const pool = core.poolCounters();
    const supervisor = core.system.supervisor.getSnapshot();
    const isStarved = pool.workers !== null && core.pool.stuck >= pool.workers;
    return {
      status: supervisor.hasTag('closing') ? 'closing' : core.loop.isDegraded ? 'degraded' : isStarved ? 'starved' : 'ok',
      pool,
      agents: { ...core.registry.agentCounts(), detached: supervisor.context.detachedAgents },
      store: {
        durability: core.settings.durability,
        pendingWrites: core.loop.pendingCount,
        lastError: core.loop.isDegraded ? supervisor.context.lastStoreError : null,
      },
    };
  }

  /** @throws OffstageError `job.not_found`, `job.expired` */
  async #stored(jobId: string): Promise<StoredJob> {
    const stored = await this.#core.rows.find(jobId);
    if (stored === null) throw offstageError('job.not_found', { jobId });
    if (stored === 'expired') throw offstageError('job.expired', { jobId });
    return stored;
  }

  async #ordinalOf(jobId: string): Promise<number> {
    const live = this.#core.committedJob(checkId('before', jobId));
    return live === undefined ? (await this.#stored(jobId)).base.ordinal : live.base.ordinal;
  }

  /** Of a job that is at work: read in the same tick. */
  async #storedOutput(jobId: string): Promise<{ readonly stored: StoredOutput | null; readonly ordinal: number }> {
    const live = this.#core.committedJob(jobId);
    const ordinal = live === undefined ? (await this.#stored(jobId)).base.ordinal : live.base.ordinal;
    const stored = live?.execution?.output?.stored() ?? null;
    if (stored !== null || (live !== undefined && live.execution !== null)) return { stored, ordinal };
    const value = await this.#core.store.get(KEYS.output(ordinal));
    return { stored: value === undefined ? null : readStoredOutput(value), ordinal };
  }
}

/** The wanted states; null for all. @throws OffstageError `input.invalid` */
export function statusesOf(status: ListQuery['status']): readonly JobStatus[] | null {
  if (status === undefined) return null;
  const statuses = (typeof status === 'string' ? [status] : readArray('status', status)) as readonly JobStatus[];
  for (const one of statuses) {
    if (JOB_STATUSES.includes(one)) continue;
    const shown = typeof one === 'string' ? JSON.stringify(one) : `a ${typeof one}`;
    throw invalidInput('status', `${shown} is not one of ${JOB_STATUSES.join(', ')}`);
  }
  return statuses;
}

const LIST_NAMES = namesOf<ListQuery>({
  sessionId: true,
  callerSessionId: true,
  forSessionId: true,
  taskId: true,
  parentJobId: true,
  parentMessageId: true,
  kind: true,
  status: true,
  limit: true,
  before: true,
});
const OUTPUT_NAMES = namesOf<{ readonly tail?: number }>({ tail: true });
const PRINTED_NAMES = namesOf<PrintedOptions>({ onlyEnd: true, tail: true });

const FILTERS = ['sessionId', 'callerSessionId', 'taskId', 'parentJobId', 'parentMessageId', 'kind'] as const;

export function matcherOf(query: Partial<ListQuery>): Matcher {
  const wanted = FILTERS.flatMap((name) => (query[name] === undefined ? [] : [[name, checkId(name, query[name])] as const]));
  const forSession = query.forSessionId === undefined ? null : checkId('forSessionId', query.forSessionId);
  const statuses = statusesOf(query.status);
  return (base, status) =>
    (forSession === null || base.sessionId === forSession || base.callerSessionId === forSession) &&
    wanted.every(([name, value]) => base[name] === value) &&
    (statuses === null || statuses.includes(status));
}
