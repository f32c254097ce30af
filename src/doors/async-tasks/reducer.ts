/** The merge of a channel that holds tasks by their id: the newest entry of an id replaces the whole one before it, whatever it says. */
import type { AsyncTask } from './contract.ts';

/** @example state.asyncTasks = asyncTasksReducer(state.asyncTasks, { [task.taskId]: task }) */
export const asyncTasksReducer = (
  existing: Record<string, AsyncTask> = {},
  update: Record<string, AsyncTask> = {},
): Record<string, AsyncTask> => ({ ...existing, ...update });
