/**
 * What callers hand in and get back (api.md): shapes only, no rules.
 */
import type { SessionView, TaskView } from './activity.ts';
import type { CardStatus } from './cards.ts';
import type { ContextMode, JobStatus, JobView } from './records.ts';

/** What to run, and for whom. Only `kind` is required. */
export interface SpawnOptions<Kind extends string = string, Input = unknown> {
  readonly kind: Kind;
  /** JSON up to 1 MiB; default null. */
  readonly input?: Input;
  /** Given: the spawn is idempotent on it. Any string of 1 to 512 bytes. */
  readonly jobId?: string;
  /** One line; default the first 60 characters of the description, else `job`. */
  readonly subject?: string;
  /** The full prompt; default empty. */
  readonly description?: string;
  readonly agentId?: string;
  /** Where the job runs; default the built-in session `default`. */
  readonly sessionId?: string;
  readonly callerSessionId?: string;
  readonly parentJobId?: string;
  readonly parentMessageId?: string;
  /** Default `inherit`. */
  readonly contextMode?: ContextMode;
  /** A foreground job: someone blocks on it. Default false. */
  readonly wait?: boolean;
  /** Milliseconds from the start of the body; null or absent: none. */
  readonly timeoutMs?: number | null;
  /** Milliseconds without progress or output; null or absent: none. */
  readonly idleTimeoutMs?: number | null;
  /** The tool call, of the agent that is current on the caller's session, that asks for it: what that agent tells of the call is then this job. */
  readonly toolCallId?: string;
}

/** How long a wait goes on. */
export interface WaitOptions {
  /** Milliseconds; 0 peeks, null or Infinity waits without limit. Default 30,000 for hosts, none inside a body. */
  readonly timeoutMs?: number | null;
  readonly signal?: AbortSignal;
}

/** For whom a job is run. */
export interface RunOptions {
  /** When it fires, nobody waits for the job any more, and it is cancelled. */
  readonly signal?: AbortSignal;
  /** Called once the job is accepted, before it is waited for. */
  readonly onSpawned?: (job: JobView) => void;
}

/** How long, and for which of them. */
export interface WaitManyOptions extends WaitOptions {
  /** `all` (default) settles with the last end, `any` with the first. */
  readonly mode?: 'all' | 'any';
}

/** The entry of an id that names no job, or one that was pruned. */
export interface MissingEntry {
  readonly jobId: string;
  readonly error: { readonly code: 'job.not_found' | 'job.expired' };
}

/** Tell them apart by `'status' in entry`. */
export type WaitManyEntry = JobView | MissingEntry;

/** Which jobs a list shows: those that match all that is given. */
export interface ListQuery {
  readonly sessionId?: string;
  readonly callerSessionId?: string;
  /** Jobs that run in this session, and those it has asked for. */
  readonly forSessionId?: string;
  readonly taskId?: string;
  readonly parentJobId?: string;
  readonly parentMessageId?: string;
  readonly kind?: string;
  readonly status?: JobStatus | readonly JobStatus[];
  /** 1 to 1,000; default 50. */
  readonly limit?: number;
  /** A jobId: only jobs created before it. */
  readonly before?: string;
}

/** Why; kept in the record. */
export interface CancelOptions {
  readonly reason?: string;
}

/** Which jobs to cancel: exactly one of the names, narrowed by `status`. */
export interface CancelManySelector {
  readonly ids?: readonly string[];
  readonly sessionId?: string;
  readonly taskId?: string;
  readonly parentMessageId?: string;
  readonly parentJobId?: string;
  /** Only jobs in one of these states. */
  readonly status?: JobStatus | readonly JobStatus[];
}

/** What became of each job that was named, by id. */
export interface CancelManyResult {
  readonly cancelled: readonly string[];
  readonly cancelling: readonly string[];
  readonly alreadyTerminal: readonly string[];
  readonly notFound: readonly string[];
  /** Present when the store refuses: all of it is acted upon, and not all of it is stored yet. */
  readonly durable?: false;
}

/** One step of a plan. */
export interface PlanSpec {
  /** Becomes the job's `subject`. */
  readonly description: string;
  /** Becomes the job's `description` and `input.prompt`; default `description`. */
  readonly prompt?: string;
  /** Default `agent`. */
  readonly kind?: string;
  readonly agentId?: string;
  readonly input?: unknown;
}

/** For whom a plan runs. */
export interface PlanOptions {
  readonly sessionId?: string;
  readonly parentJobId?: string;
  readonly parentMessageId?: string;
  readonly signal?: AbortSignal;
  /** Told how the whole plan stands, whenever that has changed. May throw. */
  readonly onProgress?: (status: PlanStatus) => void;
}

/** How a plan stands: how its jobs stand at one instant. */
export interface PlanStatus {
  readonly parentMessageId: string;
  readonly total: number;
  /** Completed, cancelled and errored ones. */
  readonly ended: number;
  readonly counts: Readonly<Record<'queued' | 'running' | 'completed' | 'cancelled' | 'errored', number>>;
  /** In the order of the plan. */
  readonly jobs: readonly JobView[];
}

/** Which part of a plan, and why. */
export interface CancelPlanOptions extends CancelOptions {
  /** Only what has not started. Default false. */
  readonly onlyQueued?: boolean;
}

/** The pool's counters. */
export interface PoolHealth {
  readonly workers: number | null;
  readonly running: number;
  readonly waiting: number;
  readonly queued: number;
  readonly detached: number;
}

/** How the store does. */
export interface StoreHealth {
  readonly durability: Durability;
  /** Changes decided and not yet stored. */
  readonly pendingWrites: number;
  /** The last failure while degraded, else null. */
  readonly lastError: string | null;
}

/** Agents of sessions. */
export interface AgentsHealth {
  /** Starting and at work. */
  readonly live: number;
  /** Told to end, and not seen to yet. */
  readonly ending: number;
  /** Of these, beyond their grace: nobody can say whether they are still at work. */
  readonly detached: number;
}

/** How the engine does. */
export interface Health {
  readonly status: 'ok' | 'degraded' | 'starved' | 'closing';
  readonly pool: PoolHealth;
  readonly agents: AgentsHealth;
  readonly store: StoreHealth;
}

/** What an acknowledgement survives: power loss, or the death of the process. */
export type Durability = 'full' | 'process';

/** The state of everything at one instant, to show before following events. */
export interface Snapshot {
  readonly epoch: string;
  readonly seq: number;
  readonly tasks: readonly TaskView[];
  readonly sessions: readonly SessionView[];
  /** Newest first, at most 50. */
  readonly jobs: readonly JobView[];
  readonly counts: Readonly<Record<'pending' | 'queued' | 'running', number>>;
}

/** Which sessions or tasks a list shows. */
export interface RowQuery {
  readonly limit?: number;
  /** An id: only what was created before it. */
  readonly before?: string;
}

/** Which tasks a list shows. */
export interface TaskQuery extends RowQuery {
  /** Also archived tasks of which nothing lives. Default false. */
  readonly archived?: boolean;
}

/** Which cards a list shows. */
export interface CardQuery extends RowQuery {
  /** The conversation they stand in. */
  readonly sessionId: string;
}

/** What a card comes to in a context. */
export interface ContextBlock {
  readonly type: 'attach';
  readonly status: Exclude<CardStatus, 'running'>;
  /** What it was made from; completed blocks of the same source stand once. */
  readonly source: string;
  readonly jobId: string;
  /** Where the job ran. */
  readonly sessionId: string;
  readonly headId: string | null;
  readonly sourceCommitId: string | null;
  readonly label: string;
  /** The final text; of cancelled and errored ones only the mark. */
  readonly text: string;
}

/** How long, and how many, finished jobs are kept. */
export interface Retention {
  /** Finished jobs older than this are pruned; null keeps them for ever. */
  readonly maxAgeMs?: number | null;
  /** At most this many finished jobs are kept; null: no limit. */
  readonly maxJobs?: number | null;
}

/** How much a log entry matters. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
/** Gets what the engine has to say; may throw or reject. */
export type Log = (level: LogLevel, event: string, fields: Readonly<Record<string, unknown>>) => void;
