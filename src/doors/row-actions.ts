/** Requests about sessions, tasks, processes and the engine itself (spec 8 and 13; the minimal rows). */
import { LIMITS } from '../model/limits.ts';
import type { RowQuery } from '../model/requests.ts';
import { pageOf } from './page.ts';
import type { Action } from './request.ts';
import { RequestFields } from './request-fields.ts';
import { healthToWire, processToWire, sessionToWire, taskToWire, type WireFields } from './wire-names.ts';

function rowQuery(fields: RequestFields): RowQuery {
  const query = RequestFields.present({ limit: fields.number('limit'), before: fields.text('before') });
  fields.refuseRest();
  return query;
}

/** The only field of some requests. */
function onlyId(fields: RequestFields, name: string): string {
  const id = fields.requiredText(name);
  fields.refuseRest();
  return id;
}

/** The rows under their name, and where to go on when they did not all fit. */
function answer<Row>(
  name: string,
  records: readonly Row[],
  limit: number,
  toWire: (record: Row) => WireFields,
  idName: string,
): WireFields {
  const { rows, isCut } = pageOf(records, toWire);
  const isMore = isCut || records.length === limit;
  return { [name]: rows, next_before: isMore ? (rows.at(-1)?.[idName] ?? null) : null };
}

const createTask: Action = async ({ offstage, fields }) => {
  const options = RequestFields.present({ taskId: fields.text('task_id'), title: fields.text('title') });
  fields.refuseRest();
  return taskToWire(await offstage.tasks.create(options));
};

const getTask: Action = async ({ offstage, fields }) => taskToWire(await offstage.tasks.get(onlyId(fields, 'task_id')));

const listTasks: Action = async ({ offstage, fields }) => {
  const query = rowQuery(fields);
  return answer('tasks', await offstage.tasks.list(query), query.limit ?? LIMITS.listDefault, taskToWire, 'task_id');
};

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
  return answer('sessions', await offstage.sessions.list(query), query.limit ?? LIMITS.listDefault, sessionToWire, 'session_id');
};

const listProcesses: Action = async ({ offstage, fields }) => {
  fields.refuseRest();
  return { processes: (await offstage.processes()).map(processToWire) };
};

const health: Action = async ({ offstage, fields }) => {
  fields.refuseRest();
  return healthToWire(offstage.health());
};

export const ROW_ACTIONS = {
  create_task: createTask,
  get_task: getTask,
  list_tasks: listTasks,
  create_session: createSession,
  get_session: getSession,
  list_sessions: listSessions,
  list_processes: listProcesses,
  health,
} as const satisfies Readonly<Record<string, Action>>;
