/** Requests about tasks, processes and the engine itself (spec 8 and 13). */
import { LIMITS } from '../../model/limits.ts';
import type { TaskState } from '../../model/records.ts';
import type { TaskQuery } from '../../model/requests.ts';
import { healthToWire, processToWire } from '../wire/wire-answers.ts';
import { taskToWire } from '../wire/wire-sessions.ts';
import type { Action } from './request.ts';
import { RequestFields } from './request-fields.ts';
import { onlyId, pageAnswer, rowQuery } from './row-answers.ts';

const createTask: Action = async ({ offstage, fields }) => {
  const options = RequestFields.present({ taskId: fields.text('task_id'), title: fields.text('title') });
  fields.refuseRest();
  return taskToWire(await offstage.tasks.create(options));
};

const getTask: Action = async ({ offstage, fields }) => taskToWire(await offstage.tasks.get(onlyId(fields, 'task_id')));

const listTasks: Action = async ({ offstage, fields }) => {
  const archived = RequestFields.present({ archived: fields.flag('archived') });
  const query: TaskQuery = { ...archived, ...rowQuery(fields) };
  const limit = query.limit ?? LIMITS.listDefault;
  return pageAnswer('tasks', await offstage.tasks.list(query), { limit, toWire: taskToWire, idName: 'task_id' });
};

const setTaskState: Action = async ({ offstage, fields }) => {
  const taskId = fields.requiredText('task_id');
  const state = fields.requiredText('state') as TaskState;
  fields.refuseRest();
  return taskToWire(await offstage.tasks.setState(taskId, state));
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
  set_task_state: setTaskState,
  list_processes: listProcesses,
  health,
} as const satisfies Readonly<Record<string, Action>>;
