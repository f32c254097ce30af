/** What is counted and measured of jobs, by the messaging conventions. Times are those of the records; whatever these throw, others fence. */
import type { Attributes, Meter } from '@opentelemetry/api';
import { ATTRIBUTE, DURATION_BUCKETS, METRIC, OPERATION, SYSTEM, UNIT } from './telemetry-names.ts';

export interface JobMeters {
  /** A job was accepted: from when to when, in epoch milliseconds. */
  sent(kind: string, fromMs: number, toMs: number): void;
  /** A body was called. */
  consumed(kind: string): void;
  /** A job that had started has ended; `errorType` if it has failed. */
  processed(kind: string, fromMs: number, toMs: number, errorType: string | null): void;
}

export function jobMeters(meter: Meter): JobMeters {
  const durations = { unit: UNIT.seconds, advice: { explicitBucketBoundaries: [...DURATION_BUCKETS] } };
  const sentMessages = meter.createCounter(METRIC.sentMessages, { unit: UNIT.messages, description: 'Jobs that were accepted.' });
  const consumedMessages = meter.createCounter(METRIC.consumedMessages, {
    unit: UNIT.messages,
    description: 'Jobs whose body was called.',
  });
  const operationDuration = meter.createHistogram(METRIC.operationDuration, {
    ...durations,
    description: 'From the request for a job to its place in the queue.',
  });
  const processDuration = meter.createHistogram(METRIC.processDuration, {
    ...durations,
    description: 'From the start of a job to its end.',
  });
  return {
    sent(kind, fromMs, toMs) {
      const attributes = { ...attributesOf(OPERATION.send, kind), [ATTRIBUTE.operationType]: OPERATION.send };
      sentMessages.add(1, attributesOf(OPERATION.send, kind));
      operationDuration.record((toMs - fromMs) / 1_000, attributes);
    },
    consumed(kind) {
      consumedMessages.add(1, attributesOf(OPERATION.process, kind));
    },
    processed(kind, fromMs, toMs, errorType) {
      const error = errorType === null ? {} : { [ATTRIBUTE.errorType]: errorType };
      processDuration.record((toMs - fromMs) / 1_000, { ...attributesOf(OPERATION.process, kind), ...error });
    },
  };
}

/** Kinds are few: an executor stands for each. */
const attributesOf = (operation: string, kind: string): Attributes => ({
  [ATTRIBUTE.system]: SYSTEM,
  [ATTRIBUTE.operationName]: operation,
  [ATTRIBUTE.destination]: kind,
});
