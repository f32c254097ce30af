/**
 * G10, G11, G12, and NTC1, under every order of completions: people, agents, jobs, reads, writes and turns of the loop all pass through one scheduler
 * that picks the next at random.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { memoryStore } from '../src/persistence/memory-store.ts';
import { testEngine } from '../test/support/test-engine.ts';
import { LIMIT_MS, times } from './support/how-often.ts';
import { drain, type Hop, pump, scheduledClock, scheduledStore } from './support/scheduled.ts';
import { lives, people, SessionCrowd } from './support/session-crowd.ts';
import { SESSIONS, TASKS, taskOf } from './support/session-scene.ts';

it(
  'G10, G11, G12, NTC1: in any order of completions one prompt is let in at a time, what is shown and told is what is so, no end is told twice or lost',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), people, lives, async (scheduler, everybody, given) => {
        const hop: Hop = (label) => scheduler.schedule(Promise.resolve(), label);
        const crowd = new SessionCrowd(hop, given);
        crowd.engine = await pump(
          scheduler,
          testEngine({
            store: scheduledStore(memoryStore(), hop),
            clock: scheduledClock(hop),
            workers: 2,
            executors: { gate: crowd.gate },
            agents: { default: crowd.factory },
            points: crowd.pauses.points,
          }),
        );
        const { offstage } = crowd.engine;
        for (const taskId of TASKS) await pump(scheduler, offstage.tasks.create({ taskId }));
        for (const sessionId of SESSIONS)
          await pump(scheduler, offstage.sessions.create({ sessionId, taskId: taskOf(sessionId) }));
        offstage.onEvent(crowd.witness.observe);
        await pump(scheduler, Promise.all(everybody.map((wishes) => crowd.person(wishes))));
        crowd.letGo();
        await drain(scheduler);
        await pump(scheduler, crowd.check());
        let asked: number;
        do {
          asked = crowd.mock.prompts.length;
          crowd.finish();
          await drain(scheduler);
          // An agent that speaks without having been asked has ended when it has been silent for a while.
          await pump(scheduler, crowd.engine.clock.advance(10_000));
          // Whoever waits is served by the end of another one, and may have ended at once.
        } while (crowd.isBusy || crowd.mock.prompts.length > asked);
        await pump(scheduler, crowd.check());
        crowd.checkAnswers();
        await pump(scheduler, crowd.checkNotices());
        await pump(scheduler, crowd.engine[Symbol.asyncDispose]());
        expect(crowd.problems).toEqual([]);
      }),
      times(150),
    );
  },
  LIMIT_MS,
);
