/** Cancel of many jobs at once (spec 4.7): what the selector names, sorted by what became of it. */
import { isOffstageError } from '../model/errors.ts';
import { isTerminal, type JobView } from '../model/records.ts';
import type { CancelManyResult, CancelManySelector, ListQuery } from '../model/requests.ts';
import { statusesOf } from './queries.ts';
import { invalidInput } from './spawn-request.ts';

export interface CancelManyVerbs {
  list(query: ListQuery): Promise<readonly JobView[]>;
  get(jobId: string): Promise<JobView>;
  cancel(jobId: string): Promise<JobView>;
}

const SELECTORS = ['ids', 'sessionId', 'taskId', 'parentMessageId', 'parentJobId'] as const;
const UNFINISHED = ['pending', 'queued', 'running'] as const;

/** @throws OffstageError `input.invalid` unless exactly one selector is given */
export async function cancelMany(selector: CancelManySelector, verbs: CancelManyVerbs): Promise<CancelManyResult> {
  const given = SELECTORS.filter((name) => selector[name] !== undefined);
  if (given.length !== 1) throw invalidInput('selector', `give exactly one of ${SELECTORS.join(', ')}`);
  const statuses = statusesOf(selector.status);
  const cancelOne = async (jobId: string): Promise<keyof CancelManyResult | null> => {
    try {
      const before = await verbs.get(jobId);
      if (statuses !== null && !statuses.includes(before.status)) return null;
      if (isTerminal(before.status)) return 'alreadyTerminal';
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
    return sorted(selector.ids, cancelOne);
  }
  const { ids: _, status: __, ...query } = selector;
  const wanted = statuses ?? UNFINISHED;
  // All of them, page by page, before the first is cancelled: cancelling changes the pages.
  const jobIds: string[] = [];
  for (let before: string | undefined; ; ) {
    const page = await verbs.list({ ...query, status: wanted, limit: 1_000, ...(before === undefined ? {} : { before }) });
    jobIds.push(...page.map(({ jobId }) => jobId));
    before = page.at(-1)?.jobId;
    if (page.length < 1_000) break;
  }
  return sorted(jobIds, cancelOne);
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
