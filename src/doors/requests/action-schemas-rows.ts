/** Actions about tasks, processes, the engine and its server, as declared (ASC1). */
import { TASK_STATES } from '../../model/records.ts';
import type { ActionSchema } from './action-schemas.ts';
import { before, flag, id, limit, listOf, nullable, object, oneOf, ref, text } from './schema-words.ts';

const taskId = id('Which task.');
const hardness = {
  reason: text('Why; kept in the records of its jobs.'),
  force: flag('Nothing is given time to end by itself.'),
};

export const ROW_SCHEMAS = {
  create_task: {
    summary: 'Makes a task: what somebody asked for. It owns sessions.',
    scope: 'operate',
    isForSessions: false,
    fields: { task_id: id('Given, the request is idempotent on it.'), title: text('One line.') },
    required: [],
    answer: ref('Task'),
    example: { task_id: 't1', title: 'Make the tests quicker' },
  },
  get_task: {
    summary: 'A task, with what its sessions are doing.',
    scope: 'observe',
    isForSessions: false,
    fields: { task_id: taskId },
    required: ['task_id'],
    answer: ref('Task'),
    example: { task_id: 't1' },
  },
  list_tasks: {
    summary: 'Tasks, newest first, a page at a time.',
    scope: 'observe',
    isForSessions: false,
    fields: { archived: flag('Also archived ones of which nothing lives.'), limit, before: before('task_id') },
    required: [],
    answer: object({ tasks: listOf(ref('Task')), next_before: nullable({ type: 'string' }) }),
    example: { archived: true },
  },
  set_task_state: {
    summary: 'Puts a task elsewhere on the board.',
    scope: 'operate',
    isForSessions: false,
    fields: { task_id: taskId, state: oneOf(TASK_STATES, 'Where it stands.') },
    required: ['task_id', 'state'],
    answer: ref('Task'),
    example: { task_id: 't1', state: 'review' },
  },
  stop_task: {
    summary: 'Ends everything that a task still owns.',
    scope: 'operate',
    isForSessions: false,
    fields: { task_id: taskId, ...hardness, wait: flag('Answer when everything has ended, not when it was told to.') },
    required: ['task_id'],
    answer: ref('StopReport'),
    example: { task_id: 't1' },
  },
  remove_task: {
    summary: 'Removes a task with its sessions and all that is theirs. What lives is told first, and stopped with confirm.',
    scope: 'operate',
    isForSessions: false,
    fields: { task_id: taskId, confirm: flag('Also with work that lives: it is stopped.'), ...hardness },
    required: ['task_id'],
    answer: ref('Confirmed'),
    example: { task_id: 't1', confirm: true },
  },
  archive_task: {
    summary: 'Puts a task away; its work goes on.',
    scope: 'operate',
    isForSessions: false,
    fields: { task_id: taskId, confirm: flag('Also with work that lives.') },
    required: ['task_id'],
    answer: ref('Confirmed'),
    example: { task_id: 't1', confirm: true },
  },
  list_processes: {
    summary: 'Processes that were launched and are not yet verified gone.',
    scope: 'observe',
    isForSessions: false,
    fields: {},
    required: [],
    answer: object({ processes: listOf(ref('Process')) }),
    example: {},
  },
  health: {
    summary: 'How the engine does: its pool, its agents, its store.',
    scope: 'observe',
    isForSessions: false,
    fields: {},
    required: [],
    answer: ref('Health'),
    example: {},
  },
  get_server: {
    summary: 'Where the HTTP server of this engine is; null when it has none.',
    scope: 'observe',
    isForSessions: false,
    fields: {},
    required: [],
    answer: object({ url: nullable({ type: 'string' }) }),
    example: {},
  },
  whoami: {
    summary: 'What this token allows, and which process answers.',
    scope: 'observe',
    isForSessions: true,
    fields: {},
    required: [],
    answer: object({ scope: { type: 'string' }, epoch: { type: 'string' }, version: { type: 'string' } }),
    example: {},
  },
} as const satisfies Readonly<Record<string, ActionSchema>>;
