/**
 * Tells the context of a job something, which refuses once the job has ended (EXE2). What runs on after a detached end must not
 * fail on that.
 */
export function quietly(tell: () => void): void {
  try {
    tell();
  } catch {
    // Nobody is left to be told.
  }
}
