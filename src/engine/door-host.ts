/**
 * What doors need of the engine and of the program around it, beside its verbs.
 *
 * DRH1  A door that was told of here is closed with the engine, after everything has ended and before the store goes.
 */
import { offstageError } from '../model/errors.ts';
import type { Log } from '../model/requests.ts';
import type { Closer } from './closers.ts';
import type { Core } from './core.ts';

export interface DoorHost {
  /** The data folder; null with a store of the host's own. */
  readonly dataDir: string | null;
  /** Names this process in events. */
  readonly epoch: string;
  /** The newest record event that is committed. */
  readonly seq: number;
  readonly log: Log;
  /** DRH1. Returns a function that forgets it. @throws OffstageError `engine.closing` */
  beforeClose(close: Closer): () => void;
}

/** @param closers grows with each door; whoever closes the engine reads it */
export function doorHost(
  core: Core,
  closers: Set<Closer>,
  { dataDir, isClosing }: { readonly dataDir: string | null; readonly isClosing: () => boolean },
): DoorHost {
  return {
    dataDir,
    epoch: core.epoch,
    get seq() {
      return core.loop.seq;
    },
    log: core.settings.log,
    beforeClose(close) {
      if (isClosing()) throw offstageError('engine.closing', {});
      closers.add(close);
      return () => void closers.delete(close);
    },
  };
}
