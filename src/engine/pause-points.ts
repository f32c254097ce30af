/** Named points at which tests hold an engine still; `testing/pause-at.ts` is the hand that does it. */

/**
 * `snapshot`: a stop has read its sources. `lock`: it is about to decide. `terminal_write`: what it decided is stored, and nobody was told to end yet.
 * `publish`: activity of sessions and tasks is about to be told.
 */
export type PausePoint = 'snapshot' | 'lock' | 'terminal_write' | 'publish';

export interface PausePoints {
  /** Whether nothing is to pass the point now; `resume` is called when that is over. */
  isPaused(point: PausePoint, resume: () => void): boolean;
}

/** Goes on at once, or when the point is let go. */
export function pass(points: PausePoints | null, point: PausePoint, go: () => void): void {
  if (points?.isPaused(point, go) !== true) go();
}
