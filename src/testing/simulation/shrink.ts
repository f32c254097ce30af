/**
 * The fewest steps that still break the same guarantee.
 *
 * SHR1  What is left was run, and breaks the guarantee that the whole did; each single step of it is needed, and where there are few each two of
 *       them, unless the runs were used up.
 * SHR2  Steps are only left out: those that stay keep their numbers, and so their chance (WLD1).
 */
import { checkWorld } from './check-simulation.ts';
import { type FoundViolation, type SimulationOptions, type SimulationResult, simulate } from './simulate.ts';

/** With more of them than this, trying all pairs takes too long. */
const FEW = 24;

export interface Shrunk {
  readonly seed: number;
  /** The steps that are left, for `only`. */
  readonly only: readonly number[];
  /** What the run of just these came to. */
  readonly result: SimulationResult;
  /** Worlds that were run to find it. */
  readonly runs: number;
}

/**
 * Leaves out steps of a run that broke a guarantee, as long as it is broken without them: halves first, then ever smaller parts.
 * @param maxRuns worlds to be run at most; default 3,000
 * @throws Error when the run breaks nothing; OffstageError `config.invalid` for options
 * @example
 * const { only } = await shrink({ seed: 7, steps: 2_000 });
 */
export async function shrink(given: SimulationOptions, maxRuns = 3_000): Promise<Shrunk> {
  const options = checkWorld(given);
  const whole = await simulate(options);
  if (whole.violation === null) throw new Error(`nothing is broken by seed ${options.seed}`);
  return shrinkFrom(options, { ...whole, violation: whole.violation }, maxRuns);
}

/** The same from a run that has broken something already: were it asked again, what depends on more than the seed might hold. */
export async function shrinkFrom(
  options: SimulationOptions,
  whole: SimulationResult & { readonly violation: FoundViolation },
  maxRuns = 3_000,
): Promise<Shrunk> {
  const { seed, steps = 1_000 } = options;
  const { violation } = whole;
  let runs = 1;
  const attempt = (only: readonly number[]): Promise<SimulationResult> => {
    runs += 1;
    return simulate({ ...options, only });
  };
  let best: SimulationResult = whole;
  let left = upTo(options.only ?? [...Array(steps).keys()], whole);
  const take = async (candidate: readonly number[]): Promise<boolean> => {
    const result = await attempt(candidate);
    if (result.violation?.guarantee !== violation.guarantee) return false;
    best = result;
    left = upTo(candidate, result);
    return true;
  };
  /** Two that need each other, such as a fault and its end, go only together. */
  const withoutTwo = async (): Promise<boolean> => {
    if (left.length > FEW) return false;
    for (const [index, first] of left.entries())
      for (const second of left.slice(index + 1)) {
        if (runs >= maxRuns) return false;
        if (await take(left.filter((step) => step !== first && step !== second))) return true;
      }
    return false;
  };
  for (let part = Math.ceil(left.length / 2); part >= 1 && runs < maxRuns; ) {
    let hasTaken = false;
    // From the end: what comes late is needed least.
    for (let end = left.length; end > 0 && runs < maxRuns; end -= part) {
      const start = Math.max(0, end - part);
      if (!(await take([...left.slice(0, start), ...left.slice(end)]))) continue;
      hasTaken = true;
      end = Math.min(end, left.length + part);
    }
    if (part > 1) part = Math.ceil(part / 2);
    else if (!hasTaken && !(await withoutTwo())) break;
  }
  return { seed, only: left, result: best, runs };
}

/** Steps after the one in which it was seen took no part in it. */
const upTo = (steps: readonly number[], { violation }: SimulationResult): readonly number[] =>
  violation === null ? steps : steps.filter((step) => step <= violation.step);
