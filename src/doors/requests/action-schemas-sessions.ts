/** Actions about sessions, as declared (ASC1). */
import { LIMITS } from '../../model/limits.ts';
import type { ActionSchema } from './action-schemas.ts';
import { anything, before, flag, id, limit, listOf, nullable, object, oneOf, ref, type Schema, text } from './schema-words.ts';

const sessionId = id('Which session.');
const changed: Schema = object({ changed: { type: 'boolean' } });
const hardness = {
  reason: text('Why; kept in the records of its jobs.'),
  force: flag('Nothing is given time to end by itself.'),
};

export const SESSION_SCHEMAS = {
  create_session: {
    summary: 'Makes a session: one conversation with one agent.',
    scope: 'operate',
    isForSessions: false,
    fields: {
      session_id: id('Given, the request is idempotent on it.'),
      task_id: id('The task that owns it; default when absent.'),
      agent_id: text('Which agent it talks to.'),
    },
    required: [],
    answer: ref('Session'),
    example: { session_id: 's1', task_id: 't1' },
  },
  get_session: {
    summary: 'A session, with what its agent is doing.',
    scope: 'observe',
    isForSessions: true,
    fields: { session_id: sessionId },
    required: ['session_id'],
    answer: ref('Session'),
    example: { session_id: 's1' },
  },
  list_sessions: {
    summary: 'Sessions, newest first, a page at a time.',
    scope: 'observe',
    isForSessions: true,
    fields: { limit, before: before('session_id') },
    required: [],
    answer: object({ sessions: listOf(ref('Session')), next_before: nullable({ type: 'string' }) }),
    example: { limit: 20 },
  },
  submit_prompt: {
    summary: 'Says something to the agent of a session. Answered when the agent has taken it, or when it waits in the line.',
    scope: 'operate',
    isForSessions: true,
    fields: {
      session_id: sessionId,
      content: anything('What to say, any JSON that the agent takes.'),
      prompt: text('The same for a text.'),
      origin: oneOf(['human', 'synthetic'], 'Who speaks.'),
      when_busy: oneOf(['reject', 'queue'], 'What becomes of it while another prompt has the foreground.'),
      prompt_id: id('Given, the request is idempotent on it.'),
    },
    required: ['session_id'],
    rules: {
      oneOf: [
        { required: ['content'], properties: { content: { not: { type: 'null' } }, prompt: { type: 'null' } } },
        { required: ['prompt'], properties: { prompt: { type: 'string' }, content: { type: 'null' } } },
      ],
    },
    answer: {
      type: 'object',
      properties: {
        accepted: { type: 'boolean' },
        queued: { type: 'boolean' },
        prompt_id: { type: 'string' },
        generation: { type: 'integer', description: 'The number of its turn; when it was accepted.' },
        ticket_id: { type: 'string', description: 'What it waits under; when it was queued.' },
        position: { type: 'integer', description: 'Its place in the line; when it was queued.' },
      },
      required: ['prompt_id'],
    },
    example: { session_id: 's1', prompt: 'Go on.', when_busy: 'queue' },
  },
  interrupt_session: {
    summary: 'Ends the turn of a session, and nothing of its background work.',
    scope: 'operate',
    isForSessions: false,
    fields: { session_id: sessionId, prompt_id: id('Only if this prompt has the foreground.') },
    required: ['session_id'],
    answer: changed,
    example: { session_id: 's1' },
  },
  answer_request: {
    summary: 'Answers the question that the agent of a session has asked.',
    scope: 'operate',
    isForSessions: false,
    fields: {
      session_id: sessionId,
      pending_request_id: text('request_id of the question, from pending of the session.'),
      choice: anything('What is chosen, any JSON; null is an answer like any other.'),
    },
    required: ['session_id', 'pending_request_id', 'choice'],
    answer: object({ answered: { type: 'boolean' } }),
    example: { session_id: 's1', pending_request_id: 'r1', choice: 'allow' },
  },
  list_tickets: {
    summary: 'The prompts that wait for a session, in their order.',
    scope: 'observe',
    isForSessions: true,
    fields: { session_id: sessionId },
    required: ['session_id'],
    answer: object({ tickets: listOf(ref('Ticket')), cut: { type: 'boolean' } }),
    example: { session_id: 's1' },
  },
  cancel_ticket: {
    summary: 'Takes a prompt out of the line.',
    scope: 'operate',
    isForSessions: true,
    fields: { ticket_id: id('Which one.') },
    required: ['ticket_id'],
    answer: changed,
    example: { ticket_id: 'k1' },
  },
  list_workloads: {
    summary: 'The background work of a session, oldest first.',
    scope: 'observe',
    isForSessions: true,
    fields: { session_id: sessionId },
    required: ['session_id'],
    answer: object({ workloads: listOf(ref('Workload')), cut: { type: 'boolean' } }),
    example: { session_id: 's1' },
  },
  dismiss_workload: {
    summary: 'Forgets background work of an agent that will not be told of any more.',
    scope: 'operate',
    isForSessions: false,
    fields: { session_id: sessionId, workload_id: text('Which work.') },
    required: ['session_id', 'workload_id'],
    answer: changed,
    example: { session_id: 's1', workload_id: 'w1' },
  },
  stop_session: {
    summary: 'Ends everything that a session still owns.',
    scope: 'operate',
    isForSessions: false,
    fields: { session_id: sessionId, ...hardness, wait: flag('Answer when everything has ended, not when it was told to.') },
    required: ['session_id'],
    answer: ref('StopReport'),
    example: { session_id: 's1', wait: true },
  },
  remove_session: {
    summary: `Removes a session with all that is its own. What lives is told first, and stopped with confirm. Ids are not used again for ${LIMITS.tombstoneMs / 86_400_000} days.`,
    scope: 'operate',
    isForSessions: false,
    fields: { session_id: sessionId, confirm: flag('Also with work that lives: it is stopped.'), ...hardness },
    required: ['session_id'],
    answer: ref('Confirmed'),
    example: { session_id: 's1', confirm: true },
  },
} as const satisfies Readonly<Record<string, ActionSchema>>;
