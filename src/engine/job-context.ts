/**
 * What a body is handed (spec 4.9, 7, 18): verbs that know which job calls them, and that die with it.
 *
 * CTX1  Every verb first checks the job's signal; a call that has begun is not interrupted.
 * CTX2  After the body settled or the job ended, every verb rejects with `job.context_closed`.
 * CTX3  A body that waits inside the engine gives up its slot, and goes on only with a slot, or to unwind.
 * CTX4  Every verb works taken out of its context, as in `async (job, { run, signal }) => …`: a getter binds it when it is asked for, so that
 *       a job that does not use it pays nothing.
 */
import type { StopTimer } from '../model/clock.ts';
import { type OffstageError, offstageError } from '../model/errors.ts';
import type { ExecutionHandle, JobContext, OutputStream } from '../model/executor.ts';
import { type JsonValue, toJson } from '../model/json.ts';
import { LIMITS } from '../model/limits.ts';
import type { ContextMode, JobView } from '../model/records.ts';
import type { RunOptions, SpawnOptions, WaitManyEntry, WaitManyOptions, WaitOptions } from '../model/requests.ts';
import { readRun } from './check-options.ts';
import type { Core } from './core.ts';
import type { Execution } from './execution-registry.ts';
import type { LiveJob } from './live-job.ts';
import { OutputLog } from './output-log.ts';

/** The engine's verbs that a context needs; each takes the calling execution. */
export interface ContextVerbs {
  spawnFrom(caller: Execution, options: SpawnOptions): Promise<JobView>;
  runFrom(caller: Execution, options: SpawnOptions, more: RunOptions): Promise<JobView>;
  waitFrom(caller: Execution, jobId: string, options: WaitOptions | undefined): Promise<JobView>;
  waitManyFrom(
    caller: Execution,
    jobIds: readonly string[],
    options: WaitManyOptions | undefined,
  ): Promise<readonly WaitManyEntry[]>;
}

export interface HandleMaker {
  handleOf(job: LiveJob, execution: Execution): ExecutionHandle;
}

export class BodyContext implements JobContext {
  readonly jobId: string;
  readonly sessionId: string;
  readonly callerSessionId: string | null;
  readonly taskId: string;
  readonly contextMode: ContextMode;
  readonly #core: Core;
  readonly #job: LiveJob;
  readonly #execution: Execution;
  readonly #verbs: ContextVerbs;
  readonly #handles: HandleMaker;
  #handle: ExecutionHandle | null = null;
  #progressDueAt = 0;
  #stopProgress: StopTimer | null = null;

  constructor(core: Core, job: LiveJob, execution: Execution, verbs: ContextVerbs, handles: HandleMaker) {
    const { base } = job;
    this.jobId = base.jobId;
    this.sessionId = base.sessionId;
    this.callerSessionId = base.callerSessionId;
    this.taskId = base.taskId;
    this.contextMode = base.contextMode;
    this.#handles = handles;
    this.#core = core;
    this.#job = job;
    this.#execution = execution;
    this.#verbs = verbs;
  }

  get execution(): ExecutionHandle {
    this.#handle ??= this.#handles.handleOf(this.#job, this.#execution);
    return this.#handle;
  }

  get signal(): AbortSignal {
    return this.#execution.signal;
  }

  get spawn(): JobContext['spawn'] {
    return this.#spawn.bind(this);
  }

  get run(): JobContext['run'] {
    return this.#run.bind(this);
  }

  get wait(): JobContext['wait'] {
    return this.#wait.bind(this);
  }

  get waitMany(): JobContext['waitMany'] {
    return this.#waitMany.bind(this);
  }

  get progress(): JobContext['progress'] {
    return this.#progress.bind(this);
  }

  get output(): JobContext['output'] {
    return this.#output.bind(this);
  }

  get partial(): JobContext['partial'] {
    return this.#partial.bind(this);
  }

  async #spawn(options: SpawnOptions): Promise<JobView> {
    this.#check(true);
    return this.#verbs.spawnFrom(this.#execution, options);
  }

  async #run(options: SpawnOptions, more?: RunOptions): Promise<JobView> {
    this.#check(true);
    return this.#verbs.runFrom(this.#execution, options, readRun(more));
  }

  async #wait(jobId: string, options?: WaitOptions): Promise<JobView> {
    this.#check(false);
    return this.#verbs.waitFrom(this.#execution, jobId, options);
  }

  async #waitMany(jobIds: readonly string[], options?: WaitManyOptions): Promise<readonly WaitManyEntry[]> {
    this.#check(false);
    return this.#verbs.waitManyFrom(this.#execution, jobIds, options);
  }

  #progress(value: unknown): void {
    this.#check(false);
    let progress: JsonValue;
    try {
      progress = toJson(value);
    } catch (error) {
      throw offstageError('input.invalid', { argument: 'progress', message: (error as Error).message }, { cause: error });
    }
    if (Buffer.byteLength(JSON.stringify(progress)) > LIMITS.progressBytes) {
      throw offstageError('input.invalid', { argument: 'progress', message: `it is larger than ${LIMITS.progressBytes} bytes` });
    }
    this.#heard();
    this.#execution.progress = progress;
    this.#announceProgress();
  }

  #output(text: string, stream?: OutputStream): void {
    // Late output of a body that was told to end still tells what happened; after the end there is nowhere to put it.
    this.#checkOpen();
    if (typeof text !== 'string') throw offstageError('input.invalid', { argument: 'output', message: 'it must be a string' });
    if (text === '') return;
    this.#heard();
    const execution = this.#execution;
    const core = this.#core;
    execution.output ??= new OutputLog(core.settings.spillDirectory, this.#job.base.ordinal, (error) =>
      core.report('output.spill_failed', error),
    );
    const offset = execution.output.end;
    execution.output.append(text);
    if (!this.#core.bus.hasObservers) return;
    const { settings, epoch, loop } = this.#core;
    this.#core.bus.publish({
      type: 'job.output',
      seq: loop.toldSeq,
      epoch,
      at: settings.clock.now(),
      jobId: this.jobId,
      sessionId: this.sessionId,
      text,
      stream: stream === 'stdout' || stream === 'stderr' ? stream : null,
      offset,
    });
  }

  #partial(text: string): void {
    this.#checkOpen();
    if (typeof text !== 'string') throw offstageError('input.invalid', { argument: 'partial', message: 'it must be a string' });
    this.#heard();
    this.#execution.partial = text;
  }

  #checkOpen(): void {
    if (this.#execution.hasSettled || this.#job.isDecidedEnd) throw offstageError('job.context_closed', { jobId: this.jobId });
  }

  /** CTX1, CTX2. A spawn under a cancel is told so by its own code. */
  #check(isSpawn: boolean): void {
    this.#checkOpen();
    const { cause } = this.#job.decided.context;
    if (isSpawn && cause === 'cancel') throw offstageError('job.parent_cancelled', { parentJobId: this.jobId });
    const reason = this.#execution.abortReason;
    if (reason !== null) throw asCancelled(reason);
  }

  #heard(): void {
    const execution = this.#execution;
    execution.lastHeard = this.#core.settings.clock.monotonic();
    execution.lastActivityAt = this.#core.stamp(this.#job);
  }

  /** Coalesced: the first at once, then at most one per interval; the one still due when the job ends is not announced, its end is. */
  #announceProgress(): void {
    const core = this.#core;
    if (!core.bus.hasObservers || this.#stopProgress !== null) return;
    const waitMs = this.#progressDueAt - core.settings.clock.monotonic();
    const announce = (): void => {
      this.#stopProgress = null;
      this.#progressDueAt = core.settings.clock.monotonic() + LIMITS.progressIntervalMs;
      if (this.#execution.hasSettled || this.#job.isDecidedEnd) return;
      const { progress } = this.#execution;
      core.bus.publish({
        type: 'job.progress',
        seq: core.loop.toldSeq,
        epoch: core.epoch,
        at: core.settings.clock.now(),
        jobId: this.jobId,
        sessionId: this.sessionId,
        progress,
      });
    };
    if (waitMs <= 0) announce();
    else this.#stopProgress = core.timers.after(waitMs, announce);
  }
}

/** What a verb rejects with once the job was told to end: always an AbortError by name, whatever the cause. */
export function asCancelled(reason: OffstageError): OffstageError {
  return reason.code === 'job.cancelled' ? reason : offstageError('job.cancelled', { reason: reason.message }, { cause: reason });
}
