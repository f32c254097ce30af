/**
 * What worlds have broken, shrunk to a few steps: they hold now. What the engine did wrong has its fixed example, too, since a seed shows another
 * world once the simulator draws its steps in another way.
 */
import { expect, it } from 'vitest';
import { simulate } from '../../../src/testing/index.ts';

it.each([
  // test/engine/events.test.ts, EVR3
  ['a reader in the middle of a replay when the engine closed was told of what came behind', 2_000_802, [43, 44, 45, 124, 130]],
  ['the same, where nothing of the replay had been told', 1_001_229, [892, 893, 896, 914, 920]],
  ['the same, with a session that ended while it closed', 1_001_314, [74, 82, 96, 97, 100]],
  // test/engine/events.test.ts, BUS4
  ['who came after the close was told what the store answered at last', 1_002_562, [172, 174, 295, 300, 304]],
  // test/engine/refused-rows.test.ts
  [
    'a list showed a refused job that was taken back meanwhile',
    2_001_773,
    [524, 534, 535, 539, 569, 570, 571, 572, 575, 578, 579],
  ],
  // test/engine/removal-cards.test.ts, KCD1
  [
    'the card of a job stayed where its session and the one that had asked for it were removed at once',
    5_000_322,
    [32, 176, 178, 180, 184, 379, 488],
  ],
  // Nothing was broken but the checker of G3.
  ['without any grace the end of a cancel is stored before its request is told', 1_000_352, [54, 68, 71, 93, 101]],
  // Nothing was broken but the checker of G10.
  ['an agent that speaks in the very instant in which it is given up', 1_000_776, [20, 36, 52, 97, 102, 103, 108, 109, 110]],
  // Nothing was broken but the checker of G14.
  ['a wait for any names an id that is given to a job only afterwards', 6_004_233, [4, 6]],
] as const)('%s (seed %i)', async (_what, seed, only) => {
  const { violation } = await simulate({ seed, steps: 1_000, only });
  expect(violation).toBeNull();
});
