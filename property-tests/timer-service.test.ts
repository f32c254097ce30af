/** TIM1–TIM3: the heap of timers against a list that is sorted every time. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { TimerService } from '../src/actors/timer-service.ts';
import type { Clock } from '../src/model/clock.ts';
import { LIMIT_MS, times } from './support/how-often.ts';

interface Model {
  readonly number: number;
  readonly dueAt: number;
  readonly act: 'nothing' | 'throw' | 'another' | 'stopOther';
  isLive: boolean;
  stop: () => void;
}

/** One armed callback at most, as the service promises; time moves when the test says so. */
function handClock() {
  let elapsed = 0;
  let armed: { readonly dueAt: number; readonly callback: () => void } | null = null;
  const clock: Clock = {
    now: () => elapsed,
    monotonic: () => elapsed,
    nextTurn: () => {},
    schedule(delayMs, callback) {
      expect(armed).toBeNull();
      const mine = { dueAt: elapsed + delayMs, callback };
      armed = mine;
      return () => {
        if (armed === mine) armed = null;
      };
    },
  };
  return {
    clock,
    isArmed: () => armed !== null,
    advance(ms: number): void {
      const until = elapsed + ms;
      for (let next = armed; next !== null && next.dueAt <= until; next = armed) {
        armed = null;
        elapsed = Math.max(elapsed, next.dueAt);
        next.callback();
      }
      elapsed = until;
    },
  };
}

const delay = fc.oneof(fc.nat(30), fc.constantFrom(0, 2 ** 31, -5, Number.POSITIVE_INFINITY));
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('set' as const),
      delayMs: delay,
      act: fc.constantFrom('nothing', 'nothing', 'throw', 'another', 'stopOther') as fc.Arbitrary<Model['act']>,
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('stop' as const), which: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('advance' as const), ms: fc.nat(40) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('setMany' as const), count: fc.nat(150) }) },
);

it(
  'TIM1, TIM2, TIM3: each fires once, in order, at its time, unless it was stopped; a throwing one harms no other',
  () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
        const hand = handClock();
        const errors: unknown[] = [];
        const timers = new TimerService(hand.clock, (error) => errors.push(error));
        const model: Model[] = [];
        const fired: number[] = [];
        let expectedThrows = 0;
        const live = (): Model[] => model.filter(({ isLive }) => isLive);
        const set = (delayMs: number, act: Model['act']): void => {
          const entry: Model = {
            number: model.length,
            dueAt: hand.clock.monotonic() + Math.max(0, delayMs),
            act,
            isLive: delayMs !== Number.POSITIVE_INFINITY,
            stop: () => {},
          };
          model.push(entry);
          entry.stop = timers.after(delayMs, () => {
            // The next one of the list, and exactly now.
            const next = live().sort((a, b) => a.dueAt - b.dueAt || a.number - b.number)[0];
            expect(entry.number).toBe(next?.number);
            expect(hand.clock.monotonic()).toBe(entry.dueAt);
            entry.isLive = false;
            fired.push(entry.number);
            if (act === 'another') set(entry.number % 7, 'nothing');
            if (act === 'stopOther') stop(entry.number * 31);
            if (act === 'throw') {
              expectedThrows += 1;
              throw new Error('thrown by a timer');
            }
          });
        };
        const stop = (which: number): void => {
          const entry = model[which % Math.max(1, model.length)];
          entry?.stop();
          if (entry !== undefined) entry.isLive = false;
        };
        for (const one of steps) {
          if (one.type === 'set') set(one.delayMs, one.act);
          else if (one.type === 'stop') stop(one.which);
          else if (one.type === 'setMany') {
            for (let index = 0; index < one.count; index++) set((index * 37) % 23, 'nothing');
            for (let index = 0; index < one.count; index += 2) stop(model.length - 1 - index);
          } else {
            const until = hand.clock.monotonic() + one.ms;
            hand.advance(one.ms);
            expect(live().every(({ dueAt }) => dueAt > until)).toBe(true);
          }
          expect(timers.size).toBe(live().length);
        }
        // Nothing a callback expected may hide behind the service's own fence.
        expect(errors.map(String)).toEqual(Array.from({ length: expectedThrows }, () => 'Error: thrown by a timer'));
        expect(new Set(fired).size).toBe(fired.length);
        timers.clear();
        hand.advance(2 ** 32);
        expect(timers.size).toBe(0);
        expect(hand.isArmed()).toBe(false);
        expect(new Set(fired).size).toBe(fired.length);
      }),
      times(200),
    );
  },
  LIMIT_MS,
);
