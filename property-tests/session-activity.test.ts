/**
 * G10, G11, G12: whatever people, agents and jobs do to sessions, one thing after the other, everything that is answered, shown and told is
 * what an exact model says.
 */
import fc from 'fast-check';
import { it } from 'vitest';
import { LIMIT_MS, times } from './support/how-often.ts';
import { SessionComparison } from './support/session-compare.ts';
import { SessionPair } from './support/session-pair.ts';
import { rules, steps } from './support/session-steps.ts';

it(
  'G10, G11, G12: sessions, tasks, workloads, answers and everything told are what the exact model says, at every quiescent point',
  async () => {
    await fc.assert(
      fc.asyncProperty(rules, steps, async (given, all) => {
        const pair = new SessionPair(given);
        const comparison = new SessionComparison(pair);
        await pair.open();
        for (const one of all) {
          await pair.act(one);
          await pair.scene.clock.settle();
          await comparison.compare();
        }
        await pair.scene.close();
      }),
      times(120),
    );
  },
  LIMIT_MS,
);
