/** What a check of the rows has found, what is to be written about it, and how rows that may be anything are read. */
import type { SessionRow, TaskRow } from '../model/records.ts';
import { decodeSegment, type Segment } from './event-log.ts';
import { readTombstone } from './job-rows.ts';
import { decodeId, decodeOrdinal } from './key-encoding.ts';
import { KEYS } from './row-keys.ts';
import { isRemoved, type RemovedRow, readSessionRow, readTaskRow, readTicket, type StoredTicket } from './session-rows.ts';
import type { Store, StoreEntry, StoreOperation } from './store.ts';

/**
 * - `unreadable`: a row is nothing that was ever written there.
 * - `input_lost`: a job without its input and description.
 * - `index_lost`: a job that is not found by its id or in its session.
 * - `live_and_finished`: a job that stands twice.
 * - `came_back`: a job that had been removed.
 * - `lost`: an id that was given, without a job.
 * - `left_over`: a row that belongs to nothing.
 * - `session_lost`: a session or task that jobs belong to and that is not there.
 * - `session_index_lost`: a session that is not found in its task, or not by a start that has to settle it.
 * - `card_index_lost`: a card that is not found in its conversation.
 * - `frame`: what every open relies on is missing or out of date.
 */
export type RowFindingKind =
  | 'unreadable'
  | 'input_lost'
  | 'index_lost'
  | 'live_and_finished'
  | 'came_back'
  | 'lost'
  | 'left_over'
  | 'session_lost'
  | 'session_index_lost'
  | 'card_index_lost'
  | 'frame';

export interface RowFinding {
  readonly kind: RowFindingKind;
  readonly count: number;
  /** Ids, or keys where no id is known; the first few. */
  readonly examples: readonly string[];
}

const EXAMPLES = 5;
const PAGE = 64;
const PAGE_CHARACTERS = 1024 * 1024;
const LARGE_BATCH = 1_000;

export class RowCheckNotes {
  readonly #store: Store;
  readonly #isMending: boolean;
  readonly #found = new Map<RowFindingKind, { count: number; examples: string[] }>();
  #operations: StoreOperation[] = [];
  /** Ids that were not found by their key, and now are, or would be. */
  readonly settledIds = new Set<string>();
  /** Ids that have a tombstone, whatever else there is of them. */
  readonly goneIds = new Set<string>();
  /** Keys of sessions and tasks that are, or would be, made again. */
  readonly settledKeys = new Set<string>();
  readonly #lost = new Set<string>();
  #highestOrdinal = 0;

  constructor(store: Store, isMending: boolean) {
    this.#store = store;
    this.#isMending = isMending;
  }

  get findings(): readonly RowFinding[] {
    return [...this.#found].map(([kind, { count, examples }]) => ({ kind, count, examples }));
  }

  /** Ids that are to be expired. */
  get lost(): ReadonlySet<string> {
    return this.#lost;
  }

  /** Of all rows seen, or 0. */
  get highestOrdinal(): number {
    return this.#highestOrdinal;
  }

  see(ordinal: number): void {
    this.#highestOrdinal = Math.max(this.#highestOrdinal, ordinal);
  }

  find(kind: RowFindingKind, example: string): void {
    const found = this.#found.get(kind) ?? { count: 0, examples: [] };
    this.#found.set(kind, found);
    found.count += 1;
    if (found.examples.length < EXAMPLES) found.examples.push(example);
  }

  put(kind: RowFindingKind, example: string, key: string, value: string): void {
    this.find(kind, example);
    this.write({ type: 'put', key, value });
  }

  drop(kind: RowFindingKind, example: string, keys: readonly string[]): void {
    this.find(kind, example);
    this.write(...keys.map((key): StoreOperation => ({ type: 'del', key })));
  }

  /** The id has no job any more. */
  lose(jobId: string): void {
    if (this.#lost.has(jobId) || this.settledIds.has(jobId) || this.goneIds.has(jobId)) return;
    this.#lost.add(jobId);
    this.find('lost', jobId);
  }

  write(...operations: readonly StoreOperation[]): void {
    if (this.#isMending) this.#operations.push(...operations);
  }

  async flush({ sync = false }: { readonly sync?: boolean } = {}): Promise<void> {
    const operations = this.#operations;
    this.#operations = [];
    if (operations.length > 0) await this.#store.batch(operations, { sync });
  }

  async flushIfLarge(): Promise<void> {
    if (this.#operations.length >= LARGE_BATCH) await this.flush();
  }

  /** The values by key; those that are not there are missing. */
  async read(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const distinct = [...new Set(keys)];
    const values = await this.#store.getMany(distinct);
    return new Map(
      distinct.flatMap((key, index) => {
        const value = values[index];
        return value === undefined ? [] : [[key, value] as const];
      }),
    );
  }
}

/** The rows of a range as of now, page by page. */
export async function* pagesOf(
  store: Store,
  range: { readonly gte: string; readonly lt: string },
): AsyncGenerator<readonly StoreEntry[]> {
  let page: StoreEntry[] = [];
  let characters = 0;
  for await (const entry of store.range(range)) {
    page.push(entry);
    characters += entry.value.length;
    if (page.length < PAGE && characters < PAGE_CHARACTERS) continue;
    yield page;
    page = [];
    characters = 0;
  }
  if (page.length > 0) yield page;
}

function attempt<Result>(read: () => Result): Result | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** The number at the end of a key. */
export const ordinalOf = (key: string): number | null => attempt(() => decodeOrdinal(key.slice(key.lastIndexOf('/') + 1)));

/** The id behind the first two characters of a key, up to `end`. */
export const idOf = (key: string, end?: number): string | null => attempt(() => decodeId(key.slice(2, end)));

/** JSON, or null. */
export const parsed = (value: string): unknown => attempt(() => JSON.parse(value) as unknown);

/** Whether it is an object of JSON. */
export function isRow(value: string): boolean {
  const row = parsed(value);
  return typeof row === 'object' && row !== null && !Array.isArray(row);
}

/** What `value` says of the session that `key` is of; null when it is nothing that was ever written there. */
export const sessionIn = (key: string, value: string): SessionRow | RemovedRow | null =>
  attempt(() => {
    const row = readSessionRow(value);
    return row === null || isRemoved(row) || KEYS.session(row.sessionId) === key ? row : null;
  });

/** The same for a task. */
export const taskIn = (key: string, value: string): TaskRow | RemovedRow | null =>
  attempt(() => {
    const row = readTaskRow(value);
    return row === null || isRemoved(row) || KEYS.task(row.taskId) === key ? row : null;
  });

/** The same for a waiting prompt. */
export const ticketIn = (key: string, value: string): StoredTicket | null =>
  attempt(() => {
    const ticket = readTicket(value);
    return KEYS.ticket(ticket.ticketId) === key ? ticket : null;
  });

export const segmentOf = (key: string, value: string): Segment | null => attempt(() => decodeSegment(key, value, ''));

export const jobIdOfStone = (value: string): string | null => readTombstone(value)?.jobId ?? null;

export interface Pointer {
  readonly ordinal: number;
  readonly contentHash: string;
}

/** What an id leads to; null when it leads nowhere. */
export function pointerOf(value: string | undefined): Pointer | null {
  const [, digits, contentHash] = /^(\d+) (\S+)$/.exec(value ?? '') ?? [];
  if (digits === undefined || contentHash === undefined) return null;
  const ordinal = Number(digits);
  return Number.isSafeInteger(ordinal) ? { ordinal, contentHash } : null;
}
