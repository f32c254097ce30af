/** The verbs, and what happens, and the state of everything as rows that follow: over a connection that is made anew when it is lost (OCL1–OCL3). */
import type { OffstageEvent } from '../../model/events.ts';
import { LiveClient, type LiveOptions } from './live-client.ts';
import type { Live } from './live-state.ts';
import { Verbs } from './verbs.ts';

export class OffstageClient extends Verbs {
  readonly #client: LiveClient;

  /** Use `connect`. */
  constructor(options: LiveOptions) {
    const client = new LiveClient(options);
    super(client);
    this.#client = client;
  }

  /** What it knows of everything. When the connection is lost the last state stays, and `connection` says so. */
  get live(): Live {
    return this.#client.live;
  }

  /**
   * Resolves with the first snapshot: there is something to show.
   * @throws OffstageError `access.unauthorized`, `access.forbidden`, `access.refused`; `control.lost` once it is closed
   */
  opened(): Promise<void> {
    return this.#client.opened();
  }

  /**
   * Calls back with every event, in order: record events once each, none that is older than what was shown before; volatile ones while connected.
   * A `resync` says that some are missing: then the rows are read anew. Returns a function that ends it.
   */
  onEvent(callback: (event: OffstageEvent) => unknown): () => void {
    return this.#client.onEvent(callback);
  }

  /** Lets go of the connection for good; what is not answered yet rejects with `control.lost`. */
  close(): void {
    this.#client.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
