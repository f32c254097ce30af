/** The tool that ends a background job (seed 000 D10). */
import type { Offstage } from '../../engine/offstage.ts';
import { isOffstageError } from '../../model/errors.ts';
import { isTerminal } from '../../model/records.ts';
import { noteReceived, reach } from './reach.ts';
import { type AgentTool, ToolArguments, type ToolParameters } from './tool.ts';

const DESCRIPTION = `Ends a background job that is no longer needed, with everything it has started. Answers {ok, status}: ok is true when the job has ended or is ending; it may take a moment until it really has. A job that has ended already is left as it is. You are not told of the end of a job that you have stopped yourself.`;

const PARAMETERS: ToolParameters = {
  type: 'object',
  properties: {
    job_id: { type: 'string', description: 'The id that the job was started with.' },
    reason: { type: 'string', description: 'Why, in a few words; it is kept in the record.' },
  },
  required: ['job_id'],
  additionalProperties: false,
};

export const jobStopTool = (offstage: Offstage): AgentTool => ({
  name: 'job_stop',
  description: DESCRIPTION,
  parameters: PARAMETERS,
  async execute(given, context = {}) {
    const args = new ToolArguments(given, PARAMETERS);
    const jobId = args.text('job_id');
    const reason = args.optionalText('reason');
    if (args.problem !== null) return { ok: false, status: 'unknown', error: args.problem };
    try {
      const job = await reach(offstage, jobId, context);
      if (job === null || job === 'expired') return { ok: false, status: job === null ? 'unknown' : 'expired' };
      // Before, so that the end of a job that ends at once is not told.
      noteReceived(offstage, context, job);
      const view = await offstage.cancel(jobId, reason === null ? {} : { reason });
      return { ok: isTerminal(view.status) || view.cancelRequestedAt !== null, status: view.status };
    } catch (error) {
      if (isOffstageError(error)) return { ok: false, status: 'unknown', error: error.message };
      throw error;
    }
  },
});
