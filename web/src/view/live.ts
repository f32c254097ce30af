/**
 * What the engine tells, as this page shows it.
 *
 * DSH11  Paused, the last state stays as it was; what happens meanwhile is shown on resuming. Whether there is a connection is told all the same.
 * DSH12  Time goes on only while it is known that work does: not while paused, not while disconnected.
 */
import { useEffect, useReducer } from 'preact/hooks';
import { LiveClient } from '../../../src/doors/client/live-client.ts';
import { wayToServer } from '../../../src/doors/client/way-to-server.ts';
import type { LiveState } from '../model/client.ts';
import type { Source } from './use-source.ts';
import { useSource } from './use-source.ts';

/** Jobs that are kept in the list. */
export const MOST_JOBS = 20_000;

/** Without verbs: those are in `verbs.ts`, which comes after the first view. */
export const client = new LiveClient({
  ...wayToServer({ base: new URL('.', location.href), webSocket: async () => WebSocket }),
  // All but what jobs print, which may be very much: that is asked for by who looks at one.
  types: ['job.status', 'job.progress', 'session.output', 'session.turn_ended', 'session.quiet', 'session.ticket'],
  maxJobs: MOST_JOBS,
  report: (error) => console.error(error),
});

const listeners = new Set<() => void>();
let paused: (LiveState & { readonly pausedAt: number }) | null = null;
let isScheduled = false;

function tell(): void {
  isScheduled = false;
  for (const listener of listeners) listener();
}

// One drawing per frame; a tab that nobody sees gets no frames, and needs its title.
client.live.subscribe(() => {
  if (isScheduled) return;
  isScheduled = true;
  if (document.hidden) setTimeout(tell, 250);
  else requestAnimationFrame(tell);
});

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** The state that is shown. */
export const shown: Source<LiveState> = { get: () => paused ?? client.live.get(), subscribe };
/** The state as it is, for what has to be told also while paused. */
export const current: Source<LiveState> = { get: () => client.live.get(), subscribe };

export const useShown = <Part>(select: (state: LiveState) => Part): Part => useSource(shown, select);
export const useCurrent = <Part>(select: (state: LiveState) => Part): Part => useSource(current, select);

const pauseSource: Source<number | null> = { get: () => paused?.pausedAt ?? null, subscribe };
export const usePausedAt = (): number | null => useSource(pauseSource, (at) => at);

export function setPaused(isPaused: boolean): void {
  const state = client.live.get();
  const { tasks, sessions, jobs } = state;
  paused = isPaused
    ? { ...state, tasks: new Map(tasks), sessions: new Map(sessions), jobs: new Map(jobs), pausedAt: engineTime() }
    : null;
  tell();
}

/** Milliseconds by which the engine's clock is ahead of ours; small differences are the way of the messages. */
let skewMs = Number.NEGATIVE_INFINITY;
client.onEvent(({ at }) => {
  skewMs = Math.max(skewMs, at - Date.now());
});

const engineTime = (): number => Date.now() + (Math.abs(skewMs) > 2_000 && Number.isFinite(skewMs) ? skewMs : 0);

/** DSH12. */
export function shownTime(): number {
  if (paused !== null) return paused.pausedAt;
  const { status, lastHeardAt } = client.live.get().connection;
  return status === 'lost' && lastHeardAt !== null ? lastHeardAt + engineTime() - Date.now() : engineTime();
}

const ticks = new Set<() => void>();
setInterval(() => {
  for (const tick of ticks) tick();
}, 1_000);

/** Now, every second anew while something counts. */
export function useNow(isCounting = true): number {
  const [, redraw] = useReducer((count: number, _: null) => count + 1, 0);
  useEffect(() => {
    if (!isCounting) return;
    const tick = (): void => redraw(null);
    ticks.add(tick);
    return () => {
      ticks.delete(tick);
    };
  }, [isCounting]);
  return shownTime();
}
