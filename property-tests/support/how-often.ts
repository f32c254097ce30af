/**
 * How often properties run, and how one failing run is run again.
 *
 * OFFSTAGE_RUNS=20 multiplies the runs of every property; OFFSTAGE_SEED and OFFSTAGE_PATH (both are printed with a failure) repeat one.
 */

const factor = Number(process.env.OFFSTAGE_RUNS ?? '1');
const { OFFSTAGE_SEED: seed, OFFSTAGE_PATH: path } = process.env;

export interface HowOften {
  readonly numRuns: number;
  readonly seed?: number;
  readonly path?: string;
}

/** For the second argument of `fc.assert`. */
export const times = (numRuns: number): HowOften => ({
  numRuns: Math.max(1, Math.round(numRuns * factor)),
  ...(seed === undefined ? {} : { seed: Number(seed) }),
  ...(path === undefined ? {} : { path }),
});

/** Milliseconds that one test may take. */
export const LIMIT_MS = 120_000 * Math.max(1, factor);
