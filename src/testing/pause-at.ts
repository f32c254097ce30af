/**
 * Named points at which a test holds an engine still, to see what others do meanwhile.
 *
 * PAU1  While a point is held nothing passes it; whatever else the engine does goes on.
 * PAU2  The last release of a point lets through what has come to it meanwhile, in order, each once.
 */
import type { PausePoint, PausePoints } from '../engine/pause-points.ts';

export type { PausePoint } from '../engine/pause-points.ts';

export interface HeldPoint {
  /** Lets go; a second call does nothing. */
  release(): void;
}

export interface PauseControl {
  /** Goes into the engine under test; into one engine only. */
  readonly points: PausePoints;
  /** Holds the point from now on, until every hold of it was released. */
  pauseAt(point: PausePoint): HeldPoint;
}

/**
 * The pause points of one engine, and the hand that holds them.
 * @example
 * const { points, pauseAt } = pausePoints();
 * const held = pauseAt('publish');
 * // … activity changes, and nobody is told …
 * held.release();
 */
export function pausePoints(): PauseControl {
  const holds = new Map<PausePoint, number>();
  const waiting = new Map<PausePoint, Set<() => void>>();
  return {
    points: {
      isPaused(point, resume) {
        if ((holds.get(point) ?? 0) === 0) return false;
        const there = waiting.get(point) ?? new Set();
        waiting.set(point, there.add(resume));
        return true;
      },
    },
    pauseAt(point) {
      holds.set(point, (holds.get(point) ?? 0) + 1);
      let isHeld = true;
      return {
        release() {
          if (!isHeld) return;
          isHeld = false;
          const left = (holds.get(point) ?? 1) - 1;
          holds.set(point, left);
          if (left > 0) return;
          const there = waiting.get(point) ?? [];
          waiting.delete(point);
          for (const resume of there) resume();
        },
      };
    },
  };
}
