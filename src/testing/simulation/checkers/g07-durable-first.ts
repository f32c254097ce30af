/**
 * G7: no observer sees a state that is not durable, but in answers that say so (`durable: false`).
 *
 * DUR1  What is told lies in the store at that moment, as it is told.
 * DUR2  What is answered has lain in the store, as it is answered, and is no older than what had been told or answered before it was asked.
 * DUR3  A body is called when the acceptance of its job is stored. Under `full`, acceptances, of prompts that wait too, and ends are synced; under `process`, nothing is.
 * DUR4  At rest every read shows what is stored, and nothing is stored that nobody was told of. Rows that belong together are there together.
 */
import { isVolatileEvent, type RecordEvent } from '../../../model/events.ts';
import { type HistoryEntry, isTerminal, type JobRecord, type JobView } from '../../../model/records.ts';
import { type Check, type Checker, type Violate, violating } from '../checker.ts';
import type { Fact, FactOf, RestView } from '../facts.ts';
import type { Known, StoredJob } from '../known.ts';
import { jobViewsOf, VIEW_ONLY } from './job-answers.ts';
import { judgeRows } from './row-answers.ts';
import { judgeRowsInPlace } from './rows-in-place.ts';
import { isWell } from './store-trouble.ts';
import { differingField, isExpired, stepsOf } from './stored-jobs.ts';
import { differenceOf, eventsOf, textOf } from './told-events.ts';

const violate: Violate = violating('G7');

/** All that was stored of one job. */
interface Versions {
  readonly ordinal: number;
  readonly records: Map<number, JobRecord>;
}

/** That a job was seen at a revision, and when. */
interface Sighting {
  readonly moment: number;
  readonly revision: number;
}

class Durables {
  readonly #versions = new Map<string, Versions>();
  /** Every event that was stored, also those that were trimmed since. */
  readonly #events = new Map<number, RecordEvent>();
  /** By job: what was seen of it, newer and newer. */
  readonly #seen = new Map<string, Sighting[]>();
  readonly #askedAt = new Map<number, number>();
  /** Jobs that observer 0 was told of as they were accepted. */
  readonly #announced = new Set<string>();
  readonly #bornHere = new Set<string>();
  #moment = 0;

  judge(fact: Fact, known: Known): void {
    this.#moment += 1;
    switch (fact.type) {
      case 'opened':
        this.#bornHere.clear();
        this.#announced.clear();
        break;
      case 'crashed':
        this.#lose(known);
        break;
      case 'wrote':
        if (fact.outcome !== 'failed') this.#judgeWrote(fact, known);
        break;
      case 'told':
        this.#judgeTold(fact, known);
        break;
      case 'asked':
        this.#askedAt.set(fact.call, this.#moment);
        break;
      case 'answered':
        this.#judgeAnswered(fact, known);
        judgeRows(fact, known, violate);
        break;
      case 'body.called':
        if (!known.jobs.has(fact.jobId)) violate(`the body of ${fact.jobId} was called, and its acceptance is not stored`);
        break;
      case 'rested':
        if (!isWell(fact.view)) break;
        this.#judgeRest(fact.view, known);
        judgeRowsInPlace(fact.view, known, violate);
        break;
      default:
    }
  }

  #judgeWrote({ operations, sync }: FactOf<'wrote'>, known: Known): void {
    const { gone, born, changed } = stepsOf(known.changes);
    for (const { record } of gone) {
      this.#bornHere.delete(record.jobId);
      if (isExpired(known, record.jobId)) continue;
      this.#versions.delete(record.jobId);
      this.#seen.delete(record.jobId);
    }
    for (const job of born) this.#bornHere.add(job.record.jobId);
    for (const job of [...born, ...changed.map(({ after }) => after)]) this.#keep(job);
    for (const event of eventsOf(operations)) this.#events.set(event.seq, event);
    // The settings of an engine that is only being opened are not known yet.
    if (!known.isOpen) return;
    if (known.settings.durability === 'process' && sync) violate('a batch was synced, and durability is `process`');
    const acknowledged = [
      ...born,
      ...changed
        .filter(({ before, after }) => !isTerminal(before.record.status) && isTerminal(after.record.status))
        .map(({ after }) => after),
    ];
    if (known.settings.durability === 'full' && !sync) {
      for (const { record } of acknowledged) violate(`${record.jobId} is ${record.status} by a batch that is not synced`);
      const ticket = operations.find(({ type, key }) => type === 'put' && key.startsWith('q/'));
      if (ticket !== undefined) violate(`the prompt ${ticket.key} waits by a batch that is not synced`);
    }
  }

  #keep(job: StoredJob): void {
    const { jobId, revision } = job.record;
    let versions = this.#versions.get(jobId);
    if (versions?.ordinal !== job.ordinal) {
      versions = { ordinal: job.ordinal, records: new Map() };
      this.#versions.set(jobId, versions);
      this.#seen.delete(jobId);
    }
    versions.records.set(revision, job.record);
  }

  /** What a crash took was never there. */
  #lose(known: Known): void {
    for (const seq of this.#events.keys()) if (seq > known.seq) this.#events.delete(seq);
    for (const [seq, event] of known.events) this.#events.set(seq, event);
    for (const jobId of this.#versions.keys()) {
      if (known.jobs.has(jobId) || isExpired(known, jobId)) continue;
      this.#versions.delete(jobId);
    }
    for (const job of known.jobs.values()) {
      const { revision, jobId } = job.record;
      const records = this.#versions.get(jobId)?.records ?? new Map<number, JobRecord>();
      for (const other of records.keys()) if (other > revision) records.delete(other);
      this.#keep(job);
    }
    // Who was told something has gone as well.
    this.#seen.clear();
  }

  #judgeTold({ observer, event }: FactOf<'told'>, known: Known): void {
    if (event.type === 'resync') return;
    const wrong: Violate = (what) => violate(`observer ${observer} was told ${textOf(event)}, ${what}`);
    if (isVolatileEvent(event)) {
      if ((event.type === 'job.progress' || event.type === 'job.output') && !this.#versions.has(event.jobId))
        wrong('and its job was never stored');
      return;
    }
    const stored = this.#events.get(event.seq);
    if (event.seq > known.seq || stored === undefined) wrong(`and the store ends at ${known.seq}`);
    const other = differenceOf(event, stored);
    if (other !== null) wrong(`and what is stored has another ${other}: ${textOf(stored)}`);
    if (observer !== 0 || (event.type !== 'job.created' && event.type !== 'job.status')) return;
    if (event.type === 'job.created') this.#announced.add(event.jobId);
    this.#see(event.jobId, event.revision);
  }

  #see(jobId: string, revision: number): void {
    const sightings = this.#seen.get(jobId) ?? [];
    this.#seen.set(jobId, sightings);
    if (revision > (sightings.at(-1)?.revision ?? 0)) sightings.push({ moment: this.#moment, revision });
  }

  #judgeAnswered(fact: FactOf<'answered'>, known: Known): void {
    const asked = this.#askedAt.get(fact.call) ?? this.#moment;
    const where = `call ${fact.call}, ${fact.verb}`;
    for (const view of jobViewsOf(fact)) if (view.durable !== false) this.#judgeView(view, asked, where);
    if (fact.verb === 'snapshot') {
      const { seq } = fact.value as { readonly seq: number };
      if (seq > known.seq) violate(`${where} was answered as of ${seq}, and the store ends at ${known.seq}`);
    }
    if (fact.verb === 'history') this.#judgeHistory(fact, known);
  }

  #judgeView(view: JobView, asked: number, where: string): void {
    const { jobId, revision } = view;
    const records = this.#versions.get(jobId)?.records;
    if (records === undefined) violate(`${where} was answered with ${jobId}, which was never stored`);
    const stored = records.get(revision);
    if (stored === undefined)
      violate(
        `${where} was answered with revision ${revision} of ${jobId} (${view.status}); stored are ${[...records.keys()].join(', ')}`,
      );
    const other = differingField(view, stored, VIEW_ONLY);
    if (other !== null)
      violate(`${where} was answered with another ${other} of ${jobId} than its revision ${revision} has: ${textOf(view)}`);
    const before = this.#seen.get(jobId)?.findLast(({ moment }) => moment < asked);
    if (before !== undefined && revision < before.revision)
      violate(
        `${where} was answered with revision ${revision} of ${jobId}, and revision ${before.revision} had been shown before it was asked`,
      );
    this.#see(jobId, revision);
  }

  #judgeHistory({ call, value }: FactOf<'answered'>, known: Known): void {
    const jobId = known.calls.get(call)?.asked.args[0] as string;
    const stored = known.jobs.get(jobId)?.record;
    if (stored === undefined || isTerminal(stored.status)) return;
    const end = (value as readonly HistoryEntry[]).find(({ to }) => to !== undefined && isTerminal(to));
    if (end !== undefined) violate(`call ${call}, history: ${jobId} is ${end.to} in it, and stored as ${stored.status}`);
  }

  #judgeRest(view: RestView, known: Known): void {
    const shown = new Map(view.jobs.map((job) => [job.jobId, job]));
    for (const job of view.jobs) {
      const stored = known.jobs.get(job.jobId);
      if (stored === undefined) violate(`${job.jobId} is listed, and not stored`);
      if (job.durable === false) violate(`${job.jobId} is listed as not durable`);
      const { status, revision } = stored.record;
      const other = differingField(job, stored.record, VIEW_ONLY);
      if (other !== null)
        violate(
          `${job.jobId} is listed as ${job.status}, revision ${job.revision}, and stored as ${status}, revision ${revision}: another ${other}`,
        );
    }
    for (const jobId of known.jobs.keys()) if (!shown.has(jobId)) violate(`${jobId} is stored, and not listed`);
    const ordinals = view.jobs.map(({ jobId }) => known.jobs.get(jobId)?.ordinal ?? 0);
    if (ordinals.some((ordinal, index) => ordinal <= (ordinals[index - 1] ?? 0)))
      violate(`jobs are not listed in the order of their creation: ${view.jobs.map(({ jobId }) => jobId).join(', ')}`);
    for (const [sessionId, ids] of view.jobsOf) {
      const expected = view.jobs.filter((job) => job.sessionId === sessionId).map(({ jobId }) => jobId);
      if (expected.join() !== ids.join())
        violate(`the list of ${sessionId} is ${ids.join(', ')}, and there are ${expected.join(', ')}`);
    }
    for (const jobId of this.#bornHere) {
      if (!this.#announced.has(jobId)) violate(`${jobId} is stored, and nobody was told that it was accepted`);
    }
  }
}

export const durableFirst: Checker = {
  guarantee: 'G7',
  promise: 'no observer sees a state that is not durable (answers marked `durable: false` excepted)',
  begin(): Check {
    const durables = new Durables();
    return (fact, known) => durables.judge(fact, known);
  },
};
