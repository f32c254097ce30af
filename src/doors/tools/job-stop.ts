/** The tool that ends a background job (seed 000 D10). */
import type { Offstage } from '../../engine/offstage.ts';
import { isTerminal } from '../../model/records.ts';
import { isView } from '../requests/reach.ts';
import { type AgentTool, defineTool, type ToolParameters } from './tool.ts';

const DESCRIPTION = `Ends a background job that is not needed any more, with everything it has started. Answers {ok, status}: with ok true it has ended or is ending, which may take a moment; a job that had ended before stays as it is. You are not told of the end of a job that you have stopped.`;

const PARAMETERS: ToolParameters = {
  type: 'object',
  properties: {
    job_id: { type: 'string', description: 'The job_id that the agent tool answered.' },
    reason: { type: 'string', description: 'Why, in a few words. It is kept with the job.' },
  },
  required: ['job_id'],
  additionalProperties: false,
};

export const jobStopTool = (offstage: Offstage): AgentTool =>
  defineTool(offstage, {
    name: 'job_stop',
    description: DESCRIPTION,
    parameters: PARAMETERS,
    refused: (error) => ({ ok: false, status: 'unknown', error }),
    async call(args, caller) {
      const jobId = args.text('job_id');
      const reason = args.optionalText('reason');
      const job = await caller.find(jobId);
      if (!isView(job)) return { ok: false, status: job ?? 'unknown' };
      if (isTerminal(job.status)) return { ok: true, status: job.status };
      // Before, because one that is queued ends at once, and its end is not to be told.
      caller.stopping(job);
      // Whatever it answers, the job has ended or is ending.
      const { status } = await offstage.cancel(jobId, reason === null ? {} : { reason });
      return { ok: true, status };
    },
  });
