/**
 * Plans: many foreground jobs at once, and the answer to all of them in order (spec 7; seed 000 D14).
 *
 * PLN1  Partial failure is a list of outcomes, never a throw.
 * PLN2  All jobs of a plan carry the same `parentMessageId`.
 */
import type { JobView } from '../model/records.ts';
import type { PlanOptions, PlanSpec, SpawnOptions, WaitManyEntry } from '../model/requests.ts';
import { onAbortOf } from './signal-fan.ts';
import { invalidInput } from './spawn-request.ts';

export function planJobs(specs: readonly PlanSpec[], options: PlanOptions, newGroupId: () => string): readonly SpawnOptions[] {
  if (!Array.isArray(specs)) throw invalidInput('specs', 'it must be an array');
  const parentMessageId = options.parentMessageId ?? newGroupId();
  return specs.map((spec: PlanSpec, index): SpawnOptions => {
    if (typeof spec !== 'object' || spec === null) throw invalidInput(`specs[${index}]`, 'it must be an object');
    if (typeof spec.description !== 'string') throw invalidInput(`specs[${index}].description`, 'it must be a string');
    const prompt = spec.prompt ?? spec.description;
    const { input } = spec;
    const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
    return {
      kind: spec.kind ?? 'agent',
      subject: spec.description,
      description: prompt,
      input: input === undefined ? { prompt } : isObject && !('prompt' in input) ? { ...input, prompt } : input,
      parentMessageId,
      wait: true,
      ...(spec.agentId === undefined ? {} : { agentId: spec.agentId }),
      ...(options.sessionId === undefined ? {} : { sessionId: options.sessionId }),
    };
  });
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
