/**
 * Requests about sessions: their rows, prompts, tickets, questions and work (spec 13, liveness 3 and 6).
 *
 * SAC1  A door translates and never decides: who gets the foreground is the engine's to say.
 * SAC2  `answer_request` names the agent's question `pending_request_id`: it is the `request_id` inside the session's `pending`, and not the
 *       `request_id` that every request may carry for its own answer.
 */
import type { PromptOrigin } from '../../model/agent.ts';
import type { JsonValue } from '../../model/json.ts';
import { LIMITS } from '../../model/limits.ts';
import type { PromptOptions } from '../../model/session-requests.ts';
import { changedToWire, promptAnswerToWire, sessionToWire, ticketToWire, workloadToWire } from '../wire/wire-sessions.ts';
import type { Action } from './request.ts';
import { invalidField, RequestFields } from './request-fields.ts';
import { onlyId, pageAnswer, rowQuery, wholeAnswer } from './row-answers.ts';

const ORIGINS: readonly PromptOrigin[] = ['human', 'synthetic'];
const WHEN_BUSY: readonly NonNullable<PromptOptions['whenBusy']>[] = ['reject', 'queue'];

const createSession: Action = async ({ offstage, fields }) => {
  const options = RequestFields.present({
    sessionId: fields.text('session_id'),
    taskId: fields.text('task_id'),
    agentId: fields.text('agent_id'),
  });
  fields.refuseRest();
  return sessionToWire(await offstage.sessions.create(options));
};

const getSession: Action = async ({ offstage, fields }) =>
  sessionToWire(await offstage.sessions.get(onlyId(fields, 'session_id')));

const listSessions: Action = async ({ offstage, fields }) => {
  const query = rowQuery(fields);
  const limit = query.limit ?? LIMITS.listDefault;
  return pageAnswer('sessions', await offstage.sessions.list(query), { limit, toWire: sessionToWire, idName: 'session_id' });
};

/** Answered when the agent has taken the prompt, or when it waits as a ticket; what becomes of it then is told by events. */
const submitPrompt: Action = async ({ offstage, fields }) => {
  const sessionId = fields.requiredText('session_id');
  const options = RequestFields.present({
    content: contentOf(fields),
    origin: fields.oneOf('origin', ORIGINS),
    whenBusy: fields.oneOf('when_busy', WHEN_BUSY),
    promptId: fields.text('prompt_id'),
  }) as PromptOptions;
  fields.refuseRest();
  return promptAnswerToWire(await offstage.sessions.prompt(sessionId, options));
};

/** `content` is any JSON; `prompt` is the same for a text. */
function contentOf(fields: RequestFields): JsonValue {
  const content = fields.get('content');
  const prompt = fields.text('prompt');
  if (content !== undefined && prompt !== undefined) throw invalidField('content', 'give either content or prompt, not both');
  const given = content ?? prompt;
  if (given === undefined) throw invalidField('content', 'it is missing');
  return given;
}

const interruptSession: Action = async ({ offstage, fields }) => {
  const sessionId = fields.requiredText('session_id');
  const options = RequestFields.present({ promptId: fields.text('prompt_id') });
  fields.refuseRest();
  return changedToWire(await offstage.sessions.interrupt(sessionId, options));
};

const answerRequest: Action = async ({ offstage, fields }) => {
  const sessionId = fields.requiredText('session_id');
  const requestId = fields.requiredText('pending_request_id');
  // Null is an answer like any other.
  const choice = fields.isNull('choice') ? null : fields.get('choice');
  if (choice === undefined) throw invalidField('choice', 'it is missing');
  fields.refuseRest();
  await offstage.sessions.answer(sessionId, requestId, choice);
  return { answered: true };
};

const listTickets: Action = async ({ offstage, fields }) =>
  wholeAnswer('tickets', await offstage.sessions.tickets(onlyId(fields, 'session_id')), ticketToWire);

const cancelTicket: Action = async ({ offstage, fields }) =>
  changedToWire(await offstage.sessions.cancelTicket(onlyId(fields, 'ticket_id')));

const listWorkloads: Action = async ({ offstage, fields }) =>
  wholeAnswer('workloads', await offstage.workloads.list(onlyId(fields, 'session_id')), workloadToWire);

const dismissWorkload: Action = async ({ offstage, fields }) => {
  const sessionId = fields.requiredText('session_id');
  const workloadId = onlyId(fields, 'workload_id');
  return changedToWire(await offstage.workloads.dismiss(sessionId, workloadId));
};

export const SESSION_ACTIONS = {
  create_session: createSession,
  get_session: getSession,
  list_sessions: listSessions,
  submit_prompt: submitPrompt,
  interrupt_session: interruptSession,
  answer_request: answerRequest,
  list_tickets: listTickets,
  cancel_ticket: cancelTicket,
  list_workloads: listWorkloads,
  dismiss_workload: dismissWorkload,
} as const satisfies Readonly<Record<string, Action>>;
