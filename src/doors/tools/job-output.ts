/** The tool that gets a background job's result, now or when there is one (seed 000 D10). */
import type { Offstage } from '../../engine/offstage.ts';
import { finalTextOf } from '../../model/cards.ts';
import { isOffstageError } from '../../model/errors.ts';
import { isTerminal, type JobView } from '../../model/records.ts';
import { noteReceived, reach, verbsOf } from './reach.ts';
import { type AgentTool, ToolArguments, type ToolContext, type ToolParameters } from './tool.ts';

export const DEFAULT_TIMEOUT_MS = 30_000;
export const LONGEST_TIMEOUT_MS = 600_000;

const DESCRIPTION = `Gets the output of a background job.

With block: true (default) it waits until the job has ended, at most timeout milliseconds; with block: false it answers at once how the job stands. The last line tells the state: [task ID status=completed] after the text of a job that is done, [task ID cancelled] or [task ID error] with the reason, or [task ID status=running, not finished]. A job that is not finished goes on: ask again later. That your waiting has ended says nothing about the job.`;

const PARAMETERS: ToolParameters = {
  type: 'object',
  properties: {
    job_id: { type: 'string', description: 'The id that the job was started with.' },
    block: { type: 'boolean', description: 'Whether to wait for the end of the job. Default true.' },
    timeout: {
      type: 'number',
      description: `Milliseconds to wait at most. Default ${DEFAULT_TIMEOUT_MS}, at most ${LONGEST_TIMEOUT_MS}.`,
    },
  },
  required: ['job_id'],
  additionalProperties: false,
};

export const jobOutputTool = (offstage: Offstage): AgentTool => ({
  name: 'job_output',
  description: DESCRIPTION,
  parameters: PARAMETERS,
  async execute(given, context = {}) {
    const args = new ToolArguments(given, PARAMETERS);
    const jobId = args.text('job_id');
    const isBlocking = args.flag('block', true);
    const timeoutMs = args.milliseconds('timeout', DEFAULT_TIMEOUT_MS, LONGEST_TIMEOUT_MS);
    if (args.problem !== null) return `[job_output error] ${args.problem}`;
    try {
      const job = await reach(offstage, jobId, context);
      if (job === null) return `[job_output error] unknown job_id='${jobId}'`;
      if (job === 'expired') return `[job_output error] job_id='${jobId}' ended long ago, and its output is gone`;
      const view = isBlocking && !isTerminal(job.status) ? await waited(offstage, job, timeoutMs, context) : job;
      if (isTerminal(view.status)) noteReceived(offstage, context, view);
      return outputOf(view);
    } catch (error) {
      if (isOffstageError(error)) return `[job_output error] ${error.message}`;
      throw error;
    }
  },
});

/** The waiter's own end is not the job's (B18). */
async function waited(offstage: Offstage, job: JobView, timeoutMs: number, context: ToolContext): Promise<JobView> {
  const { signal } = context;
  try {
    return await verbsOf(offstage, context).wait(job.jobId, { timeoutMs, ...(signal === undefined ? {} : { signal }) });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
    return offstage.get(job.jobId);
  }
}

function outputOf(job: JobView): string {
  const { jobId, status } = job;
  switch (status) {
    case 'completed': {
      const text = finalTextOf(job);
      return `${text === '' ? '' : `${text}\n`}[task ${jobId} status=completed]`;
    }
    case 'cancelled':
      return `[task ${jobId} cancelled] ${job.error?.message ?? 'cancelled'}`;
    case 'errored':
      return `[task ${jobId} error] ${job.error?.message ?? 'unknown error'}`;
    default:
      return `[task ${jobId} status=${status}, not finished]`;
  }
}
