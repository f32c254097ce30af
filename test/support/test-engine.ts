/** An engine for tests: in memory, with a virtual clock, watched by the event checkers from its first event on. */

import type { Offstage } from '../../src/engine/offstage.ts';
import type { PausePoints } from '../../src/engine/pause-points.ts';
import type { ProcessReaper, RecoveryReport } from '../../src/engine/recovery.ts';
import { settingsFrom } from '../../src/engine/settings.ts';
import { startEngine } from '../../src/engine/start.ts';
import type { CommitHook } from '../../src/engine/transaction.ts';
import { resolveExecutor } from '../../src/executors/inline.ts';
import type { OffstageEvent } from '../../src/model/events.ts';
import type { Executors } from '../../src/model/executor.ts';
import type { EngineOptions } from '../../src/model/options.ts';
import type { LogLevel } from '../../src/model/requests.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import type { Store } from '../../src/persistence/store.ts';
import { eventChecks } from '../../src/testing/event-checkers.ts';
import { type VirtualClock, virtualClock } from '../../src/testing/virtual-clock.ts';

export interface LogLine {
  readonly level: LogLevel;
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface TestEngine extends AsyncDisposable {
  readonly offstage: Offstage<Executors>;
  readonly clock: VirtualClock;
  readonly store: Store;
  /** Every event so far. */
  readonly events: readonly OffstageEvent[];
  readonly log: readonly LogLine[];
  readonly recovery: RecoveryReport;
  /** Status events of a job, in order. */
  statuses(jobId: string): readonly string[];
  /** Resolves with the first event that matches, past ones included. */
  eventOf(matches: (event: OffstageEvent) => boolean): Promise<OffstageEvent>;
}

export interface TestEngineOptions extends EngineOptions {
  readonly store?: Store;
  readonly clock?: VirtualClock;
  readonly environment?: NodeJS.ProcessEnv;
  readonly hooks?: readonly CommitHook[];
  /** Where the test holds the engine still. */
  readonly points?: PausePoints;
  /** What becomes of processes of an earlier engine; default: they are gone. */
  readonly reap?: ProcessReaper;
}

/** Closing (or `await using`) also asserts that no event broke G1, G2, G4, G6 or G9. */
export async function testEngine(options: TestEngineOptions = {}): Promise<TestEngine> {
  const clock = options.clock ?? virtualClock();
  const store = options.store ?? memoryStore();
  const log: LogLine[] = [];
  const settings = settingsFrom(
    { log: (level, event, fields) => log.push({ level, event, fields }), ...options, clock },
    options.environment ?? {},
    null,
  );
  const executors = new Map(
    Object.entries(options.executors ?? {}).map(([kind, executor]) => [kind, resolveExecutor(kind, executor)]),
  );
  const offstage = await startEngine<Executors>({
    settings,
    store,
    executors,
    hooks: options.hooks ?? [],
    ...(options.points === undefined ? {} : { points: options.points }),
    reap: options.reap ?? (async () => ({ verdict: 'gone', detail: 'no processes in this test' })),
  });
  const events: OffstageEvent[] = [];
  const checks = eventChecks((await offstage.snapshot()).seq);
  const waiting = new Set<{ matches: (event: OffstageEvent) => boolean; resolve: (event: OffstageEvent) => void }>();
  offstage.onEvent((event) => {
    events.push(event);
    checks.observe(event);
    for (const entry of waiting) {
      if (!entry.matches(event)) continue;
      waiting.delete(entry);
      entry.resolve(event);
    }
  });
  return {
    offstage,
    clock,
    store,
    events,
    log,
    recovery: offstage.recovery,
    statuses: (jobId) =>
      events.flatMap((event) =>
        (event.type === 'job.created' || event.type === 'job.status') && event.jobId === jobId ? [event.status] : [],
      ),
    eventOf(matches) {
      const past = events.find(matches);
      if (past !== undefined) return Promise.resolve(past);
      return new Promise((resolve) => waiting.add({ matches, resolve }));
    },
    async [Symbol.asyncDispose]() {
      // Stubborn bodies end by their grace, which only this clock can pass.
      let isClosed = false;
      const closing = offstage.close().finally(() => {
        isClosed = true;
      });
      let passing = Promise.resolve();
      while (!isClosed) {
        passing = clock.advance(1_000);
        await Promise.race([closing, passing]);
      }
      await passing;
      await closing;
      checks.assertSound();
    },
  };
}
