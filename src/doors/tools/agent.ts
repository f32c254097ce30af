/** The tool that hands work to another agent: in the foreground, or in the background (seed 000 D7, D15). */
import type { Offstage } from '../../engine/offstage.ts';
import { finalTextOf } from '../../model/cards.ts';
import { isOffstageError } from '../../model/errors.ts';
import { isTerminal, type JobView } from '../../model/records.ts';
import type { SpawnOptions } from '../../model/requests.ts';
import { noteReceived, verbsOf } from './reach.ts';
import { type AgentTool, ToolArguments, type ToolContext, type ToolParameters } from './tool.ts';

const DESCRIPTION = `Hands a self-contained piece of work to another agent.

Two modes:
- Foreground (default): waits until the agent is done and answers its final text. Use it when you need the result before you can go on.
- Background (run_in_background: true): answers a job_id at once, and the agent works on while you do other things. Use it for long work, or to have several agents work at the same time. A job_id is NOT a result: nothing has been found or done yet when you get it. Do not guess what the result will be. Get it with job_output, look at all of them with list_jobs, end one with job_stop. When a background job ends and you have not asked for its result, you are told.

The agent sees only the prompt, unless context is "inherit" and it shares this conversation: write down all it has to know, and what exactly it is to answer.`;

const PARAMETERS: ToolParameters = {
  type: 'object',
  properties: {
    prompt: { type: 'string', description: 'The whole task, in full sentences, with everything the agent has to know.' },
    description: { type: 'string', description: 'A few words for lists and screens: what the work is.' },
    agent_id: { type: 'string', description: 'Which agent; leave it out for the default one.' },
    context: {
      type: 'string',
      enum: ['inherit', 'clean'],
      description: 'Whether it starts with this conversation (inherit, default) or with none (clean).',
    },
    run_in_background: {
      type: 'boolean',
      description: 'true: answer a job_id at once instead of waiting for the result. Default false.',
    },
  },
  required: ['prompt', 'description'],
  additionalProperties: false,
};

/** How long a cancelled job is waited for, for what it has so far. */
const LAST_WORDS_MS = 1_000;

export const agentTool = (offstage: Offstage): AgentTool => ({
  name: 'agent',
  description: DESCRIPTION,
  parameters: PARAMETERS,
  async execute(given, context = {}) {
    const args = new ToolArguments(given, PARAMETERS);
    const prompt = args.text('prompt');
    const description = args.optionalText('description');
    const agentId = args.optionalText('agent_id');
    const contextMode = args.oneOf('context', ['inherit', 'clean']);
    const isBackground = args.flag('run_in_background', false);
    if (args.problem !== null) return `[task error] ${args.problem}`;
    const options: SpawnOptions = {
      kind: 'agent',
      description: prompt,
      input: { prompt, context: contextMode },
      contextMode,
      ...(description === null ? {} : { subject: description }),
      ...(agentId === null ? {} : { agentId }),
      ...(context.sessionId === undefined ? {} : { sessionId: context.sessionId }),
    };
    try {
      if (!isBackground) return textOf(await inForeground(offstage, options, context));
      const { jobId } = await verbsOf(offstage, context).spawn(options);
      return { job_id: jobId };
    } catch (error) {
      if (isOffstageError(error)) return `[task error] ${error.message}`;
      throw error;
    }
  },
});

/** The job as it has ended; or, when the caller has gone, as it stands a moment after it was told to end. */
async function inForeground(offstage: Offstage, options: SpawnOptions, context: ToolContext): Promise<JobView | null> {
  const { signal } = context;
  let spawned: JobView | null = null;
  const onSpawned = (job: JobView): void => {
    spawned = job;
  };
  try {
    const job = await verbsOf(offstage, context).run(options, { onSpawned, ...(signal === undefined ? {} : { signal }) });
    noteReceived(offstage, context, job);
    return job;
  } catch (error) {
    if (signal?.aborted !== true) throw error;
    const known = spawned as JobView | null;
    return known === null ? null : offstage.wait(known.jobId, { timeoutMs: LAST_WORDS_MS });
  }
}

function textOf(job: JobView | null): string {
  if (job === null) return '[cancelled]';
  if (job.status === 'completed') return finalTextOf(job);
  if (job.status === 'errored') return `[task error] ${job.error?.message ?? 'unknown error'}`;
  const partial = (isTerminal(job.status) ? job.resultText : job.partialText) ?? '';
  return partial === '' ? '[cancelled]' : `${partial}\n[cancelled]`;
}
