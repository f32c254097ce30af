/**
 * A world of one seed: a store, one engine after the other on it, and everything that acts on them, step by step.
 *
 * WLD1  A step is named by its number, and draws from its own chance: leaving steps out changes no other step's.
 * WLD2  Between two steps nothing happens by itself: what is due waits until a step lets it happen.
 * WLD3  At rest nothing is due. A world comes to rest now and then, and at its end, after everything was let go.
 */
import { isOffstageError } from '../../model/offstage-error.ts';
import { memoryStore } from '../../persistence/memory-store.ts';
import type { Store, StoreEntry } from '../../persistence/store.ts';
import type { Fact, FactBody } from './facts.ts';
import { EngineLife, type LifeOptions } from './life.ts';
import type { WorldTime } from './life-clock.ts';
import { names } from './names.ts';
import { attachObserver } from './observers.ts';
import { type Random, random } from './random.ts';
import { viewAtRest } from './rest-view.ts';
import type { Action, Stage } from './stage.ts';

/** More than this at rest is something that feeds itself. */
const MOST_HOPS = 50_000;
const STARTED_AT = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;
const LONGEST_FULL_MS = 5_000;

export interface WorldOptions {
  readonly seed: number;
  readonly actions: readonly Action[];
  readonly optionsOf: (world: World) => LifeOptions;
  /** Jobs that may go on for ever: people cancel them once everything was let go. */
  readonly endless: () => readonly string[];
  /** Called with every fact, in order. True: that was enough, and nothing more is to happen. */
  readonly onFact: (fact: Fact) => boolean;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export class World {
  readonly seed: number;
  readonly time: WorldTime = { elapsedMs: 0, wallOffset: STARTED_AT };
  readonly jobs = names();
  readonly sessions = names();
  readonly tasks = names();
  readonly tickets = names();
  #step = -1;
  #facts = 0;
  #hasEnough = false;
  #life: EngineLife | null = null;
  #lives = 0;
  #rows: Store = memoryStore();
  #canStore = true;
  readonly #numbers = { run: 0, agent: 0, call: 0, observer: 0 };
  readonly #options: WorldOptions;
  readonly #actions: readonly (readonly [number, Action])[];

  constructor(options: WorldOptions) {
    this.seed = options.seed;
    this.#options = options;
    this.#actions = options.actions.map((action) => [action.weight, action] as const);
  }

  /** Enough was seen: a violation, most likely. */
  get hasEnough(): boolean {
    return this.#hasEnough;
  }

  get facts(): number {
    return this.#facts;
  }

  note(fact: FactBody): void {
    if (this.#hasEnough) return;
    this.#facts += 1;
    this.#hasEnough = this.#options.onFact({ step: this.#step, at: this.time.elapsedMs, life: this.#lives, ...fact });
  }

  nextNumber(what: 'run' | 'agent' | 'call' | 'observer'): number {
    this.#numbers[what] += 1;
    return this.#numbers[what];
  }

  /** One step, whatever was before it. */
  async step(number: number): Promise<void> {
    this.#step = number;
    const dice = random(this.seed, 'step', number);
    const life = await this.#openLife();
    if (life === null) return;
    const kind = dice.weighted<'act' | 'go' | 'time' | 'fault' | 'rest'>([
      [32, 'act'],
      [51, 'go'],
      [12, 'time'],
      [3.5, 'fault'],
      [1.5, 'rest'],
    ]);
    if (kind === 'act') this.#act(life, dice);
    else if (kind === 'go') await this.#goOn(life, dice);
    else if (kind === 'time') await this.#passTime(life, dice);
    else if (kind === 'fault') await this.#harm(life, dice);
    else await this.#rest(life, false);
    await turn();
  }

  /** Lets everything go, comes to rest, and closes. */
  async end(step: number): Promise<void> {
    this.#step = step;
    const life = await this.#openLife();
    if (life === null || this.#hasEnough) return;
    this.#heal(life);
    this.note({ type: 'did', what: 'the end: whatever hangs is let go, and hours pass' });
    life.letGo();
    for (let hours = 0; hours < 48 && !this.#hasEnough; hours++) {
      await this.#advance(life, HOUR_MS);
      for (const jobId of this.#options.endless()) void life.cancel(jobId, { who: 'person' });
      const health = life.offstage?.health();
      const isBusy =
        health !== undefined && health.pool.running + health.pool.waiting + health.pool.queued + health.agents.ending > 0;
      if (hours > 8 && !isBusy) break;
    }
    await this.#rest(life, true);
    await this.#close(life);
  }

  /** The life that is open now; a new one when the last has ended. Null: it had enough. */
  async #openLife(): Promise<EngineLife | null> {
    if (this.#life !== null) {
      if (!this.#life.isClosed) return this.#life;
      await this.#leaveClosed(this.#life);
    }
    while (!this.#hasEnough) {
      const life = new EngineLife(this, this.#lives + 1, this.#rows);
      this.#lives += 1;
      let outcome: 'opening' | 'open' | 'failed' = 'opening';
      let failure: unknown;
      life.open(this.#options.optionsOf(this)).then(
        () => {
          outcome = 'open';
        },
        (error) => {
          outcome = 'failed';
          failure = error;
        },
      );
      await turn();
      const dice = random(this.seed, 'opening', this.#lives);
      // Now and then the next process dies while it still repairs what the last one left.
      const diesAfter = dice.chance(0.1) ? dice.integer(20) : Number.POSITIVE_INFINITY;
      for (let hops = 0; outcome === 'opening'; hops++) {
        if (hops >= diesAfter) break;
        if (life.hops.size === 0 && !life.clock.fireNext()) {
          this.note({ type: 'never-rests', pending: ['an opening that waits for nothing'] });
          return null;
        }
        life.hops.happen(0);
        await turn();
      }
      this.#life = life;
      if ((outcome as string) === 'open') {
        const { offstage } = life;
        const { jobs } = this;
        // Where there are several, the order in which they are told shows.
        if (offstage !== null && dice.chance(0.3))
          for (const random of [dice, dice]) attachObserver({ life, offstage, jobs, random });
        return life;
      }
      if ((outcome as string) === 'failed') {
        // The store of a new life has no faults yet: it would fail for ever.
        if (isOffstageError(failure, 'config.invalid')) throw failure;
        this.note({ type: 'never-rests', pending: [`an engine that cannot be opened: ${failure}`] });
        this.#hasEnough = true;
        return null;
      }
      await this.#crash(life, dice);
    }
    return null;
  }

  #act(life: EngineLife, dice: Random): void {
    const { offstage } = life;
    if (offstage === null) return;
    const { jobs, sessions, tasks, tickets } = this;
    const stage: Stage = { life, offstage, step: this.#step, random: dice, jobs, sessions, tasks, tickets };
    dice.weighted(this.#actions).act(stage);
  }

  /** Some of what is due happens, in any order. */
  async #goOn(life: EngineLife, dice: Random): Promise<void> {
    for (let left = 1 + dice.integer(6); left > 0 && life.hops.size > 0 && !this.#hasEnough; left--) {
      life.hops.happen(dice.integer(life.hops.size));
      await turn();
    }
  }

  async #passTime(life: EngineLife, dice: Random): Promise<void> {
    const wanted = dice.weighted<() => number>([
      [8, () => Math.max(0, (life.clock.nextDueAt ?? this.time.elapsedMs) - this.time.elapsedMs)],
      [5, () => dice.integer(1_000)],
      [4, () => dice.integer(60_000)],
      [1, () => dice.integer(HOUR_MS)],
      [0.3, () => dice.integer(24 * HOUR_MS)],
      // Beyond what the log keeps.
      [0.03, () => 8 * 24 * HOUR_MS],
    ])();
    // Retries are frequent: a disk that is full for hours shows nothing that it does not show in seconds.
    const ms = this.#canStore ? wanted : Math.min(wanted, LONGEST_FULL_MS);
    if (dice.chance(0.85)) await this.#advance(life, ms);
    else await this.#standStill(life, Math.min(ms, 120_000));
  }

  /** Time passes on a machine that keeps up: whatever is due happens before the next timer. */
  async #advance(life: EngineLife, ms: number): Promise<void> {
    const until = this.time.elapsedMs + ms;
    await this.#settle(life);
    for (let dueAt = life.clock.nextDueAt; dueAt !== null && dueAt <= until && !this.#hasEnough; dueAt = life.clock.nextDueAt) {
      this.time.elapsedMs = Math.max(this.time.elapsedMs, dueAt);
      life.clock.fireNext();
      await turn();
      await this.#settle(life);
    }
    this.time.elapsedMs = Math.max(this.time.elapsedMs, until);
  }

  /** Time passes, and nothing that is due happens but the timers: the machine is busy, or the disk. */
  async #standStill(life: EngineLife, ms: number): Promise<void> {
    this.time.elapsedMs += ms;
    this.note({ type: 'stood-still', ms });
    while (life.clock.fireNext() && !this.#hasEnough) await turn();
  }

  /** Whatever is due happens, oldest first, and what comes of it. */
  async #settle(life: EngineLife): Promise<void> {
    for (let hops = 0; life.hops.size > 0 && !this.#hasEnough; hops++) {
      if (hops > MOST_HOPS) {
        this.note({ type: 'never-rests', pending: life.hops.labels.slice(0, 20) });
        this.#hasEnough = true;
        return;
      }
      life.hops.happen(0);
      await turn();
    }
  }

  async #harm(life: EngineLife, dice: Random): Promise<void> {
    const { controlled } = life.store;
    const did = (what: string): void => this.note({ type: 'did', what });
    const full = new Error('ENOSPC: no space left');
    const harm = dice.weighted<() => unknown>([
      [4, () => this.#crash(life, dice)],
      [1, () => void this.#beginClose(life)],
      [
        6,
        () => {
          const failure = { when: dice.pick(['before', 'after'] as const), nth: 1 + dice.integer(3) };
          controlled.failNext(failure);
          did(`write ${failure.nth} from now fails ${failure.when} it is done`);
        },
      ],
      [
        1,
        () => {
          this.#canStore = false;
          controlled.failAll(full);
          did('the disk is full');
        },
      ],
      [8, () => this.#heal(life)],
      [
        1,
        () => {
          life.store.failReads(1 + dice.integer(3));
          did('the next reads fail');
        },
      ],
      [
        2,
        () => {
          const ms = dice.pick([-1, 1]) * dice.integer(dice.pick([1_000, 24 * HOUR_MS]));
          this.time.wallOffset += ms;
          this.note({ type: 'jumped', ms });
        },
      ],
    ]);
    await harm();
  }

  #heal(life: EngineLife): void {
    if (!this.#canStore) this.note({ type: 'did', what: 'the disk has room again' });
    this.#canStore = true;
    life.store.controlled.failAll(null);
    life.store.failReads(0);
  }

  /** The process dies, or the power goes; what is left is all that the next one finds. */
  async #crash(life: EngineLife, dice: Random): Promise<void> {
    const { controlled } = life.store;
    const kind = dice.chance(0.6) ? 'process' : 'power';
    const { unsynced } = controlled;
    const kept = kind === 'process' ? unsynced : dice.integer(unsynced + 1);
    life.die();
    const rows = await controlled.crash(kept);
    await this.#leave(rows, kind, unsynced - kept);
    this.time.elapsedMs += dice.integer(60_000);
  }

  async #leave(rows: Store, kind: 'process' | 'power', taken: number): Promise<void> {
    const left: StoreEntry[] = [];
    for await (const entry of rows.range({})) left.push(entry);
    this.note({ type: 'crashed', kind, left, taken });
    this.#rows = rows;
    this.#life = null;
    this.#canStore = true;
  }

  #beginClose(life: EngineLife): void {
    const { offstage } = life;
    if (offstage === null) return;
    this.note({ type: 'closing' });
    void life
      .call('close', [], () => offstage.close())
      .then(() => {
        life.isClosed = true;
      });
  }

  /** Slow readers read to their end; then the next engine is opened on what the closed one has left. */
  async #leaveClosed(life: EngineLife): Promise<void> {
    await this.#settle(life);
    this.note({ type: 'closed' });
    this.#rows = await life.store.controlled.tear();
    this.#life = null;
    this.#canStore = true;
  }

  async #close(life: EngineLife): Promise<void> {
    if (this.#hasEnough) return;
    if (!life.isClosed) this.#beginClose(life);
    for (let minutes = 0; minutes < 60 && !life.isClosed && !this.#hasEnough; minutes++) await this.#advance(life, 60_000);
    if (!life.isClosed) {
      this.note({ type: 'never-rests', pending: ['close'] });
      return;
    }
    await this.#leaveClosed(life);
  }

  async #rest(life: EngineLife, isLast: boolean): Promise<void> {
    await this.#settle(life);
    const { offstage } = life;
    if (offstage === null || life.isClosed || this.#hasEnough) return;
    let isOver = false;
    const canStore = this.#canStore;
    life.store.failReads(0);
    life.store.isAtRest = true;
    const viewing = viewAtRest(offstage, { isLast, canStore }).then(
      (view) => {
        if (view !== null) this.note({ type: 'rested', view });
      },
      (error) => this.note({ type: 'did', what: `there is nothing to be seen: ${error}` }),
    );
    void viewing.finally(() => {
      isOver = true;
      life.store.isAtRest = false;
    });
    await turn();
    while (!isOver && !this.#hasEnough) {
      if (life.hops.size === 0) {
        this.note({ type: 'never-rests', pending: ['a look at everything'] });
        return;
      }
      life.hops.happen(0);
      await turn();
    }
  }
}
