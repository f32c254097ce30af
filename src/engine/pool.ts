/**
 * Who may work now: slots, places per session, the queue, and bodies that wait inside the engine (spec 3).
 * Slot and status are two facts; this room knows only the first.
 *
 * POO1  Executing bodies hold exactly one slot each; with a limit, never more than `workers` of them.
 * POO2  A slot returns exactly once: when its body has settled, or for as long as the body waits inside the engine.
 * POO3  Resumes go before starts; jobs that a body waits for go before all other starts; the rest start in spawn order.
 * POO4  An abort wakes a waiting body at once, without a slot; it takes none and gives none back.
 * POO5  Starts are budgeted per turn of the event loop, so that I/O and cancels get through.
 * POO6  After `close` nothing starts. Resumes go on, so that bodies can unwind.
 */
import type { Clock } from '../model/clock.ts';
import { LIMITS } from '../model/limits.ts';
import { Lane, type LaneItem } from './lane.ts';

type Phase = 'idle' | 'queued' | 'executing' | 'waiting' | 'resuming' | 'unwinding' | 'settled';

/** A body in the resume queue: ordered by when it asked, not by when it was spawned. */
interface ResumeItem extends LaneItem {
  readonly place: PoolPlace;
}

/** A job as the pool knows it. */
export class PoolPlace implements LaneItem {
  readonly order: number;
  readonly sessionId: string;
  readonly start: () => void;
  lane: Lane | null = null;
  previous: LaneItem | null = null;
  next: LaneItem | null = null;
  phase: Phase = 'idle';
  openWaits = 0;
  /** Its record has ended and its body has not: the slot it holds, if any, is out of reach. */
  isDetached = false;
  resumptions: (() => void)[] | null = null;
  resumeItem: ResumeItem | null = null;

  constructor(order: number, sessionId: string, start: () => void) {
    this.order = order;
    this.sessionId = sessionId;
    this.start = start;
  }
}

export interface PoolOptions {
  readonly workers: number | null;
  readonly perSessionLimit: number | null;
  readonly clock: Clock;
}

export class Pool {
  readonly #workers: number;
  readonly #perSession: number;
  readonly #clock: Clock;
  readonly #sessions: Map<string, number> | null;
  readonly #resumes: Lane;
  readonly #awaited: Lane;
  readonly #free: Lane;
  #resumeOrder = 0;
  #taken = 0;
  #waiting = 0;
  #stuck = 0;
  #budget: number = LIMITS.startsPerTurn;
  #isTurnPending = false;
  #isDraining = false;
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#workers = options.workers ?? Number.POSITIVE_INFINITY;
    this.#perSession = options.perSessionLimit ?? Number.POSITIVE_INFINITY;
    this.#clock = options.clock;
    const isLimited = options.perSessionLimit !== null;
    this.#sessions = isLimited ? new Map() : null;
    const hasRoom = isLimited ? (sessionId: string) => (this.#sessions?.get(sessionId) ?? 0) < this.#perSession : null;
    this.#resumes = new Lane(hasRoom);
    this.#awaited = new Lane(hasRoom);
    this.#free = new Lane(hasRoom);
  }

  /** Slots in use. */
  get taken(): number {
    return this.#taken;
  }

  /** Slots held by bodies whose records have ended. */
  get stuck(): number {
    return this.#stuck;
  }

  get queued(): number {
    return this.#awaited.size + this.#free.size;
  }

  /** Bodies that wait inside the engine, those that wait for their slot included. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Places in use of this session, where sessions are limited. */
  takenBy(sessionId: string): number {
    return this.#sessions?.get(sessionId) ?? 0;
  }

  enqueue(place: PoolPlace): void {
    place.phase = 'queued';
    this.#free.add(place);
    this.drain();
  }

  /** A body waits for this job: it goes before those that nobody waits for. */
  expedite(place: PoolPlace): void {
    if (place.lane !== this.#free) return;
    this.#free.remove(place);
    this.#awaited.add(place);
    this.drain();
  }

  /** Leaves the queue. */
  withdraw(place: PoolPlace): void {
    if (place.phase !== 'queued') return;
    place.lane?.remove(place);
    place.phase = 'settled';
  }

  /** The body waits inside the engine: its slot and its session's place are free meanwhile, once however many waits it has. */
  beginWait(place: PoolPlace): void {
    place.openWaits += 1;
    if (place.phase !== 'executing') return;
    place.phase = 'waiting';
    this.#waiting += 1;
    this.#giveBack(place);
    this.drain();
  }

  /** One wait is over; `resume` is called with a slot in hand, or at once when the body is unwinding. */
  endWait(place: PoolPlace, resume: () => void): void {
    place.openWaits -= 1;
    if (place.phase !== 'waiting' && place.phase !== 'resuming') {
      resume();
      return;
    }
    place.resumptions ??= [];
    place.resumptions.push(resume);
    if (place.phase === 'resuming') return;
    place.phase = 'resuming';
    const order = this.#resumeOrder++;
    place.resumeItem = { place, order, sessionId: place.sessionId, lane: null, previous: null, next: null };
    this.#resumes.add(place.resumeItem);
    this.drain();
  }

  /** The body was told to end: it wakes without a slot if it was waiting. */
  wake(place: PoolPlace): void {
    if (place.phase !== 'waiting' && place.phase !== 'resuming') return;
    this.#leaveResumes(place);
    place.phase = 'unwinding';
    this.#waiting -= 1;
    this.#runResumptions(place);
  }

  /** The record has ended without the body; a body that unwinds holds no slot, and is only counted elsewhere. */
  detach(place: PoolPlace): void {
    if (place.phase !== 'executing' || place.isDetached) return;
    place.isDetached = true;
    this.#stuck += 1;
  }

  /** The body has settled. Safe to call twice. */
  release(place: PoolPlace): void {
    const phase = place.phase;
    place.phase = 'settled';
    if (place.isDetached) this.#stuck -= 1;
    place.isDetached = false;
    if (phase === 'executing') {
      this.#giveBack(place);
      this.drain();
    } else if (phase === 'waiting' || phase === 'resuming') {
      this.#leaveResumes(place);
      this.#waiting -= 1;
      this.#runResumptions(place);
    } else if (phase === 'queued') {
      place.lane?.remove(place);
    }
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Hands out what is free: to resumes first, then to awaited jobs, then in spawn order. */
  drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    try {
      while (this.#taken < this.#workers) {
        const resuming = this.#resumes.peek();
        if (resuming !== null) {
          this.#resumes.remove(resuming);
          this.#grant((resuming as ResumeItem).place);
          continue;
        }
        if (this.#isClosed) return;
        const next = (this.#awaited.peek() ?? this.#free.peek()) as PoolPlace | null;
        if (next === null) return;
        if (this.#budget === 0) {
          this.#nextTurn();
          return;
        }
        if (this.#budget === LIMITS.startsPerTurn) this.#nextTurn();
        this.#budget -= 1;
        next.lane?.remove(next);
        next.phase = 'executing';
        this.#take(next);
        next.start();
      }
    } finally {
      this.#isDraining = false;
    }
  }

  #nextTurn(): void {
    if (this.#isTurnPending) return;
    this.#isTurnPending = true;
    this.#clock.nextTurn(() => {
      this.#isTurnPending = false;
      this.#budget = LIMITS.startsPerTurn;
      this.drain();
    });
  }

  #grant(place: PoolPlace): void {
    place.resumeItem = null;
    place.phase = 'executing';
    this.#waiting -= 1;
    this.#take(place);
    this.#runResumptions(place);
    if (place.openWaits > 0 && (place.phase as Phase) === 'executing') {
      place.phase = 'waiting';
      this.#waiting += 1;
      this.#giveBack(place);
    }
  }

  #leaveResumes(place: PoolPlace): void {
    if (place.resumeItem !== null) this.#resumes.remove(place.resumeItem);
    place.resumeItem = null;
  }

  #runResumptions(place: PoolPlace): void {
    const resumptions = place.resumptions;
    place.resumptions = null;
    if (resumptions !== null) for (const resume of resumptions) resume();
  }

  #take(place: PoolPlace): void {
    this.#taken += 1;
    this.#sessions?.set(place.sessionId, (this.#sessions.get(place.sessionId) ?? 0) + 1);
  }

  #giveBack(place: PoolPlace): void {
    this.#taken -= 1;
    if (this.#sessions === null) return;
    const left = (this.#sessions.get(place.sessionId) ?? 1) - 1;
    if (left === 0) this.#sessions.delete(place.sessionId);
    else this.#sessions.set(place.sessionId, left);
    for (const lane of [this.#resumes, this.#awaited, this.#free]) lane.roomIn(place.sessionId);
  }
}
