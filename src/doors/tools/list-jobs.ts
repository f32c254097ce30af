/** The tool that tells which jobs there are (seed 000 D10). */
import type { Offstage } from '../../engine/offstage.ts';
import type { ListQuery } from '../../model/requests.ts';
import { type AgentTool, defineTool, type ToolParameters } from './tool.ts';

const LONGEST_LIST = 50;
const SUBJECT_CHARACTERS = 80;

const DESCRIPTION = `Lists the jobs of this conversation, newest first, at most ${LONGEST_LIST}: of each its id, its status (queued, running, completed, cancelled or errored) and what it is about. Use it to keep track of work in the background.`;

const PARAMETERS: ToolParameters = { type: 'object', properties: {}, required: [], additionalProperties: false };

export const listJobsTool = (offstage: Offstage): AgentTool =>
  defineTool(offstage, {
    name: 'list_jobs',
    description: DESCRIPTION,
    parameters: PARAMETERS,
    async call(_, caller) {
      const lists = await Promise.all(
        queriesOf(caller.sessionId).map((query) => offstage.list({ ...query, limit: LONGEST_LIST })),
      );
      const jobs = new Map(lists.flat().map((job) => [job.jobId, job]));
      return [...jobs.values()]
        .sort((a, b) => b.createdAt - a.createdAt)
        .slice(0, LONGEST_LIST)
        .map(({ jobId, status, subject }) => ({ id: jobId, status, subject: clipped(subject) }));
    },
  });

/** Those it hosts, and those it asked for. */
const queriesOf = (sessionId: string | null): readonly ListQuery[] =>
  sessionId === null ? [{}] : [{ sessionId }, { callerSessionId: sessionId }];

/** Never half a character. */
function clipped(subject: string): string {
  const characters = [...subject];
  return characters.length <= SUBJECT_CHARACTERS ? subject : `${characters.slice(0, SUBJECT_CHARACTERS - 1).join('')}…`;
}
