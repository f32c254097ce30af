import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/actors/clock.ts';
import { idSource, ordinalHint } from '../../src/actors/id-source.ts';
import { TimerService } from '../../src/actors/timer-service.ts';
import type { Clock } from '../../src/model/clock.ts';
import { virtualClock } from '../../src/testing/virtual-clock.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

describe('the real clock', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('CLK2: waits out a delay above 2^31-1 ms, which Node alone would fire at once', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const fired = vi.fn();
    systemClock.schedule(60 * DAY_MS, fired);
    vi.advanceTimersByTime(60 * DAY_MS - 1);
    expect(fired).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fired).toHaveBeenCalledTimes(1);
  });

  it('a stopped timer never fires, also in its second piece', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const fired = vi.fn();
    const stop = systemClock.schedule(60 * DAY_MS, fired);
    vi.advanceTimersByTime(30 * DAY_MS);
    stop();
    vi.advanceTimersByTime(60 * DAY_MS);
    expect(fired).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('the timer service', () => {
  const service = () => {
    const clock = virtualClock();
    const errors: unknown[] = [];
    return { clock, errors, timers: new TimerService(clock, (error) => errors.push(error)) };
  };

  it('TIM2: fires in the order of the times, and in the order of their making at the same time', async () => {
    const { clock, timers } = service();
    const fired: string[] = [];
    timers.after(20, () => fired.push('late'));
    timers.after(10, () => fired.push('first'));
    timers.after(10, () => fired.push('second'));
    await clock.advance(20);
    expect(fired).toEqual(['first', 'second', 'late']);
  });

  it('TIM3: a throwing callback harms no other timer', async () => {
    const { clock, timers, errors } = service();
    const fired: string[] = [];
    timers.after(10, () => {
      throw new Error('no');
    });
    timers.after(10, () => fired.push('still'));
    await clock.advance(10);
    expect(fired).toEqual(['still']);
    expect(errors).toHaveLength(1);
  });

  it('a callback that asks to be called at once, again and again, does not hold up the others', async () => {
    const { clock, timers } = service();
    const fired: string[] = [];
    const again = (): void => {
      fired.push('again');
      if (fired.length < 50) timers.after(0, again);
    };
    timers.after(10, again);
    timers.after(10, () => fired.push('other'));
    await clock.advance(10);
    expect(fired.slice(0, 2)).toEqual(['again', 'other']);
    expect(fired).toHaveLength(50);
  });

  it('keeps one timer of the clock, whatever it is asked for, and none when nothing is due', () => {
    const { clock, timers } = service();
    const stops = Array.from({ length: 1_000 }, (_, index) => timers.after(1_000 + index, () => {}));
    expect(clock.pending).toBe(1);
    expect(timers.size).toBe(1_000);
    for (const stop of stops) stop();
    expect(timers.size).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it('TIM4: keeps the process alive while one that is not in the background waits, whichever is due first', async () => {
    const clock = virtualClock();
    const armed: (boolean | undefined)[] = [];
    const noting: Clock = {
      ...clock,
      schedule: (delayMs, callback, options) => {
        armed.push(options?.background);
        return clock.schedule(delayMs, callback, options);
      },
    };
    const timers = new TimerService(noting, () => {});
    const fired: string[] = [];
    timers.after(10, () => fired.push('first'), { background: true });
    timers.after(30, () => fired.push('last'), { background: true });
    const stop = timers.after(20, () => {});
    stop();
    stop();
    expect(armed).toEqual([true, false, true]);
    timers.after(20, () => fired.push('kept for'));
    await clock.advance(10);
    expect(armed.slice(3)).toEqual([false, false]);
    await clock.advance(10);
    expect(armed.slice(5)).toEqual([true]);
    await clock.advance(10);
    expect(fired).toEqual(['first', 'kept for', 'last']);
    timers.after(5, () => {});
    timers.clear();
    timers.after(5, () => {}, { background: true });
    expect(armed.slice(6)).toEqual([false, true]);
  });

  it('follows elapsed time, not the wall clock', async () => {
    const { clock, timers } = service();
    const fired = vi.fn();
    timers.after(1_000, fired);
    clock.jumpWall(DAY_MS);
    await clock.advance(999);
    expect(fired).not.toHaveBeenCalled();
    clock.jumpWall(-2 * DAY_MS);
    await clock.advance(1);
    expect(fired).toHaveBeenCalledTimes(1);
  });
});

describe('ids', () => {
  it('IDS1: sort by their ordinal as text, and tell it', () => {
    const ordinals = [1, 2, 31, 32, 33, 1_023, 1_024, 100_000, 2 ** 40, Number.MAX_SAFE_INTEGER - 1];
    // The largest have more than ten characters of base 32 and lose their front: no store gets there.
    const made = ordinals.filter((ordinal) => ordinal < 32 ** 10).map((ordinal) => idSource.jobId(ordinal));
    expect(made.toSorted()).toEqual(made);
    expect(made.map(ordinalHint)).toEqual(ordinals.filter((ordinal) => ordinal < 32 ** 10));
  });

  it('ids of other makers tell no ordinal', () => {
    for (const id of ['', 'job_', 'job-1', 'job_0000000001', `job_${'U'.repeat(26)}`, `job_${'0'.repeat(27)}`, 'x']) {
      expect(ordinalHint(id)).toBeNull();
    }
  });

  it('IDS2: two ids of one ordinal share no random part', () => {
    expect(idSource.jobId(7).slice(-16)).not.toBe(idSource.jobId(7).slice(-16));
    expect(idSource.id('exec')).toMatch(/^exec_[0-9A-Z]{26}$/);
  });
});
