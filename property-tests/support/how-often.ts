/**
 * How often properties run, and how one failing run is run again.
 *
 * OFFSTAGE_RUNS=20 multiplies the runs of every property; OFFSTAGE_SEED and OFFSTAGE_PATH (both are printed with a failure) repeat one.
 * OFFSTAGE_SHRINK=no shows the first failure as it is: shrinking takes longer than finding.
 */

const factor = Number(process.env.OFFSTAGE_RUNS ?? '1');
const { OFFSTAGE_SEED: seed, OFFSTAGE_PATH: path, OFFSTAGE_SHRINK: shrink } = process.env;

export interface HowOften {
  readonly numRuns: number;
  readonly seed?: number;
  readonly path?: string;
  readonly endOnFailure?: boolean;
}

/** For the second argument of `fc.assert`. */
export const times = (numRuns: number): HowOften => ({
  numRuns: Math.max(1, Math.round(numRuns * factor)),
  ...(seed === undefined ? {} : { seed: Number(seed) }),
  ...(path === undefined ? {} : { path }),
  ...(shrink === 'no' ? { endOnFailure: true } : {}),
});

/** Milliseconds that one test may take. */
export const LIMIT_MS = 120_000 * Math.max(1, factor);
