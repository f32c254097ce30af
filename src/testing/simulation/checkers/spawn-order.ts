/**
 * Whether jobs are accepted in the order in which they were asked for.
 *
 * SPO1  Of two spawns that nobody names, the one asked for first comes first in the order of creation. Kinds of a host may validate their input
 *       later, and take their place then; those of the simulator do not.
 */
import type { SpawnOptions } from '../../../model/requests.ts';
import type { Violate } from '../checker.ts';
import type { Fact } from '../facts.ts';
import type { Known } from '../known.ts';

/** So many answers back a spawn may have been overtaken. */
const LOOKS_BACK = 40;

interface Accepted {
  readonly call: number;
  readonly ordinal: number;
  readonly jobId: string;
}

export class SpawnOrder {
  readonly #violate: Violate;
  #accepted: Accepted[] = [];

  constructor(violate: Violate) {
    this.#violate = violate;
  }

  note(fact: Fact, known: Known): void {
    if (fact.type === 'opened') this.#accepted = [];
    if (fact.type !== 'answered' || fact.verb !== 'spawn') return;
    const options = known.calls.get(fact.call)?.asked.args[0] as SpawnOptions | null | undefined;
    if (options?.jobId !== undefined || options?.kind?.startsWith('sim.') !== true) return;
    const { jobId } = fact.value as { readonly jobId: string };
    const ordinal = known.jobs.get(jobId)?.ordinal;
    if (ordinal === undefined) return;
    for (const other of this.#accepted) {
      if (other.call < fact.call === other.ordinal < ordinal) continue;
      this.#violate(
        `${jobId} (call ${fact.call}) and ${other.jobId} (call ${other.call}) were not accepted in the order of their calls`,
      );
    }
    this.#accepted = [...this.#accepted, { call: fact.call, ordinal, jobId }].slice(-LOOKS_BACK);
  }
}
