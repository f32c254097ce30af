/**
 * What callers hand in and get back (api.md): shapes only, no rules.
 */
import type { ContextMode, JobStatus, JobView, SessionRow, TaskRow } from './records.ts';

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
}

export interface WaitOptions {
  /** Milliseconds; 0 peeks, null or Infinity waits without limit. Default 30,000 for hosts, none inside a body. */
  readonly timeoutMs?: number | null;
  readonly signal?: AbortSignal;
}

export interface WaitManyOptions extends WaitOptions {
  /** `all` (default) settles with the last end, `any` with the first. */
  readonly mode?: 'all' | 'any';
}

export interface MissingEntry {
  readonly jobId: string;
  readonly error: { readonly code: 'job.not_found' | 'job.expired' };
}

export type WaitManyEntry = JobView | MissingEntry;

export interface ListQuery {
  readonly sessionId?: string;
  readonly callerSessionId?: string;
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

export interface CancelOptions {
  readonly reason?: string;
}

export interface CancelManySelector {
  readonly ids?: readonly string[];
  readonly sessionId?: string;
  readonly taskId?: string;
  readonly parentMessageId?: string;
  readonly parentJobId?: string;
  /** Only jobs in one of these states. */
  readonly status?: JobStatus | readonly JobStatus[];
}

export interface CancelManyResult {
  readonly cancelled: readonly string[];
  readonly cancelling: readonly string[];
  readonly alreadyTerminal: readonly string[];
  readonly notFound: readonly string[];
}

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

export interface PlanOptions {
  readonly sessionId?: string;
  readonly parentJobId?: string;
  readonly parentMessageId?: string;
  readonly signal?: AbortSignal;
}

export interface PoolHealth {
  readonly workers: number | null;
  readonly running: number;
  readonly waiting: number;
  readonly queued: number;
  readonly detached: number;
}

export interface StoreHealth {
  readonly durability: Durability;
  /** Changes decided and not yet stored. */
  readonly pendingWrites: number;
  /** The last failure while degraded, else null. */
  readonly lastError: string | null;
}

export interface Health {
  readonly status: 'ok' | 'degraded' | 'starved' | 'closing';
  readonly pool: PoolHealth;
  readonly store: StoreHealth;
}

export type Durability = 'full' | 'process';

/** The state of everything at one instant, to show before following events. */
export interface Snapshot {
  readonly epoch: string;
  readonly seq: number;
  readonly tasks: readonly TaskRow[];
  readonly sessions: readonly SessionRow[];
  /** Newest first, at most 50. */
  readonly jobs: readonly JobView[];
  readonly counts: Readonly<Record<'pending' | 'queued' | 'running', number>>;
}

export interface RowQuery {
  readonly limit?: number;
  /** An id: only rows created before it. */
  readonly before?: string;
}

export interface Retention {
  /** Finished jobs older than this are pruned; null keeps them for ever. */
  readonly maxAgeMs?: number | null;
  /** At most this many finished jobs are kept; null: no limit. */
  readonly maxJobs?: number | null;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';
export type Log = (level: LogLevel, event: string, fields: Readonly<Record<string, unknown>>) => void;
