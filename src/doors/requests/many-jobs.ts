/**
 * Reads many jobs for one answer, without holding them all: each may have an input of a MiB and a result of half of one.
 *
 * MNY1  What one request holds at a time is bounded by `LIMITS.recordsAtOnce`, whatever it asks for; what all of them hold, by
 *       `LIMITS.portionsAtOnce` of that.
 * MNY2  A row of the answer is made as soon as its job was read, and the job is let go.
 */
import type { Offstage } from '../../engine/offstage.ts';
import { isOffstageError } from '../../model/errors.ts';
import { inPortions } from '../../model/in-portions.ts';
import { LIMITS } from '../../model/limits.ts';
import { isTerminal, type JobView } from '../../model/records.ts';
import type { WaitManyEntry, WaitManyOptions } from '../../model/requests.ts';
import { Slots } from '../events/slots.ts';

const GONE = /\.(?:not_found|expired)$/;

const slotsOf = new WeakMap<Offstage, Slots>();

/** Its turn among all requests that read many jobs of an engine. */
export function readInTurn<Result>(engine: Offstage, read: () => Promise<Result>): Promise<Result> {
  const slots = slotsOf.get(engine) ?? new Slots(LIMITS.portionsAtOnce);
  slotsOf.set(engine, slots);
  return slots.use(read);
}

export interface Listing<Query, Row> {
  readonly engine: Offstage;
  readonly list: (query: Query) => Promise<readonly Row[]>;
  readonly idOf: (row: Row) => string;
  /** Takes some more; false: there is no room for all of them. */
  readonly take: (rows: readonly Row[]) => boolean;
  /** Nobody waits for it any more. */
  readonly signal: AbortSignal;
}

/** Up to `query.limit` jobs, or cards of jobs, newest first, as far as they are taken. Whether there may be more. */
export async function listInPortions<Query extends { readonly limit?: number; readonly before?: string }, Row>(
  query: Query,
  { engine, list, idOf, take, signal }: Listing<Query, Row>,
): Promise<boolean> {
  // What is no limit is said by the engine.
  const { limit = LIMITS.listDefault } = query;
  for (let page = query, rest = limit; ; ) {
    const asked = rest > LIMITS.recordsAtOnce && limit <= LIMITS.listMaximum ? LIMITS.recordsAtOnce : rest;
    const jobs = await readInTurn(engine, () => list({ ...page, limit: asked })).catch((error) => {
      // What it was to go on from has just been pruned: what there is by now is an answer.
      if (page !== query && isOffstageError(error) && GONE.test(error.code)) return null;
      throw error;
    });
    if (jobs === null || !take(jobs)) return true;
    const last = jobs.at(-1);
    if (last === undefined || jobs.length < asked) return false;
    rest -= jobs.length;
    if (rest === 0 || signal.aborted) return true;
    page = { ...query, before: idOf(last) };
  }
}

export interface ManyWaits<Row> {
  readonly engine: Offstage;
  readonly wait: (jobIds: readonly string[], options: WaitManyOptions) => Promise<readonly WaitManyEntry[]>;
  readonly options: WaitManyOptions;
  readonly toRow: (entry: WaitManyEntry) => Row;
}

/** What a wait for all these answers. Those that have ended are read in portions, for the others it waits as for a few. */
export async function waitInPortions<Row>(
  jobIds: readonly string[],
  { engine, wait, options, toRow }: ManyWaits<Row>,
): Promise<readonly Row[]> {
  if (jobIds.length <= LIMITS.recordsAtOnce) return (await wait(jobIds, options)).map(toRow);
  // What is wrong with the options is said before anything is read.
  await wait([], options);
  const rows = new Map<string, Row>();
  const live: JobView[] = [];
  let hasEnded = false;
  await inPortions(jobIds, async (portion) => {
    for (const entry of await readInTurn(engine, () => wait(portion, { ...options, timeoutMs: 0 }))) {
      if ('status' in entry && !isTerminal(entry.status)) live.push(entry);
      else if ('status' in entry) hasEnded = true;
      rows.set(entry.jobId, toRow(entry));
    }
    return [];
  });
  const isOver = live.length === 0 || (options.mode === 'any' && hasEnded);
  const toWaitFor = live.map(({ jobId }) => jobId);
  const entries = isOver ? live.map(withoutTimeout) : options.timeoutMs === 0 ? [] : await wait(toWaitFor, options);
  for (const entry of entries) rows.set(entry.jobId, toRow(entry));
  return jobIds.map((jobId) => rows.get(jobId) as Row);
}

/** It was looked at, and not waited for. */
const withoutTimeout = ({ timedOut: _, ...job }: JobView & { readonly timedOut?: true }): JobView => job;
