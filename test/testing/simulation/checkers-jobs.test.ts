/** The checkers find nothing wrong with what a sound engine does to jobs; what each is there to see is tested beside. */
import { describe, expect, it } from 'vitest';
import { CHECKERS } from '../../../src/testing/simulation/checkers/index.ts';
import { judging } from '../../support/simulation-tale.ts';
import { SOUND } from '../../support/simulation-tales.ts';

const OF_JOBS = ['G1', 'G2', 'G3', 'G4', 'G5', 'G6', 'G7', 'G8', 'G9', 'G14', 'G15'];

describe.each(CHECKERS.filter(({ guarantee }) => OF_JOBS.includes(guarantee)))('$guarantee', (checker) => {
  it.each(SOUND)('finds nothing wrong with %s', (_, tell) => {
    expect(judging(checker)(tell())).not.toThrow();
  });
});
