/**
 * G9: one total order of events; record events gapless.
 *
 * SEQ1  Observer 0 is told every record event of its life, numbered without a gap; volatile events carry the number that they follow.
 * SEQ2  Every live observer is told the very same, from its first event to its last. A reader of the log may miss volatile events only, and gaps are
 *       said to it by `resync`.
 * SEQ3  An epoch names one life. Numbers go on over all lives; what is replayed is what was told.
 */
import { isDeepStrictEqual } from 'node:util';
import { isVolatileEvent, type OffstageEvent } from '../../../model/events.ts';
import { type Check, type Checker, type Violate, violating } from '../checker.ts';
import type { Fact, FactOf, RestView } from '../facts.ts';
import type { Known } from '../known.ts';
import { isWell } from './store-trouble.ts';
import { isExpired } from './stored-jobs.ts';
import { differenceOf, textOf } from './told-events.ts';

const violate: Violate = violating('G9');

interface Observer {
  readonly how: 'onEvent' | 'events$' | 'events';
  /** Of a live one: the place, in what observer 0 is told, of what comes next. Of a reader: the last number; null before the first. */
  next: number | null;
  hasLeft: boolean;
}

class Order {
  /** What observer 0 was told in this life. */
  #told: OffstageEvent[] = [];
  /** The record events of it, by number. */
  readonly #records = new Map<number, OffstageEvent>();
  readonly #observers = new Map<number, Observer>();
  readonly #epochs = new Set<string>();
  #epoch: string | null = null;
  /** The last number told to observer 0. */
  #seq = 0;
  /** The number at which this life began. */
  #firstSeq = 0;
  /** Numbers may be missing for ever. */
  #hadPowerLoss = false;
  #lostPower = false;

  judge(fact: Fact, known: Known): void {
    switch (fact.type) {
      case 'opened':
        this.#open(fact, known);
        break;
      case 'crashed':
        // The next process may die as well, before it has opened.
        this.#lostPower ||= fact.kind === 'power';
        this.#hadPowerLoss ||= this.#lostPower;
        break;
      case 'attached':
        this.#observers.set(fact.observer, {
          how: fact.how,
          next: fact.how === 'events' ? null : this.#told.length,
          hasLeft: false,
        });
        break;
      case 'detached': {
        const observer = this.#observers.get(fact.observer);
        if (observer !== undefined) observer.hasLeft = true;
        break;
      }
      case 'told':
        if (fact.event.epoch !== this.#epoch)
          violate(
            `observer ${fact.observer} was told an event of epoch ${fact.event.epoch} in that of ${this.#epoch}: ${textOf(fact.event)}`,
          );
        if (fact.observer === 0) this.#judgeFirst(fact.event);
        else this.#judgeOther(fact);
        break;
      case 'rested':
        this.#judgeRest(fact.view, known);
        break;
      default:
    }
  }

  #open({ epoch, seq }: FactOf<'opened'>, known: Known): void {
    if (this.#epochs.has(epoch)) violate(`epoch ${epoch} has been before`);
    if (seq < this.#seq && !this.#lostPower) violate(`it was opened at ${seq}, and ${this.#seq} had been told`);
    if (seq < known.seq) violate(`it was opened at ${seq}, and the store ends at ${known.seq}`);
    this.#epochs.add(epoch);
    this.#epoch = epoch;
    this.#seq = seq;
    this.#firstSeq = seq;
    this.#lostPower = false;
    this.#told = [];
    this.#records.clear();
    this.#observers.clear();
  }

  #judgeFirst(event: OffstageEvent): void {
    if (event.type === 'resync') violate(`observer 0 was told to read anew: ${textOf(event)}`);
    if (isVolatileEvent(event)) {
      if (event.seq !== this.#seq) violate(`a volatile event follows ${this.#seq}, and says another number: ${textOf(event)}`);
    } else {
      if (event.seq !== this.#seq + 1) violate(`after ${this.#seq} observer 0 was told ${textOf(event)}`);
      this.#seq = event.seq;
      this.#records.set(event.seq, event);
    }
    this.#told.push(event);
  }

  #judgeOther({ observer, event }: FactOf<'told'>): void {
    const known = this.#observers.get(observer);
    if (known === undefined) violate(`observer ${observer}, who is not there, was told ${textOf(event)}`);
    if (known.how === 'events') {
      this.#judgeReader(observer, known, event);
      return;
    }
    const expected = this.#told[known.next ?? 0];
    // Who leaves while an event is told may be told that one still.
    if (known.hasLeft && known.next !== this.#told.length - 1)
      violate(`observer ${observer} had left, and was told ${textOf(event)}`);
    if (expected === undefined || !isDeepStrictEqual(expected, event))
      violate(
        `observer ${observer} was told ${textOf(event)}, and observer 0 at its place ${expected === undefined ? 'nothing' : textOf(expected)}`,
      );
    known.next = (known.next ?? 0) + 1;
  }

  #judgeReader(observer: number, reader: Observer, event: OffstageEvent): void {
    const last = reader.next;
    if (isVolatileEvent(event)) {
      // It may be told after what was replayed, but not before what it follows.
      if (last !== null && event.seq > last) violate(`observer ${observer}, who is at ${last}, was told ${textOf(event)}`);
    } else if (event.type === 'resync') {
      if (last !== null && event.seq < last) violate(`observer ${observer}, who is at ${last}, was sent back: ${textOf(event)}`);
      reader.next = event.seq;
    } else {
      if (last !== null && event.seq !== last + 1) violate(`observer ${observer}, who is at ${last}, was told ${textOf(event)}`);
      reader.next = event.seq;
      const place = this.#records.get(event.seq);
      if (place !== undefined && !isSameRecord(place, event))
        violate(`observer ${observer} was told ${textOf(event)}, and observer 0 ${textOf(place)}`);
    }
  }

  #judgeRest(view: RestView, known: Known): void {
    for (const [id, { how, next, hasLeft }] of this.#observers) {
      if (hasLeft || how === 'events' || next === this.#told.length) continue;
      violate(`observer ${id} was told ${next} events of ${this.#told.length}: it lacks ${textOf(this.#told[next ?? 0])}`);
    }
    if (view.seq !== this.#seq) violate(`the snapshot is as of ${view.seq}, and observer 0 was told up to ${this.#seq}`);
    let seq = view.logAfter;
    // The log begins later: what was before is too old, or there is nothing.
    const isTrimmed = Math.min(...known.events.keys()) > seq + 1;
    for (const [index, event] of view.log.entries()) {
      if (event.type === 'resync') {
        const isExplained = this.#hadPowerLoss || (index === 0 && isTrimmed);
        if (!isExplained) violate(`the log has a gap that nothing explains, after ${seq}: ${textOf(event)}`);
        if (event.seq < seq) violate(`the log goes back from ${seq} to ${event.seq}`);
        seq = event.seq;
        continue;
      }
      if (isVolatileEvent(event)) violate(`the log has a volatile event: ${textOf(event)}`);
      if (isWell(view) && event.type === 'job.created' && !known.jobs.has(event.jobId) && !isExpired(known, event.jobId))
        violate(`the log has ${textOf(event)}, and there never was such a job`);
      if (event.seq !== seq + 1) violate(`the log goes on after ${seq} with ${textOf(event)}`);
      seq = event.seq;
      const told = this.#records.get(seq);
      if (told === undefined && seq > this.#firstSeq) violate(`the log has what nobody was told: ${textOf(event)}`);
      if (told !== undefined && !isSameRecord(told, event))
        violate(`the log has ${textOf(event)}, and observer 0 was told ${textOf(told)}`);
      const stored = known.events.get(seq);
      if (isWell(view) && (stored === undefined || !isSameRecord(stored, event)))
        violate(`the log has ${textOf(event)}, and stored is ${stored === undefined ? 'nothing' : textOf(stored)}`);
    }
    if (seq !== view.seq) violate(`the log ends at ${seq}, and the snapshot is as of ${view.seq}`);
  }
}

/** But for what is only told live. */
const isSameRecord = (one: OffstageEvent, other: OffstageEvent): boolean => differenceOf(one, other) === null;

export const oneOrder: Checker = {
  guarantee: 'G9',
  promise: 'one total order of events; record events gapless',
  begin(): Check {
    const order = new Order();
    return (fact, known) => order.judge(fact, known);
  },
};
