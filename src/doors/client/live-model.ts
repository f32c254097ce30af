/**
 * What is told of the live rows, and when (@xstate/store).
 *
 * LMO1  A change is told within 50 ms, and the next one not before 50 ms later; nothing is told when nothing has changed.
 * LMO2  A callback that throws, or rejects, harms nobody: @xstate/store would skip the rest and throw to whoever received the frame.
 */
import { createStore } from '@xstate/store';
import type { StopTimer } from '../../model/clock.ts';
import { settleQuietly } from '../../model/settle-quietly.ts';
import type { ClientClock } from './client-clock.ts';
import type { LiveRows } from './live-rows.ts';
import type { Connection, Live, LiveState } from './live-state.ts';

const PACE_MS = 50;

export interface LiveModelOptions {
  readonly rows: LiveRows;
  readonly clock: ClientClock;
  readonly connection: Connection;
  /** Gets what a callback has thrown. */
  readonly report: (error: unknown) => void;
}

export class LiveModel implements Live {
  readonly #rows: LiveRows;
  readonly #clock: ClientClock;
  readonly #report: (error: unknown) => void;
  readonly #store;
  #connection: Connection;
  #isChanged = false;
  #toldAt = Number.NEGATIVE_INFINITY;
  #stopTimer: StopTimer | null = null;

  constructor({ rows, clock, connection, report }: LiveModelOptions) {
    this.#rows = rows;
    this.#clock = clock;
    this.#connection = connection;
    this.#report = report;
    this.#store = createStore({
      context: this.#state(0),
      on: { told: (_: LiveState, { state }: { state: LiveState }): LiveState => state },
    });
  }

  get(): LiveState {
    return this.#store.getSnapshot().context;
  }

  subscribe(callback: (state: LiveState) => unknown): () => void {
    const subscription = this.#store.subscribe(({ context }) => {
      try {
        const answer = callback(context);
        settleQuietly(answer, this.#report);
      } catch (error) {
        this.#report(error);
      }
    });
    return () => subscription.unsubscribe();
  }

  /** How the client stands to the server has changed. */
  connected(change: Partial<Connection>): void {
    const { status, since } = this.#connection;
    this.#connection = { ...this.#connection, ...change };
    if (this.#connection.status === status) this.#connection = { ...this.#connection, since };
    this.#isChanged = true;
    this.changed();
  }

  /** Rows have changed, perhaps. */
  changed(): void {
    const { tasks, sessions, jobs } = this.#rows;
    for (const rows of [tasks, sessions, jobs]) this.#isChanged = rows.takeChanged() || this.#isChanged;
    if (!this.#isChanged || this.#stopTimer !== null) return;
    const waitMs = Math.min(Math.max(0, this.#toldAt + PACE_MS - this.#clock.now()), PACE_MS);
    this.#stopTimer = this.#clock.schedule(waitMs, () => this.#tell());
  }

  /** Tells at once what there is to tell: nothing more will come. */
  flush(): void {
    if (this.#stopTimer === null) return;
    this.#stopTimer();
    this.#tell();
  }

  #tell(): void {
    this.#stopTimer = null;
    this.#isChanged = false;
    this.#toldAt = this.#clock.now();
    this.#store.send({ type: 'told', state: this.#state(this.get().version + 1) });
  }

  #state(version: number): LiveState {
    const { tasks, sessions, jobs, isComplete, seq, epoch } = this.#rows;
    return {
      version,
      connection: { ...this.#connection, seq, epoch },
      tasks: tasks.rows,
      sessions: sessions.rows,
      jobs: jobs.rows,
      isComplete,
      counts: jobs.counts,
    };
  }
}
