/**
 * The verbs of cancel as hosts call them (spec 4): which jobs are meant, and what to answer.
 *
 * CVB1  A job that is still being accepted is found like any other; it is born cancelled.
 * CVB2  A job that has ended answers its record, unchanged.
 * CVB3  Bad input is refused before the first job is touched.
 */
import { isOffstageError, offstageError } from '../model/errors.ts';
import { inPortions } from '../model/in-portions.ts';
import { LIMITS } from '../model/limits.ts';
import { isTerminal, type JobStatus, type JobView } from '../model/records.ts';
import type { CancelManyResult, CancelManySelector, CancelOptions, ListQuery } from '../model/requests.ts';
import { isFinished, statusOfState } from '../persistence/job-codec.ts';
import type { Admission } from './admission.ts';
import type { Canceller, CancelRequest } from './canceller.ts';
import { namesOf, readArray, readOptions } from './check-options.ts';
import type { Core } from './core.ts';
import { matcherOf, type Queries, statusesOf } from './queries.ts';
import type { Sessions } from './sessions.ts';
import { checkId, checkText, invalidInput } from './spawn-request.ts';
import { storedView } from './stored-view.ts';

const CANCEL_NAMES = namesOf<CancelOptions>({ reason: true });
const SELECTOR_NAMES = namesOf<CancelManySelector>({
  ids: true,
  sessionId: true,
  taskId: true,
  parentMessageId: true,
  parentJobId: true,
  status: true,
});
const SELECTORS = ['ids', 'sessionId', 'taskId', 'parentMessageId', 'parentJobId'] as const;
const PAGE = LIMITS.recordsAtOnce;

export interface CancelVerbsHost {
  readonly canceller: Canceller;
  readonly admission: Admission;
  readonly queries: Queries;
  readonly sessions: Sessions;
}

type Outcome = Exclude<keyof CancelManyResult, 'durable'>;

export class CancelVerbs {
  readonly #core: Core;
  readonly #host: CancelVerbsHost;

  constructor(core: Core, host: CancelVerbsHost) {
    this.#core = core;
    this.#host = host;
  }

  /** @throws OffstageError `job.not_found`, `job.expired`, `input.invalid`, `engine.closing` */
  async cancel(jobId: string, options?: CancelOptions): Promise<JobView> {
    checkId('jobId', jobId);
    const request = requestOf(options);
    this.#core.assertOpen();
    return this.#one(jobId, request);
  }

  /** @throws OffstageError `input.invalid` unless exactly one selector is given; `engine.closing` */
  async cancelMany(given: CancelManySelector, options?: CancelOptions): Promise<CancelManyResult> {
    const request = requestOf(options);
    const { ids, status, ...query } = readOptions('selector', given, SELECTOR_NAMES);
    const named = SELECTORS.filter((name) => (name === 'ids' ? ids : query[name]) !== undefined);
    if (named.length !== 1) throw invalidInput('selector', `give exactly one of ${SELECTORS.join(', ')}`);
    const statuses = statusesOf(status);
    const isWanted = (one: JobStatus): boolean => statuses === null || statuses.includes(one);
    const checked = ids === undefined ? null : readArray('ids', ids).map((jobId, index) => checkId(`ids[${index}]`, jobId));
    this.#core.assertOpen();
    let isStored = true;
    const look = (view: JobView): JobView => {
      isStored &&= view.durable !== false;
      return view;
    };
    const each = (jobId: string) => this.#outcomeOf(jobId, isWanted, async () => look(await this.#one(jobId, request)));
    const isUnfinished = (jobId: string): boolean => this.#unfinishedStatus(jobId) !== null;
    const told = (result: CancelManyResult): CancelManyResult => (isStored ? result : { ...result, durable: false });
    if (checked !== null) return told(await sorted(checked, each, isUnfinished));
    const waiting = isWanted('pending') || isWanted('queued') ? this.#cancelWaiting(query, request) : [];
    const jobIds = [...this.#unfinished(query), ...(await this.#ended(query, statuses))];
    const [result, born] = await Promise.all([sorted(jobIds, each, isUnfinished), Promise.allSettled(waiting)]);
    // A spawn that was refused in the end has no job, and one that has found an ended one made none: there is nothing to tell.
    const bornIds = born.flatMap((outcome) =>
      outcome.status === 'fulfilled' && outcome.value !== null ? [look(outcome.value).jobId] : [],
    );
    return told({ ...result, cancelled: [...result.cancelled, ...bornIds] });
  }

  /** The foreground caller of these jobs has gone (spec 4.8). */
  callerGone(jobIds: readonly string[]): void {
    if (this.#core.isClosing) return;
    const { canceller } = this.#host;
    const jobs = jobIds.flatMap((jobId) => this.#core.jobs.get(jobId) ?? []);
    const changes = canceller.decide(jobs, { code: 'cancel.caller_gone', reason: null });
    if (changes.length > 0) this.#core.submit({ changes, effects: () => canceller.runEffectsOf(changes) });
  }

  async #one(jobId: string, request: CancelRequest): Promise<JobView> {
    const { jobs, rows } = this.#core;
    const job = jobs.get(jobId);
    if (job === undefined) {
      const admitting = this.#host.admission.cancelWhenAdmitted(jobId, request);
      if (admitting !== null) return (await admitting) ?? this.#one(jobId, request);
      let stored = await rows.find(jobId);
      // It may have been accepted while the store was asked; or have ended since, and then its end is stored by now.
      if (jobs.has(jobId)) return this.#one(jobId, request);
      if (stored !== null && stored !== 'expired' && !isFinished(stored.snapshot.state)) stored = await rows.find(jobId);
      if (stored === 'expired') throw offstageError('job.expired', { jobId });
      if (stored !== null) return storedView(stored);
      throw offstageError('job.not_found', { jobId });
    }
    if (job.actedEnd !== null) return job.actedEnd;
    if (job.committed === job.decided && job.isDecidedEnd) return job.view();
    return this.#host.canceller.cancel(job, request);
  }

  /** Cancels one of many. Null: it is in none of the wanted states. */
  async #outcomeOf(
    jobId: string,
    isWanted: (status: JobStatus) => boolean,
    cancel: () => Promise<JobView>,
  ): Promise<Outcome | null> {
    try {
      const unfinished = this.#unfinishedStatus(jobId);
      if (unfinished === null) {
        // An end that is decided is told once it is stored, or as one that is not.
        const view = this.#core.jobs.has(jobId) ? await cancel() : await this.#host.queries.get(jobId);
        return isWanted(view.status) ? 'alreadyTerminal' : null;
      }
      if (!isWanted(unfinished)) return null;
      const { status } = await cancel();
      if (status === 'cancelled') return 'cancelled';
      return isTerminal(status) ? 'alreadyTerminal' : 'cancelling';
    } catch (error) {
      if (isOffstageError(error, 'job.not_found') || isOffstageError(error, 'job.expired')) return 'notFound';
      throw error;
    }
  }

  /** As decided, also of a job that is still being accepted; null for one that has ended or is not there. */
  #unfinishedStatus(jobId: string): JobStatus | null {
    const job = this.#core.jobs.get(jobId);
    if (job === undefined) return this.#host.admission.isAdmitting(jobId) ? 'pending' : null;
    return job.isDecidedEnd ? null : statusOfState(job.decided.state);
  }

  /** Newest first, as in lists. */
  #unfinished(query: ListQuery): readonly string[] {
    const matches = matcherOf(query);
    return [...this.#core.jobs.values()]
      .filter((job) => !job.isDecidedEnd && matches(job.base, statusOfState(job.decided.state)))
      .map(({ jobId }) => jobId)
      .reverse();
  }

  /** Spawns that wait undecided have no ids yet. */
  #cancelWaiting({ taskId, ...query }: ListQuery, request: CancelRequest): readonly Promise<JobView | null>[] {
    const { admission, sessions } = this.#host;
    const matches = matcherOf(query);
    const isInTask = (sessionId: string): boolean => taskId === undefined || sessions.cached(sessionId)?.taskId === taskId;
    return admission.cancelWaiting(
      (content) => matches({ ...content, taskId: '' }, 'pending') && isInTask(content.sessionId),
      request,
    );
  }

  async #ended(query: ListQuery, statuses: readonly JobStatus[] | null): Promise<readonly string[]> {
    const wanted = statuses?.filter((status) => isTerminal(status)) ?? [];
    const jobIds: string[] = [];
    for (let before: string | undefined; wanted.length > 0; ) {
      const page = await this.#host.queries.list({
        ...query,
        status: wanted,
        limit: PAGE,
        ...(before === undefined ? {} : { before }),
      });
      jobIds.push(...page.map(({ jobId }) => jobId));
      before = page.at(-1)?.jobId;
      if (page.length < PAGE) break;
    }
    return jobIds;
  }
}

/** @throws OffstageError `input.invalid` */
function requestOf(options: CancelOptions | undefined): CancelRequest {
  const reason = readOptions('options', options, CANCEL_NAMES).reason ?? null;
  return { code: 'cancel.user', reason: reason === null ? null : checkText('reason', reason, '') };
}

/** Those that live all at once, so that they are stored together; the others are read, some at a time. Answered in the order asked. */
async function sorted(
  jobIds: readonly string[],
  each: (jobId: string) => Promise<Outcome | null>,
  isUnfinished: (jobId: string) => boolean,
): Promise<CancelManyResult> {
  const distinct = [...new Set(jobIds)];
  const live = distinct.filter(isUnfinished);
  const known = new Set(live);
  const others = distinct.filter((jobId) => !known.has(jobId));
  const all = (portion: readonly string[]) => Promise.all(portion.map(each));
  const found = await Promise.all([all(live), inPortions(others, all)]);
  const flat = found.flat();
  const outcomes = new Map([...live, ...others].map((jobId, index) => [jobId, flat[index]]));
  const of = (kind: Outcome): readonly string[] => jobIds.filter((jobId) => outcomes.get(jobId) === kind);
  return {
    cancelled: of('cancelled'),
    cancelling: of('cancelling'),
    alreadyTerminal: of('alreadyTerminal'),
    notFound: of('notFound'),
  };
}
