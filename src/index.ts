/** Offstage: durable background jobs for programs that run AI agents. Everything public, by name. */

export type { EventCallback } from './engine/event-bus.ts';
export type { EventsOptions } from './engine/event-reader.ts';
export type { InspectedActor, InspectedChange, InspectedMachine, InspectionObserver } from './engine/inspection.ts';
export { type InputOf, Offstage } from './engine/offstage.ts';
export type { OutputPiece, PrintedOptions, PrintedOutput } from './engine/output-log.ts';
export type {
  JobsModel,
  LiveJobRow,
  PoolModel,
  ReadModel,
  SessionActivity,
  SessionsModel,
  TasksModel,
} from './engine/read-models.ts';
export type { RecoveryReport } from './engine/recovery.ts';
export type { PruneResult } from './engine/retention.ts';
export type { CreateSessionOptions, CreateTaskOptions } from './engine/sessions.ts';
export type { AgentInput } from './executors/agent-input.ts';
export { type CommandExecutorOptions, commandExecutor } from './executors/command.ts';
export type { CommandInput } from './executors/command-input.ts';
export { type ThreadExecutorOptions, threadExecutor } from './executors/thread.ts';
export type {
  Activity,
  ActivityValue,
  SessionView,
  TaskPending,
  TaskView,
  TurnView,
  WorkloadView,
} from './model/activity.ts';
export type {
  Agent,
  AgentContext,
  AgentFactory,
  AgentProfile,
  Agents,
  Attestation,
  Frame,
  PromptContent,
  PromptContext,
  PromptOrigin,
  ToolStatus,
  ToolWork,
  TurnEnd,
} from './model/agent.ts';
export { CARD_BADGES, type Card, type CardStatus, type ContextItem, cardOf } from './model/cards.ts';
export type { Clock, IdSource, StopTimer } from './model/clock.ts';
export { ERRORS, type ErrorCode, isOffstageError, OffstageError } from './model/errors.ts';
export {
  type CardRecordEvent,
  isVolatileEvent,
  type JobEventBody,
  type JobRecordEvent,
  type LiveActivity,
  type OffstageEvent,
  type RecordEvent,
  type ResyncEvent,
  type SessionRecordEvent,
  type SessionRemovedEvent,
  type TaskActivityEvent,
  type TaskRecordEvent,
  type VolatileEvent,
} from './model/events.ts';
export {
  type AnyExecutor,
  type ExecutionHandle,
  type Executor,
  type ExecutorCapabilities,
  type ExecutorFunction,
  type Executors,
  type JobContext,
  type JobOf,
  type Outcome,
  type OutputStream,
  outcome,
  type WorkloadKind,
} from './model/executor.ts';
export type { JsonValue } from './model/json.ts';
export { LIMITS } from './model/limits.ts';
export type { EngineOptions, Inspect } from './model/options.ts';
export {
  type CancelCode,
  type ContextMode,
  type HistoryEntry,
  type HistoryType,
  isTerminal,
  JOB_STATUSES,
  type JobError,
  type JobRecord,
  type JobStatus,
  type JobView,
  type PendingRequest,
  type ProcessRecord,
  type ReasonCode,
  type SessionRow,
  type SessionState,
  TASK_STATES,
  type TaskRow,
  type TaskState,
  type TerminalStatus,
} from './model/records.ts';
export type {
  AgentsHealth,
  CancelManyResult,
  CancelManySelector,
  CancelOptions,
  CancelPlanOptions,
  CardQuery,
  ContextBlock,
  Durability,
  Health,
  ListQuery,
  Log,
  LogLevel,
  MissingEntry,
  PlanOptions,
  PlanSpec,
  PlanStatus,
  PoolHealth,
  Retention,
  RowQuery,
  RunOptions,
  Snapshot,
  SpawnOptions,
  StoreHealth,
  TaskQuery,
  WaitManyEntry,
  WaitManyOptions,
  WaitOptions,
} from './model/requests.ts';
export type {
  Changed,
  CompleteWorkload,
  InterruptOptions,
  PromptAnswer,
  PromptOptions,
  PromptTicket,
  RegisterWorkload,
  WorkloadSnapshot,
} from './model/session-requests.ts';
export type {
  ConfirmedAnswer,
  ConfirmOptions,
  LiveWork,
  RemoveOptions,
  StopEntry,
  StopOptions,
  StopReport,
  StopResult,
} from './model/stop.ts';
export { type BuiltInKinds, type OpenOptions, open } from './open.ts';
export { type LevelStoreOptions, levelStore } from './persistence/level-store.ts';
export { memoryStore } from './persistence/memory-store.ts';
export type { RangeOptions, Store, StoreEntry, StoreOperation } from './persistence/store.ts';
