/** SRN1, SRN2, HOP1, HOP2, LCK1, LCK2: chance by name, what is due, and time that stands still. */
import { describe, expect, it } from 'vitest';
import { Hops } from '../../../src/testing/simulation/hops.ts';
import { LifeClock } from '../../../src/testing/simulation/life-clock.ts';
import { random } from '../../../src/testing/simulation/random.ts';

const draws = (dice: ReturnType<typeof random>, count = 50): readonly number[] =>
  Array.from({ length: count }, () => dice.integer(1_000));

describe('random', () => {
  it('SRN1: the same seed and path give the same numbers, whatever else was drawn', () => {
    const first = random(7, 'step', 12);
    draws(random(7, 'step', 13));
    expect(draws(first)).toEqual(draws(random(7, 'step', 12)));
    // Fixed for good: what a seed means must not change under a failure that somebody has noted.
    expect(draws(random(7, 'step', 12), 5)).toEqual([207, 345, 537, 898, 970]);
  });

  it('SRN1: paths and seeds that are close give numbers that are not', () => {
    const all = [random(7, 'step', 12), random(7, 'step', 13), random(8, 'step', 12), random(7, 'steps', 12)].map((dice) =>
      draws(dice),
    );
    for (const [index, one] of all.entries()) {
      for (const other of all.slice(index + 1)) expect(one.filter((value, at) => value === other[at]).length).toBeLessThan(3);
    }
  });

  it('is even, and keeps to its bounds', () => {
    const counts = Array<number>(6).fill(0);
    const dice = random(1, 'even');
    for (let drawn = 0; drawn < 60_000; drawn++) {
      const value = dice.integer(6);
      counts[value] = (counts[value] ?? 0) + 1;
    }
    expect(counts).toHaveLength(6);
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500);
    const heads = Array.from({ length: 20_000 }, () => dice.chance(0.25)).filter(Boolean).length;
    expect(Math.abs(heads - 5_000)).toBeLessThan(300);
    const weighted = Array.from({ length: 20_000 }, () =>
      dice.weighted([[3, 'often'] as const, [0, 'never'] as const, [1, 'seldom'] as const]),
    );
    expect(weighted).not.toContain('never');
    expect(Math.abs(weighted.filter((item) => item === 'seldom').length - 5_000)).toBeLessThan(300);
  });

  it('SRN2: a name that goes changes only the picks that were it; in any order', () => {
    const names = Array.from({ length: 12 }, (_, index) => `step${index}`);
    const picks = (from: readonly string[]): readonly (string | undefined)[] =>
      Array.from({ length: 300 }, (_, index) => random(3, 'pick', index).pickNamed(from));
    const whole = picks(names);
    expect(new Set(whole).size).toBe(12);
    expect(picks(names.toReversed())).toEqual(whole);
    const gone = 'step5';
    const without = picks(names.filter((name) => name !== gone));
    for (const [index, pick] of whole.entries()) {
      if (pick === gone) expect(without[index]).not.toBe(gone);
      else expect(without[index]).toBe(pick);
    }
    expect(random(3, 'pick').pickNamed([])).toBeUndefined();
  });
});

describe('hops', () => {
  it('HOP1: what is due happens when it is picked, once, in the order of the picks', async () => {
    const hops = new Hops();
    const happened: string[] = [];
    for (const label of ['a', 'b', 'c']) hops.add(label, () => happened.push(label));
    const promised = hops.hop('d').then(() => happened.push('d'));
    expect(hops.labels).toEqual(['a', 'b', 'c', 'd']);
    hops.happen(1);
    hops.happen(2);
    await promised;
    hops.happen(0);
    expect(happened).toEqual(['b', 'd', 'a']);
    expect(hops.labels).toEqual(['c']);
    hops.happen(5);
    expect(hops.size).toBe(1);
  });

  it('what happens may make something due', () => {
    const hops = new Hops();
    hops.add('first', () => hops.add('second', () => {}));
    hops.happen(0);
    expect(hops.labels).toEqual(['second']);
  });

  it('HOP2: after the end nothing happens', async () => {
    const hops = new Hops();
    const happened: string[] = [];
    hops.add('before', () => happened.push('before'));
    const waiting = hops.hop('waits').then(() => happened.push('waits'));
    hops.end();
    hops.add('after', () => happened.push('after'));
    expect(hops.size).toBe(0);
    hops.happen(0);
    await Promise.race([waiting, Promise.resolve()]);
    expect(happened).toEqual([]);
  });
});

describe('the clock of a life', () => {
  const at = (elapsedMs: number) => {
    const time = { elapsedMs, wallOffset: 1_000_000 };
    const hops = new Hops();
    return { time, hops, clock: new LifeClock(time, hops), fired: [] as string[] };
  };

  it('LCK1: timers fire when they are asked to, by time, then in the order of their making', () => {
    const { time, clock, fired } = at(500);
    clock.schedule(20, () => fired.push('late'));
    clock.schedule(10, () => fired.push('first'));
    clock.schedule(10, () => fired.push('second'));
    clock.schedule(-5, () => fired.push('at once'));
    expect(clock.nextDueAt).toBe(500);
    expect(clock.fireNext()).toBe(true);
    expect(clock.fireNext()).toBe(false);
    expect(clock.nextDueAt).toBe(510);
    time.elapsedMs = 1_000;
    expect(fired).toEqual(['at once']);
    while (clock.fireNext());
    expect(fired).toEqual(['at once', 'first', 'second', 'late']);
    expect(clock.nextDueAt).toBeNull();
  });

  it('a timer that was stopped does not fire, nor does it hold up others', () => {
    const { time, clock, fired } = at(0);
    const stop = clock.schedule(1, () => fired.push('stopped'));
    clock.schedule(2, () => fired.push('kept'));
    stop();
    stop();
    expect(clock.nextDueAt).toBe(2);
    time.elapsedMs = 5;
    while (clock.fireNext());
    expect(fired).toEqual(['kept']);
  });

  it('the wall clock jumps, and elapsed time does not', () => {
    const { time, clock } = at(10.5);
    expect([clock.now(), clock.monotonic()]).toEqual([1_000_010, 10.5]);
    time.wallOffset -= 400_000;
    expect([clock.now(), clock.monotonic()]).toEqual([600_010, 10.5]);
  });

  it('LCK2: a turn of the loop is due like everything else', () => {
    const { clock, hops, fired } = at(0);
    clock.nextTurn(() => fired.push('turn'));
    expect(fired).toEqual([]);
    hops.happen(0);
    expect(fired).toEqual(['turn']);
  });
});
