/** The tool that gets a background job's result, now or when there is one (seed 000 D10). */
import type { Offstage } from '../../engine/offstage.ts';
import { finalTextOf } from '../../model/cards.ts';
import { isTerminal, type JobView } from '../../model/records.ts';
import type { Caller } from './caller.ts';
import { type AgentTool, defineTool, type ToolParameters } from './tool.ts';

export const DEFAULT_TIMEOUT_MS = 30_000;
export const LONGEST_TIMEOUT_MS = 600_000;

const DESCRIPTION = `Gets the result of a background job.

With block: true (default) it waits until the job has ended, at most timeout milliseconds; with block: false it answers at once. The last line tells how the job stands:
- [task ID status=completed]: it is done, and the text before is its result.
- [task ID cancelled] or [task ID error], with the reason: it has ended without a result.
- [task ID status=running, not finished], or status=queued: it goes on, only the waiting is over. Ask again later.`;

const PARAMETERS: ToolParameters = {
  type: 'object',
  properties: {
    job_id: { type: 'string', description: 'The job_id that the agent tool answered.' },
    block: { type: 'boolean', description: 'Whether to wait for the end of the job. Default true.' },
    timeout: {
      type: 'number',
      description: `Milliseconds to wait at most. Default ${DEFAULT_TIMEOUT_MS}, at most ${LONGEST_TIMEOUT_MS}.`,
    },
  },
  required: ['job_id'],
  additionalProperties: false,
};

export const jobOutputTool = (offstage: Offstage): AgentTool =>
  defineTool(offstage, {
    name: 'job_output',
    description: DESCRIPTION,
    parameters: PARAMETERS,
    async call(args, caller) {
      const jobId = args.text('job_id');
      const isBlocking = args.flag('block', true);
      const timeoutMs = args.milliseconds('timeout', DEFAULT_TIMEOUT_MS, LONGEST_TIMEOUT_MS);
      const job = await caller.find(jobId);
      if (job === null) return `[job_output error] unknown job_id='${jobId}'`;
      if (job === 'expired') return `[job_output error] job_id='${jobId}' ended long ago, and its result is gone`;
      const view = isBlocking && !isTerminal(job.status) ? await waited(jobId, timeoutMs, caller) : job;
      if (isTerminal(view.status)) caller.received(view);
      return answerOf(view);
    },
  });

/** The waiter's own end is not the job's (B18). */
async function waited(jobId: string, timeoutMs: number, caller: Caller): Promise<JobView> {
  const { offstage, signal, verbs } = caller;
  try {
    return await verbs.wait(jobId, { timeoutMs, ...(signal === undefined ? {} : { signal }) });
  } catch (error) {
    caller.throwIfEnding();
    if (!caller.hasLeft) throw error;
    return offstage.get(jobId);
  }
}

function answerOf(job: JobView): string {
  const { jobId, status } = job;
  if (status === 'completed') {
    const text = finalTextOf(job);
    return `${text === '' ? '' : `${text}\n`}[task ${jobId} status=completed]`;
  }
  if (!isTerminal(status)) return `[task ${jobId} status=${status}, not finished]`;
  const message = job.error?.message || 'unknown error';
  return status === 'cancelled' ? `[task ${jobId} cancelled] ${message}` : `[task ${jobId} error] ${message}`;
}
