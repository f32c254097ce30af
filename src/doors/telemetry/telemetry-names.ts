/**
 * Every name that telemetry uses, in one place, with the version of the conventions it comes from.
 *
 * Messaging: OpenTelemetry semantic conventions 1.45.0 (status: development). There are none for jobs; a job is a message that is sent
 * to the executors of its kind and processed by one of them. What the conventions have no word for lies under `messaging.offstage`.
 * Agents: semantic conventions for generative AI 0.1.0 (status: development), only where they are asked for.
 */

/** Of the tracer and the meter. */
export const SCOPE = 'offstage';
export const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.45.0';

/** Values of `messaging.system` and `gen_ai.provider.name`. */
export const SYSTEM = 'offstage';

export const ATTRIBUTE = {
  system: 'messaging.system',
  operationName: 'messaging.operation.name',
  operationType: 'messaging.operation.type',
  /** The job's kind. */
  destination: 'messaging.destination.name',
  /** The job's id. */
  messageId: 'messaging.message.id',
  /** The session that the job runs on. */
  conversationId: 'messaging.message.conversation_id',
  /** The reason code of a job that has failed. */
  errorType: 'error.type',
} as const;

/** Names and types of operations; the names of spans begin with them. */
export const OPERATION = { send: 'send', process: 'process' } as const;

/** Our own: what a trace of jobs is searched for. */
export const OWN = {
  taskId: 'messaging.offstage.task.id',
  parentJobId: 'messaging.offstage.parent_job.id',
  /** How the job has ended. */
  status: 'messaging.offstage.job.status',
  reasonCode: 'messaging.offstage.job.reason_code',
  /** The record is terminal and the body was not seen to end. */
  detached: 'messaging.offstage.job.detached',
  /** Telemetry was closed before the job had ended: the end of the span is not the end of the job. */
  isUnfinished: 'messaging.offstage.job.unfinished',
} as const;

export const METRIC = {
  sentMessages: 'messaging.client.sent.messages',
  consumedMessages: 'messaging.client.consumed.messages',
  operationDuration: 'messaging.client.operation.duration',
  processDuration: 'messaging.process.duration',
} as const;

export const UNIT = { messages: '{message}', seconds: 's' } as const;

/** As the conventions recommend them for durations, in seconds. */
export const DURATION_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

export const AGENT_ATTRIBUTE = {
  operationName: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  agentId: 'gen_ai.agent.id',
  agentName: 'gen_ai.agent.name',
  conversationId: 'gen_ai.conversation.id',
} as const;

export const AGENT_OPERATION = 'invoke_agent';
