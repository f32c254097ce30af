/** G1 to G16, and SIM1: worlds of fixed seeds, with faults, crashes and careless callers. `npm run simulate` runs as many more as one likes. */
import { expect, it } from 'vitest';
import { type Fact, lineOf, simulate } from '../src/testing/index.ts';
import { LIMIT_MS, times } from './support/how-often.ts';

const { seed: first = 1, numRuns } = times(24);

it.each(Array.from({ length: numRuns }, (_, index) => first + index))(
  'no guarantee is broken in the world of seed %i',
  async (seed) => {
    const { violation } = await simulate({ seed, steps: 500 });
    // Whoever sees this: `npm run simulate -- --seed <seed> --steps 500` shrinks it and tells what happened.
    expect(violation).toBeNull();
  },
  LIMIT_MS,
);

it('SIM1: the same seed gives the same facts', async () => {
  const factsOf = async (): Promise<readonly string[]> => {
    const lines: string[] = [];
    await simulate({ seed: first, steps: 300, onFact: (fact: Fact) => lines.push(lineOf(fact)) });
    return lines;
  };
  expect(await factsOf()).toEqual(await factsOf());
});
