/**
 * Runs bodies: from a slot to the end of the record, and to the end of the body where that comes later (spec 2, 3, 4, 6).
 *
 * RUN1  A body is called at most once, after its acceptance is durable; a strict one after its start is durable too.
 * RUN2  A cancel decided before the body is called means that it is never called.
 * RUN3  The slot returns when the body has settled, exactly once, whatever the record says meanwhile.
 * RUN4  When a body settles or is given up, its foreground children end with it.
 * RUN5  The end of a body is told before the start of the one that gets its slot. Starts are called in the order in which their slots were taken, also when strict and other kinds mix.
 */
import type { EndingCause } from '../machines/job.ts';
import { type OffstageError, offstageError } from '../model/errors.ts';
import type { ExecutionHandle, JobOf } from '../model/executor.ts';
import { LIMITS } from '../model/limits.ts';
import type { HistoryEntry } from '../model/records.ts';
import { toRecord } from '../persistence/job-codec.ts';
import { removeProcess } from '../persistence/process-row.ts';
import { KEYS } from '../persistence/row-keys.ts';
import type { StoreOperation } from '../persistence/store.ts';
import type { Core } from './core.ts';
import { Execution } from './execution-registry.ts';
import { BodyContext, type ContextVerbs } from './job-context.ts';
import type { LiveJob } from './live-job.ts';
import { capText, NO_RESULT, returned, threw } from './outcome.ts';
import { validateWith } from './standard-schema.ts';
import type { Change } from './transaction.ts';

export interface BodyRunnerHost {
  readonly verbs: ContextVerbs;
  /** Changes that end the foreground children of a body that is over. */
  endForegroundChildren(job: LiveJob): readonly Change[];
  /** Fires what the changes of a cancel ask for. */
  runEffectsOf(changes: readonly Change[]): void;
}

type Settlement = { readonly kind: 'returned'; readonly value: unknown } | { readonly kind: 'threw'; readonly error: unknown };

export class BodyRunner {
  readonly #core: Core;
  readonly #host: BodyRunnerHost;
  /** Starts whose bodies are called by the reveal of their commit. */
  #deferred = 0;

  constructor(core: Core, host: BodyRunnerHost) {
    this.#core = core;
    this.#host = host;
  }

  /** The pool gave the job a slot. */
  start(job: LiveJob): void {
    const core = this.#core;
    const execution = new Execution(job, core);
    job.execution = execution;
    execution.lastActivityAt = core.stamp(job);
    const change = core.step(job, { type: 'job.start', at: execution.lastActivityAt });
    if (change === null) {
      job.execution = null;
      core.pool.release(job.place);
      return;
    }
    core.registry.add(execution);
    const isStrict = this.#executorOf(job).capabilities.strictStart;
    if (!isStrict && this.#deferred === 0) {
      core.submit({ changes: [change] });
      this.#call(job, execution);
      return;
    }
    this.#deferred += 1;
    core.submit({
      changes: [change],
      mustSync: isStrict,
      ...(isStrict ? { rows: [execution.processRow(execution.lastActivityAt)] } : {}),
      effects: (durable) => {
        this.#deferred -= 1;
        if (isStrict && !durable) {
          this.#settle(job, execution, {
            kind: 'threw',
            error: offstageError('store.failed', { message: 'the start could not be noted, so nothing was started' }),
          });
        } else {
          this.#call(job, execution);
        }
      },
    });
  }

  /** A running job is told to end: by `graceMs` from now it has ended, whatever its body does. */
  beginGrace(job: LiveJob, graceMs: number): void {
    const { execution } = job;
    if (execution === null || execution.hasSettled) return;
    const dueAt = this.#core.settings.clock.monotonic() + graceMs;
    if (dueAt >= execution.graceDueAt) return;
    execution.graceDueAt = dueAt;
    execution.phase = 'retiring';
    execution.stopGrace?.();
    execution.stopGrace = this.#core.timers.after(graceMs, () => this.#graceOver(job, execution));
  }

  /** No grace any more: what can be killed is killed at once, and the record waits only until that is seen. */
  force(job: LiveJob): void {
    const { execution } = job;
    if (execution === null || execution.hasSettled) return;
    this.beginGrace(job, this.#executorOf(job).capabilities.killable ? LIMITS.forcedEndMs : 0);
    execution.killNow();
  }

  /** Fires the signal, wakes the body if it waits inside the engine, and asks the executor to end it. */
  abort(job: LiveJob, reason: OffstageError): void {
    const { execution } = job;
    if (execution === null || execution.hasSettled) return;
    this.#core.pool.wake(job.place);
    execution.abort(reason);
    const { cancel } = this.#executorOf(job);
    if (cancel === undefined || !execution.isBodyLive) return;
    const failed = (error: unknown): void => this.#core.report('executor.cancel_failed', error);
    try {
      Promise.resolve(cancel.call(this.#executorOf(job), job.base.jobId)).catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  #executorOf(job: LiveJob) {
    const executor = this.#core.executors.get(job.base.kind);
    if (executor === undefined) throw offstageError('executor.unknown', { kind: job.base.kind });
    return executor;
  }

  #call(job: LiveJob, execution: Execution): void {
    if (execution.hasSettled) return;
    if (job.decided.state !== 'active') {
      this.#leaveUncalled(job, execution);
      return;
    }
    const core = this.#core;
    const executor = this.#executorOf(job);
    execution.isBodyLive = true;
    execution.lastHeard = core.settings.clock.monotonic();
    this.#armDeadlines(job, execution);
    const context = new BodyContext(core, job, execution, this.#host.verbs, this);
    execution.context = context;
    let running: Promise<unknown>;
    try {
      const record = toRecord(job.base, job.decided, job.revision);
      const given = job.secretInput === null ? record : { ...record, input: job.secretInput.value };
      running = Promise.resolve(executor.run(given as JobOf, context));
    } catch (error) {
      running = Promise.reject(error);
    }
    const { result: schema } = executor;
    if (schema !== undefined) running = running.then((value) => validateWith(schema, value, 'result'));
    running.then(
      (value) => this.#settle(job, execution, { kind: 'returned', value }),
      (error) => this.#settle(job, execution, { kind: 'threw', error }),
    );
  }

  /** Told to end before it was called: it never is (RUN2), and there is nothing that could be at work still. */
  #leaveUncalled(job: LiveJob, execution: Execution): void {
    const error = execution.abortReason ?? offstageError('job.cancelled', { reason: 'cancelled before pickup' });
    this.#settle(job, execution, { kind: 'threw', error });
  }

  #settle(job: LiveJob, execution: Execution, settlement: Settlement): void {
    if (execution.hasSettled) return;
    const core = this.#core;
    execution.hasSettled = true;
    execution.isBodyLive = false;
    execution.stopGrace?.();
    for (const stop of execution.stopTimers ?? []) stop();
    const at = core.stamp(job);
    const partial = execution.partialText();
    core.registry.remove(execution);
    if (job.isDecidedEnd) this.#settledLate(job, execution, settlement, at);
    else this.#settledInTime(job, execution, settlement, at, partial);
    // Last, so that the end is told before the start of whoever gets the slot.
    core.pool.release(job.place);
  }

  #settledInTime(job: LiveJob, execution: Execution, settlement: Settlement, at: number, partial: string | null): void {
    const core = this.#core;
    execution.lastActivityAt = at;
    const event = settlement.kind === 'returned' ? returned(settlement.value, partial, at) : threw(settlement.error, partial, at);
    const { state, context } = job.decided;
    // A body that was told to end and returned no text leaves what it had reported so far.
    const keepsPartial = state === 'ending' && context.cause !== 'shutdown' && event.result.text === null && partial !== null;
    const told = keepsPartial ? { ...event, result: { ...event.result, text: capText(partial) } } : event;
    const change = core.step(job, told, state === 'active' ? this.#leftBehind(job, execution, at) : undefined);
    const children = this.#host.endForegroundChildren(job);
    core.submit({
      changes: change === null ? children : [change, ...children],
      rows: this.#endRows(job, execution, true),
      effects: () => this.#host.runEffectsOf(children),
    });
  }

  /** What is named and still there when nobody has told the body to end is no part of it (G15), and is not passed over in silence. */
  #leftBehind({ base }: LiveJob, { survivors }: Execution, at: number): HistoryEntry | undefined {
    if (survivors === null) return undefined;
    this.#core.settings.log('warn', 'body.left_behind', { jobId: base.jobId, kind: base.kind, survivors });
    return { at, type: 'note', detail: `still there: ${survivors}` };
  }

  /** The record has ended before: what the body did since is history, nothing more. */
  #settledLate(job: LiveJob, execution: Execution, settlement: Settlement, at: number): void {
    this.#core.system.tell({ type: 'body.reclaimed' });
    if (job.isDropped) {
      this.#settledRemoved(execution);
      return;
    }
    const entries: HistoryEntry[] = [];
    if (settlement.kind === 'returned' && settlement.value !== undefined && settlement.value !== null)
      entries.push({ at, type: 'late_result_dropped' });
    entries.push({ at, type: 'detached_settled' });
    if (this.#core.isClosing) return;
    const change = this.#core.note(job, ...entries);
    this.#core.submit({ changes: [change], rows: this.#endRows(job, execution, true) });
  }

  /** Its job was removed: nothing is written of it any more. */
  #settledRemoved(execution: Execution): void {
    execution.output?.close();
    if (!execution.hasProcessRow || this.#core.isClosing) return;
    this.#core.submit({ changes: [], rows: [removeProcess(execution.executionId)] });
  }

  #graceOver(job: LiveJob, execution: Execution): void {
    if (execution.hasSettled || job.isDecidedEnd) return;
    if (!execution.isBodyLive) {
      // Its start is not stored yet: it will not be called.
      this.#leaveUncalled(job, execution);
      return;
    }
    const core = this.#core;
    const text = execution.partialText();
    const change = core.step(job, {
      type: 'grace.over',
      at: core.stamp(job),
      result: { ...NO_RESULT, text: text === null ? null : capText(text) },
      survivors: execution.survivors,
    });
    if (change === null) return;
    execution.phase = 'detached';
    core.pool.detach(job.place);
    for (const stop of execution.stopTimers ?? []) stop();
    core.system.tell({ type: 'body.detached' });
    core.settings.log('warn', 'body.detached', { jobId: job.base.jobId, kind: job.base.kind, survivors: execution.survivors });
    const children = this.#host.endForegroundChildren(job);
    core.submit({
      changes: [change, ...children],
      rows: this.#endRows(job, execution, false),
      effects: () => this.#host.runEffectsOf(children),
    });
  }

  /** Rows that go with an end: the output is kept; the process record goes once the tree is gone, else it stays: it says since when the end is decided. */
  #endRows(job: LiveJob, execution: Execution, isGone: boolean): readonly StoreOperation[] {
    const rows: StoreOperation[] = [];
    const output = execution.output?.stored() ?? null;
    if (output !== null) rows.push({ type: 'put', key: KEYS.output(job.base.ordinal), value: JSON.stringify(output) });
    if (isGone) {
      execution.output?.close();
      if (execution.hasProcessRow) rows.push(removeProcess(execution.executionId));
    }
    return rows;
  }

  #armDeadlines(job: LiveJob, execution: Execution): void {
    const { timeoutMs, idleTimeoutMs } = job.base;
    if (timeoutMs === null && idleTimeoutMs === null) return;
    const stops: (() => void)[] = [];
    execution.stopTimers = stops;
    if (timeoutMs !== null)
      stops.push(
        this.#core.timers.after(timeoutMs, () => this.#timeOut(job, 'timeout', offstageError('job.timed_out', { timeoutMs }))),
      );
    if (idleTimeoutMs === null) return;
    const { clock } = this.#core.settings;
    const watch = (delayMs: number): void => {
      stops.push(
        this.#core.timers.after(delayMs, () => {
          stops.length = timeoutMs === null ? 0 : 1;
          const restMs = execution.lastHeard + idleTimeoutMs - clock.monotonic();
          if (restMs > 0) watch(restMs);
          else this.#timeOut(job, 'idle_timeout', offstageError('job.idle_timed_out', { idleTimeoutMs }));
        }),
      );
    };
    watch(idleTimeoutMs);
  }

  #timeOut(job: LiveJob, cause: Extract<EndingCause, 'timeout' | 'idle_timeout'>, reason: OffstageError): void {
    const at = this.#core.stamp(job);
    const change = this.#core.step(
      job,
      { type: 'job.time_out', at, cause, message: reason.message },
      { at, type: 'ending', detail: reason.message },
    );
    if (change === null) return;
    this.beginGrace(job, this.#core.settings.cancelGraceMs);
    this.#core.submit({ changes: [{ ...change, announce: [] }], effects: () => this.abort(job, reason) });
  }

  /** Made only for executors that ask for it. */
  handleOf(job: LiveJob, execution: Execution): ExecutionHandle {
    const core = this.#core;
    const { settings } = core;
    return {
      get executionId() {
        return execution.executionId;
      },
      get graceMs() {
        const restMs = execution.graceDueAt - settings.clock.monotonic();
        const graceMs = execution.graceDueAt === Number.POSITIVE_INFINITY ? settings.cancelGraceMs : Math.max(0, restMs);
        return graceMs === Number.POSITIVE_INFINITY ? null : graceMs;
      },
      get killAfterMs() {
        return execution.killAfterMs ?? settings.killAfterMs;
      },
      launched(process) {
        const at = core.stamp(job);
        if (!Number.isSafeInteger(process.pid) || process.pid <= 1) {
          return Promise.reject(offstageError('input.invalid', { argument: 'pid', message: 'it must be the id of a process' }));
        }
        execution.hasProcessRow = true;
        execution.process = process;
        if (job.isDecidedEnd) return Promise.resolve();
        return new Promise((resolve) => {
          core.submit({
            changes: [core.note(job, { at, type: 'process_launched', detail: `pid ${process.pid}` })],
            rows: [execution.processRow(at)],
            mustSync: true,
            acknowledge: () => resolve(),
          });
        });
      },
      onForce: (listener) => execution.forced.on(listener),
      survivors(text) {
        execution.survivors = typeof text === 'string' && text !== '' ? capText(text, LIMITS.textBytes) : null;
      },
    };
  }
}
