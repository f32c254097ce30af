/** The tool that tells which jobs there are (seed 000 D10). */
import type { Offstage } from '../../engine/offstage.ts';
import type { JobView } from '../../model/records.ts';
import type { ListQuery } from '../../model/requests.ts';
import { type AgentTool, ToolArguments, type ToolContext, type ToolParameters } from './tool.ts';

const LONGEST_LIST = 50;
const SUBJECT_CHARACTERS = 80;

const DESCRIPTION = `Lists the jobs of this conversation, newest first, at most ${LONGEST_LIST}: their ids, whether they are queued, running, completed, cancelled or errored, and what they are about. Use it to keep track of work in the background.`;

const PARAMETERS: ToolParameters = { type: 'object', properties: {}, required: [], additionalProperties: false };

export const listJobsTool = (offstage: Offstage): AgentTool => ({
  name: 'list_jobs',
  description: DESCRIPTION,
  parameters: PARAMETERS,
  async execute(given, context = {}) {
    const args = new ToolArguments(given, PARAMETERS);
    if (args.problem !== null) return `[list_jobs error] ${args.problem}`;
    const lists = await Promise.all(queriesOf(context).map((query) => offstage.list({ ...query, limit: LONGEST_LIST })));
    const jobs = new Map(lists.flat().map((job) => [job.jobId, job]));
    return [...jobs.values()]
      .sort((a, b) => b.createdAt - a.createdAt)
      .slice(0, LONGEST_LIST)
      .map(({ jobId, status, subject }: JobView) => ({ id: jobId, status, subject: clipped(subject) }));
  },
});

/** Those it hosts, and those it has asked for. */
function queriesOf({ sessionId, jobId }: ToolContext): readonly ListQuery[] {
  if (sessionId !== undefined) return [{ sessionId }, { callerSessionId: sessionId }];
  return [jobId === undefined ? {} : { parentJobId: jobId }];
}

/** Never half a character. */
function clipped(subject: string): string {
  const characters = [...subject];
  return characters.length <= SUBJECT_CHARACTERS ? subject : `${characters.slice(0, SUBJECT_CHARACTERS - 1).join('')}…`;
}
