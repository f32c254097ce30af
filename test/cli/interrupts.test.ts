/** ITR1, ITR2: what counts as a signal, and what a process stays for. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Interrupts } from '../../src/doors/cli/interrupts.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const ours = new Map<NodeJS.Signals, readonly NodeJS.SignalsListener[]>();

beforeEach(() => {
  vi.useFakeTimers();
  for (const signal of SIGNALS) ours.set(signal, process.listeners(signal));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  for (const signal of SIGNALS)
    for (const listener of process.listeners(signal)) if (!ours.get(signal)?.includes(listener)) process.off(signal, listener);
});

function installed(belowNpm: boolean) {
  vi.stubEnv('npm_lifecycle_event', belowNpm ? 'start' : undefined);
  const heard: string[] = [];
  const interrupts = new Interrupts();
  interrupts.ask(() => heard.push('first'));
  interrupts.force(() => heard.push('second'));
  interrupts.install();
  return heard;
}

it('ITR1: the first one asks, the second one forces, whichever they are', () => {
  const heard = installed(false);
  process.emit('SIGINT');
  process.emit('SIGTERM');
  expect([heard, vi.getTimerCount()]).toEqual([['first', 'second'], 0]);
});

it('ITR2: below npm the same one right behind is its echo, and the process stays until it has come', () => {
  const heard = installed(true);
  process.emit('SIGINT');
  expect([heard, vi.getTimerCount()]).toEqual([['first'], 1]);
  vi.advanceTimersByTime(200);
  process.emit('SIGINT');
  expect([heard, vi.getTimerCount()]).toEqual([['first'], 0]);
  vi.advanceTimersByTime(1_000);
  process.emit('SIGINT');
  expect(heard).toEqual(['first', 'second']);
});

it('ITR2: where none comes, the process stays no longer than one could take', () => {
  installed(true);
  process.emit('SIGTERM');
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(250);
  expect(vi.getTimerCount()).toBe(0);
});
