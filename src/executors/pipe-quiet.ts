/**
 * When the pipes of a program that has ended hold no more of what it wrote.
 *
 * PIQ1  It takes a few turns of the event loop, whoever else holds a pipe open and however much that writes.
 */
import type { Clock } from '../model/clock.ts';

const MIB = 1024 * 1024;
/** More than any pipe holds: beyond it, what is read after the end was written by somebody else. */
const PIPE_BYTES = 4 * MIB;
/** Turns of the event loop without data, after which the pipes are empty. */
const QUIET_TURNS = 2;

/** Resolves when nothing more comes. `readBytes` grows with every chunk read. */
export async function untilQuiet(
  clock: Clock,
  pipes: { readonly isOpen: () => boolean; readonly readBytes: () => number },
): Promise<void> {
  const before = pipes.readBytes();
  let last = before;
  let quietTurns = 0;
  while (pipes.isOpen() && quietTurns < QUIET_TURNS && pipes.readBytes() - before < PIPE_BYTES) {
    await new Promise<void>((resolve) => clock.nextTurn(resolve));
    quietTurns = pipes.readBytes() === last ? quietTurns + 1 : 0;
    last = pipes.readBytes();
  }
}
