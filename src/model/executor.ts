/**
 * The port that runs jobs of one kind (spec 17 and 18), and what a body is handed.
 *
 * EXE1  `run` is called at most once per job, and only after the job's acceptance is durable.
 * EXE2  After the body settled or the job ended, its context does nothing but reject with `job.context_closed`.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { JsonValue } from './json.ts';
import type { ContextMode, JobRecord, JobView } from './records.ts';
import type { RunOptions, SpawnOptions, WaitManyEntry, WaitManyOptions, WaitOptions } from './requests.ts';

/** What a session shows while such a job runs (liveness 5, W5). */
export type WorkloadKind = 'subagent' | 'shell' | 'monitor';

/** Where a command printed it. */
export type OutputStream = 'stdout' | 'stderr';

/** What an executor can do; the defaults are those of a plain async function. */
export interface ExecutorCapabilities {
  /** Reacts to `signal`. */
  readonly abortable: boolean;
  /** Can be ended by force, so its slot always comes back. */
  readonly killable: boolean;
  readonly workload: WorkloadKind;
  /** The start must be durable before `run` is called, because it launches something that outlives this process (spec 6). */
  readonly strictStart: boolean;
}

/** What `run` is given of the job: the record at its start, with the input as the executor's schema types it. */
export type JobOf<Input = unknown> = Omit<JobRecord, 'input'> & { readonly input: Input };

/** For executors that launch processes: what recovery needs to find them again. */
export interface ExecutionHandle {
  /** Unguessable; put it into the environment of every process launched (`OFFSTAGE_EXECUTION`). Durable before `run` is called when `strictStart`. */
  readonly executionId: string;
  /** Notes the process durably; resolves when stored (or when the store refused it: a launch is never undone by that). */
  launched(process: { readonly pid: number; readonly startTime: string | null; readonly bootId: string | null }): Promise<void>;
  /** Milliseconds left until the record ends whatever the body does: the whole grace before `signal` fires, 0 when it is over, null for none. */
  readonly graceMs: number | null;
  /** The delay between asking nicely and killing, in milliseconds. */
  readonly killAfterMs: number;
  /** Calls back once no time is left to ask nicely, at once where that is so already: end it by force now. */
  onForce(listener: () => void): void;
  /** Names what could not be ended; shown in the record's error when the job ends detached, in its history when the body ends by itself. Empty: it is gone. */
  survivors(text: string): void;
}

/**
 * What a body is handed beside its job. Dead once the body has settled or the job has ended: then every verb rejects `job.context_closed`.
 * @example
 * async research(job, ctx) {
 *   ctx.progress({ step: 'reading' });
 *   const page = await fetch(job.input.url, { signal: ctx.signal });
 *   const check = await ctx.run({ kind: 'command', input: { command: 'npm', args: ['test'] } });
 *   return `${check.status}: ${await page.text()}`;
 * }
 */
export interface JobContext {
  readonly jobId: string;
  readonly sessionId: string;
  readonly callerSessionId: string | null;
  readonly taskId: string;
  readonly contextMode: ContextMode;
  /** Fires once, when the job is told to end; its reason is a typed error. */
  readonly signal: AbortSignal;
  readonly execution: ExecutionHandle;
  /** Starts a child job; its `parentJobId` is this job. Resolves when the child is durable. */
  spawn(options: SpawnOptions): Promise<JobView>;
  /** Starts a foreground child and waits for it without limit, giving up the slot meanwhile. */
  run(options: SpawnOptions, more?: RunOptions): Promise<JobView>;
  /** Waits inside the engine: gives up the slot until the job ends (spec 3). Without limit unless `timeoutMs` is given. */
  wait(jobId: string, options?: WaitOptions): Promise<JobView>;
  waitMany(jobIds: readonly string[], options?: WaitManyOptions): Promise<readonly WaitManyEntry[]>;
  /** Latest wins; any JSON up to 16 KiB. */
  progress(value: unknown): void;
  /** Appends to the job's output; `stream` tells live readers where it was printed. */
  output(text: string, stream?: OutputStream): void;
  /** Replaces what the job has so far; kept as `resultText` if it ends without returning text. */
  partial(text: string): void;
}

/**
 * The port that runs jobs of one kind; an async function is short for `{ run }`.
 * @example
 * const executor: Executor<{ url: string }, string> = {
 *   run: async (job, ctx) => (await fetch(job.input.url, { signal: ctx.signal })).text(),
 *   capabilities: { abortable: true },
 * };
 */
export interface Executor<Input = unknown, Result = unknown> {
  run(job: JobOf<Input>, context: JobContext): Promise<Result> | Result;
  /** Called after `signal` fired; may end the body by force. Errors are logged. */
  cancel?(jobId: string): Promise<void> | void;
  readonly capabilities?: Partial<ExecutorCapabilities>;
  /**
   * Jobs of this kind run one of the agents in the option `agents`: a spawn whose `agentId` (default `default`) names none is refused
   * with `agent.unknown`. Default false.
   */
  readonly needsAgent?: boolean;
  /** Validates `input` at spawn. */
  readonly input?: StandardSchemaV1<unknown, Input>;
  /** Validates what `run` returns. */
  readonly result?: StandardSchemaV1<unknown, Result>;
  /**
   * What the record, and so every list, event and log, shows of a validated `input`; for executors whose input may hold secrets.
   * `run` gets the real input, which is then kept in memory only, for as long as the job lives. Must be total and cheap.
   */
  redact?(input: JsonValue): JsonValue;
  /** Called once when the engine has closed. */
  close?(): Promise<void> | void;
}

/** An executor that is only a body. */
export type ExecutorFunction<Input = unknown, Result = unknown> = (
  job: JobOf<Input>,
  context: JobContext,
) => Promise<Result> | Result;
/** An executor of any input and result. */
// biome-ignore lint/suspicious/noExplicitAny: a registry holds executors of every input; `unknown` would refuse them all (parameters are contravariant).
export type AnyExecutor = Executor<any, any> | ExecutorFunction<any, any>;
/** Executors by the kind they run. */
export type Executors = Readonly<Record<string, AnyExecutor>>;

const OUTCOME = Symbol('offstage.outcome');

/** A result that sets fields of the record by name; made by `outcome()`. */
export interface Outcome {
  readonly [OUTCOME]: true;
  readonly text?: string;
  readonly value?: JsonValue | undefined;
  readonly headId?: string;
  readonly sourceCommitId?: string;
}

/**
 * Says what each part of a result is: `text` becomes `resultText`, `value` becomes `result` (any JSON), ids are kept as they are.
 * @example return outcome({ text: 'three files changed', headId: 'h1' })
 */
export function outcome(fields: { text?: string; value?: unknown; headId?: string; sourceCommitId?: string }): Outcome {
  return { ...(fields as Omit<Outcome, typeof OUTCOME>), [OUTCOME]: true };
}

export const isOutcome = (value: unknown): value is Outcome => typeof value === 'object' && value !== null && OUTCOME in value;
