/** offstage/opentelemetry: spans and metrics for jobs, by the messaging conventions. Everything public, by name. */

export { type JobTelemetry, type TracedEngine, type TraceJobsOptions, traceJobs } from './trace-jobs.ts';
