/**
 * What is known of a world from its facts so far: what is stored, who has asked what, which bodies and agents are at work.
 *
 * KNO1  Made from facts alone, with the codecs of the store; nothing of it is the engine's own word.
 * KNO2  What is stored is what the store has, whatever the engine was told of it: a batch that failed is not in it, one that was denied is.
 */

import type { RecordEvent } from '../../model/events.ts';
import type { JobRecord, SessionRow, TaskRow } from '../../model/records.ts';
import { decodeSegment } from '../../persistence/event-log.ts';
import { decodeJobRow, type JobState, needsLargePart, parseRow, toRecord } from '../../persistence/job-codec.ts';
import { decodeId } from '../../persistence/key-encoding.ts';
import { KEYS } from '../../persistence/row-keys.ts';
import { isRemoved, readSessionRow, readTaskRow } from '../../persistence/session-rows.ts';
import type { StoreOperation } from '../../persistence/store.ts';
import type { Fact, FactOf, LifeSettings } from './facts.ts';

/** A job as it lies in the store. */
export interface StoredJob {
  readonly ordinal: number;
  readonly state: JobState;
  readonly record: JobRecord;
}

/** What one batch, or a crash, changed of the jobs. */
export interface JobChange {
  readonly jobId: string;
  /** Null: there was none. */
  readonly before: StoredJob | null;
  /** Null: there is none any more. */
  readonly after: StoredJob | null;
}

/** One call of a verb. */
export interface KnownCall {
  readonly asked: FactOf<'asked'>;
  /** Null while nobody has answered. */
  readonly settled: FactOf<'answered'> | FactOf<'refused'> | null;
  /** Its caller's signal fired. */
  readonly gaveUp: boolean;
}

/** One call of an executor's `run`. */
export interface KnownBody {
  readonly called: FactOf<'body.called'>;
  /** When its signal fired; null: not yet. */
  readonly told: FactOf<'body.told'> | null;
  readonly settled: FactOf<'body.settled'> | null;
  /** Calls that it waits for, inside the engine. */
  readonly waits: ReadonlySet<number>;
}

/** One start of an agent that succeeded. */
export interface KnownAgent {
  readonly started: FactOf<'agent.started'>;
  readonly toldToEnd: FactOf<'agent.told-to-end'> | null;
  readonly isGone: boolean;
  /** Generations that were asked and have not settled. */
  readonly openPrompts: ReadonlySet<number>;
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] extends ReadonlySet<infer Item> ? Set<Item> : T[Name] };

const DEFAULTS: LifeSettings = {
  workers: null,
  perSessionLimit: null,
  durability: 'full',
  cancelGraceMs: 30_000,
  shutdownGraceMs: 5_000,
  interruptGraceMs: 10_000,
  turnTimeoutMs: Number.POSITIVE_INFINITY,
  stallFailMs: Number.POSITIVE_INFINITY,
  outOfTurnIdleMs: 5_000,
  display: 'attested',
  admission: 'attested',
  notices: true,
};

/** Grows with every fact that is given to `learn`. */
export class Known {
  settings: LifeSettings = DEFAULTS;
  /** From `opened` to `crashed` or `closed`. */
  isOpen = false;
  /** Milliseconds, over all lives, that passed while due work stood still. */
  stoodStillMs = 0;
  /** The highest number of a stored event, and of one that lies in a synced batch (or before one). */
  seq = 0;
  syncedSeq = 0;
  /** What the last fact changed of the stored jobs; empty for facts that change none. */
  changes: readonly JobChange[] = [];
  readonly #jobs = new Map<string, StoredJob>();
  readonly #refused = new Set<string>();
  readonly #jobIdOfRow = new Map<string, string>();
  readonly #sessions = new Map<string, SessionRow>();
  readonly #tasks = new Map<string, TaskRow>();
  readonly #events = new Map<number, RecordEvent>();
  /** The numbers that lie in a segment, by its key. */
  readonly #segments = new Map<string, readonly number[]>();
  readonly #values = new Map<string, string>();
  readonly #calls = new Map<number, Mutable<KnownCall>>();
  readonly #bodies = new Map<number, Mutable<KnownBody>>();
  readonly #agents = new Map<number, Mutable<KnownAgent>>();

  /** Jobs in the store now, by id. */
  get jobs(): ReadonlyMap<string, StoredJob> {
    return this.#jobs;
  }
  /** Jobs that lie in the store and were refused: for the engine there are none of that id, until its next start. */
  get refused(): ReadonlySet<string> {
    return this.#refused;
  }
  get sessions(): ReadonlyMap<string, SessionRow> {
    return this.#sessions;
  }
  get tasks(): ReadonlyMap<string, TaskRow> {
    return this.#tasks;
  }
  /** Events in the store now, by number; what the engine trimmed is gone. */
  get events(): ReadonlyMap<number, RecordEvent> {
    return this.#events;
  }
  /** Every row in the store now, by key. */
  get rows(): ReadonlyMap<string, string> {
    return this.#values;
  }
  get calls(): ReadonlyMap<number, KnownCall> {
    return this.#calls;
  }
  /** Bodies of this life, settled ones included, by `run`. */
  get bodies(): ReadonlyMap<number, KnownBody> {
    return this.#bodies;
  }
  /** Agents of this life, by number. */
  get agents(): ReadonlyMap<number, KnownAgent> {
    return this.#agents;
  }

  learn(fact: Fact): void {
    this.changes = [];
    switch (fact.type) {
      case 'opened':
        this.settings = fact.settings;
        this.isOpen = true;
        return;
      case 'closed':
        this.isOpen = false;
        this.#forgetLife();
        return;
      case 'crashed':
        this.isOpen = false;
        this.#forgetLife();
        this.#replaceRows(fact);
        return;
      case 'stood-still':
        this.stoodStillMs += fact.ms;
        return;
      case 'wrote':
        if (fact.outcome === 'failed') return;
        this.changes = this.#apply(fact.operations);
        this.#doubt(fact.outcome === 'denied');
        if (fact.sync) this.syncedSeq = this.seq;
        return;
      case 'asked':
        this.#calls.set(fact.call, { asked: fact, settled: null, gaveUp: false });
        return;
      case 'answered':
      case 'refused':
        this.#update(this.#calls, fact.call, (call) => {
          call.settled = fact;
        });
        return;
      case 'gave-up':
        this.#update(this.#calls, fact.call, (call) => {
          call.gaveUp = true;
        });
        return;
      default:
        this.#learnOfWork(fact);
    }
  }

  /** Births of a batch that was denied are refused, and taken back by the next one. */
  #doubt(isDenied: boolean): void {
    for (const { jobId, before } of this.changes) {
      if (isDenied && before === null) this.#refused.add(jobId);
      else this.#refused.delete(jobId);
    }
  }

  #learnOfWork(fact: Fact): void {
    switch (fact.type) {
      case 'body.called':
        this.#bodies.set(fact.run, { called: fact, told: null, settled: null, waits: new Set() });
        return;
      case 'body.told':
        this.#update(this.#bodies, fact.run, (body) => {
          body.told = fact;
        });
        return;
      case 'body.settled':
        this.#update(this.#bodies, fact.run, (body) => {
          body.settled = fact;
        });
        return;
      case 'body.waits':
        this.#bodies.get(fact.run)?.waits.add(fact.call);
        return;
      case 'body.goes-on':
        this.#bodies.get(fact.run)?.waits.delete(fact.call);
        return;
      case 'agent.started':
        this.#agents.set(fact.agent, { started: fact, toldToEnd: null, isGone: false, openPrompts: new Set() });
        return;
      case 'agent.told-to-end':
        this.#update(this.#agents, fact.agent, (agent) => {
          agent.toldToEnd ??= fact;
        });
        return;
      case 'agent.gone':
        this.#update(this.#agents, fact.agent, (agent) => {
          agent.isGone = true;
        });
        return;
      case 'agent.prompted':
        this.#agents.get(fact.agent)?.openPrompts.add(fact.generation);
        return;
      case 'agent.prompt-over':
        this.#agents.get(fact.agent)?.openPrompts.delete(fact.generation);
        return;
      default:
    }
  }

  #update<Item>(items: ReadonlyMap<number, Item>, key: number, change: (item: Item) => void): void {
    const item = items.get(key);
    if (item !== undefined) change(item);
  }

  #forgetLife(): void {
    this.#refused.clear();
    this.#bodies.clear();
    this.#agents.clear();
  }

  #replaceRows({ left }: FactOf<'crashed'>): void {
    const before = new Map(this.#jobs);
    for (const table of [this.#jobs, this.#jobIdOfRow, this.#sessions, this.#tasks, this.#events, this.#segments, this.#values])
      table.clear();
    this.seq = 0;
    this.#apply(left.map(({ key, value }) => ({ type: 'put', key, value })));
    this.seq = Math.max(this.seq, this.#headSeq());
    this.syncedSeq = this.seq;
    this.changes = [...new Set([...before.keys(), ...this.#jobs.keys()])].flatMap((jobId) => {
      const change = { jobId, before: before.get(jobId) ?? null, after: this.#jobs.get(jobId) ?? null };
      return change.before?.record.revision === change.after?.record.revision ? [] : [change];
    });
  }

  #apply(operations: readonly StoreOperation[]): JobChange[] {
    const touched = new Map<string, StoredJob | null>();
    const touch = (jobId: string): void => {
      if (!touched.has(jobId)) touched.set(jobId, this.#jobs.get(jobId) ?? null);
    };
    // Large parts stand behind the rows that need them: all values first.
    for (const operation of operations) {
      if (operation.type === 'put') this.#values.set(operation.key, operation.value);
      else this.#values.delete(operation.key);
    }
    for (const { type, key } of operations) {
      const value = type === 'put' ? this.#values.get(key) : undefined;
      switch (key.slice(0, 2)) {
        case 'l/':
        case 'f/':
          this.#applyJob(key, value, touch);
          break;
        case 'e/':
          this.#applyEvents(key, value);
          break;
        case 'n/':
          this.#applyRow(this.#sessions, key, value === undefined ? null : readSessionRow(value));
          break;
        case 'o/':
          this.#applyRow(this.#tasks, key, value === undefined ? null : readTaskRow(value));
          break;
        default:
      }
    }
    return [...touched].map(([jobId, before]) => ({ jobId, before, after: this.#jobs.get(jobId) ?? null }));
  }

  #applyJob(key: string, value: string | undefined, touch: (jobId: string) => void): void {
    if (key.endsWith('~')) return;
    const ordinalText = key.slice(2);
    if (value !== undefined) {
      const row = parseRow(value);
      const { base, snapshot, revision } = decodeJobRow(
        row,
        needsLargePart(row) ? this.#values.get(`b/${ordinalText}`) : undefined,
      );
      touch(base.jobId);
      this.#jobIdOfRow.set(key, base.jobId);
      this.#jobs.set(base.jobId, {
        ordinal: base.ordinal,
        state: snapshot.state,
        record: toRecord(base, snapshot, revision),
      });
      return;
    }
    const jobId = this.#jobIdOfRow.get(key);
    if (jobId === undefined) return;
    touch(jobId);
    this.#jobIdOfRow.delete(key);
    const other = `${key.startsWith('l/') ? 'f/' : 'l/'}${ordinalText}`;
    if (!this.#values.has(other)) this.#jobs.delete(jobId);
  }

  #applyEvents(key: string, value: string | undefined): void {
    if (key.endsWith('~')) return;
    // Of a batch that was denied another one may take the place, with fewer events, or none.
    const earlier = this.#segments.get(key) ?? [];
    for (const seq of earlier) this.#events.delete(seq);
    this.#segments.delete(key);
    // Or it is too old to be kept; then the head knows.
    if (earlier.includes(this.seq))
      this.seq = Math.max(this.#headSeq(), ...[...this.#segments.values()].map((seqs) => seqs.at(-1) ?? 0));
    if (value === undefined) return;
    const { events } = decodeSegment(key, value, '');
    for (const event of events) this.#events.set(event.seq, event);
    const seqs = events.map(({ seq }) => seq);
    this.#segments.set(key, seqs);
    this.seq = Math.max(this.seq, seqs.at(-1) ?? 0);
  }

  /** The last number that was given, as of the last batch. */
  #headSeq(): number {
    const head = this.#values.get(KEYS.head);
    return head === undefined ? 0 : (JSON.parse(head) as readonly [number, number])[0];
  }

  #applyRow<Row extends object>(table: Map<string, Row>, key: string, row: Row | { readonly removed: number } | null): void {
    const id = decodeId(key.slice(2));
    if (row === null || isRemoved(row)) table.delete(id);
    else table.set(id, row as Row);
  }
}
