/** The tool that hands work to another agent: in the foreground, or in the background (seed 000 D7, D15). */
import type { Offstage } from '../../engine/offstage.ts';
import { finalTextOf } from '../../model/cards.ts';
import { isTerminal, type JobView } from '../../model/records.ts';
import type { SpawnOptions } from '../../model/requests.ts';
import type { ToolArguments } from './arguments.ts';
import type { Caller } from './caller.ts';
import { type AgentTool, defineTool, type ToolParameters } from './tool.ts';

const DESCRIPTION = `Hands a self-contained piece of work to another agent.

Two modes:
- Foreground (default): waits until the agent has finished, and answers its final text. Use it when you need the result before you can go on.
- Background (run_in_background: true): answers {job_id} at once, and the agent works while you go on. Use it for long work, or to have several agents work at the same time. A job_id is not a result: when you get it, nothing has been done or found out yet. Never guess what the result will be. job_output gets the result, list_jobs shows how all jobs stand, job_stop ends one. You may be told when a job has ended; when you need its result, ask for it.

An answer that starts with [task error] says why the agent failed. An answer that ends with [cancelled] is what it had so far when it was stopped.

Write into the prompt everything the agent has to know, and what exactly it is to answer.`;

const PARAMETERS: ToolParameters = {
  type: 'object',
  properties: {
    prompt: { type: 'string', description: 'The whole task, in full sentences.' },
    description: { type: 'string', description: 'The task in a few words, for lists.' },
    agent_id: { type: 'string', description: 'Which agent. Leave it out for the default one.' },
    context: {
      type: 'string',
      enum: ['inherit', 'clean'],
      description: 'inherit (default): the agent may see this conversation, if it is able to. clean: it sees the prompt alone.',
    },
    run_in_background: {
      type: 'boolean',
      description: 'true: answer a job_id at once and do not wait for the result. Default false.',
    },
  },
  required: ['prompt', 'description'],
  additionalProperties: false,
};

/** How long a job that nobody waits for any more is given, to end with what it has so far. */
const LAST_WORDS_MS = 1_000;
const CANCELLED = '[cancelled]';

export const agentTool = (offstage: Offstage): AgentTool =>
  defineTool(offstage, {
    name: 'agent',
    description: DESCRIPTION,
    parameters: PARAMETERS,
    refused: (message) => `[task error] ${message}`,
    async call(args, caller) {
      const options = optionsOf(args, caller);
      const isBackground = args.flag('run_in_background', false);
      if (caller.hasLeft) return CANCELLED;
      if (!isBackground) return answerOf(await inForeground(caller, options));
      const { jobId } = await caller.verbs.spawn(options);
      return { job_id: jobId };
    },
  });

function optionsOf(args: ToolArguments, { sessionId, parentMessageId }: Caller): SpawnOptions {
  const prompt = args.text('prompt');
  const subject = args.optionalText('description');
  const agentId = args.optionalText('agent_id');
  const contextMode = args.oneOf('context', ['inherit', 'clean']);
  return {
    kind: 'agent',
    description: prompt,
    input: { prompt, context: contextMode },
    contextMode,
    ...(subject === null ? {} : { subject }),
    ...(agentId === null ? {} : { agentId }),
    ...(sessionId === null ? {} : { sessionId }),
    ...(parentMessageId === undefined ? {} : { parentMessageId }),
  };
}

/** The job as it has ended; or, when the caller has left, as it stands a moment after it was told to end. Null: it never began. */
async function inForeground(caller: Caller, options: SpawnOptions): Promise<JobView | null> {
  const { offstage, signal, verbs } = caller;
  let jobId: string | null = null;
  const onSpawned = (job: JobView): void => {
    jobId = job.jobId;
  };
  try {
    return await verbs.run(options, { onSpawned, ...(signal === undefined ? {} : { signal }) });
  } catch (error) {
    caller.throwIfEnding();
    if (!caller.hasLeft) throw error;
    return jobId === null ? null : offstage.wait(jobId, { timeoutMs: LAST_WORDS_MS });
  }
}

function answerOf(job: JobView | null): string {
  if (job === null) return CANCELLED;
  if (job.status === 'completed') return finalTextOf(job);
  if (job.status === 'errored') return `[task error] ${job.error?.message || 'unknown error'}`;
  const partial = isTerminal(job.status) ? job.resultText : job.partialText;
  return partial === null || partial === '' ? CANCELLED : `${partial}\n${CANCELLED}`;
}
