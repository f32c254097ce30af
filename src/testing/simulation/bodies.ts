/**
 * The executors of a simulation: bodies that do what their plan says, and, around those and a host's own, the noting of what becomes of them.
 *
 * BOD1  Whatever an executor is, its calls, its signal, its waits and its end are noted from outside it.
 * BOD2  A body reads its plan from its job's input; without one it returns at once.
 */
import type { Executor, Executors, JobContext, JobOf } from '../../model/executor.ts';
import { outcome } from '../../model/executor.ts';
import { type BodyEnd, type BodyPlan, type BodyStep, someMs } from './body-plan.ts';
import type { Caller } from './facts.ts';
import { random } from './random.ts';
import type { Life, Names } from './stage.ts';

/** Kinds whose bodies follow plans; each is an executor of another sort. A host's own are called otherwise. */
export const PLANNED_KINDS = ['sim.plain', 'sim.strict', 'sim.shell', 'sim.forced', 'sim.rude'] as const;

/** What the input of a planned job looks like. */
export interface PlannedInput {
  readonly plan: BodyPlan;
}

const planOf = (job: JobOf): BodyPlan =>
  (job.input as PlannedInput | null)?.plan ?? { steps: [], end: 'nothing', whenTold: 'obey' };

/** The executors that follow plans. `jobs` are those that a body may wait for. */
export function plannedExecutors(life: Life, jobs: Names): Executors {
  const run = (job: JobOf, context: JobContext): Promise<unknown> => new PlannedBody(life, jobs, job, context).run();
  const forced = new Map<string, () => void>();
  return {
    'sim.plain': run,
    // Notes a process, as one that starts commands does.
    'sim.strict': {
      run: async (job, context) => {
        await context.execution.launched({ pid: 1_000 + (job.createdAt % 30_000), startTime: 'then', bootId: 'this' });
        return run(job, context);
      },
      capabilities: { strictStart: true, workload: 'monitor' },
    },
    'sim.shell': { run, capabilities: { abortable: false, workload: 'shell' } },
    // Its bodies can be ended by force, as processes can.
    'sim.forced': {
      run: (job, context) => {
        const killed = new Promise<never>((_, reject) => {
          forced.set(job.jobId, () => reject(new Error('it was killed')));
          context.execution.onForce(() => forced.get(job.jobId)?.());
        });
        killed.catch(() => {});
        return Promise.race([run(job, context), killed]).finally(() => forced.delete(job.jobId));
      },
      cancel: (jobId) => {
        if (random(life.seed, 'forced', jobId).chance(0.5)) forced.get(jobId)?.();
      },
      capabilities: { killable: true },
    },
    // Throws wherever it may.
    'sim.rude': {
      run: (job, context) => {
        if (planOf(job).steps.length === 0) throw Object.assign(new Error('at once'), { code: 'ENOENT' });
        context.signal.addEventListener('abort', () => {
          throw new Error('it does not want to hear of it');
        });
        return run(job, context);
      },
      cancel: () => {
        throw 'no';
      },
      close: () => Promise.reject(new Error('not now')),
    },
  };
}

/** The same executors, with everything noted (BOD1). */
export function notedExecutors(life: Life, executors: Executors, plannedKinds: ReadonlySet<string>): Executors {
  return Object.fromEntries(
    Object.entries(executors).map(([kind, given]): [string, Executor] => {
      const executor: Executor = typeof given === 'function' ? { run: given } : given;
      const isPlanned = plannedKinds.has(kind);
      return [
        kind,
        {
          ...executor,
          run: (job, context) => notedRun(life, executor, job, context, isPlanned && planOf(job).whenTold === 'obey'),
        },
      ];
    }),
  );
}

function notedRun(life: Life, executor: Executor, job: JobOf, context: JobContext, isObedient: boolean): Promise<unknown> {
  const run = life.nextNumber('run');
  const { jobId } = job;
  life.note({
    type: 'body.called',
    run,
    jobId,
    kind: job.kind,
    sessionId: job.sessionId,
    isWaited: job.wait,
    isObedient,
  });
  const told = (): void => {
    const code = (context.signal.reason as { code?: unknown } | undefined)?.code;
    life.note({ type: 'body.told', run, jobId, code: String(code ?? 'none') });
  };
  if (context.signal.aborted) told();
  else context.signal.addEventListener('abort', told, { once: true });
  const threw = (error: unknown): never => {
    life.note({ type: 'body.settled', run, jobId, how: 'threw' });
    throw error;
  };
  // Some throw before they answer: that must come to the engine as it is.
  let running: unknown;
  try {
    running = executor.run(job, notedContext(life, run, context));
  } catch (error) {
    return threw(error);
  }
  return Promise.resolve(running).then((value) => {
    life.note({ type: 'body.settled', run, jobId, how: 'returned' });
    return value;
  }, threw);
}

/** The same context, whose verbs are noted as calls of the body. */
function notedContext(life: Life, run: number, context: JobContext): JobContext {
  const { jobId } = context;
  const by: Caller = { who: 'body', jobId };
  const verb = async <Result>(name: string, args: readonly unknown[], act: () => Promise<Result>): Promise<Result> => {
    const settled = await life.call(name, args, act, by);
    if (!settled.isOk) throw settled.error;
    return settled.value as Result;
  };
  const waiting = async <Result>(name: string, args: readonly unknown[], act: () => Promise<Result>): Promise<Result> => {
    const settled = await life.call(name, args, act, by, {
      begun: (call) => life.note({ type: 'body.waits', run, jobId, call }),
      over: (call) => life.note({ type: 'body.goes-on', run, jobId, call }),
    });
    if (!settled.isOk) throw settled.error;
    return settled.value as Result;
  };
  return {
    jobId,
    sessionId: context.sessionId,
    callerSessionId: context.callerSessionId,
    taskId: context.taskId,
    contextMode: context.contextMode,
    signal: context.signal,
    execution: context.execution,
    spawn: (options) => verb('spawn', [options], () => context.spawn(options)),
    run: (options, more) => waiting('run', [options], () => context.run(options, more)),
    wait: (id, options) => waiting('wait', [id, options], () => context.wait(id, options)),
    waitMany: (ids, options) => waiting('waitMany', [ids, options], () => context.waitMany(ids, options)),
    progress: (value) => context.progress(value),
    output: (text, stream) => context.output(text, stream),
    partial: (text) => context.partial(text),
  };
}

class PlannedBody {
  readonly #life: Life;
  readonly #jobs: Names;
  readonly #job: JobOf;
  readonly #context: JobContext;
  readonly #plan: BodyPlan;
  readonly #children: string[] = [];

  constructor(life: Life, jobs: Names, job: JobOf, context: JobContext) {
    this.#life = life;
    this.#jobs = jobs;
    this.#job = job;
    this.#context = context;
    this.#plan = planOf(job);
  }

  async run(): Promise<unknown> {
    const { whenTold, steps, end } = this.#plan;
    for (const [place, step] of steps.entries()) {
      try {
        await this.#unlessTold(this.#do(step, place));
      } catch (error) {
        if (!this.#context.signal.aborted) {
          // A verb was refused: some bodies give up, some go on.
          if (random(this.#life.seed, 'refused', this.#job.subject, place).chance(0.5)) throw error;
        } else if (whenTold === 'obey') throw error;
        else if (whenTold === 'slow') {
          await this.#life.pause(someMs(random(this.#life.seed, 'slow', this.#job.subject)));
          return 'what there was';
        }
      }
    }
    if (this.#plan.keepsOn === true) this.#keepOn();
    return ending(end, this.#job.subject);
  }

  /** What it was handed is used once more when it is over. */
  #keepOn(): void {
    const { subject } = this.#job;
    const options = { kind: 'sim.plain', subject: `${subject}.late` };
    void this.#life.pause(someMs(random(this.#life.seed, 'late', subject))).then(() => {
      const { progress, spawn } = this.#context;
      try {
        progress({ late: true });
      } catch {
        // As it should be.
      }
      return spawn(options).catch(() => {});
    });
  }

  /** Obedient and slow bodies are woken by their signal; the others do not look at it. */
  #unlessTold(work: Promise<void>): Promise<void> {
    if (this.#plan.whenTold === 'ignore') return work;
    const { signal } = this.#context;
    return new Promise((resolve, reject) => {
      const told = (): void => reject(signal.reason);
      if (signal.aborted) told();
      signal.addEventListener('abort', told, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', told));
    });
  }

  async #do(step: BodyStep, place: number): Promise<void> {
    const context = this.#context;
    switch (step.do) {
      case 'work':
        if (step.ms > 0) await this.#life.pause(step.ms);
        return;
      case 'hang':
        return new Promise((resolve) => this.#life.onLetGo(resolve));
      case 'progress':
        context.progress({ place });
        return;
      case 'output':
        context.output(`line ${place}\n`);
        return;
      case 'partial':
        context.partial(`so far ${place}`);
        return;
      case 'spawn':
      case 'run': {
        const options = { kind: step.kind, input: { plan: step.plan }, subject: `${this.#job.subject}.${place}` };
        const child = await (step.do === 'run' ? context.run(options) : context.spawn(options));
        this.#children.push(child.jobId);
        return;
      }
      case 'wait':
        await context.wait(this.#whom(step.forWhom), { timeoutMs: step.timeoutMs });
        return;
      case 'wait-twice': {
        const ids = [this.#whom('child'), this.#whom('some')];
        await Promise.all(ids.map((jobId) => context.wait(jobId, { timeoutMs: 60_000 })));
        return;
      }
      case 'wait-many':
        await context.waitMany([...this.#children, this.#whom('some')], { mode: step.mode });
        return;
      case 'cancel':
        await this.#life.cancel(this.#whom(step.whom), { who: 'body', jobId: context.jobId });
        return;
    }
  }

  #whom(whom: 'child' | 'some' | 'parent' | 'itself'): string {
    const some = (): string => this.#jobs.pick(random(this.#life.seed, 'some', this.#job.subject)) ?? 'nobody';
    switch (whom) {
      case 'child':
        return this.#children.at(-1) ?? some();
      case 'parent':
        return this.#job.parentJobId ?? some();
      case 'itself':
        return this.#job.jobId;
      case 'some':
        return some();
    }
  }
}

function ending(end: BodyEnd, subject: string): unknown {
  switch (end) {
    case 'text':
      return `done: ${subject}`;
    case 'value':
      return { done: subject };
    case 'nothing':
      return undefined;
    case 'outcome':
      return outcome({ text: 'by name', value: [1], headId: `head of ${subject}` });
    case 'cyclic': {
      const value: { self?: unknown } = {};
      value.self = value;
      return value;
    }
    case 'too-large':
      return { text: 'x'.repeat(300_000) };
    case 'error':
      throw new TypeError(`in ${subject}`);
    case 'string':
      throw `a word about ${subject}`;
    case 'undefined':
      throw undefined;
    case 'null':
      throw null;
    case 'unprintable':
      throw {
        toString() {
          throw new Error('not even this');
        },
      };
    case 'never-read':
      throw new Proxy(
        {},
        {
          get() {
            throw new Error('hands off');
          },
        },
      );
  }
}
