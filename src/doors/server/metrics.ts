/**
 * `/metrics`: counters and gauges, in the text format of Prometheus.
 *
 * MET1  Labels are names of ours, never what somebody sent: their number is bounded, and nothing secret stands in them.
 */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Offstage } from '../../engine/offstage.ts';
import { broadcasterOf } from '../events/broadcaster.ts';
import { subscriptionCounts } from '../events/subscription-counts.ts';
import { type Call, observeCalls } from '../requests/calls.ts';

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];

/** What only the server knows. */
export interface ServerFigures {
  readonly webSockets: number;
  readonly eventStreams: number;
  readonly sockets: number;
}

const STATUSES = ['pending', 'queued', 'running'] as const;

export class Metrics {
  readonly #offstage: Offstage;
  readonly #figures: () => ServerFigures;
  /** By action and outcome. */
  readonly #requests = new Map<string, { readonly labels: Labels; count: number; seconds: number }>();
  readonly #refused = new Map<string, number>();
  readonly #delay = monitorEventLoopDelay({ resolution: 20 });
  #audited = 0;

  constructor(offstage: Offstage, figures: () => ServerFigures) {
    this.#offstage = offstage;
    this.#figures = figures;
  }

  /** Counts from now on, until the returned function is called. */
  begin(): () => void {
    this.#delay.enable();
    const stop = observeCalls(this.#offstage, (call, isMutating) => this.#count(call, isMutating));
    return () => {
      stop();
      this.#delay.disable();
    };
  }

  /** Somebody was not let in. */
  refused(code: string): void {
    this.#refused.set(code, (this.#refused.get(code) ?? 0) + 1);
  }

  text(): string {
    const { pool, agents, store, status } = this.#offstage.health();
    const { webSockets, eventStreams, sockets } = this.#figures();
    const { subscribers, resyncs } = subscriptionCounts(this.#offstage);
    const broadcaster = broadcasterOf(this.#offstage);
    const memory = process.memoryUsage();
    const one = (value: number): readonly Sample[] => [[{}, value]];
    const requests = [...this.#requests.values()];
    const lines = [
      ...metric('offstage_jobs', 'gauge', 'Unfinished jobs by status.', this.#jobs()),
      ...metric(
        'offstage_pool_workers',
        'gauge',
        'Bodies that may run at once; absent without a limit.',
        pool.workers === null ? [] : one(pool.workers),
      ),
      ...metric('offstage_pool_running', 'gauge', 'Bodies at work.', one(pool.running)),
      ...metric('offstage_pool_waiting', 'gauge', 'Bodies that wait for other jobs.', one(pool.waiting)),
      ...metric('offstage_pool_detached', 'gauge', 'Bodies that did not end in time.', one(pool.detached)),
      ...metric('offstage_queued', 'gauge', 'Jobs that wait for a slot.', one(pool.queued)),
      ...metric(
        'offstage_agents',
        'gauge',
        'Agents of sessions by state.',
        Object.entries(agents).map(([state, count]) => [{ state }, count]),
      ),
      ...metric(
        'offstage_store_pending_writes',
        'gauge',
        'Changes that are decided and not stored yet.',
        one(store.pendingWrites),
      ),
      ...metric('offstage_health', 'gauge', 'The status of the engine, as a label.', [[{ status }, 1]]),
      ...metric('offstage_events_seq', 'counter', 'The newest record event.', one(this.#offstage.doors.seq)),
      ...metric('offstage_connections', 'gauge', 'Open connections by kind.', [
        [{ kind: 'websocket' }, webSockets],
        [{ kind: 'sse' }, eventStreams],
        [{ kind: 'socket' }, sockets],
      ]),
      ...metric('offstage_subscribers', 'gauge', 'Subscriptions to events.', one(subscribers)),
      ...metric('offstage_resyncs_total', 'counter', 'Times a subscriber was told that it has missed something.', one(resyncs)),
      ...metric('offstage_broadcast_bytes', 'gauge', 'Events kept ready for subscribers.', one(broadcaster.bytes)),
      ...metric(
        'offstage_requests_total',
        'counter',
        'Requests by action and outcome, of all doors.',
        requests.map(({ labels, count }) => [labels, count]),
      ),
      ...metric(
        'offstage_request_seconds_total',
        'counter',
        'Time until their answers.',
        requests.map(({ labels, seconds }) => [labels, seconds]),
      ),
      ...metric(
        'offstage_refused_total',
        'counter',
        'Requests that were not let in, by error code.',
        [...this.#refused].map(([code, count]) => [{ code }, count]),
      ),
      ...metric('offstage_audit_entries_total', 'counter', 'Entries of the audit.', one(this.#audited)),
      ...metric('process_resident_memory_bytes', 'gauge', 'Memory of the process.', one(memory.rss)),
      ...metric('nodejs_heap_used_bytes', 'gauge', 'Heap in use.', one(memory.heapUsed)),
      ...metric('nodejs_external_bytes', 'gauge', 'Memory outside the heap.', one(memory.external)),
      ...metric(
        'nodejs_eventloop_utilization',
        'gauge',
        'Share of the time that the event loop is busy.',
        one(performance.eventLoopUtilization().utilization),
      ),
      ...metric('nodejs_eventloop_delay_seconds', 'gauge', 'Delay of the event loop since the last look.', this.#delays()),
      ...metric('process_uptime_seconds', 'gauge', 'Age of the process.', one(process.uptime())),
    ];
    this.#delay.reset();
    return `${lines.join('\n')}\n`;
  }

  #jobs(): readonly Sample[] {
    const counts = new Map<string, number>(STATUSES.map((status) => [status, 0]));
    for (const { status } of this.#offstage.jobsModel.get().live.values()) counts.set(status, (counts.get(status) ?? 0) + 1);
    return [...counts].map(([status, count]) => [{ status }, count]);
  }

  #delays(): readonly Sample[] {
    const seconds = (nanoseconds: number): number => (Number.isFinite(nanoseconds) ? nanoseconds / 1e9 : 0);
    return [
      [{ quantile: '0.5' }, seconds(this.#delay.percentile(50))],
      [{ quantile: '0.99' }, seconds(this.#delay.percentile(99))],
      [{ quantile: '1' }, seconds(this.#delay.max)],
    ];
  }

  #count({ action, outcome, durationMs }: Call, isMutating: boolean): void {
    const key = `${action} ${outcome}`;
    const known = this.#requests.get(key) ?? { labels: { action, outcome }, count: 0, seconds: 0 };
    known.count += 1;
    known.seconds += durationMs / 1_000;
    this.#requests.set(key, known);
    if (isMutating) this.#audited += 1;
  }
}

function metric(name: string, type: 'counter' | 'gauge', help: string, samples: readonly Sample[]): readonly string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([labels, value]) => {
      const parts = Object.entries(labels).map(([label, text]) => `${label}=${JSON.stringify(text)}`);
      return `${name}${parts.length === 0 ? '' : `{${parts.join(',')}}`} ${value}`;
    }),
  ];
}
