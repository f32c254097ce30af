/**
 * G13, G15: stops against prompts, resumes, spawns, completions, rotation and each other, every turn, read, write and pause of which passes
 * through one scheduler that picks the next at random.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LIMIT_MS, times } from './support/how-often.ts';
import { lives } from './support/stop-agents.ts';
import { checkAll, checkForced } from './support/stop-checks.ts';
import { StopCrowd } from './support/stop-crowd.ts';
import { CANCEL_GRACE_MS, StopScene, scenes } from './support/stop-scene.ts';
import { people, stops } from './support/stop-wishes.ts';
import { Ticks } from './support/ticks.ts';

it(
  'G13, G15: when a stop has settled nothing of it is live, and nothing else was touched, whatever else happened meanwhile',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), scenes, lives, people, stops, async (scheduler, given, agents, everybody, stoppers) => {
        const ticks = new Ticks(scheduler);
        const scene = new StopScene(ticks, given, agents);
        const { ledger } = scene;
        const crowd = new StopCrowd(scene);
        await scene.set();
        scene.begin();
        await ticks.pump(crowd.act(everybody, stoppers));
        await ticks.drain();
        scene.readOn.give();
        await ticks.drain();
        await ticks.pump(scene.pass(0));
        await ticks.drain();
        checkForced(ledger);
        // What does not end is given up when its grace is over.
        await ticks.pump(scene.pass(CANCEL_GRACE_MS + 1));
        await ticks.drain();
        scene.letGo();
        await crowd.settle();
        checkAll(ledger);
        await crowd.probe();
        await scene.close();
        expect([...ledger.problems, ...scene.witness.problems]).toEqual([]);
      }),
      times(1_000),
    );
  },
  LIMIT_MS,
);
