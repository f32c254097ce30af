/**
 * A client of a server that stays connected.
 */
import type { OffstageEvent } from '../../model/events.ts';
import type { WireFields } from '../rename.ts';
import type { Live } from './live-state.ts';
import { Verbs } from './verbs.ts';
import type { OnPart } from './wire-client.ts';

export class OffstageClient extends Verbs {
  /** What it knows of everything. When the connection is lost the last state stays, and `connection` says so. */
  readonly live: Live;

  constructor(live: Live) {
    super();
    this.live = live;
  }

  request(_action: string, _fields?: WireFields, _onPart?: OnPart): Promise<WireFields> {
    throw new Error('not yet');
  }

  /**
   * Resolves when there is something to show: with the first snapshot; at once if there was one.
   * @throws OffstageError `access.unauthorized`, `access.forbidden`, `access.refused`; `control.lost` once it is closed
   */
  opened(): Promise<void> {
    throw new Error('not yet');
  }

  /**
   * Calls back with every event, in order: record events once each, none that is older than what was shown before; volatile ones while connected.
   * A `resync` says that record events are missing: what is shown is read anew. Returns a function that ends it.
   */
  onEvent(_callback: (event: OffstageEvent) => unknown): () => void {
    throw new Error('not yet');
  }

  /** Lets go of the connection for good; what is not answered yet rejects with `control.lost`. */
  close(): void {
    throw new Error('not yet');
  }
}
