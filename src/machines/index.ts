/** The charts of Offstage, for those who draw, inspect or test them (`offstage/machines`). */

export type { BodyResult, EndingCause, JobChartContext, JobEvent } from './job.ts';
export { jobMachine } from './job.ts';
export type { SupervisorContext, SupervisorEvent } from './supervisor.ts';
export { supervisorMachine } from './supervisor.ts';
export { toMermaid } from './to-mermaid.ts';
