/** The charts of Offstage, for those who draw, inspect or test them (`offstage/machines`). */

export type { BodyResult, EndingCause, JobChartContext, JobEvent } from './job.ts';
export { jobMachine } from './job.ts';
export type { LaunchOrigin, Promptable, SessionContext, SessionEvent, SessionStateRules } from './session.ts';
export { SESSION_STATES, sessionMachine } from './session.ts';
export type { ActivityContext, ActivityEvent, OpenTurn } from './session-activity.ts';
export { sessionActivityMachine } from './session-activity.ts';
export type { SupervisorContext, SupervisorEvent } from './supervisor.ts';
export { supervisorMachine } from './supervisor.ts';
export type { TaskContext, TaskEvent } from './task.ts';
export { taskMachine } from './task.ts';
export { toMermaid } from './to-mermaid.ts';
