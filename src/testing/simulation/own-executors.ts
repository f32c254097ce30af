/**
 * The executors of a host in a simulation: what they are given of their life, and how it is noticed when they leave it.
 *
 * HEX1  A body of a host is told from one of the simulator: what it leaves uncaught, and what it uses of the machine, is laid at its door.
 * HEX2  What is shared is made once in a world and outlives its processes; everything else is made anew for every life.
 */
import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { join, sep } from 'node:path';
import { resolveExecutor } from '../../executors/inline.ts';
import type { Clock } from '../../model/clock.ts';
import type { Executor, Executors, JobContext } from '../../model/executor.ts';
import { checkKinds } from './check-simulation.ts';
import { type Random, random } from './random.ts';
import type { Life } from './stage.ts';

/** One process of a simulated host, as its executors see it: time, chance and whatever takes time come from here, or a replay is none. */
export interface HostLife {
  readonly seed: number;
  /** Counts processes from 1. */
  readonly number: number;
  /** The engine's; for libraries that take one. */
  readonly clock: Clock;
  /** Resolves after this much time, in milliseconds. With a signal it rejects with its reason as soon as that fires. */
  pause(ms: number, signal?: AbortSignal): Promise<void>;
  /** Resolves when the simulation lets it, in any order with everything else that is due: in place of a request, a read, a write. */
  hop(label: string): Promise<void>;
  /** Chance of the seed, in place of `Math.random`; the same path gives the same numbers. */
  random(...path: readonly (string | number)[]): Random;
  /** What outlives the process, in place of a disk or a server: made once in a world, by whoever asks for this name first. */
  shared<Value>(name: string, make: () => Value): Value;
  /** A fact for checkers of your own, and a line in the trace. A dead process notes nothing. */
  note(what: string, value?: unknown): void;
  /** Calls back at the end of the world, or at once after it: what hangs on purpose lets go. */
  onLetGo(callback: () => void): void;
}

/** The folder of the sources, or of what was built of them. */
const OFFSTAGE = join(import.meta.dirname, '..', '..', sep);

/** What is neither the engine nor the simulation: timers, files, sockets, processes, threads. */
const OF_THE_MACHINE = /^(Timeout|FS|TCP|UDP|PIPECONNECT|PROCESSWRAP|WORKER|QUERYWRAP|STATWATCHER|GET(ADDR|NAME)INFO)/;

interface Body {
  readonly life: Life;
  readonly jobId: string;
  readonly kind: string;
}

/** The executors of one world's host, through all its lives. */
export class OwnExecutors {
  /** Their kinds; none until the first life has begun. */
  kinds: readonly string[] = [];
  readonly #make: (life: HostLife) => Executors;
  readonly #isSimulators: (kind: string) => boolean;
  readonly #shared = new Map<string, unknown>();
  /** Which body was handed which error. */
  readonly #handed = new WeakMap<object, string>();
  readonly #bodies = new AsyncLocalStorage<Body>();
  readonly #hook = createHook({
    init: (_id, resource) => {
      if (!OF_THE_MACHINE.test(resource)) return;
      const body = this.#bodies.getStore();
      if (body !== undefined) body.life.note({ type: 'strayed', jobId: body.jobId, kind: body.kind, resource });
    },
  });

  /** `isSimulators`: whether a kind is one that the simulator runs itself. */
  constructor(make: (life: HostLife) => Executors, isSimulators: (kind: string) => boolean) {
    this.#make = make;
    this.#isSimulators = isSimulators;
  }

  /** From now on what bodies use of the machine is noticed; until `end`. */
  begin(): void {
    this.#hook.enable();
  }

  end(): void {
    this.#hook.disable();
  }

  /** For the engine of this life. */
  of(life: Life): Executors {
    const given = checkKinds(this.#make(this.#lifeOf(life)), this.#isSimulators);
    this.kinds = Object.keys(given);
    return Object.fromEntries(
      Object.entries(given).map(([kind, one]) => [kind, this.#watched(life, resolveExecutor(kind, one))]),
    );
  }

  /** What of the host an error is of: a body that was handed it, or the code that threw it. Null: the engine's. */
  whose(error: unknown): string | null {
    if (typeof error !== 'object' || error === null) return null;
    const jobId = this.#handed.get(error);
    if (jobId !== undefined) return `the body of ${jobId}, which was handed it`;
    const place = /^ +at .*?((?:file:\/\/)?\/[^)\n]+)\)?$/m.exec(error instanceof Error ? (error.stack ?? '') : '')?.[1];
    return place === undefined || place.includes(OFFSTAGE) ? null : place;
  }

  #lifeOf(life: Life): HostLife {
    const { seed, number, clock } = life;
    return {
      seed,
      number,
      clock,
      pause: (ms, signal) => this.#hand(() => this.#pause(life, ms, signal)),
      hop: (label) => life.hop(label),
      random: (...path) => random(seed, 'own', ...path),
      shared: <Value>(name: string, make: () => Value): Value => {
        if (!this.#shared.has(name)) this.#shared.set(name, make());
        return this.#shared.get(name) as Value;
      },
      note: (what, value) => life.note({ type: 'own', what, value }),
      onLetGo: (callback) => life.onLetGo(callback),
    };
  }

  #pause(life: Life, ms: number, signal?: AbortSignal): Promise<void> {
    if (signal === undefined) return life.pause(ms);
    return new Promise((resolve, reject) => {
      const told = (): void => reject(signal.reason);
      if (signal.aborted) return told();
      signal.addEventListener('abort', told, { once: true });
      void life.pause(ms).then(() => {
        signal.removeEventListener('abort', told);
        resolve();
      });
    });
  }

  /** Remembers whose an error is, should nobody catch it. */
  #hand<Value>(act: () => Value): Value {
    const jobId = this.#bodies.getStore()?.jobId;
    if (jobId === undefined) return act();
    const remember = (error: unknown): never => {
      if (typeof error === 'object' && error !== null) this.#handed.set(error, jobId);
      throw error;
    };
    try {
      const value = act();
      return value instanceof Promise ? (value.catch(remember) as Value) : value;
    } catch (error) {
      return remember(error);
    }
  }

  #watched(life: Life, executor: Executor): Executor {
    return {
      ...executor,
      run: (job, context) => {
        const body = { life, jobId: job.jobId, kind: job.kind };
        return this.#bodies.run(body, () => executor.run(job, this.#contextOf(context)));
      },
    };
  }

  #contextOf(context: JobContext): JobContext {
    return {
      ...context,
      spawn: (options) => this.#hand(() => context.spawn(options)),
      run: (options, more) => this.#hand(() => context.run(options, more)),
      wait: (jobId, options) => this.#hand(() => context.wait(jobId, options)),
      waitMany: (jobIds, options) => this.#hand(() => context.waitMany(jobIds, options)),
      progress: (value) => this.#hand(() => context.progress(value)),
      output: (text, stream) => this.#hand(() => context.output(text, stream)),
      partial: (text) => this.#hand(() => context.partial(text)),
    };
  }
}
