/** A manager of long-running tasks, for code that is written against such a one (`offstage/async-tasks`; docs/async-tasks.md). */

export type {
  AsyncTask,
  AsyncTaskContext,
  AsyncTaskExecutor,
  AsyncTaskFilter,
  AsyncTaskLaunch,
  AsyncTaskStartOptions,
  AsyncTaskStatus,
  AsyncTaskStore,
} from './contract.ts';
export { asyncTasksReducer } from './reducer.ts';
export { AsyncTaskManager, type AsyncTaskManagerOptions } from './task-manager.ts';
