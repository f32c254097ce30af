/** The spans of one job, by the messaging conventions. Times are those of the record; whatever these throw, others fence. */
import type { Attributes, Context, HrTime, Link, Span, SpanContext, Tracer } from '@opentelemetry/api';
import type { JobRecord } from '../../model/records.ts';
import { AGENT_ATTRIBUTE, AGENT_OPERATION, ATTRIBUTE, OPERATION, OWN, SYSTEM } from './telemetry-names.ts';

export type OpenTelemetryApi = typeof import('@opentelemetry/api');

/** What of a record goes into a span: ids and words of ours, never what a user has written. */
export type TracedJob = Pick<JobRecord, 'jobId' | 'kind' | 'agentId' | 'sessionId' | 'taskId' | 'parentJobId'>;

/** How a job has ended. */
export type TracedEnd = Pick<JobRecord, 'status' | 'reasonCode' | 'detached'> & { readonly at: number };

/** The spans of a job that has started. */
export interface Running {
  readonly process: Span;
  readonly agent: Span | null;
}

export class JobSpans {
  readonly #api: OpenTelemetryApi;
  readonly #tracer: Tracer;
  readonly #hasAgents: boolean;

  constructor(api: OpenTelemetryApi, tracer: Tracer, options: { readonly hasAgents: boolean }) {
    this.#api = api;
    this.#tracer = tracer;
    this.#hasAgents = options.hasAgents;
  }

  /** A job was accepted. `parent`: the span of the job that asked for it. */
  sent(job: TracedJob, parent: SpanContext | null, times: { readonly fromMs: number; readonly toMs: number }): SpanContext {
    const span = this.#tracer.startSpan(
      `${OPERATION.send} ${job.kind}`,
      {
        kind: this.#api.SpanKind.PRODUCER,
        startTime: exactly(times.fromMs),
        attributes: attributesOf(job, OPERATION.send),
      },
      this.#below(parent),
    );
    span.end(exactly(times.toMs));
    return span.spanContext();
  }

  /**
   * A body was called: below the job that has asked for it or, if that is none, below its own `send`, so that one tree of jobs is one trace.
   * The link is what the conventions ask for.
   */
  started(job: TracedJob, parent: SpanContext | null, sent: SpanContext | null, atMs: number): Running {
    const links: Link[] = sent === null ? [] : [{ context: sent }];
    const startTime = exactly(atMs);
    const process = this.#tracer.startSpan(
      `${OPERATION.process} ${job.kind}`,
      { kind: this.#api.SpanKind.CONSUMER, startTime, links, attributes: attributesOf(job, OPERATION.process) },
      this.#below(parent ?? sent),
    );
    if (!this.#hasAgents || job.kind !== 'agent') return { process, agent: null };
    const agentId = job.agentId ?? 'default';
    const agent = this.#tracer.startSpan(
      `${AGENT_OPERATION} ${agentId}`,
      {
        kind: this.#api.SpanKind.INTERNAL,
        startTime,
        attributes: {
          [AGENT_ATTRIBUTE.operationName]: AGENT_OPERATION,
          [AGENT_ATTRIBUTE.provider]: SYSTEM,
          [AGENT_ATTRIBUTE.agentId]: agentId,
          [AGENT_ATTRIBUTE.agentName]: agentId,
          [AGENT_ATTRIBUTE.conversationId]: job.sessionId,
        },
      },
      this.#below(process.spanContext()),
    );
    return { process, agent };
  }

  /** Cancelled is no error: somebody wanted it. */
  ended({ process, agent }: Running, end: TracedEnd): void {
    process.setAttribute(OWN.status, end.status);
    if (end.reasonCode !== null) process.setAttribute(OWN.reasonCode, end.reasonCode);
    if (end.detached) process.setAttribute(OWN.detached, true);
    const errorType = errorTypeOf(end);
    for (const span of [agent, process]) {
      if (errorType !== null) {
        span?.setAttribute(ATTRIBUTE.errorType, errorType);
        span?.setStatus({ code: this.#api.SpanStatusCode.ERROR });
      }
      span?.end(exactly(end.at));
    }
  }

  /** Nobody will look any more. */
  leftOpen({ process, agent }: Running, atMs: number): void {
    for (const span of [agent, process]) {
      span?.setAttribute(OWN.isUnfinished, true);
      span?.end(exactly(atMs));
    }
  }

  #below(parent: SpanContext | null): Context {
    const { ROOT_CONTEXT, trace } = this.#api;
    return parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
  }
}

/** The class of the error; null for a job that has not failed. */
export const errorTypeOf = ({ status, reasonCode }: Pick<TracedEnd, 'status' | 'reasonCode'>): string | null =>
  status === 'errored' ? (reasonCode ?? '_OTHER') : null;

function attributesOf(job: TracedJob, operation: string): Attributes {
  return {
    [ATTRIBUTE.system]: SYSTEM,
    [ATTRIBUTE.operationName]: operation,
    [ATTRIBUTE.operationType]: operation,
    [ATTRIBUTE.destination]: job.kind,
    [ATTRIBUTE.messageId]: job.jobId,
    [ATTRIBUTE.conversationId]: job.sessionId,
    [OWN.taskId]: job.taskId,
    ...(job.parentJobId === null ? {} : { [OWN.parentJobId]: job.parentJobId }),
  };
}

/** Seconds and nanoseconds: a plain number below the age of the process would be taken for a time since its start. */
const exactly = (ms: number): HrTime => [Math.trunc(ms / 1_000), Math.round((ms % 1_000) * 1_000_000)];
