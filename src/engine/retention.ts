/**
 * What is kept, and for how long (spec 6).
 *
 * RET1  Only finished jobs are pruned, oldest first; a pruned id answers `job.expired` for a year.
 * RET2  The event log keeps the newest events; at least one stays, so that the sequence can be seen to go on.
 * RET3  A row that cannot be read holds nothing up, and is left to `doctor`; a segment of events goes with the readable ones behind it.
 */
import { LIMITS } from '../model/limits.ts';
import { trimOperations } from '../persistence/event-log.ts';
import { pruneOperations, readTombstone } from '../persistence/job-rows.ts';
import { KEYS, RANGES } from '../persistence/row-keys.ts';
import type { StoreOperation } from '../persistence/store.ts';
import type { Core } from './core.ts';
import { removeOutputFile } from './output-log.ts';
import { invalidInput } from './spawn-request.ts';

const PER_BATCH = 256;
const FIRST_AFTER_MS = 60_000;
const EVERY_MS = 60 * 60 * 1000;

/** How much was removed. */
export interface PruneResult {
  readonly jobs: number;
  readonly tombstones: number;
  readonly eventSegments: number;
}

export class RetentionSweep {
  readonly #core: Core;
  #stop: (() => void) | null = null;
  /** The last sweep asked for. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(core: Core) {
    this.#core = core;
  }

  /** Sweeps now and then, in the background. */
  start(): void {
    const again = (delayMs: number): void => {
      // Never a reason for the process to stay.
      this.#stop = this.#core.settings.clock.schedule(
        delayMs,
        () => {
          this.prune()
            .catch((error) => this.#core.report('retention.failed', error))
            .finally(() => {
              if (this.#stop !== null) again(EVERY_MS);
            });
        },
        { background: true },
      );
    };
    again(FIRST_AFTER_MS);
  }

  async stop(): Promise<void> {
    this.#stop?.();
    this.#stop = null;
    await this.#last.catch(() => {});
  }

  /** Prunes by the engine's retention, or by the limits given instead. Sweeps run one after the other. @throws OffstageError `input.invalid` */
  async prune(given: { readonly maxAgeMs?: number | null; readonly maxJobs?: number | null } = {}): Promise<PruneResult> {
    const { retention } = this.#core.settings;
    const limit = (name: 'maxAgeMs' | 'maxJobs'): number | null => {
      checkLimit(name, given[name]);
      const value = given[name] === undefined ? retention[name] : given[name];
      return value === Number.POSITIVE_INFINITY ? null : value;
    };
    const limits = { maxAgeMs: limit('maxAgeMs'), maxJobs: limit('maxJobs') };
    const mine = this.#last.catch(() => {}).then(() => this.#sweep(limits));
    this.#last = mine;
    return mine;
  }

  async #sweep(limits: { readonly maxAgeMs: number | null; readonly maxJobs: number | null }): Promise<PruneResult> {
    const now = this.#core.settings.clock.now();
    const excess = limits.maxJobs === null ? 0 : Math.max(0, (await this.#countFinished()) - limits.maxJobs);
    const jobs = await this.#pruneJobs(excess, limits.maxAgeMs === null ? Number.NEGATIVE_INFINITY : now - limits.maxAgeMs, now);
    const tombstones = await this.#pruneTombstones(now - LIMITS.tombstoneMs);
    const eventSegments = await this.#trimEvents(now - LIMITS.eventLogMs);
    return { jobs, tombstones, eventSegments };
  }

  async #countFinished(): Promise<number> {
    let count = 0;
    for await (const _ of this.#core.store.range(RANGES.finished)) count += 1;
    return count;
  }

  async #pruneJobs(excess: number, endedBefore: number, at: number): Promise<number> {
    const core = this.#core;
    let pruned = 0;
    let seen = 0;
    let after = 0;
    for (;;) {
      if (core.isClosing) return pruned;
      const page = await core.rows.oldestFinished(PER_BATCH, after);
      const last = page.at(-1);
      if (last === undefined) return pruned;
      const passed = seen;
      const due = page.filter(
        ({ base, snapshot }, index) =>
          !core.jobs.has(base.jobId) &&
          (passed + index < excess || (snapshot.context.completedAt ?? base.createdAt) < endedBefore),
      );
      if (due.length > 0) {
        await core.keptCards.inTurn(async () => {
          const cards = await core.keptCards.operationsFor(due);
          await core.storeRows([...due.flatMap(({ base }) => pruneOperations(base, at)), ...cards]);
        });
      }
      if (core.settings.spillDirectory !== null)
        for (const { base } of due) removeOutputFile(core.settings.spillDirectory, base.ordinal);
      pruned += due.length;
      seen += page.length;
      after = last.base.ordinal;
      // Whatever comes behind was created later, so it ended later than the limit too.
      if (seen >= excess && last.base.createdAt >= endedBefore) return pruned;
    }
  }

  async #pruneTombstones(madeBefore: number): Promise<number> {
    let count = 0;
    for await (const _ of this.#core.store.range(RANGES.tombstones)) count += 1;
    let removed = 0;
    let operations: StoreOperation[] = [];
    for await (const { key, value } of this.#core.store.range(RANGES.tombstones)) {
      const due = removed + operations.length / 2;
      const stone = readTombstone(value);
      // RET3.
      if (stone === null) continue;
      if (count - due <= LIMITS.tombstones && stone.at >= madeBefore) break;
      operations.push({ type: 'del', key }, { type: 'del', key: KEYS.id(stone.jobId) });
      if (operations.length < 2 * PER_BATCH) continue;
      if (this.#core.isClosing) return removed;
      await this.#core.storeRows(operations);
      removed += PER_BATCH;
      operations = [];
    }
    if (operations.length === 0 || this.#core.isClosing) return removed;
    await this.#core.storeRows(operations);
    return removed + operations.length / 2;
  }

  async #trimEvents(writtenBefore: number): Promise<number> {
    const core = this.#core;
    let removed = 0;
    for (;;) {
      const keep = { fromSeq: Math.max(0, core.loop.seq - LIMITS.eventLogEntries), fromAt: writtenBefore };
      const operations = await trimOperations(core.store, keep, PER_BATCH);
      if (operations.length === 0 || core.isClosing) return removed;
      await core.storeRows(operations);
      removed += operations.length;
      if (operations.length < PER_BATCH) return removed;
    }
  }
}

function checkLimit(name: 'maxAgeMs' | 'maxJobs', value: number | null | undefined): void {
  if (value === undefined || value === null) return;
  if (typeof value === 'number' && value >= 0 && (name === 'maxAgeMs' || Number.isInteger(value))) return;
  throw invalidInput(name, 'it must be a number of 0 or more, or null for no limit');
}
