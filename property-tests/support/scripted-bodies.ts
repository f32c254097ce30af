/**
 * Bodies that do what a random script says: spawn, run, wait, one or several at a time. They measure by themselves how many of them are at
 * work; nothing here asks the pool.
 *
 * SCR1  A body counts as at work from its call to its end, but for the time between the call of an engine wait and the return of the last
 *       open one, and not from its signal on (G8).
 */
import fc from 'fast-check';
import { isOffstageError } from '../../src/model/errors.ts';
import type { JobContext, JobOf } from '../../src/model/executor.ts';
import type { SpawnOptions } from '../../src/model/requests.ts';
import { turn } from './engine-lab.ts';

export type Act =
  | { readonly act: 'turns'; readonly count: number }
  | { readonly act: 'spawn' | 'run' | 'runUnawaited'; readonly child: Script }
  | { readonly act: 'runAll'; readonly children: readonly Script[] }
  | {
      readonly act: 'waitMany';
      readonly which: readonly number[];
      readonly mode: 'all' | 'any';
      readonly timeoutMs: number | null;
    }
  | { readonly act: 'runAndWait'; readonly child: Script; readonly which: number }
  | { readonly act: 'throw' };

export interface Script {
  readonly session: number;
  /** Spawned with an id of its own, which the engine has to look up first. */
  readonly isNamed: boolean;
  readonly acts: readonly Act[];
}

/** A spawn that has begun is not interrupted: for so long an aborted `run` may take to notice. */
const COMMIT_TURNS = 8;

const number = fc.nat(40);
const turns = fc.record({ act: fc.constant('turns' as const), count: fc.oneof(fc.nat(3), fc.nat(30)) });
const waits = fc.record({
  act: fc.constant('waitMany' as const),
  which: fc.array(number, { minLength: 1, maxLength: 3 }),
  mode: fc.constantFrom('all' as const, 'any' as const),
  timeoutMs: fc.constantFrom(null, null, null, 5),
});

export const script: fc.Arbitrary<Script> = fc.letrec<{ script: Script; act: Act }>((tie) => ({
  script: fc.record({ session: fc.nat(1), isNamed: fc.boolean(), acts: fc.array(tie('act'), { maxLength: 4 }) }),
  act: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'bodies' },
    turns,
    waits,
    fc.record({ act: fc.constantFrom('spawn' as const, 'run' as const, 'run' as const), child: tie('script') }),
    fc.record({ act: fc.constant('runAll' as const), children: fc.array(tie('script'), { minLength: 2, maxLength: 3 }) }),
    fc.record({ act: fc.constant('runAndWait' as const), child: tie('script'), which: number }),
    fc.record({ act: fc.constant('runUnawaited' as const), child: tie('script') }),
    fc.record({ act: fc.constant('throw' as const) }),
  ),
})).script;

interface Given extends Script {
  /** In the order of the calls of spawn. */
  readonly number: number;
  /** Not spawned by a body that waits for it. */
  readonly isFree: boolean;
}

/** What the bodies of one run have seen. */
export class Stage {
  readonly #workers: number;
  readonly #perSession: number;
  readonly #atWork = new Map<string, string>();
  #spawned = 0;
  /** Every job that was acknowledged, in the order of the acknowledgements. */
  readonly known: string[] = [];
  /** Bodies in the order of their calls. */
  readonly starts: { readonly number: number; readonly isFree: boolean; readonly jobId: string; readonly session: string }[] = [];
  /** Jobs that some body has waited for. */
  readonly awaited = new Set<string>();
  /** Whoever has ever waited for whom, and who was started by whom. */
  readonly #waitedFor = new Map<string, Set<string>>();
  readonly #parents = new Map<string, string | null>();
  readonly problems: string[] = [];
  /** Counted by whoever drives the scene. */
  turn = 0;
  /** Bodies called and not settled, whether they count as at work or not. */
  live = 0;

  constructor(workers: number, perSession: number | null) {
    this.#workers = workers;
    this.#perSession = perSession ?? Number.POSITIVE_INFINITY;
  }

  get nobodyAtWork(): boolean {
    return this.#atWork.size === 0;
  }

  /** A spawn as it is called now. */
  request(of: Script, isFree: boolean): SpawnOptions {
    const input: Given = { ...of, number: this.#spawned++, isFree };
    return { kind: 'script', sessionId: `s${of.session}`, input, ...(of.isNamed ? { jobId: `named ${input.number}` } : {}) };
  }

  readonly run = async (job: JobOf, context: JobContext): Promise<unknown> => {
    const given = job.input as Given;
    const { jobId, sessionId } = job;
    this.starts.push({ number: given.number, isFree: given.isFree, jobId, session: sessionId });
    this.#parents.set(jobId, job.parentJobId);
    // Whoever started it may be waiting for it.
    if (job.parentJobId !== null) this.#noteEdge(job.parentJobId, jobId);
    let open = 0;
    let isOver = false;
    const enter = (): void => {
      if (!isOver && !context.signal.aborted) this.#enter(jobId, sessionId);
    };
    const leave = (): boolean => this.#atWork.delete(jobId);
    let abortedAt = Number.POSITIVE_INFINITY;
    const onAbort = (): void => {
      leave();
      abortedAt = this.turn;
    };
    context.signal.addEventListener('abort', onAbort, { once: true });
    const waiting = async (targets: readonly string[], wait: () => Promise<unknown>): Promise<void> => {
      for (const target of targets) this.#noteWait(jobId, target);
      const begunAt = this.turn;
      if (open === 0) leave();
      open += 1;
      try {
        await wait();
      } catch (error) {
        if (!isOffstageError(error, 'job.wait_cycle')) throw error;
        this.#checkRefusal(jobId, String(error.details.jobId));
      } finally {
        open -= 1;
        if (open === 0) enter();
        const lateness = this.turn - Math.max(abortedAt, begunAt);
        if (lateness > COMMIT_TURNS) this.problems.push(`${jobId} was told to end and woke ${lateness} turns later`);
      }
    };
    const run = (child: Script): Promise<void> => waiting([], () => context.run(this.request(child, false)));
    enter();
    this.live += 1;
    try {
      for (const act of given.acts) await this.#perform(act, { context, waiting, run });
      return `did ${given.acts.length}`;
    } finally {
      isOver = true;
      this.live -= 1;
      leave();
    }
  };

  async #perform(
    act: Act,
    body: {
      readonly context: JobContext;
      readonly waiting: (targets: readonly string[], wait: () => Promise<unknown>) => Promise<void>;
      readonly run: (child: Script) => Promise<void>;
    },
  ): Promise<void> {
    const { context, waiting, run } = body;
    const target = (which: number): string[] => this.known.slice(which % Math.max(1, this.known.length)).slice(0, 1);
    switch (act.act) {
      case 'turns':
        for (let count = 0; count < act.count; count++) await turn();
        return;
      case 'spawn':
        this.known.push((await context.spawn(this.request(act.child, true))).jobId);
        return;
      case 'run':
        return run(act.child);
      case 'runUnawaited':
        void run(act.child).catch(() => {});
        return;
      case 'runAll':
        await Promise.all(act.children.map((child) => run(child)));
        return;
      case 'waitMany': {
        const targets = act.which.flatMap(target);
        return waiting(targets, () => context.waitMany(targets, { mode: act.mode, timeoutMs: act.timeoutMs }));
      }
      case 'runAndWait': {
        const targets = target(act.which);
        await Promise.all([run(act.child), waiting(targets, () => context.waitMany(targets))]);
        return;
      }
      default:
        throw new Error('the script says so');
    }
  }

  #enter(jobId: string, session: string): void {
    this.#atWork.set(jobId, session);
    const inSession = [...this.#atWork.values()].filter((other) => other === session).length;
    if (this.#atWork.size > this.#workers) this.problems.push(`${this.#atWork.size} bodies at work`);
    if (inSession > this.#perSession) this.problems.push(`${inSession} bodies at work in ${session}`);
  }

  #noteWait(waiter: string, target: string): void {
    this.awaited.add(target);
    this.#noteEdge(waiter, target);
  }

  #noteEdge(waiter: string, target: string): void {
    this.#waitedFor.set(waiter, (this.#waitedFor.get(waiter) ?? new Set()).add(target));
  }

  /** A wait is refused only for a cycle: its target has at some time waited, over others, for the waiter, or is above it. */
  #checkRefusal(waiter: string, target: string): void {
    const reached = new Set([target]);
    for (const one of reached) for (const next of this.#waitedFor.get(one) ?? []) reached.add(next);
    for (let id: string | null = waiter; id !== null; id = this.#parents.get(id) ?? null) if (reached.has(id)) return;
    this.problems.push(`a wait without a cycle was refused: ${waiter} for ${target}`);
  }
}
