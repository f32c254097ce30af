/**
 * Whether the rows of a store make sense together, and, if wanted, how they are made to (`doctor`, `doctor --repair`).
 * A store that was repaired holds the newest intact version of every row (REP3): what was written in one batch may be there in part.
 *
 * ROC1  A job whose row can be read is kept, whatever of its other rows is lost; what it lost stands in its history.
 * ROC2  An id that was given and has no job any more is expired: it is never used again. Neither is a number.
 * ROC3  Looking and mending find the same; after mending nothing is found.
 * ROC4  Mending may be cut off at any point and begun again. Memory: the ids that are lost, and a page of rows.
 */
import { readProcessRecord } from './process-row.ts';
import { CardRowCheck } from './row-check-cards.ts';
import { JobRowCheck } from './row-check-jobs.ts';
import { jobIdOfStone, ordinalOf, pagesOf, parsed, RowCheckNotes, type RowFinding, segmentOf } from './row-check-notes.ts';
import { SessionRowCheck } from './row-check-sessions.ts';
import { EXPIRED, KEYS, RANGES, SENTINELS } from './row-keys.ts';
import type { Store, StoreEntry, StoreOperation } from './store.ts';
import { assertKnownFormat, formatOf, hasSessionIndex, STORE_FORMAT } from './store-format.ts';

export interface RowCheckOptions {
  /** Makes it right; else nothing is written. */
  readonly isMending: boolean;
  /** Epoch milliseconds: the time of what is noted. */
  readonly at: number;
  /** Numbers to leave out above the highest one that is known, for those that were given and lost; default 0. Only when mending. */
  readonly skippedNumbers?: number;
}

export interface RowCheck {
  /** Jobs whose rows can be read. */
  readonly jobs: number;
  /** What is wrong, or was; empty when all rows make sense together. */
  readonly findings: readonly RowFinding[];
  /** Places where events are missing. Harmless: whoever follows them is told to read anew (`resync`). */
  readonly eventGaps: number;
}

/**
 * Walks all rows of a store that nobody else uses.
 * @throws OffstageError `store.failed` (also for a store of a newer release)
 */
export async function checkRows(store: Store, options: RowCheckOptions): Promise<RowCheck> {
  if (await isEmpty(store)) return { jobs: 0, findings: [], eventGaps: 0 };
  const format = await store.get(KEYS.format);
  assertKnownFormat(format);
  const notes = new RowCheckNotes(store, options.isMending);
  const sessions = new SessionRowCheck(store, notes, { at: options.at, isIndexed: hasSessionIndex(format) });
  const check = new StoreCheck(store, notes, sessions, options);
  await check.run();
  return { jobs: check.jobs, findings: notes.findings, eventGaps: check.eventGaps };
}

async function isEmpty(store: Store): Promise<boolean> {
  for await (const _ of store.range({ limit: 1 })) return false;
  return true;
}

class StoreCheck {
  readonly #store: Store;
  readonly #notes: RowCheckNotes;
  readonly #options: RowCheckOptions;
  readonly #jobs: JobRowCheck;
  readonly #cards: CardRowCheck;
  readonly #sessions: SessionRowCheck;
  eventGaps = 0;
  /** The highest number of an event that is stored. */
  #newestSeq = 0;
  /** The highest number of a job, those that were made while mending included. */
  #lastOrdinal = 0;

  constructor(store: Store, notes: RowCheckNotes, sessions: SessionRowCheck, options: RowCheckOptions) {
    this.#store = store;
    this.#notes = notes;
    this.#options = options;
    this.#jobs = new JobRowCheck(store, notes, options.at);
    this.#cards = new CardRowCheck(store, notes, this.#jobs);
    this.#sessions = sessions;
  }

  get jobs(): number {
    return this.#jobs.count;
  }

  /** The order matters: what hangs on a row is judged after the row. */
  async run(): Promise<void> {
    await this.#jobs.run();
    await this.#walk(RANGES.tombstones, (page) => this.#checkTombstones(page));
    await this.#cards.run();
    const head = await this.#readHead();
    await this.#checkEvents(head);
    this.#lastOrdinal = Math.max(head?.[1] ?? 0, this.#notes.highestOrdinal);
    await this.#buryLost();
    await this.#sessions.run();
    await this.#walk(RANGES.processes, async (page) => {
      for (const { key, value } of page) if (readProcessRecord(value) === null) this.#notes.drop('unreadable', key, [key]);
    });
    await this.#checkFrame(head);
  }

  async #walk(range: { gte: string; lt: string }, check: (page: readonly StoreEntry[]) => Promise<void>): Promise<void> {
    for await (const page of pagesOf(this.#store, range)) {
      await check(page);
      await this.#notes.flush();
    }
  }

  async #checkTombstones(page: readonly StoreEntry[]): Promise<void> {
    const notes = this.#notes;
    const stones = page.map(({ key, value }) => ({ key, jobId: jobIdOfStone(value) }));
    const got = await notes.read(stones.flatMap(({ jobId }) => (jobId === null ? [] : [KEYS.id(jobId)])));
    for (const { key, jobId } of stones) {
      const ordinal = ordinalOf(key);
      if (ordinal !== null) notes.see(ordinal);
      if (jobId === null || ordinal === null) {
        notes.drop('unreadable', key, [key]);
        continue;
      }
      const pointer = got.get(KEYS.id(jobId));
      if (pointer === EXPIRED || notes.lost.has(jobId) || notes.goneIds.has(jobId)) continue;
      if (pointer !== undefined || notes.settledIds.has(jobId)) {
        // The id has a job, so this stone had been taken away.
        notes.drop('left_over', key, [key]);
      } else {
        notes.settledIds.add(jobId);
        notes.put('lost', jobId, KEYS.id(jobId), EXPIRED);
      }
    }
  }

  async #readHead(): Promise<readonly [number, number] | null> {
    const value = parsed((await this.#store.get(KEYS.head)) ?? '');
    return Array.isArray(value) && value.length === 2 && value.every((number) => Number.isSafeInteger(number))
      ? [value[0], value[1]]
      : null;
  }

  async #checkEvents(head: readonly [number, number] | null): Promise<void> {
    let next: number | null = null;
    await this.#walk(RANGES.events, async (page) => {
      const ids = new Set<string>();
      for (const { key, value } of page) {
        const segment = segmentOf(key, value);
        if (segment === null) {
          this.#notes.drop('unreadable', key, [key]);
          continue;
        }
        if (next !== null && segment.firstSeq !== next) this.eventGaps += 1;
        next = segment.firstSeq + segment.events.length;
        for (const event of segment.events) if ('jobId' in event && typeof event.jobId === 'string') ids.add(event.jobId);
      }
      await this.#expireUnknown([...ids]);
    });
    this.#newestSeq = (next ?? 1) - 1;
    if (head !== null && head[0] > this.#newestSeq) this.eventGaps += 1;
  }

  /** Ids that events speak of, and that nothing else knows. */
  async #expireUnknown(ids: readonly string[]): Promise<void> {
    const got = await this.#notes.read(ids.map((id) => KEYS.id(id)));
    for (const id of ids) if (got.get(KEYS.id(id)) === undefined) this.#notes.lose(id);
  }

  /** Tombstones are kept in the order in which they were made, so these get new numbers. */
  async #buryLost(): Promise<void> {
    for (const jobId of this.#notes.lost) {
      this.#lastOrdinal += 1;
      this.#notes.write(
        { type: 'put', key: KEYS.id(jobId), value: EXPIRED },
        { type: 'put', key: KEYS.tombstone(this.#lastOrdinal), value: JSON.stringify([jobId, this.#options.at]) },
      );
      await this.#notes.flushIfLarge();
    }
    await this.#notes.flush();
  }

  /** What every open relies on: the format, the numbers given so far, the lowest live job. */
  async #checkFrame(head: readonly [number, number] | null): Promise<void> {
    const notes = this.#notes;
    const got = await notes.read([KEYS.format, KEYS.low, ...SENTINELS]);
    const format = formatOf(got.get(KEYS.format));
    // A store of an older format has fewer of them; the next open adds them.
    const isOlder = format !== null && format < STORE_FORMAT;
    const missing = isOlder ? [] : SENTINELS.filter((key) => got.get(key) === undefined);
    const operations: StoreOperation[] = missing.map((key) => ({ type: 'put', key, value: '' }));
    if (format === null) operations.push({ type: 'put', key: KEYS.format, value: String(STORE_FORMAT) });
    const low = got.get(KEYS.low);
    const lowest = this.#jobs.lowestLive;
    if (low !== undefined && !(Number(low) <= lowest)) {
      operations.push(
        lowest === Number.POSITIVE_INFINITY
          ? { type: 'del', key: KEYS.low }
          : { type: 'put', key: KEYS.low, value: String(lowest) },
      );
    }
    const [seq, ordinal] = head ?? [0, 0];
    for (const { key } of operations) notes.find('frame', key);
    if (seq < this.#newestSeq || ordinal < notes.highestOrdinal) notes.find('frame', KEYS.head);
    const skipped = this.#options.skippedNumbers ?? 0;
    const numbers = [Math.max(seq, this.#newestSeq) + skipped, this.#lastOrdinal + skipped];
    if (skipped > 0 || notes.findings.length > 0)
      operations.push({ type: 'put', key: KEYS.head, value: JSON.stringify(numbers) });
    notes.write(...operations);
    await notes.flush({ sync: true });
  }
}
