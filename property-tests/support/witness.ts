/**
 * Compares what anybody is told with what is in the store at that very moment (G7), and with what was told before.
 *
 * WIT1  The store underneath is looked at as its batches are applied, not when they are answered.
 */
import type { OffstageEvent } from '../../src/model/events.ts';
import { isTerminal, type JobStatus, type JobView } from '../../src/model/records.ts';
import type { WaitManyEntry } from '../../src/model/requests.ts';
import {
  decodeJobRow,
  needsLargePart,
  parseRow,
  type StoredJob,
  statusOfState,
  toRecord,
} from '../../src/persistence/job-codec.ts';
import type { Store, StoreOperation } from '../../src/persistence/store.ts';

export class Witness {
  /** Job rows as they lie in the store now, by key. */
  readonly #rows = new Map<string, StoredJob>();
  readonly #bySeen = new Map<string, number>();
  /** The first terminal record that anybody was told of each job, as durable. */
  readonly ends = new Map<string, JobView>();
  readonly calls: string[] = [];
  readonly problems: string[] = [];

  /** The same store, watched. */
  watch(store: Store): Store {
    return {
      get: (key) => store.get(key),
      getMany: (keys) => store.getMany(keys),
      range: (options) => store.range(options),
      close: () => store.close(),
      batch: async (operations, options) => {
        const done = store.batch(operations, options);
        // A store in memory has applied it in the call.
        for (const operation of operations) this.#apply(operation);
        await done;
      },
    };
  }

  #apply(operation: StoreOperation): void {
    if (!/^[lf]\/\d/.test(operation.key)) return;
    if (operation.type === 'del') {
      this.#rows.delete(operation.key);
      return;
    }
    const row = parseRow(operation.value);
    this.#rows.set(operation.key, decodeJobRow(row, needsLargePart(row) ? '["", null]' : undefined));
  }

  /** The stored jobs, by id. */
  stored(): Map<string, StoredJob> {
    return new Map([...this.#rows.values()].map((job) => [job.base.jobId, job]));
  }

  #storedOf(jobId: string): StoredJob | undefined {
    let found: StoredJob | undefined;
    for (const job of this.#rows.values()) if (job.base.jobId === jobId && job.revision >= (found?.revision ?? 0)) found = job;
    return found;
  }

  /** What was seen of a job by those who began to look before now. */
  floor(jobId: string): number {
    return this.#bySeen.get(jobId) ?? 0;
  }

  /** Somebody was told this. `floor`: what had been told when he asked. */
  told(by: string, view: JobView, floor = 0): void {
    if (view.durable === false) return;
    this.#check(by, view, view.status);
    if (view.revision < floor)
      this.problems.push(`${by} was told revision ${view.revision} of ${view.jobId} after ${floor} had been told`);
    const { timedOut: _, bodyLive, progress, partialText, ...record } = view;
    const stored = this.#storedOf(view.jobId);
    if (stored?.revision === view.revision) {
      const expected = JSON.stringify(toRecord(stored.base, stored.snapshot, stored.revision));
      if (JSON.stringify(record) !== expected)
        this.problems.push(`${by} was told ${JSON.stringify(record)}, stored is ${expected}`);
    }
    if (!isTerminal(view.status)) return;
    const first = this.ends.get(view.jobId);
    if (first === undefined) this.ends.set(view.jobId, { ...record, bodyLive, progress, partialText });
    else if (first.status !== view.status || first.completedAt !== view.completedAt || first.reasonCode !== view.reasonCode)
      this.problems.push(`${by} was told another end of ${view.jobId}`);
  }

  toldMany(by: string, entries: readonly WaitManyEntry[]): void {
    for (const entry of entries) if ('status' in entry) this.told(by, entry);
  }

  readonly event = (event: OffstageEvent): void => {
    if (event.type === 'job.created' || event.type === 'job.status') this.#check('an observer', event, event.status);
  };

  #check(by: string, seen: { readonly jobId: string; readonly revision: number }, status: JobStatus): void {
    const stored = this.#storedOf(seen.jobId);
    if (stored === undefined || stored.revision < seen.revision) {
      this.problems.push(
        `${by} saw ${seen.jobId} ${status} at revision ${seen.revision}, stored is ${stored?.revision ?? 'nothing'}`,
      );
    }
    this.#bySeen.set(seen.jobId, Math.max(this.floor(seen.jobId), seen.revision));
  }

  /** A body is called. A strict one needs its start in the store, every other its acceptance (spec 6, start rule). */
  called(jobId: string, isStrict: boolean): void {
    if (this.calls.includes(jobId)) this.problems.push(`${jobId} was run twice`);
    this.calls.push(jobId);
    const stored = this.#storedOf(jobId);
    if (stored === undefined) this.problems.push(`${jobId} was run before it was stored`);
    else if (isStrict && statusOfState(stored.snapshot.state) !== 'running')
      this.problems.push(`${jobId} was run before its start was stored`);
  }

  /** A signal fires: whatever told the body to end is stored (CAN1), unless the store refuses to take it. */
  signalled(jobId: string): void {
    const stored = this.#storedOf(jobId);
    if (stored === undefined || stored.snapshot.state === 'queued' || stored.snapshot.state === 'active')
      this.problems.push(`${jobId} was told to end while ${stored?.snapshot.state ?? 'nothing'} is stored`);
  }

  /** A cancel was acknowledged as durable. */
  cancelAcknowledged(view: JobView): void {
    if (view.durable === false) return;
    const stored = this.#storedOf(view.jobId);
    const { state, context } = stored?.snapshot ?? { state: 'nothing', context: null };
    if (context === null || (context.cancelRequestedAt === null && state !== 'ending' && !isTerminal(state as JobStatus)))
      this.problems.push(`the cancel of ${view.jobId} was acknowledged and is not stored`);
  }
}
