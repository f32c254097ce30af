/**
 * A client of a server that stays connected: what happens, and the state of everything as rows that follow. The verbs are `OffstageClient`'s.
 *
 * OCL1  When the connection is lost the last state stays, and says of when it is (B61); once it is back it is that of the server again (B53).
 * OCL2  What settles, settles when the connection goes (`control.lost`); nothing is repeated in silence.
 * OCL3  `onEvent` is told in order, each record event once, none that is older than what was shown. A callback that throws harms nobody.
 */
import type { OffstageEvent } from '../../model/events.ts';
import type { OffstageError } from '../../model/offstage-error.ts';
import { settleQuietly } from '../../model/settle-quietly.ts';
import type { WireFields } from '../wire/rename.ts';
import { EVENT_TYPES } from '../wire/wire-events.ts';
import { Follower } from './follower.ts';
import { LiveModel } from './live-model.ts';
import { LiveRows } from './live-rows.ts';
import type { Connection, Live } from './live-state.ts';
import { Reconnector } from './reconnector.ts';
import type { OnPart, Requester } from './requester.ts';
import type { WayToServer } from './way-to-server.ts';
import type { WireConnection } from './wire-connection.ts';

export interface LiveOptions extends WayToServer {
  readonly types: readonly OffstageEvent['type'][] | null;
  readonly maxJobs: number;
  /** Gets what a callback has thrown. */
  readonly report: (error: unknown) => void;
}

/** What the rows cannot do without. */
const NEEDED: readonly OffstageEvent['type'][] = [
  'job.created',
  'job.status',
  'job.progress',
  'session.state_changed',
  'session.activity_changed',
  'session.turn_ended',
  'session.ticket',
  'session.quiet',
  'session.removed',
  'task.created',
  'task.updated',
  'task.removed',
];

export class LiveClient implements Requester {
  readonly #options: LiveOptions;
  readonly #rows: LiveRows;
  readonly #model: LiveModel;
  readonly #reconnector: Reconnector;
  readonly #callbacks = new Set<(event: OffstageEvent) => unknown>();
  readonly #types: ReadonlySet<string> | null;
  readonly #wireTypes: readonly string[] | null;
  #follower: Follower | null = null;
  readonly #opened: Promise<void>;
  #hasOpened = false;
  #onOpened = (): void => {};
  #onNeverOpened: (error: OffstageError) => void = () => {};

  constructor(options: LiveOptions) {
    const { types, maxJobs, clock, report } = options;
    this.#options = options;
    this.#types = types === null ? null : new Set<string>(types);
    this.#wireTypes = types === null ? null : [...new Set([...NEEDED, ...types])].map((type) => EVENT_TYPES[type]);
    this.#opened = new Promise((resolve, reject) => {
      this.#onOpened = resolve;
      this.#onNeverOpened = reject;
    });
    this.#opened.catch(() => {});
    this.#rows = new LiveRows(maxJobs);
    const standing: Connection = {
      status: 'connecting',
      since: clock.now(),
      lastHeardAt: null,
      seq: 0,
      epoch: null,
      error: null,
      retryAt: null,
    };
    this.#model = new LiveModel({ rows: this.#rows, clock, connection: standing, report });
    this.#reconnector = new Reconnector({
      ...options,
      onConnection: (connection) => this.#follow(connection),
      onChange: (change) => this.#model.connected(change),
      onEnd: (error) => this.#onNeverOpened(error),
    });
  }

  /** What it knows of everything. When the connection is lost the last state stays, and `connection` says so. */
  get live(): Live {
    return this.#model;
  }

  async request(action: string, fields?: WireFields, onPart?: OnPart): Promise<WireFields> {
    return (await this.#reconnector.connection()).request(action, fields, onPart);
  }

  /**
   * Resolves with the first snapshot: there is something to show.
   * @throws OffstageError `access.unauthorized`, `access.forbidden`, `access.refused`; `control.lost` once it is closed
   */
  opened(): Promise<void> {
    return this.#opened;
  }

  /**
   * Calls back with every event, in order: record events once each, none that is older than what was shown before; volatile ones while connected.
   * A `resync` says that some are missing: then the rows are read anew. Returns a function that ends it.
   */
  onEvent(callback: (event: OffstageEvent) => unknown): () => void {
    // The same callback twice is told twice.
    const own = (event: OffstageEvent): unknown => callback(event);
    this.#callbacks.add(own);
    return () => this.#callbacks.delete(own);
  }

  /** Lets go of the connection for good; what is not answered yet rejects with `control.lost`. */
  close(): void {
    this.#follower?.end();
    this.#reconnector.close();
    this.#model.flush();
  }

  #follow(connection: WireConnection): void {
    const { clock } = this.#options;
    this.#follower?.end();
    this.#follower = new Follower({
      connection,
      clock,
      rows: this.#rows,
      types: this.#wireTypes,
      onChange: () => this.#model.changed(),
      onEvent: (event) => this.#tell(event),
      onSnapshot: () => {
        this.#reconnector.confirm();
        if (this.#hasOpened) return;
        this.#hasOpened = true;
        // Whoever waited for it looks at once.
        this.#model.flush();
        this.#onOpened();
      },
      onRefused: (error) => (error.code.startsWith('access.') ? this.#reconnector.refuse(error) : connection.fail(error)),
    });
  }

  /** OCL3. */
  #tell(event: OffstageEvent): void {
    if (this.#types !== null && event.type !== 'resync' && !this.#types.has(event.type)) return;
    const { report } = this.#options;
    for (const callback of [...this.#callbacks]) {
      if (!this.#callbacks.has(callback)) continue;
      try {
        const answer = callback(event);
        settleQuietly(answer, report);
      } catch (error) {
        report(error);
      }
    }
  }
}
