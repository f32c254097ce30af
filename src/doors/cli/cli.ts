/**
 * What every verb works with: the folder, the terminal, the signals, and one door to the folder at a time.
 *
 * CLI1  Verbs that only read make no folder: where none is, there is nothing to show.
 * CLI2  A verb whose owner goes away in mid-work goes on through the next owner, which may be this process.
 * CLI3  Nothing outlives the verb but jobs that others started through it, and it says so.
 */
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { systemClock } from '../../actors/clock.ts';
import { reapProcess } from '../../executors/process-reaper.ts';
import { isOffstageError, offstageError } from '../../model/errors.ts';
import { findDataDir, readOwner } from '../../persistence/ownership.ts';
import { CREATED_MARK, REBUILT_FOLDER, STORE_FOLDER } from '../../persistence/store-folders.ts';
import type { WireClient } from '../client/wire-client.ts';
import { connectControl, localClient } from '../control/control-client.ts';
import { EXIT } from './exit-codes.ts';
import { failureLine } from './failure-line.ts';
import { Interrupts } from './interrupts.ts';
import { type Door, openDoor, unfinished, whenIdle } from './open-door.ts';
import { printable, Sink } from './terminal.ts';
import { counted } from './words.ts';

export interface CommonOptions {
  readonly json?: boolean;
  readonly dataDir?: string;
}

const RETRIES = 50;
const RETRY_PAUSE_MS = 100;
const QUIET_WAIT_MS = 500;
/** After the second Ctrl-C: how long killed processes are looked for, what the verb gets to tell their end, and the engine to close. */
const KILL_DEADLINE_MS = 2_000;
const LAST_WORDS_MS = 1_000;
const CLOSE_MS = 300;

export class Cli {
  readonly out: Sink;
  readonly err: Sink;
  readonly interrupts = new Interrupts();
  readonly isJson: boolean;
  /** Absolute. */
  readonly dataDir: string;
  /** By an option or the environment, rather than by default. */
  readonly #isFolderNamed: boolean;
  #door: Door | null = null;
  #opening: Promise<Door> | null = null;
  readonly #finished = new AbortController();
  #onOver = (): void => {};
  readonly #isOver = new Promise<void>((resolve) => {
    this.#onOver = resolve;
  });

  constructor(options: CommonOptions, { stdout, stderr, env }: NodeJS.Process = process) {
    this.out = new Sink(stdout, env);
    this.err = new Sink(stderr, env);
    this.isJson = options.json === true;
    const named = options.dataDir ?? (env.OFFSTAGE_DATA_DIR || null);
    this.#isFolderNamed = named !== null;
    this.dataDir = resolve(named ?? './.offstage');
    this.interrupts.force(() => void this.#force());
  }

  /** Whether anything was ever stored here. @throws OffstageError `config.invalid` where no folder can be, or none that can be read */
  async hasStore(): Promise<boolean> {
    for (const name of [STORE_FOLDER, REBUILT_FOLDER, CREATED_MARK]) {
      try {
        await stat(join(this.dataDir, name));
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') await findDataDir(this.dataDir);
      }
    }
    return (await readOwner(this.dataDir)) !== null;
  }

  /** The same for verbs that list: a folder that was named, and holds no data, may be a slip of the pen, and is told. */
  async hasStoreToList(): Promise<boolean> {
    if (await this.hasStore()) return true;
    if (this.#isFolderNamed) await this.note(`there is no data in ${printable(this.dataDir)}`);
    return false;
  }

  /** The door; opened when first asked for. @throws OffstageError `control.unavailable`, `store.corrupt`, `config.invalid` */
  async door(): Promise<Door> {
    if (this.#door !== null) return this.#door;
    this.#finished.signal.throwIfAborted();
    this.#opening ??= openDoor(this.dataDir, (ms) => this.pause(ms));
    try {
      this.#door = await this.#opening;
    } finally {
      this.#opening = null;
    }
    const { engine } = this.#door;
    if (engine !== null) await this.tellRecovery(engine.recovery);
    return this.#door;
  }

  /** Rejects when the verb is over: nothing that waits here outlives it. */
  async pause(ms: number): Promise<void> {
    await setTimeout(ms, undefined, { signal: this.#finished.signal });
  }

  /** Fires when the verb is over, also because it was interrupted. */
  get finished(): AbortSignal {
    return this.#finished.signal;
  }

  /** The verb is over: lets go of the folder, for good. */
  async finish(): Promise<void> {
    this.#finished.abort();
    this.#onOver();
    await this.#opening?.catch(() => {});
    await this.letGo();
  }

  /** A second connection through the same door, for what must not wait for the first. */
  async another(): Promise<WireClient> {
    const door = await this.door();
    if (door.engine !== null) return localClient(door.engine);
    const client = await connectControl(this.dataDir);
    if (client !== null) return client;
    throw offstageError('control.lost', { dataDir: this.dataDir, pid: null });
  }

  /** Does the work through the door; once more, through a new one, when the owner goes away before it is done (CLI2). */
  async persist<Result>(work: (door: Door) => Promise<Result>): Promise<Result> {
    for (let tries = 0; ; tries += 1) {
      const door = await this.door();
      try {
        return await work(door);
      } catch (error) {
        const isGone = isOffstageError(error, 'control.lost') || isOffstageError(error, 'engine.closing');
        if (!isGone || door.engine !== null || tries >= RETRIES) throw error;
        this.#door = null;
        door.client.close();
        await this.pause(RETRY_PAUSE_MS);
      }
    }
  }

  /** Lets go of the folder. Whoever owns it stays until the jobs that others started here have ended (DOR1). */
  async letGo(): Promise<void> {
    const door = this.#door;
    if (door === null) return;
    const { client, engine } = door;
    client.close();
    if (engine !== null) {
      if (this.#finished.signal.aborted && !this.interrupts.hasCome) this.interrupts.ask(() => void cancelAll(door));
      const idle = whenIdle(engine);
      // Short waits are not worth a word.
      const patience = new AbortController();
      await Promise.race([idle, setTimeout(QUIET_WAIT_MS, undefined, { signal: patience.signal })]);
      patience.abort();
      if (unfinished(engine) > 0) await this.#sayWhoIsWaitedFor(unfinished(engine));
      await idle;
      await engine.close();
    }
    this.#door = null;
  }

  async document(value: unknown): Promise<void> {
    await this.out.line(JSON.stringify(value, null, 2));
  }

  /** A line of NDJSON. */
  async record(value: unknown): Promise<void> {
    await this.out.line(JSON.stringify(value));
  }

  async note(text: string): Promise<void> {
    await this.err.line(`offstage: ${text}`);
  }

  /** What a verb fails of; with `--json`, as one line of data. */
  async fail(error: unknown): Promise<void> {
    await this.err.line(failureLine(error, this.isJson));
  }

  /** What the start has found of an earlier process. */
  async tellRecovery({ abandoned, sessions, lostTickets, processes }: NonNullable<Door['engine']>['recovery']): Promise<void> {
    if (abandoned.length > 0) {
      await this.err.line(`${counted(abandoned.length, 'job was', 'jobs were')} abandoned by an earlier process.`);
    }
    if (sessions.length > 0) {
      await this.err.line(
        `${counted(sessions.length, 'session was', 'sessions were')} interrupted by the end of an earlier process.`,
      );
    }
    if (lostTickets.length > 0) {
      await this.err.line(
        `${counted(lostTickets.length, 'waiting prompt was', 'waiting prompts were')} lost with an earlier process.`,
      );
    }
    for (const { verdict, jobId, sessionId, executionId, detail } of processes) {
      if (verdict === 'unverified')
        await this.err.line(`Of ${jobId ?? sessionId ?? executionId} something may be left. ${detail}`);
    }
  }

  async #sayWhoIsWaitedFor(count: number): Promise<void> {
    const how = this.interrupts.hasCome ? 'Ctrl-C kills them' : 'Ctrl-C cancels them';
    await this.err.line(
      `${counted(count, 'job that was', 'jobs that were')} started from elsewhere still ${count === 1 ? 'runs' : 'run'} in this process. Waiting; ${how}.`,
    );
  }

  /** The second Ctrl-C: what is ours is killed, the owner's is not ours; then the end, now. */
  async #force(): Promise<void> {
    const door = this.#door;
    if (door !== null && door.engine !== null) {
      // What is queued does not take the place of what is killed.
      void cancelAll(door);
      await killAll(door.engine);
      // A closed engine answers nothing: first the verb tells how it ended.
      await Promise.race([this.#isOver, setTimeout(LAST_WORDS_MS)]);
      // From here on nothing starts any more; what others have started meanwhile is killed, too.
      const closed = door.engine.close();
      await killAll(door.engine);
      await Promise.race([closed, setTimeout(CLOSE_MS)]);
    }
    process.exit(EXIT.cancelled);
  }
}

async function killAll(engine: NonNullable<Door['engine']>): Promise<void> {
  const records = await engine.processes().catch(() => []);
  const options = { clock: systemClock, killAfterMs: 0, deadlineMs: KILL_DEADLINE_MS };
  await Promise.allSettled(records.map((record) => reapProcess(record, options)));
}

async function cancelAll({ engine }: Door): Promise<void> {
  if (engine === null) return;
  const ids = [...engine.jobsModel.get().live.keys()];
  await engine.cancelMany({ ids }, { reason: 'interrupted' }).catch(() => {});
}
