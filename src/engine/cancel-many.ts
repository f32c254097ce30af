/** Cancel of many jobs at once (spec 4.7): what the selector names, sorted by what became of it. */
import { isOffstageError } from '../model/errors.ts';
import { isTerminal, type JobStatus, type JobView } from '../model/records.ts';
import type { CancelManyResult, CancelManySelector, ListQuery } from '../model/requests.ts';
import { statusesOf } from './queries.ts';
import { checkId, invalidInput } from './spawn-request.ts';

export interface CancelManyVerbs {
  /** The state of a job that has not ended, as decided: also of one that is still being accepted. Null for all others. */
  unfinished(jobId: string): JobStatus | null;
  /** The ids of all unfinished jobs that match, newest first, as in lists. */
  listUnfinished(query: ListQuery): readonly string[];
  /** Cancels the matching spawns that are still being accepted; they have no ids yet. */
  cancelWaiting(query: ListQuery): readonly Promise<JobView>[];
  /** Finished jobs, newest first. */
  list(query: ListQuery): Promise<readonly JobView[]>;
  get(jobId: string): Promise<JobView>;
  cancel(jobId: string): Promise<JobView>;
}

const SELECTORS = ['ids', 'sessionId', 'taskId', 'parentMessageId', 'parentJobId'] as const;
const PAGE = 1_000;

/** @throws OffstageError `input.invalid` unless exactly one selector is given */
export async function cancelMany(selector: CancelManySelector, verbs: CancelManyVerbs): Promise<CancelManyResult> {
  const given = SELECTORS.filter((name) => selector[name] !== undefined);
  if (given.length !== 1) throw invalidInput('selector', `give exactly one of ${SELECTORS.join(', ')}`);
  const statuses = statusesOf(selector.status);
  const isWanted = (status: JobStatus): boolean => statuses === null || statuses.includes(status);
  const cancelOne = async (jobId: string): Promise<keyof CancelManyResult | null> => {
    try {
      const unfinished = verbs.unfinished(jobId);
      if (unfinished === null) return isWanted((await verbs.get(jobId)).status) ? 'alreadyTerminal' : null;
      if (!isWanted(unfinished)) return null;
      const { status } = await verbs.cancel(jobId);
      if (status === 'cancelled') return 'cancelled';
      return isTerminal(status) ? 'alreadyTerminal' : 'cancelling';
    } catch (error) {
      if (isOffstageError(error, 'job.not_found') || isOffstageError(error, 'job.expired')) return 'notFound';
      throw error;
    }
  };
  if (selector.ids !== undefined) {
    if (!Array.isArray(selector.ids)) throw invalidInput('ids', 'it must be an array of ids');
    // All of them before the first is cancelled: a bad one must not leave the others half done.
    const jobIds = selector.ids.map((jobId, index) => checkId(`ids[${index}]`, jobId));
    return sorted(jobIds, cancelOne);
  }
  const { ids: _, status: __, ...query } = selector;
  const waiting = isWanted('pending') || isWanted('queued') ? verbs.cancelWaiting(query) : [];
  const jobIds = [...verbs.listUnfinished(query)];
  const ended = statuses?.filter((status) => isTerminal(status)) ?? [];
  for (let before: string | undefined; ended.length > 0; ) {
    const page = await verbs.list({ ...query, status: ended, limit: PAGE, ...(before === undefined ? {} : { before }) });
    jobIds.push(...page.map(({ jobId }) => jobId));
    before = page.at(-1)?.jobId;
    if (page.length < PAGE) break;
  }
  const [result, born] = await Promise.all([sorted(jobIds, cancelOne), Promise.allSettled(waiting)]);
  // A spawn that was refused in the end has no job, and so nothing to tell.
  const bornIds = born.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.jobId] : []));
  return { ...result, cancelled: [...result.cancelled, ...bornIds] };
}

/** All at once, so that they are stored together; answered in the order asked. */
async function sorted(
  jobIds: readonly string[],
  each: (jobId: string) => Promise<keyof CancelManyResult | null>,
): Promise<CancelManyResult> {
  const outcomes = await Promise.all(jobIds.map((jobId) => each(jobId)));
  const of = (kind: keyof CancelManyResult): readonly string[] => jobIds.filter((_, index) => outcomes[index] === kind);
  return {
    cancelled: of('cancelled'),
    cancelling: of('cancelling'),
    alreadyTerminal: of('alreadyTerminal'),
    notFound: of('notFound'),
  };
}
