/**
 * Plans: many foreground jobs at once, and the answer to all of them in order (spec 7; seed 000 D14).
 *
 * PLN1  Partial failure is a list of outcomes, never a throw.
 * PLN2  All jobs of a plan carry the same `parentMessageId`.
 */
import type { JobView } from '../model/records.ts';
import type { PlanOptions, PlanSpec, SpawnOptions, WaitManyEntry } from '../model/requests.ts';
import { namesOf, readArray, readable, readOptions } from './check-options.ts';
import { onAbortOf } from './signal-fan.ts';
import { invalidInput } from './spawn-request.ts';

export const PLAN_NAMES = namesOf<PlanOptions>({ sessionId: true, parentJobId: true, parentMessageId: true, signal: true });
const SPEC_NAMES = namesOf<PlanSpec>({ description: true, prompt: true, kind: true, agentId: true, input: true });

export function planJobs(specs: readonly PlanSpec[], options: PlanOptions, newGroupId: () => string): readonly SpawnOptions[] {
  const parentMessageId = options.parentMessageId ?? newGroupId();
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

export interface PlanVerbs {
  spawn(options: SpawnOptions): Promise<JobView>;
  waitMany(jobIds: readonly string[]): Promise<readonly WaitManyEntry[]>;
  /** The caller is gone: its jobs end. */
  callerGone(jobIds: readonly string[]): void;
}

export async function runPlan(
  jobs: readonly SpawnOptions[],
  signal: AbortSignal | undefined,
  verbs: PlanVerbs,
): Promise<readonly WaitManyEntry[]> {
  signal?.throwIfAborted();
  const spawned = await Promise.allSettled(jobs.map((job) => verbs.spawn(job)));
  const jobIds = spawned.flatMap((result) => (result.status === 'fulfilled' ? [result.value.jobId] : []));
  const refused = spawned.find((result) => result.status === 'rejected');
  if (refused !== undefined) {
    // A plan is accepted whole or not at all: what was accepted is taken back.
    verbs.callerGone(jobIds);
    throw refused.reason;
  }
  const onAbort = (): void => verbs.callerGone(jobIds);
  const stopListening = signal === undefined ? null : onAbortOf(signal, onAbort);
  if (signal?.aborted === true) onAbort();
  try {
    return await verbs.waitMany(jobIds);
  } finally {
    stopListening?.();
  }
}
