/** Providers of OpenTelemetry that keep in memory what they are given. */
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';

export interface Point {
  readonly name: string;
  readonly unit: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Of a counter. */
  readonly value?: number;
  /** Of a histogram. */
  readonly count?: number;
  readonly sum?: number;
  readonly boundaries?: readonly number[];
}

export interface Collected {
  /** For `traceJobs`. */
  readonly providers: { readonly tracerProvider: BasicTracerProvider; readonly meterProvider: MeterProvider };
  /** Ended spans, in the order of their ends. */
  spans(): readonly ReadableSpan[];
  /** The only one of this name. */
  span(name: string): ReadableSpan;
  /** All that was measured so far. */
  points(): Promise<readonly Point[]>;
}

export function collected(): Collected {
  const exporter = new InMemorySpanExporter();
  const reader = new PeriodicExportingMetricReader({
    exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
    // Only when asked.
    exportIntervalMillis: 2 ** 31 - 1,
  });
  return {
    providers: {
      tracerProvider: new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
      meterProvider: new MeterProvider({ readers: [reader] }),
    },
    spans: () => exporter.getFinishedSpans(),
    span(name) {
      const [span, ...others] = exporter.getFinishedSpans().filter((one) => one.name === name);
      if (span === undefined || others.length > 0) throw new Error(`${span === undefined ? 'no' : 'more than one'} span ${name}`);
      return span;
    },
    async points() {
      const { resourceMetrics } = await reader.collect();
      return resourceMetrics.scopeMetrics.flatMap(({ metrics }) =>
        metrics.flatMap(({ descriptor, dataPoints }) =>
          dataPoints.map(({ attributes, value }): Point => {
            const head = { name: descriptor.name, unit: descriptor.unit, attributes };
            if (typeof value === 'number') return { ...head, value };
            const histogram = value as { count: number; sum?: number; buckets: { boundaries: number[] } };
            return { ...head, count: histogram.count, sum: histogram.sum ?? 0, boundaries: histogram.buckets.boundaries };
          }),
        ),
      );
    },
  };
}

/** Epoch milliseconds of a time of OpenTelemetry. */
export const msOf = ([seconds, nanos]: readonly [number, number]): number => seconds * 1_000 + nanos / 1_000_000;
