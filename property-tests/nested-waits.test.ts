/** G8: spawn order, the cap and nested waits, measured by the bodies themselves; whatever waits for whatever, everything ends. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTerminal } from '../src/model/records.ts';
import { controlledExecutor } from '../src/testing/controlled-executor.ts';
import { testEngine } from '../test/support/test-engine.ts';
import { turn } from './support/engine-lab.ts';
import { LIMIT_MS, times } from './support/how-often.ts';
import { Stage, script } from './support/scripted-bodies.ts';

const MANY_TURNS = 6_000;
/** Turns without any body called or ended after which the clock goes on. */
const QUIET_TURNS = 30;

const scene = fc.record({
  scripts: fc.array(fc.record({ script, atTurn: fc.nat(12) }), { minLength: 1, maxLength: 6 }),
  cancels: fc.array(fc.record({ atTurn: fc.nat(60), which: fc.nat() }), { maxLength: 5 }),
});

const increasing = (numbers: readonly number[]): boolean =>
  numbers.every((one, index) => index === 0 || (numbers[index - 1] as number) < one);

describe.each([
  [1, null],
  [2, null],
  [3, null],
  [2, 1],
  [3, 2],
])('with %s workers and %s per session', (workers, perSessionLimit) => {
  it(
    'G8: the cap holds, starts nobody waits for follow spawn order, everything ends, and every slot comes back',
    async () => {
      await fc.assert(
        fc.asyncProperty(scene, async ({ scripts, cancels }) => {
          const stage = new Stage(workers, perSessionLimit);
          const gate = controlledExecutor();
          await using engine = await testEngine({ workers, perSessionLimit, executors: { script: stage.run, gate } });
          const { offstage, clock } = engine;
          const { taskId } = await offstage.tasks.create();
          for (const sessionId of ['s0', 's1']) await offstage.sessions.create({ sessionId, taskId });
          let pending = scripts.length;
          let quiet = 0;
          for (let now = 0, seen = -1; ; now++) {
            expect(now, 'turns until everything has ended').toBeLessThan(MANY_TURNS);
            for (const one of scripts) {
              if (one.atTurn !== now) continue;
              void offstage.spawn(stage.request(one.script, true)).then(({ jobId }) => {
                stage.known.push(jobId);
                pending -= 1;
              });
            }
            for (const { which, atTurn } of cancels) {
              const jobId = stage.known[which % Math.max(1, stage.known.length)];
              if (atTurn === now && jobId !== undefined) void offstage.cancel(jobId);
            }
            await turn();
            stage.turn = now;
            quiet = engine.events.length === seen ? quiet + 1 : 0;
            seen = engine.events.length;
            const { pool, store } = offstage.health();
            if (pending + stage.live === 0 && pool.running + pool.waiting + pool.queued + store.pendingWrites === 0 && quiet > 4)
              break;
            if (quiet > QUIET_TURNS) await clock.advance(5);
          }
          expect(stage.problems).toEqual([]);
          expect(stage.nobodyAtWork).toBe(true);
          expect(offstage.health().pool).toEqual({ workers, running: 0, waiting: 0, queued: 0, detached: 0 });
          const jobs = await offstage.list({ limit: 1_000 });
          expect(jobs.filter(({ status }) => !isTerminal(status))).toEqual([]);
          expect(new Set(stage.starts.map(({ jobId }) => jobId)).size).toBe(stage.starts.length);
          const free = stage.starts.filter(({ jobId, isFree }) => isFree && !stage.awaited.has(jobId));
          const lines =
            perSessionLimit === null ? [free] : ['s0', 's1'].map((name) => free.filter(({ session }) => session === name));
          for (const line of lines) {
            const numbers = line.map(({ number }) => number);
            expect(increasing(numbers), `starts in spawn order: ${numbers.join()}`).toBe(true);
          }
          // As many bodies as ever can be at work again.
          const room = Math.min(workers, perSessionLimit === null ? workers : 2 * perSessionLimit);
          for (let index = 0; index < workers + 2; index++) await offstage.spawn({ kind: 'gate', sessionId: `s${index % 2}` });
          await clock.settle();
          expect(gate.live.size).toBe(room);
        }),
        times(100),
      );
    },
    LIMIT_MS,
  );
});
