/** POO1–POO6: the pool against a model that keeps plain lists and searches them from the front after every step. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Pool, PoolPlace } from '../src/engine/pool.ts';
import type { Clock } from '../src/model/clock.ts';
import { LIMITS } from '../src/model/limits.ts';
import { LIMIT_MS, times } from './support/how-often.ts';

const SESSIONS = ['a', 'b', 'c'];

/** One job as the model knows it. */
interface Job {
  readonly order: number;
  readonly session: string;
  readonly endsAtStart: boolean;
  /** Its record has ended while it held its slot. */
  isDetached: boolean;
  state: 'queued' | 'executing' | 'waiting' | 'unwinding' | 'settled';
  isAwaited: boolean;
  openWaits: number;
  /** Waits that are over and whose callers want to go on, in order. */
  wanting: number[];
  /** When it asked for its slot back; null while it does not. */
  askedAt: number | null;
}

class Model {
  readonly jobs: Job[] = [];
  readonly happened: string[] = [];
  readonly #workers: number;
  readonly #perSession: number;
  #asked = 0;
  budget: number = LIMITS.startsPerTurn;
  isTurnPending = false;
  isClosed = false;

  constructor(workers: number | null, perSession: number | null) {
    this.#workers = workers ?? Number.POSITIVE_INFINITY;
    this.#perSession = perSession ?? Number.POSITIVE_INFINITY;
  }

  holding(session?: string): number {
    return this.jobs.filter((job) => job.state === 'executing' && (session === undefined || job.session === session)).length;
  }

  #first(candidates: readonly Job[], rank: (job: Job) => number): Job | null {
    const ready = candidates.filter((job) => this.holding(job.session) < this.#perSession);
    return ready.toSorted((a, b) => rank(a) - rank(b))[0] ?? null;
  }

  drain(): void {
    for (;;) {
      if (this.holding() >= this.#workers) return;
      const resuming = this.#first(
        this.jobs.filter(({ askedAt }) => askedAt !== null),
        (job) => job.askedAt as number,
      );
      if (resuming !== null) {
        resuming.askedAt = null;
        this.goOn(resuming);
        resuming.state = resuming.openWaits > 0 ? 'waiting' : 'executing';
        continue;
      }
      if (this.isClosed) return;
      const queued = this.jobs.filter(({ state }) => state === 'queued');
      const next =
        this.#first(
          queued.filter(({ isAwaited }) => isAwaited),
          (job) => job.order,
        ) ??
        this.#first(
          queued.filter(({ isAwaited }) => !isAwaited),
          (job) => job.order,
        );
      if (next === null) return;
      this.isTurnPending = true;
      if (this.budget === 0) return;
      this.budget -= 1;
      next.state = next.endsAtStart ? 'settled' : 'executing';
      this.happened.push(`start ${next.order}`);
    }
  }

  goOn(job: Job): void {
    for (const wait of job.wanting) this.happened.push(`resume ${job.order}/${wait}`);
    job.wanting = [];
  }

  endWait(job: Job, wait: number): void {
    job.openWaits -= 1;
    if (job.state !== 'waiting') {
      this.happened.push(`resume ${job.order}/${wait}`);
      return;
    }
    job.wanting.push(wait);
    job.askedAt ??= this.#asked++;
  }

  stopWaiting(job: Job, state: 'unwinding' | 'settled'): void {
    job.state = state;
    job.askedAt = null;
    this.goOn(job);
  }
}

const which = fc.nat();
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('enqueue' as const),
      session: fc.nat(2),
      endsAtStart: fc.nat(9).map((n) => n === 0),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('enqueueMany' as const), session: fc.nat(2), count: fc.nat(40) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('expedite' as const), which }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('withdraw' as const), which }) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('beginWait' as const), which }) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('endWait' as const), which }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('wake' as const), which }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('release' as const), which }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('detach' as const), which }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('turn' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('close' as const), isReal: fc.nat(20).map((n) => n === 0) }) },
);

it(
  'POO1–POO6, G8: starts, resumes and counters are those of the model after every step',
  () => {
    fc.assert(
      fc.property(
        fc.constantFrom(1, 2, 3, 40, null),
        fc.constantFrom(null, null, 1, 2),
        fc.array(step, { maxLength: 250, size: 'max' }),
        (workers, perSessionLimit, steps) => {
          const happened: string[] = [];
          let turn: (() => void) | null = null;
          const clock: Clock = {
            now: () => 0,
            monotonic: () => 0,
            schedule: () => () => {},
            nextTurn: (callback) => {
              expect(turn).toBeNull();
              turn = callback;
            },
          };
          const pool = new Pool({ workers, perSessionLimit, clock });
          const model = new Model(workers, perSessionLimit);
          const places: PoolPlace[] = [];
          let waits = 0;
          const openWaits = new Map<Job, number[]>();
          const enqueue = (session: string, endsAtStart: boolean): void => {
            const order = places.length;
            const place = new PoolPlace(order, session, () => {
              happened.push(`start ${order}`);
              if (endsAtStart) pool.release(place);
            });
            places.push(place);
            model.jobs.push({
              order,
              session,
              endsAtStart,
              isDetached: false,
              state: 'queued',
              isAwaited: false,
              openWaits: 0,
              wanting: [],
              askedAt: null,
            });
            pool.enqueue(place);
            model.drain();
          };
          /** Picks among the jobs in one of these states, newest first, so that shrinking keeps the choice. */
          const pick = (index: number, ...states: Job['state'][]): Job | undefined => {
            const fitting = model.jobs.filter(({ state }) => states.includes(state));
            return fitting[index % Math.max(1, fitting.length)];
          };
          const placeOf = (job: Job): PoolPlace => places[job.order] as PoolPlace;
          const act = (one: typeof step extends fc.Arbitrary<infer Step> ? Step : never): void => {
            if (one.type === 'enqueue') enqueue(SESSIONS[one.session] as string, one.endsAtStart);
            if (one.type === 'enqueueMany') {
              for (let count = 0; count < one.count; count++) enqueue(SESSIONS[(one.session + count) % 3] as string, false);
            } else if (one.type === 'turn') {
              const callback = turn;
              turn = null;
              if (callback === null) return;
              (callback as () => void)();
              model.isTurnPending = false;
              model.budget = LIMITS.startsPerTurn;
            } else if (one.type === 'close') {
              if (!one.isReal) return;
              pool.close();
              model.isClosed = true;
            } else if (one.type === 'expedite') {
              const job = pick(one.which, 'queued', 'executing');
              if (job === undefined) return;
              job.isAwaited = true;
              pool.expedite(placeOf(job));
            } else if (one.type === 'withdraw') {
              const job = pick(one.which, 'queued');
              if (job === undefined) return;
              job.state = 'settled';
              pool.withdraw(placeOf(job));
              return;
            } else if (one.type === 'beginWait') {
              const job = pick(one.which, 'executing', 'waiting', 'unwinding');
              if (job === undefined) return;
              job.openWaits += 1;
              openWaits.set(job, [...(openWaits.get(job) ?? []), waits++]);
              if (job.state === 'executing') job.state = 'waiting';
              pool.beginWait(placeOf(job));
            } else if (one.type === 'endWait') {
              const waiting = [...openWaits].filter(([, open]) => open.length > 0);
              const [job, open] = waiting[one.which % Math.max(1, waiting.length)] ?? [];
              if (job === undefined || open === undefined) return;
              const wait = open.splice(one.which % open.length, 1)[0] as number;
              model.endWait(job, wait);
              pool.endWait(placeOf(job), () => happened.push(`resume ${job.order}/${wait}`));
            } else if (one.type === 'wake') {
              const job = pick(one.which, 'executing', 'waiting', 'queued', 'settled');
              if (job === undefined) return;
              if (job.state === 'waiting') model.stopWaiting(job, 'unwinding');
              pool.wake(placeOf(job));
              return;
            } else if (one.type === 'detach') {
              const job = pick(one.which, 'executing', 'waiting', 'unwinding');
              if (job === undefined) return;
              if (job.state === 'executing') job.isDetached = true;
              pool.detach(placeOf(job));
            } else if (one.type === 'release') {
              const job = pick(one.which, 'executing', 'waiting', 'unwinding', 'settled');
              if (job === undefined) return;
              if (job.state === 'waiting') model.stopWaiting(job, 'settled');
              else job.state = 'settled';
              pool.release(placeOf(job));
            }
            model.drain();
          };
          for (const one of steps) {
            act(one);
            expect(happened).toEqual(model.happened);
            const states = model.jobs.map(({ state }) => state);
            expect([pool.taken, pool.stuck, pool.waiting, pool.queued]).toEqual([
              model.holding(),
              model.jobs.filter(({ isDetached, state }) => isDetached && state !== 'settled').length,
              states.filter((state) => state === 'waiting').length,
              states.filter((state) => state === 'queued').length,
            ]);
            expect(pool.taken).toBeLessThanOrEqual(workers ?? Number.POSITIVE_INFINITY);
            expect(turn !== null).toBe(model.isTurnPending);
          }
          // Everything settles: every slot comes back.
          pool.close();
          for (const place of places) pool.release(place);
          expect([pool.taken, pool.stuck, pool.waiting, pool.queued]).toEqual([0, 0, 0, 0]);
        },
      ),
      times(250),
    );
  },
  LIMIT_MS,
);
