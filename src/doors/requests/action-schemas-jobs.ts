/** Actions about jobs, as declared (ASC1). */
import { LIMITS } from '../../model/limits.ts';
import type { ActionSchema } from './action-schemas.ts';
import {
  anything,
  before,
  durable,
  flag,
  id,
  integer,
  limit,
  listOf,
  milliseconds,
  nullable,
  object,
  oneOf,
  ref,
  type Schema,
  statusFilter,
  text,
  texts,
  withOptional,
} from './schema-words.ts';

const jobId = id('Which job.');
const brief = flag('Rows without input, description, results and partial result.');
const reason = text('Why; kept in the record.');
const session = 'The session that they run on; parent_session_id is the same.';

const selection = {
  session_id: id(session),
  parent_session_id: id(session),
  task_id: id('Jobs of the sessions of this task.'),
  parent_job_id: id('Jobs that this job has started.'),
  parent_msg_id: id('Jobs of this plan, or of this message.'),
  status_filter: statusFilter,
};

const started: Schema = object({
  job_id: { type: 'string' },
  status: ref('JobStatus'),
  parent_msg_id: nullable({ type: 'string' }),
});

export const JOB_SCHEMAS = {
  spawn_job: {
    summary: 'Starts a job in the background. Answered at once, as soon as the job is durable.',
    scope: 'operate',
    isForSessions: true,
    fields: {
      job_id: id('Given, the request is idempotent on it.'),
      kind: text('Which executor runs it; agent when absent.'),
      session_id: id('Where it runs; default when absent.'),
      parent_session_id: id('The same as session_id.'),
      prompt: text('The whole task, as the agent is told it.'),
      description: text('The task in a few words, for lists.'),
      input: anything('What the executor gets, any JSON up to 1 MiB; when absent it is made of the prompt.'),
      agent_id: text('Which agent.'),
      context: oneOf(['inherit', 'clean'], 'Whether it begins with the conversation of its session.'),
      wait: flag('Somebody blocks on it: a foreground job.'),
      caller_session_id: id('The session that asks for it.'),
      parent_job_id: id('The job that asks for it.'),
      parent_msg_id: id('The plan or message that it belongs to.'),
      tool_call_id: text('The tool call of the agent that asks for it.'),
      timeout_ms: milliseconds('How long it may run.'),
      idle_timeout_ms: milliseconds('How long it may be silent.'),
    },
    required: [],
    rules: {
      anyOf: ['prompt', 'input', 'kind'].map((name) => ({
        required: [name],
        properties: { [name]: name === 'input' ? { not: { type: 'null' } } : { type: 'string' } },
      })),
    },
    answer: started,
    example: { prompt: 'Read the tests and say which ones are slow.', description: 'Find slow tests' },
  },
  list_jobs: {
    summary: 'Jobs, newest first, a page at a time.',
    scope: 'observe',
    isForSessions: true,
    fields: {
      ...selection,
      caller_session_id: id('Jobs that this session has asked for.'),
      kind: id('Jobs of this kind.'),
      limit,
      before: before('job_id'),
      brief,
    },
    required: [],
    answer: object({ tasks: listOf(ref('Job')), next_before: nullable({ type: 'string' }) }),
    example: { status_filter: ['queued', 'running'], limit: 20 },
  },
  get_job: {
    summary: 'The record of a job, with what it has so far.',
    scope: 'observe',
    isForSessions: true,
    fields: { job_id: jobId },
    required: ['job_id'],
    answer: ref('Job'),
    example: { job_id: 'j1' },
  },
  cancel_job: {
    summary: 'Asks a job and all below it to end. Answered once that is durable.',
    scope: 'operate',
    isForSessions: true,
    fields: { job_id: jobId, reason },
    required: ['job_id'],
    answer: withOptional(
      { job_id: { type: 'string' }, status: ref('JobStatus'), cancel_requested_at: nullable({ type: 'number' }) },
      { durable },
    ),
    example: { job_id: 'j1', reason: 'not needed any more' },
  },
  cancel_jobs: {
    summary: 'Cancels all jobs that one selector names.',
    scope: 'operate',
    isForSessions: true,
    fields: { job_ids: texts('These jobs.'), ...selection, reason },
    required: [],
    answer: withOptional(
      Object.fromEntries(
        ['cancelled', 'cancelling', 'already_terminal', 'not_found'].map((name) => [name, listOf({ type: 'string' })]),
      ),
      { durable },
    ),
    example: { job_ids: ['j1', 'j2'] },
  },
  await_jobs: {
    summary: 'Waits until jobs have ended: all of them, or any one.',
    scope: 'observe',
    isForSessions: true,
    fields: {
      job_ids: texts('Which jobs; the answer has an entry for each, in this order.'),
      mode: oneOf(['all', 'any'], 'Whether to wait for all of them, or for the first.'),
      timeout: {
        type: ['number', 'null'],
        minimum: 0,
        description: 'Milliseconds; 0 only looks, null waits without limit, 30,000 when absent.',
      },
      brief,
    },
    required: ['job_ids'],
    answer: object({ tasks: listOf({ anyOf: [ref('Job'), ref('Missing')] }) }),
    example: { job_ids: ['j1', 'j2'], mode: 'any', timeout: 1_000 },
  },
  get_history: {
    summary: 'All that happened to a job, oldest first.',
    scope: 'observe',
    isForSessions: true,
    fields: { job_id: jobId },
    required: ['job_id'],
    answer: object({ job_id: { type: 'string' }, history: listOf(ref('HistoryEntry')) }),
    example: { job_id: 'j1' },
  },
  get_output: {
    summary: 'What a job has printed: its end, its last lines, or all that is kept.',
    scope: 'observe',
    isForSessions: true,
    fields: {
      job_id: jobId,
      tail: integer(0, 'Only so many lines.'),
      parts: flag('All that is kept, in frames of type part before the answer; over a socket only.'),
    },
    required: ['job_id'],
    answer: {
      type: 'object',
      properties: {
        job_id: { type: 'string' },
        output: { type: 'string' },
        cut: { type: 'boolean', description: 'There is more of it than output says.' },
        end: { type: 'integer', description: 'Characters printed so far.' },
      },
      required: ['job_id', 'end'],
    },
    example: { job_id: 'j1', tail: 20 },
  },
  get_card: {
    summary: 'The card of a job, as it stands in the conversation that asked for it.',
    scope: 'observe',
    isForSessions: true,
    fields: { card_id: text('Which card.') },
    required: ['card_id'],
    answer: ref('Card'),
    example: { card_id: 'card_j1' },
  },
  list_cards: {
    summary: 'The cards of a conversation, newest first.',
    scope: 'observe',
    isForSessions: true,
    fields: { session_id: id('Which conversation.'), limit, before: text('card_id of the last row seen.') },
    required: ['session_id'],
    answer: object({ cards: listOf(ref('Card')), next_before: nullable({ type: 'string' }) }),
    example: { session_id: 'default', limit: 20 },
  },
  subscribe: {
    summary: 'A snapshot of everything, then all that happens, as frames. A new subscription takes the place of the old one.',
    scope: 'observe',
    isForSessions: true,
    fields: {
      after: {
        type: 'integer',
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'seq of the last event seen: what was missed comes before the snapshot.',
      },
      names: oneOf(['ours', 'seed'], 'seed: job_created and job_progress are called task_created and task_progress.'),
      types: texts('Only frames of these types.'),
      brief: flag('The jobs of the snapshot are brief.'),
      job_id: id('Only events of this job.'),
      session_id: id('Only events of this session.'),
      hold: flag(
        'With job_id: the output of the job waits for this reader, where whoever runs the job allows that. Needs operate.',
      ),
    },
    required: [],
    answer: ref('Snapshot'),
    example: { after: 0, types: ['job_created', 'job_status'], brief: true },
  },
  get_snapshot: {
    summary: `Everything at one instant: tasks, sessions, the ${LIMITS.listDefault} newest jobs, and the seq to follow from.`,
    scope: 'observe',
    isForSessions: true,
    fields: { brief },
    required: [],
    answer: ref('Snapshot'),
    example: { brief: true },
  },
} as const satisfies Readonly<Record<string, ActionSchema>>;
