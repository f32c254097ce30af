/**
 * Reads the frames of an agent for its one listener, a session or a job (liveness 8).
 *
 * FPU1  No more than `LIMITS.framesPerTurn` frames are read per turn of the event loop: a flood keeps neither cancels nor I/O out.
 * FPU2  A frame that cannot be taken is reported, and the next one is read.
 * FPU3  What was told before an answer is heard before it; a flood that goes on behind it puts it off no longer than `LIMITS.turnsToHear`.
 * FPU4  A stream that is left early is told so, and not waited for.
 */
import type { Frame } from '../model/agent.ts';
import type { Clock } from '../model/clock.ts';
import { LIMITS } from '../model/limits.ts';

/** How far the reading is. */
export interface FramePace {
  /** The share of this turn of the event loop is used up: there may be more to read. */
  isResting: boolean;
}

export interface FrameListener {
  readonly clock: Clock;
  /** Kept by the pump. */
  readonly pace: FramePace;
  /** Nobody listens any more. */
  isOver(): boolean;
  take(frame: Frame): void;
  /** `take` threw this. */
  unreadable(error: unknown): void;
}

/** Resolves when the frames have ended, or when it is over. @throws what the stream throws; TypeError when it is none */
export async function pumpFrames(frames: AsyncIterable<Frame>, listener: FrameListener): Promise<void> {
  const { clock, pace } = listener;
  const iterator = frames[Symbol.asyncIterator]();
  for (let taken = 1; !listener.isOver(); taken += 1) {
    const result = await iterator.next();
    if (typeof result !== 'object' || result === null) throw new TypeError('what its frames answered is no frame');
    if (result.done) return;
    const frame = result.value;
    if (listener.isOver()) break;
    take(listener, frame);
    if (taken % LIMITS.framesPerTurn !== 0) continue;
    pace.isResting = true;
    await new Promise<void>((resolve) => clock.nextTurn(resolve));
    pace.isResting = false;
  }
  leave(iterator);
}

/** Calls back when all that was told until now has been heard (FPU3), in a later turn of the event loop. */
export function whenHeard(pace: FramePace, clock: Clock, heard: () => void): void {
  let turns = 0;
  const look = (): void => {
    turns += 1;
    if (pace.isResting && turns < LIMITS.turnsToHear) clock.nextTurn(look);
    else heard();
  };
  clock.nextTurn(look);
}

/** FPU2. */
function take(listener: FrameListener, frame: Frame): void {
  try {
    listener.take(frame);
  } catch (error) {
    try {
      listener.unreadable(error);
    } catch {
      // Who is told of it may fail as well.
    }
  }
}

/** FPU4. */
function leave(iterator: AsyncIterator<Frame>): void {
  // Whatever it says to that, nobody listens.
  Promise.resolve()
    .then(() => iterator.return?.())
    .catch(() => {});
}
