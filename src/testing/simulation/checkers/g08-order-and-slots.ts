/**
 * G8: starts of jobs nobody in the engine waits for follow spawn order within each session and, saturated sessions aside, over all; executing,
 * not-waiting bodies ≤ workers; slots balance to zero.
 *
 * ODR1  A job that is called after one that was spawned later has been overtaken: none may be, but by one that a body waits for, or while its session
 *       could have been full. One that is never called was not overtaken: it may have been on its way out.
 * ODR2  A body holds its slot, and the place of its session, from its call until it has settled, and not while it waits inside the engine. One that is
 *       told to end while it waits goes on without.
 * ODR3  At rest the counters of the pool are those of the bodies, and nothing is queued that could be at work.
 */
import { isTerminal } from '../../../model/records.ts';
import { type Check, type Checker, type Violate, violating } from '../checker.ts';
import type { Fact, FactOf } from '../facts.ts';
import type { Known, KnownBody, StoredJob } from '../known.ts';
import { SpawnOrder } from './spawn-order.ts';
import { isWell } from './store-trouble.ts';
import { stepsOf } from './stored-jobs.ts';

const violate: Violate = violating('G8');

/** One call of a body that no body waited for. */
interface Start {
  readonly run: number;
  readonly jobId: string;
  readonly ordinal: number;
  readonly sessionId: string;
  /** Sessions that may have been full when it got its slot. */
  readonly maybeFull: ReadonlySet<string>;
}

class Pool {
  #starts: Start[] = [];
  /** Jobs that some body waits for, or has waited for. */
  readonly #awaited = new Set<string>();
  /** When a job was stored first, and when something of a session was last at work. Moments count facts. */
  readonly #storedAt = new Map<string, number>();
  readonly #busyAt = new Map<string, number>();
  /** Bodies that were told to end while they waited, or began to: they may hold a slot or not. */
  readonly #unwinding = new Set<number>();
  readonly #live = new Set<number>();
  #isClosing = false;
  #moment = 0;

  judge(fact: Fact, known: Known): void {
    this.#moment += 1;
    switch (fact.type) {
      case 'opened':
        this.#begin();
        break;
      case 'closing':
        this.#isClosing = true;
        break;
      case 'asked':
        if (fact.by.who === 'body') this.#await(fact);
        break;
      case 'wrote':
        this.#note(known);
        break;
      case 'body.called':
        this.#live.add(fact.run);
        this.#judgeStart(fact, known);
        this.#judgeSlots(known, `run ${fact.run}, of ${fact.jobId}, was called`);
        break;
      case 'body.goes-on':
        this.#judgeSlots(known, `run ${fact.run}, of ${fact.jobId}, goes on`);
        break;
      case 'body.told':
        if ((known.bodies.get(fact.run)?.waits.size ?? 0) > 0) this.#unwinding.add(fact.run);
        break;
      case 'body.settled':
        this.#live.delete(fact.run);
        this.#busyAt.set(known.bodies.get(fact.run)?.called.sessionId ?? '', this.#moment);
        break;
      case 'rested':
        if (isWell(fact.view)) this.#judgeRest(fact, known);
        break;
      default:
    }
  }

  #begin(): void {
    this.#starts = [];
    this.#awaited.clear();
    this.#storedAt.clear();
    this.#busyAt.clear();
    this.#unwinding.clear();
    this.#live.clear();
    this.#isClosing = false;
  }

  /** Those that have not settled. */
  #bodies(known: Known): readonly KnownBody[] {
    return [...this.#live].flatMap((run) => known.bodies.get(run) ?? []);
  }

  #await({ verb, args }: FactOf<'asked'>): void {
    const ids = verb === 'wait' ? [args[0]] : verb === 'waitMany' ? args[0] : [];
    if (Array.isArray(ids)) for (const jobId of ids) this.#awaited.add(jobId);
  }

  #note(known: Known): void {
    const { born, changed } = stepsOf(known.changes);
    for (const { record } of born) this.#storedAt.set(record.jobId, this.#moment);
    // One that took a slot and was told to end before its body was called is seen by nothing else.
    for (const { after } of changed) if (after.record.startedAt !== null) this.#busyAt.set(after.record.sessionId, this.#moment);
  }

  #judgeStart(fact: FactOf<'body.called'>, known: Known): void {
    const { jobId, run, sessionId } = fact;
    if (this.#isClosing) violate(`run ${run}, of ${jobId}, was called, and the engine is closing`);
    const job = known.jobs.get(jobId);
    if (job === undefined) return;
    for (const other of this.#starts) {
      if (other.ordinal < job.ordinal || other.jobId === jobId) continue;
      const isExplained =
        known.settings.perSessionLimit !== null && other.sessionId !== sessionId && other.maybeFull.has(sessionId);
      if (!isExplained)
        violate(
          `run ${run} is of ${jobId}, number ${job.ordinal}; run ${other.run}, called before, is of ${other.jobId}, number ${other.ordinal}`,
        );
    }
    if (this.#awaited.has(jobId) || (job.record.wait && job.record.parentJobId !== null)) return;
    this.#starts.push({ run, jobId, ordinal: job.ordinal, sessionId, maybeFull: this.#maybeFull(job, known) });
  }

  /** It may have got its slot at any moment since it was stored. */
  #maybeFull({ record }: StoredJob, known: Known): ReadonlySet<string> {
    const since = this.#storedAt.get(record.jobId) ?? 0;
    const busy = [...this.#busyAt].filter(([, moment]) => moment >= since).map(([sessionId]) => sessionId);
    return new Set([...busy, ...this.#bodies(known).map(({ called }) => called.sessionId)]);
  }

  /** ODR2. Null: nobody can say. */
  #holdsSlot({ called, told, waits }: KnownBody): boolean | null {
    if (this.#unwinding.has(called.run)) return null;
    return told !== null || waits.size === 0;
  }

  #judgeSlots(known: Known, what: string): void {
    const { workers, perSessionLimit } = known.settings;
    const holders = this.#bodies(known).filter((body) => this.#holdsSlot(body) === true);
    const runsOf = (bodies: readonly KnownBody[]): string => bodies.map(({ called }) => called.run).join(', ');
    if (workers !== null && holders.length > workers)
      violate(`${what}, and ${workers} slots are held by the runs ${runsOf(holders)}`);
    if (perSessionLimit === null) return;
    for (const sessionId of new Set(holders.map(({ called }) => called.sessionId))) {
      const inSession = holders.filter(({ called }) => called.sessionId === sessionId);
      if (inSession.length > perSessionLimit)
        violate(`${what}, and ${perSessionLimit} places of ${sessionId} are held by the runs ${runsOf(inSession)}`);
    }
  }

  #judgeRest({ view }: FactOf<'rested'>, known: Known): void {
    const { pool, status } = view.health;
    const live = this.#bodies(known);
    const isEnded = ({ called }: KnownBody): boolean => isTerminal(known.jobs.get(called.jobId)?.record.status ?? 'errored');
    const expected = (name: string, told: number, least: number, most = least): void => {
      if (told < least || told > most)
        violate(`health says ${told} ${name}; there are ${least}${most === least ? '' : ` to ${most}`}`);
    };
    const queued = [...known.jobs.values()].filter(({ state }) => state === 'pending' || state === 'queued');
    const atWork = live.filter((body) => !isEnded(body) && this.#holdsSlot(body) !== false);
    if (pool.workers !== known.settings.workers)
      violate(`health says ${pool.workers} workers; there are ${known.settings.workers}`);
    expected('queued', pool.queued, queued.length);
    expected('detached', pool.detached, live.filter(isEnded).length);
    expected('waiting', pool.waiting, live.filter((body) => this.#holdsSlot(body) === false).length);
    expected('running', pool.running, atWork.filter((body) => this.#holdsSlot(body) === true).length, atWork.length);
    if (this.#isClosing) return;
    const stuck = live.filter(isEnded);
    const isStarved =
      known.settings.workers !== null && stuck.filter((body) => this.#holdsSlot(body)).length >= known.settings.workers;
    const isClear = stuck.every((body) => this.#holdsSlot(body) !== null);
    if (isClear && (status === 'starved') !== isStarved)
      violate(`health is ${status}, and ${stuck.length} slots are held by detached bodies`);
    this.#judgeIdle(queued, known);
  }

  /** ODR3: a free slot, a free place, and somebody who waits for them. */
  #judgeIdle(queued: readonly StoredJob[], known: Known): void {
    const { workers, perSessionLimit } = known.settings;
    const holders = this.#bodies(known).filter((body) => this.#holdsSlot(body) !== false);
    if (workers !== null && holders.length >= workers) return;
    for (const { record } of queued) {
      const taken = holders.filter(({ called }) => called.sessionId === record.sessionId).length;
      if (perSessionLimit !== null && taken >= perSessionLimit) continue;
      violate(`${record.jobId} is ${record.status} at rest, ${holders.length} of ${workers ?? 'any number of'} slots are taken`);
    }
  }
}

export const orderAndSlots: Checker = {
  guarantee: 'G8',
  promise:
    'starts of jobs nobody in the engine waits for follow spawn order within each session and, saturated sessions aside, over all; executing, not-waiting, not-ending bodies ≤ workers; slots balance to zero',
  begin(): Check {
    const pool = new Pool();
    const order = new SpawnOrder(violate);
    return (fact, known) => {
      pool.judge(fact, known);
      order.note(fact, known);
    };
  },
};
