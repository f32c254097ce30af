/** `offstage/client`: what a server can do, typed, from a browser or from Node; and its state as rows that follow it. */
export type {
  Activity,
  ActivityValue,
  SessionView,
  TaskPending,
  TaskView,
  TurnView,
  WorkloadView,
} from '../../model/activity.ts';
export type { Card, CardStatus } from '../../model/cards.ts';
export type { ErrorCode } from '../../model/errors.ts';
export type { OffstageEvent, RecordEvent, ResyncEvent, VolatileEvent } from '../../model/events.ts';
export type { JsonValue } from '../../model/json.ts';
export { isOffstageError, OffstageError } from '../../model/offstage-error.ts';
export {
  type HistoryEntry,
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
} from '../../model/records.ts';
export type {
  CancelManyResult,
  CancelManySelector,
  CancelOptions,
  CardQuery,
  Health,
  ListQuery,
  MissingEntry,
  RowQuery,
  TaskQuery,
  WaitManyEntry,
} from '../../model/requests.ts';
export type { Changed, InterruptOptions, PromptAnswer, PromptOptions, PromptTicket } from '../../model/session-requests.ts';
export type {
  ConfirmedAnswer,
  ConfirmOptions,
  LiveWork,
  RemoveOptions,
  StopEntry,
  StopOptions,
  StopReport,
} from '../../model/stop.ts';
export type { WireFields } from '../wire/rename.ts';
export { type ConnectOptions, connect } from './connect.ts';
export type { Connection, JobRow, Live, LiveState } from './live-state.ts';
export { OffstageClient } from './offstage-client.ts';
export type { OnPart } from './requester.ts';
export type {
  AwaitOptions,
  Cancelled,
  ClientSpawnOptions,
  OutputText,
  Spawned,
  StopAndWaitOptions,
  WhoAmI,
} from './verbs.ts';
export type { WebSocketClass, WebSocketLike } from './web-socket-wire.ts';
