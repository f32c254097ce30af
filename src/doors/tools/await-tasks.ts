/** The planner's tool: waits for several jobs at once (seed 000 D10, D14). */
import type { Offstage } from '../../engine/offstage.ts';
import { finalTextOf } from '../../model/cards.ts';
import type { JsonValue } from '../../model/json.ts';
import { isTerminal, type JobView } from '../../model/records.ts';
import type { WaitManyEntry, WaitManyOptions } from '../../model/requests.ts';
import { isView } from '../requests/reach.ts';
import type { Caller } from './caller.ts';
import { DEFAULT_TIMEOUT_MS, LONGEST_TIMEOUT_MS } from './job-output.ts';
import { type AgentTool, defineTool, type ToolParameters } from './tool.ts';

const DESCRIPTION = `Waits for several background jobs: with mode "all" (default) until every one has ended, with "any" until one has, at most timeout milliseconds. Answers one entry per id, in the order of ids: {job_id, status}, with text when the job is completed, and with error when it was cancelled or has failed (errored). Jobs that are still queued or running go on, and you may wait again. A job that failed does not end the waiting: decide yourself what to do about it.`;

const PARAMETERS: ToolParameters = {
  type: 'object',
  properties: {
    ids: { type: 'array', items: { type: 'string' }, description: 'Each a job_id that the agent tool answered.' },
    mode: { type: 'string', enum: ['all', 'any'], description: 'Wait for all of them (default), or for the first one.' },
    timeout: {
      type: 'number',
      description: `Milliseconds to wait at most. Default ${DEFAULT_TIMEOUT_MS}, at most ${LONGEST_TIMEOUT_MS}.`,
    },
  },
  required: ['ids'],
  additionalProperties: false,
};

export const awaitTasksTool = (offstage: Offstage): AgentTool =>
  defineTool(offstage, {
    name: 'await_tasks',
    description: DESCRIPTION,
    parameters: PARAMETERS,
    async call(args, caller) {
      const ids = args.texts('ids');
      const mode = args.oneOf('mode', ['all', 'any']);
      const timeoutMs = args.milliseconds('timeout', DEFAULT_TIMEOUT_MS, LONGEST_TIMEOUT_MS);
      const found = await Promise.all(ids.map((id) => caller.find(id)));
      const known = ids.filter((_, index) => isView(found[index]));
      const views = await waited(known, { mode, timeoutMs }, caller);
      return ids.map((jobId, index): JsonValue => {
        const job = found[index] ?? 'unknown';
        if (typeof job === 'string') return { job_id: jobId, status: job };
        const view = views.get(jobId) ?? job;
        if (isTerminal(view.status)) caller.received(view);
        return entryOf(view);
      });
    },
  });

/** The waiter's own end is not the jobs'. */
async function waited(ids: readonly string[], limits: WaitManyOptions, caller: Caller): Promise<ReadonlyMap<string, JobView>> {
  const { offstage, signal, verbs } = caller;
  let entries: readonly WaitManyEntry[];
  try {
    entries = await verbs.waitMany(ids, { ...limits, ...(signal === undefined ? {} : { signal }) });
  } catch (error) {
    caller.throwIfEnding();
    if (!caller.hasLeft) throw error;
    entries = await offstage.waitMany(ids, { timeoutMs: 0 });
  }
  return new Map(entries.flatMap((entry) => ('status' in entry ? [[entry.jobId, entry]] : [])));
}

function entryOf(job: JobView): JsonValue {
  const { jobId, status } = job;
  if (status === 'completed') return { job_id: jobId, status, text: finalTextOf(job) };
  if (!isTerminal(status)) return { job_id: jobId, status };
  return { job_id: jobId, status, error: job.error?.message || 'unknown error' };
}
