/**
 * Jobs as OpenTelemetry spans and metrics: listens to the events of an engine, and changes nothing about it.
 *
 * OTL1  Times are those of the records, never of the observer.
 * OTL2  Whatever tracers, meters and exporters throw is told once, to OpenTelemetry's own log, and harms nobody.
 * OTL3  An entry goes with its job: also that of a job that was never seen to start.
 * OTL4  After `close` no span is open; those whose jobs still live say so.
 */
import { createRequire } from 'node:module';
import type { MeterProvider, SpanContext, TracerProvider } from '@opentelemetry/api';
import { namesOf, readOptions } from '../../engine/check-options.ts';
import type { Offstage } from '../../engine/offstage.ts';
import { checkFlag, checkPort, invalidWithin } from '../../engine/settings.ts';
import { offstageError } from '../../model/errors.ts';
import type { JobRecordEvent, OffstageEvent } from '../../model/events.ts';
import { isTerminal, type JobView } from '../../model/records.ts';
import { type JobMeters, jobMeters } from './job-meters.ts';
import { errorTypeOf, JobSpans, type OpenTelemetryApi, type Running, type TracedJob } from './job-spans.ts';
import { SCHEMA_URL, SCOPE } from './telemetry-names.ts';

/** The part of an engine that telemetry looks at. */
export type TracedEngine = Pick<Offstage, 'onEvent' | 'jobsModel' | 'get' | 'recovery'>;

export interface TraceJobsOptions {
  /** Default: the global one, `trace.getTracerProvider()`. */
  readonly tracerProvider?: TracerProvider;
  /** Default: the global one, `metrics.getMeterProvider()`. */
  readonly meterProvider?: MeterProvider;
  /** A span `invoke_agent <agent>` inside of each job of kind `agent`, by the conventions for generative AI, which still change. Default false. */
  readonly agents?: boolean;
}

/** What `traceJobs` answers. */
export interface JobTelemetry extends AsyncDisposable {
  /** Listens no more, and ends the spans of jobs that still live. Flushing is the providers' business. A second call joins the first. */
  close(): Promise<void>;
}

const NAMES = namesOf<TraceJobsOptions>({ tracerProvider: true, meterProvider: true, agents: true });
const API = '@opentelemetry/api';

/**
 * Spans and metrics for every job, from now on until the engine closes or `close` is called. Jobs that live already get the span of
 * their processing; so do those that the start has found abandoned.
 * @throws OffstageError `config.invalid`; `package.missing` when `@opentelemetry/api` is not installed
 * @example
 * const telemetry = traceJobs(offstage, { agents: true });
 * const job = await offstage.spawn({ kind: 'command', input: { command: 'npm', args: ['test'] } });
 * await offstage.wait(job.jobId);
 * await telemetry.close();
 */
export function traceJobs(offstage: TracedEngine, options?: TraceJobsOptions): JobTelemetry {
  const refuse = invalidWithin('traceJobs');
  const given = readOptions('traceJobs', options, NAMES, refuse);
  const tracers = checkPort('traceJobs.tracerProvider', given.tracerProvider, ['getTracer']);
  const meters = checkPort('traceJobs.meterProvider', given.meterProvider, ['getMeter']);
  const hasAgents = checkFlag('traceJobs.agents', given.agents) ?? false;
  const require = createRequire(import.meta.url);
  const api = loadApi(require);
  const { version } = require('../../../package.json') as { readonly version: string };
  const scope = [SCOPE, version, { schemaUrl: SCHEMA_URL }] as const;
  const tracer = (tracers ?? api.trace.getTracerProvider()).getTracer(...scope);
  const meter = (meters ?? api.metrics.getMeterProvider()).getMeter(...scope);
  return new Listener(offstage, api, { spans: new JobSpans(api, tracer, { hasAgents }), meters: jobMeters(meter) });
}

/** Loaded only here: nobody else needs the package. */
function loadApi(require: NodeJS.Require): OpenTelemetryApi {
  try {
    return require(API) as OpenTelemetryApi;
  } catch (error) {
    throw offstageError('package.missing', { package: API }, { cause: error });
  }
}

/** A job that lives. */
interface Entry {
  /** Null: it was over before it could be looked at; the record is read at its end. */
  readonly job: TracedJob | null;
  /** The span of the job that asked for it. */
  readonly parent: SpanContext | null;
  readonly sent: SpanContext | null;
  startedAt: number | null;
  running: Running | null;
}

class Listener implements JobTelemetry {
  readonly #engine: TracedEngine;
  readonly #api: OpenTelemetryApi;
  readonly #spans: JobSpans;
  readonly #meters: JobMeters;
  readonly #live = new Map<string, Entry>();
  /** Records that are being read. */
  readonly #reads = new Set<Promise<void>>();
  readonly #stop: () => void;
  #isClosed = false;
  #hasFailed = false;
  #closing: Promise<void> | null = null;

  constructor(
    engine: TracedEngine,
    api: OpenTelemetryApi,
    { spans, meters }: { readonly spans: JobSpans; readonly meters: JobMeters },
  ) {
    this.#engine = engine;
    this.#api = api;
    this.#spans = spans;
    this.#meters = meters;
    this.#stop = engine.onEvent((event) => this.#take(event));
    this.#seed();
    this.#later(async () => {
      for (const jobId of engine.recovery.abandoned) {
        if (this.#isClosed) return;
        await engine.get(jobId).then(
          (job) => this.#wasAbandoned(job),
          () => {},
        );
      }
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#stop();
    this.#isClosed = true;
    const now = Date.now();
    for (const { running, startedAt } of this.#live.values()) {
      if (running !== null) this.#quietly(() => this.#spans.leftOpen(running, Math.max(now, startedAt ?? now)));
    }
    this.#live.clear();
    await Promise.all(this.#reads);
  }

  #take(event: OffstageEvent): void {
    if (event.type === 'job.created') this.#accepted(event);
    else if (event.type === 'job.status') {
      if (isTerminal(event.status)) this.#ended(event);
      else if (event.status === 'running') this.#started(event);
    }
  }

  /** Those that live already were sent before anybody looked. */
  #seed(): void {
    const views = [...this.#engine.jobsModel.get().live.values()].map((row) => row.view());
    // Parents are older than their children.
    for (const view of views) {
      const entry = this.#enter(view, null);
      if (view.startedAt !== null) this.#begin(entry, view.startedAt, { isCounted: false });
    }
  }

  #enter(job: TracedJob, sent: SpanContext | null): Entry {
    const entry: Entry = { job, parent: this.#spanOf(job.parentJobId), sent, startedAt: null, running: null };
    this.#live.set(job.jobId, entry);
    return entry;
  }

  #accepted({ jobId, at }: JobRecordEvent): void {
    const job = this.#view(jobId);
    if (job === null) {
      this.#live.set(jobId, { job, parent: null, sent: null, startedAt: null, running: null });
      return;
    }
    this.#enter(job, this.#sent(job, at));
  }

  #sent(job: TracedJob & Pick<JobView, 'queuedAt'>, createdAt: number): SpanContext | null {
    const times = { fromMs: createdAt, toMs: job.queuedAt ?? createdAt };
    this.#quietly(() => this.#meters.sent(job.kind, times.fromMs, times.toMs));
    return this.#quietly(() => this.#spans.sent(job, this.#spanOf(job.parentJobId), times));
  }

  /** The first event that says `running` has the time of the start; a later one tells of a cancel. */
  #started({ jobId, at }: JobRecordEvent): void {
    const entry = this.#live.get(jobId);
    if (entry !== undefined && entry.startedAt === null) this.#begin(entry, at, { isCounted: true });
  }

  #begin(entry: Entry, startedAt: number, { isCounted }: { readonly isCounted: boolean }): void {
    const { job, parent, sent } = entry;
    if (job === null) return;
    entry.startedAt = startedAt;
    if (isCounted) this.#quietly(() => this.#meters.consumed(job.kind));
    entry.running = this.#quietly(() => this.#spans.started(job, parent, sent, startedAt));
  }

  #ended(event: JobRecordEvent): void {
    const { jobId, status, reasonCode, detached } = event;
    const entry = this.#live.get(jobId);
    this.#live.delete(jobId);
    if (entry === undefined) return;
    const { job, startedAt, running } = entry;
    const at = event.completedAt ?? event.at;
    if (job === null) {
      this.#later(async () => this.#wasMissed(await this.#engine.get(jobId)));
      return;
    }
    if (startedAt === null) return;
    this.#quietly(() => this.#meters.processed(job.kind, startedAt, at, errorTypeOf(event)));
    if (running !== null) this.#quietly(() => this.#spans.ended(running, { status, reasonCode, detached, at }));
  }

  /** It went by too quickly: all of it is told from the record. */
  #wasMissed(job: JobView): void {
    const sent = this.#sent(job, job.createdAt);
    if (job.startedAt === null) return;
    this.#quietly(() => this.#meters.consumed(job.kind));
    this.#whole(job, this.#spanOf(job.parentJobId), sent);
  }

  /** Its process has told of its sending, and nobody of its end. */
  #wasAbandoned(job: JobView): void {
    if (!this.#isClosed) this.#whole(job, null, null);
  }

  #whole(job: JobView, parent: SpanContext | null, sent: SpanContext | null): void {
    const { startedAt, completedAt } = job;
    if (startedAt === null || completedAt === null) return;
    this.#quietly(() => this.#meters.processed(job.kind, startedAt, completedAt, errorTypeOf(job)));
    this.#quietly(() => {
      this.#spans.ended(this.#spans.started(job, parent, sent, startedAt), { ...job, at: completedAt });
    });
  }

  /** The span of a job's processing. A child may be told of in the same breath as the start of its parent, and before it. */
  #spanOf(jobId: string | null): SpanContext | null {
    const entry = jobId === null ? undefined : this.#live.get(jobId);
    if (entry === undefined || jobId === null) return null;
    if (entry.startedAt === null) {
      const startedAt = this.#view(jobId)?.startedAt ?? null;
      if (startedAt !== null) this.#begin(entry, startedAt, { isCounted: true });
    }
    const { running } = entry;
    return running === null ? null : this.#quietly(() => running.process.spanContext());
  }

  #view(jobId: string): JobView | null {
    return this.#engine.jobsModel.get().live.get(jobId)?.view() ?? null;
  }

  /** A record that is gone, or an engine that closes, leaves a gap, and no more. */
  #later(work: () => Promise<void>): void {
    const read = work()
      .catch(() => {})
      .finally(() => this.#reads.delete(read));
    this.#reads.add(read);
  }

  #quietly<T>(work: () => T): T | null {
    try {
      return work();
    } catch (error) {
      if (!this.#hasFailed) this.#report(error);
      this.#hasFailed = true;
      return null;
    }
  }

  #report(error: unknown): void {
    try {
      this.#api.diag.error('offstage: telemetry of jobs has failed, and is incomplete from here on', error);
    } catch {
      // It is the host's logger.
    }
  }
}
