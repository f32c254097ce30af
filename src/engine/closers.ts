/**
 * What hangs on an engine and goes with it: executors, the control socket, handlers of signals.
 *
 * CLO1  One that hangs or throws is reported, and keeps neither the others nor the engine from closing (G16).
 */
import type { Core } from './core.ts';

export type Closer = () => Promise<void> | void;

/** Each gets the shutdown's grace, at most this long. */
const LONGEST_CLOSE_MS = 10_000;

/** Closes all of them at once. Never rejects. */
export async function closeAll(core: Core, closers: readonly Closer[]): Promise<void> {
  await Promise.all(closers.map((close) => closeInTime(core, close)));
}

async function closeInTime(core: Core, close: Closer): Promise<void> {
  const { clock, shutdownGraceMs } = core.settings;
  let stop = (): void => {};
  const late = new Promise<never>((_, reject) => {
    const limitMs = Math.min(shutdownGraceMs, LONGEST_CLOSE_MS);
    stop = clock.schedule(limitMs, () => reject(new Error(`it has not closed within ${limitMs} ms`)));
  });
  try {
    await Promise.race([Promise.resolve().then(close), late]);
  } catch (error) {
    core.report('close.failed', error);
  } finally {
    stop();
  }
}
