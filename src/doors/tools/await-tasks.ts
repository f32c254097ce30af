/** The planner's tool: waits for several jobs at once (seed 000 D10, D14). */
import type { Offstage } from '../../engine/offstage.ts';
import { finalTextOf } from '../../model/cards.ts';
import { isOffstageError } from '../../model/errors.ts';
import type { JsonValue } from '../../model/json.ts';
import { isTerminal, type JobView } from '../../model/records.ts';
import { DEFAULT_TIMEOUT_MS, LONGEST_TIMEOUT_MS } from './job-output.ts';
import { noteReceived, reach, verbsOf } from './reach.ts';
import { type AgentTool, ToolArguments, type ToolContext, type ToolParameters } from './tool.ts';

const DESCRIPTION = `Waits for several background jobs: with mode "all" (default) until every one has ended, with "any" until the first one has, at most timeout milliseconds. Answers one entry per id, in the order of ids: {job_id, status}, with text where the job is completed, and error where it was cancelled or failed. Entries that are still queued or running have not ended: they go on, and you may wait again. Jobs that failed are entries like the others; decide yourself what to do about them.`;

const PARAMETERS: ToolParameters = {
  type: 'object',
  properties: {
    ids: { type: 'array', items: { type: 'string' }, description: 'The ids that the jobs were started with.' },
    mode: { type: 'string', enum: ['all', 'any'], description: 'Wait for all of them (default), or for the first one.' },
    timeout: {
      type: 'number',
      description: `Milliseconds to wait at most. Default ${DEFAULT_TIMEOUT_MS}, at most ${LONGEST_TIMEOUT_MS}.`,
    },
  },
  required: ['ids'],
  additionalProperties: false,
};

export const awaitTasksTool = (offstage: Offstage): AgentTool => ({
  name: 'await_tasks',
  description: DESCRIPTION,
  parameters: PARAMETERS,
  async execute(given, context = {}) {
    const args = new ToolArguments(given, PARAMETERS);
    const ids = args.texts('ids');
    const mode = args.oneOf('mode', ['all', 'any']);
    const timeoutMs = args.milliseconds('timeout', DEFAULT_TIMEOUT_MS, LONGEST_TIMEOUT_MS);
    if (args.problem !== null) return `[await_tasks error] ${args.problem}`;
    try {
      const reached = await Promise.all(ids.map((id) => reach(offstage, id, context)));
      const known = ids.filter((_, index) => isView(reached[index]));
      const views = await waited(offstage, known, { mode, timeoutMs }, context);
      return ids.map((jobId, index): JsonValue => {
        const found = reached[index];
        if (!isView(found)) return { job_id: jobId, status: found === 'expired' ? 'expired' : 'unknown' };
        const view = views.get(jobId) ?? found;
        if (isTerminal(view.status)) noteReceived(offstage, context, view);
        return entryOf(view);
      });
    } catch (error) {
      if (isOffstageError(error)) return `[await_tasks error] ${error.message}`;
      throw error;
    }
  },
});

const isView = (found: JobView | 'expired' | null | undefined): found is JobView => typeof found === 'object' && found !== null;

/** The waiter's own end is not the jobs'. */
async function waited(
  offstage: Offstage,
  ids: readonly string[],
  how: { readonly mode: 'all' | 'any'; readonly timeoutMs: number },
  context: ToolContext,
): Promise<ReadonlyMap<string, JobView>> {
  const { signal } = context;
  let entries: readonly object[];
  try {
    entries = await verbsOf(offstage, context).waitMany(ids, { ...how, ...(signal === undefined ? {} : { signal }) });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
    entries = await offstage.waitMany(ids, { timeoutMs: 0 });
  }
  return new Map(entries.flatMap((entry) => ('status' in entry ? [[(entry as JobView).jobId, entry as JobView] as const] : [])));
}

function entryOf(job: JobView): JsonValue {
  const { jobId, status } = job;
  if (status === 'completed') return { job_id: jobId, status, text: finalTextOf(job) };
  if (!isTerminal(status)) return { job_id: jobId, status };
  return { job_id: jobId, status, error: job.error?.message ?? 'unknown error' };
}
