/**
 * One engine on the store of a world, from its opening to its close or crash: the real engine, on a simulated clock, store and host.
 *
 * LIF1  After `crash` nothing of it happens, is noted or is answered.
 * LIF2  Nothing reaches the engine but through its public verbs and ports.
 */

import type { Offstage } from '../../engine/offstage.ts';
import type { PausePoint } from '../../engine/pause-points.ts';
import type { ReapVerdict } from '../../engine/recovery.ts';
import { type Settings, settingsFrom } from '../../engine/settings.ts';
import { startEngine } from '../../engine/start.ts';
import { agentExecutor } from '../../executors/agent.ts';
import { resolveExecutor } from '../../executors/inline.ts';
import type { Executors } from '../../model/executor.ts';
import { isOffstageError } from '../../model/offstage-error.ts';
import type { EngineOptions } from '../../model/options.ts';
import type { Store } from '../../persistence/store.ts';
import { notedExecutors } from './bodies.ts';
import type { Caller, FactBody } from './facts.ts';
import { Hops } from './hops.ts';
import { LifeClock, type WorldTime } from './life-clock.ts';
import { LifeStore } from './life-store.ts';
import { watch } from './observers.ts';
import { random } from './random.ts';
import type { CallMoments, Life, Names, Settled } from './stage.ts';

// Made once: with its stack it costs more than a step.
const LOG_FAILURE = new Error('the log is full');

/** What a life needs of its world. */
export interface LifeHost {
  readonly seed: number;
  readonly time: WorldTime;
  readonly jobs: Names;
  note(fact: FactBody): void;
  nextNumber(what: 'run' | 'agent' | 'call' | 'observer'): number;
}

/** Options, executors included, for one life. */
export type LifeOptions = (life: Life) => EngineOptions;

export class EngineLife implements Life {
  readonly seed: number;
  readonly number: number;
  readonly hops = new Hops();
  readonly clock: LifeClock;
  readonly store: LifeStore;
  /** Null until it has opened. */
  offstage: Offstage<Executors> | null = null;
  isClosed = false;
  openedAt = 0;
  readonly #host: LifeHost;
  #isDead = false;
  #letGo: Set<() => void> | null = new Set();
  #ids = 0;
  #pauseCount = 0;

  constructor(host: LifeHost, number: number, rows: Store) {
    this.#host = host;
    this.seed = host.seed;
    this.number = number;
    this.clock = new LifeClock(host.time, this.hops);
    this.store = new LifeStore(rows, this.hops, (fact) => this.note(fact));
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Starts to open the engine; it goes on hop by hop. */
  async open(optionsOf: LifeOptions): Promise<void> {
    const options = optionsOf(this);
    const settings = settingsFrom(
      {
        log: () => {
          // A log that throws is one of the things that must do no harm.
          throw LOG_FAILURE;
        },
        ids: {
          jobId: (ordinal) => `job_${String(ordinal).padStart(6, '0')}_${this.number}`,
          id: (prefix) => `${prefix}_${this.number}_${++this.#ids}`,
        },
        ...options,
        clock: this.clock,
      },
      {},
      null,
    );
    const offstage = await startEngine<Executors>({
      settings,
      store: this.store,
      executors: this.#executors(settings, options.executors ?? {}),
      reap: ({ executionId }) => this.#reap(executionId),
      points: { isPaused: (point, resume) => this.#pauses(point, resume) },
    });
    this.offstage = offstage;
    this.openedAt = offstage.doors.seq;
    const { workers, perSessionLimit, durability, cancelGraceMs, shutdownGraceMs } = settings;
    const { interruptGraceMs, turnTimeoutMs, stallFailMs, outOfTurnIdleMs, display, admission, notices } = settings;
    this.note({
      type: 'opened',
      settings: {
        ...{ workers, perSessionLimit, durability, cancelGraceMs, shutdownGraceMs },
        ...{ interruptGraceMs, turnTimeoutMs, stallFailMs, outOfTurnIdleMs, display, admission, notices },
      },
      epoch: offstage.doors.epoch,
      seq: offstage.doors.seq,
    });
    watch(this, offstage);
  }

  /** Now and then something that follows at once in other engines is one of the things that are due. */
  #pauses(point: PausePoint, resume: () => void): boolean {
    this.#pauseCount += 1;
    if (point === 'terminal_write' || !random(this.seed, point, this.number, this.#pauseCount).chance(0.2)) return false;
    this.hops.add(point, resume);
    return true;
  }

  /** What is found of a process of an earlier life: mostly nothing, sometimes something that cannot be looked into for a while. */
  async #reap(executionId: string): Promise<ReapVerdict> {
    await this.hop('reap');
    const attempt = this.#ids++;
    const verdict = random(this.seed, 'reap', executionId, attempt).weighted<ReapVerdict['verdict']>([
      [6, 'gone'],
      [2, 'killed'],
      [1, 'not_ours'],
      [2, 'unverified'],
    ]);
    return { verdict, detail: 'simulated' };
  }

  #executors(settings: Settings, own: Executors): ReadonlyMap<string, ReturnType<typeof resolveExecutor>> {
    const agent = agentExecutor({ agents: settings.agents, clock: this.clock, onUnreadable: () => {} });
    const noted = { ...notedExecutors(this, { agent }, new Set()), ...own };
    return new Map(Object.entries(noted).map(([kind, executor]) => [kind, resolveExecutor(kind, executor)]));
  }

  /** The process dies now. */
  die(): void {
    this.#isDead = true;
    this.hops.end();
  }

  hop(label: string): Promise<void> {
    return this.hops.hop(label);
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.clock.schedule(ms, () => !this.#isDead && resolve()));
  }

  note(fact: FactBody): void {
    if (!this.#isDead) this.#host.note(fact);
  }

  nextNumber(what: 'run' | 'agent' | 'call' | 'observer'): number {
    return this.#host.nextNumber(what);
  }

  onLetGo(callback: () => void): void {
    if (this.#letGo === null) callback();
    else this.#letGo.add(callback);
  }

  /** Everything that hangs lets go, now and from now on. */
  letGo(): void {
    const waiting = this.#letGo ?? [];
    this.#letGo = null;
    for (const callback of waiting) callback();
  }

  async call(
    verb: string,
    args: readonly unknown[],
    act: () => unknown,
    by: Caller = { who: 'person' },
    moments: CallMoments = {},
  ): Promise<Settled> {
    const call = this.nextNumber('call');
    this.note({ type: 'asked', call, by, verb, args });
    moments.begun?.(call);
    try {
      const value = await act();
      this.note({ type: 'answered', call, verb, value: withoutPromises(value) });
      if (verb === 'spawn' || verb === 'run') this.#remember(value);
      this.#follow(verb, call, value, by);
      return { call, isOk: true, value };
    } catch (error) {
      const code = isOffstageError(error) ? error.code : 'none';
      this.note({ type: 'refused', call, verb, code, message: messageOf(error) });
      return { call, isOk: false, code, error };
    } finally {
      moments.over?.(call);
    }
  }

  cancel(jobId: string, by: Caller): Promise<Settled> {
    return this.call('cancel', [jobId], () => this.offstage?.cancel(jobId), by);
  }

  /** The final report of a stop is an answer of its own. */
  #follow(verb: string, call: number, value: unknown, by: Caller): void {
    const settled = (value as { readonly settled?: unknown } | null | undefined)?.settled;
    if (verb.endsWith('.stop') && settled instanceof Promise) void this.call('stop.settled', [call], () => settled, by);
  }

  #remember(value: unknown): void {
    const { jobId, subject } = value as { readonly jobId: string; readonly subject: string };
    this.#host.jobs.add(subject, jobId);
  }
}

/** As a caller could keep it: `settled` of a stop is told of when it has. */
function withoutPromises(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('settled' in value)) return value;
  const { settled: _, ...rest } = value;
  return rest;
}

function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return 'it cannot be read';
  }
}
