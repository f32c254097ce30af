/**
 * Plans: many foreground jobs at once, and the answer to all of them in order (spec 7; seed 000 D14).
 *
 * PLN1  Partial failure is a list of outcomes, never a throw.
 * PLN2  All jobs of a plan carry the same `parentMessageId`.
 * PLN3  A plan is no thing of its own: how it stands is how its jobs stand at that instant.
 */
import { offstageError } from '../model/errors.ts';
import { LIMITS } from '../model/limits.ts';
import type { JobView } from '../model/records.ts';
import type {
  CancelManyResult,
  CancelPlanOptions,
  PlanOptions,
  PlanSpec,
  PlanStatus,
  SpawnOptions,
  WaitManyEntry,
} from '../model/requests.ts';
import type { Admission } from './admission.ts';
import type { CancelVerbs } from './cancel-verbs.ts';
import { checkSignal, namesOf, readArray, readable, readFlag, readOptions } from './check-options.ts';
import type { Core } from './core.ts';
import { PlanProgress, planStatus } from './plan-progress.ts';
import type { Queries } from './queries.ts';
import { onAbortOf } from './signal-fan.ts';
import { checkId, invalidInput } from './spawn-request.ts';
import type { Waiting } from './waiting.ts';

const PLAN_NAMES = namesOf<PlanOptions>({
  sessionId: true,
  parentJobId: true,
  parentMessageId: true,
  signal: true,
  onProgress: true,
});
const CANCEL_NAMES = namesOf<CancelPlanOptions>({ onlyQueued: true, reason: true });
const SPEC_NAMES = namesOf<PlanSpec>({ description: true, prompt: true, kind: true, agentId: true, input: true });

function planJobs(specs: readonly PlanSpec[], options: PlanOptions, parentMessageId: string): readonly SpawnOptions[] {
  return readArray('specs', specs).map((given, index): SpawnOptions => {
    if (given === undefined) throw invalidInput(`specs[${index}]`, 'it must be an object');
    const spec = readOptions(`specs[${index}]`, given as PlanSpec, SPEC_NAMES);
    if (typeof spec.description !== 'string') throw invalidInput(`specs[${index}].description`, 'it must be a string');
    const prompt = spec.prompt ?? spec.description;
    return {
      kind: spec.kind ?? 'agent',
      subject: spec.description,
      description: prompt,
      input: readable(`specs[${index}].input`, () => withPrompt(spec.input, prompt)),
      parentMessageId,
      wait: true,
      ...(spec.agentId === undefined ? {} : { agentId: spec.agentId }),
      ...(options.sessionId === undefined ? {} : { sessionId: options.sessionId }),
    };
  });
}

/** Objects without a prompt get it; whatever else is given passes as it is. */
function withPrompt(input: unknown, prompt: unknown): unknown {
  if (input === undefined) return { prompt };
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
  return isObject && !('prompt' in input) ? { ...input, prompt } : input;
}

export interface PlansHost {
  readonly admission: Admission;
  readonly waiting: Waiting;
  readonly cancels: CancelVerbs;
  readonly queries: Queries;
}

export class Plans {
  readonly #core: Core;
  readonly #host: PlansHost;
  readonly verbs;

  constructor(core: Core, host: PlansHost) {
    this.#core = core;
    this.#host = host;
    this.verbs = {
      /**
       * Spawns all and waits for all, without limit; answers like `waitMany`. `onProgress` is told how the plan stands when it is accepted,
       * and whenever one of its jobs has got another status.
       * @throws OffstageError as `spawn`: a plan is accepted whole or not at all; `job.not_found` when `parentJobId` is not running
       */
      run: (specs: readonly PlanSpec[], options?: PlanOptions): Promise<readonly WaitManyEntry[]> =>
        core.whileOpen(() => this.#run(specs, options)),
      /** How the plan stands. @throws OffstageError `plan.not_found` */
      get: (parentMessageId: string): Promise<PlanStatus> => core.whileOpen(() => this.#get(parentMessageId)),
      /** Cancels what has not ended, or only what is still queued. @throws OffstageError `plan.not_found`, `input.invalid`, `engine.closing` */
      cancel: (parentMessageId: string, options?: CancelPlanOptions): Promise<CancelManyResult> =>
        core.whileOpen(() => this.#cancel(parentMessageId, options)),
    };
  }

  async #run(specs: readonly PlanSpec[], given?: PlanOptions): Promise<readonly WaitManyEntry[]> {
    const { admission, waiting, cancels } = this.#host;
    const options = readOptions('options', given, PLAN_NAMES);
    const signal = checkSignal('signal', options.signal);
    const { onProgress, parentJobId } = options;
    if (onProgress !== undefined && typeof onProgress !== 'function') throw invalidInput('onProgress', 'it must be a function');
    const parentMessageId = options.parentMessageId ?? this.#core.settings.ids.id('plan');
    const jobs = planJobs(specs, options, parentMessageId);
    const parent = parentJobId === undefined ? null : this.#core.registry.get(checkId('parentJobId', parentJobId));
    if (parent === undefined) throw offstageError('job.not_found', { jobId: parentJobId ?? '' });
    signal?.throwIfAborted();
    const progress = onProgress === undefined ? null : new PlanProgress(this.#core, parentMessageId, onProgress);
    try {
      return await runPlan(jobs, signal, {
        spawn: (job) => admission.spawn(job, parent?.job ?? null),
        accepted: (views) => progress?.accepted(views),
        waitMany: (jobIds) =>
          parent === null
            ? waiting.waitMany(jobIds, { timeoutMs: null })
            : waiting.waitManyFrom(parent, jobIds, { timeoutMs: null }),
        callerGone: (jobIds) => cancels.callerGone(jobIds),
      });
    } finally {
      progress?.stop();
    }
  }

  async #get(parentMessageId: string): Promise<PlanStatus> {
    checkId('parentMessageId', parentMessageId);
    const { queries } = this.#host;
    const jobs: JobView[] = [];
    for (let before: string | undefined; ; ) {
      const page = await queries.list({
        parentMessageId,
        limit: LIMITS.listMaximum,
        ...(before === undefined ? {} : { before }),
      });
      jobs.push(...page);
      before = page.at(-1)?.jobId;
      if (page.length < LIMITS.listMaximum) break;
    }
    if (jobs.length === 0) throw offstageError('plan.not_found', { parentMessageId });
    return planStatus(parentMessageId, jobs.reverse());
  }

  async #cancel(parentMessageId: string, given?: CancelPlanOptions): Promise<CancelManyResult> {
    const { onlyQueued, reason } = readOptions('options', given, CANCEL_NAMES);
    checkId('parentMessageId', parentMessageId);
    const status = readFlag('onlyQueued', onlyQueued) ? (['pending', 'queued'] as const) : undefined;
    const result = await this.#host.cancels.cancelMany(
      { parentMessageId, ...(status === undefined ? {} : { status }) },
      reason === undefined ? {} : { reason },
    );
    const { durable: _, ...lists } = result;
    if (Object.values(lists).every((ids) => ids.length === 0)) await this.#get(parentMessageId);
    return result;
  }
}

interface PlanVerbs {
  spawn(options: SpawnOptions): Promise<JobView>;
  /** All of it. */
  accepted(jobs: readonly JobView[]): void;
  waitMany(jobIds: readonly string[]): Promise<readonly WaitManyEntry[]>;
  /** The caller is gone: its jobs end. */
  callerGone(jobIds: readonly string[]): void;
}

async function runPlan(
  jobs: readonly SpawnOptions[],
  signal: AbortSignal | undefined,
  verbs: PlanVerbs,
): Promise<readonly WaitManyEntry[]> {
  const accepted: JobView[] = [];
  let isOff = false;
  const takeBack = (): void => {
    isOff = true;
    verbs.callerGone(accepted.map(({ jobId }) => jobId));
  };
  const spawn = async (job: SpawnOptions): Promise<JobView> => {
    try {
      const view = await verbs.spawn(job);
      accepted.push(view);
      // Accepted when it was not wanted any more.
      if (isOff) verbs.callerGone([view.jobId]);
      return view;
    } catch (error) {
      // A plan is accepted whole or not at all: what was accepted is taken back.
      takeBack();
      throw error;
    }
  };
  const stopListening = signal === undefined ? null : onAbortOf(signal, takeBack);
  if (signal?.aborted === true) takeBack();
  try {
    const spawned = await Promise.allSettled(jobs.map(spawn));
    const refused = spawned.find((result) => result.status === 'rejected');
    if (refused !== undefined) throw refused.reason;
    const views = spawned.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    verbs.accepted(views);
    return await verbs.waitMany(views.map(({ jobId }) => jobId));
  } catch (error) {
    // Nobody waits for them any more (spec 4.8).
    takeBack();
    throw error;
  } finally {
    stopListening?.();
  }
}
