/**
 * G13: stop reaches every execution and every non-terminal job of its task and none of another's.
 *
 * SRA1  What was at work when a stop was asked for is over, or was told to end, when the stop is answered; and is named in its report, once.
 * SRA2  When it has settled all of that is over, or named as what could not be ended.
 * SRA3  What was asked for before a stop does not begin after it: no body, no prompt, no notice of a job.
 * SRA4  That nothing runs is said only where nothing does.
 * SRA5  Nobody is told to end whom nobody wanted to, and nobody twice.
 */
import { isTerminal } from '../../../model/records.ts';
import type { StopReport } from '../../../model/stop.ts';
import { type Check, type Checker, violating } from '../checker.ts';
import type { Fact, FactOf } from '../facts.ts';
import type { Known } from '../known.ts';
import { EndReasons } from './end-reasons.ts';
import { Latecomers } from './latecomers.ts';
import { isStop, type Stop, stopOf } from './stop-scope.ts';
import { isLoaded, isOwn, TurnBook } from './turn-book.ts';
import { WriteWatch } from './write-watch.ts';

const violate = violating('G13');

export const stopReachesAll: Checker = {
  guarantee: 'G13',
  promise: "stop reaches every execution and every non-terminal job of its task and none of another's",
  begin(): Check {
    const watch = new Watch();
    return (fact, known) => watch.take(fact, known);
  },
};

class Watch {
  readonly #reasons = new EndReasons();
  readonly #writes = new WriteWatch();
  readonly #turns = new TurnBook();
  readonly #latecomers = new Latecomers(violate, this.#reasons);
  readonly #stops = new Map<number, Stop>();
  /** The store has refused, or was slow, since everything rested: ends may be acted upon before they are stored. */
  #isTroubled = false;
  readonly #told = new Set<number>();
  #now = 0;

  take(fact: Fact, known: Known): void {
    this.#now += 1;
    this.#reasons.note(fact, known);
    this.#turns.note(fact, known);
    this.#writes.note(fact);
    this.#latecomers.note(fact, this.#now, known);
    switch (fact.type) {
      case 'crashed':
      case 'closed':
        this.#stops.clear();
        this.#isTroubled = false;
        break;
      case 'wrote':
        if (fact.outcome !== 'written') this.#isTroubled = true;
        break;
      case 'stood-still':
        this.#isTroubled = true;
        break;
      case 'asked':
        if (isStop(fact.verb)) this.#stops.set(fact.call, stopOf(fact, this.#now, this.#reasons, known));
        break;
      case 'answered':
        this.#answered(fact, known);
        break;
      case 'refused':
        if (fact.code === 'stop.nothing_running') this.#checkNothing(this.#stops.get(fact.call), known);
        break;
      case 'body.told':
        this.#bodyTold(fact);
        break;
      case 'agent.told-to-end':
        this.#agentTold(fact, known);
        break;
      case 'told':
        if (fact.observer === 0 && fact.event.type === 'job.status' && fact.event.reasonCode === 'cancel.stop')
          this.#stopTold(fact.event.jobId);
        break;
      case 'rested':
        if (!this.#writes.isCalm(fact.view)) return;
        this.#latecomers.rested(known);
        this.#isTroubled = false;
        this.#checkSessions(known);
        break;
      default:
    }
  }

  #answered({ call, verb, value }: FactOf<'answered'>, known: Known): void {
    const stop = isStop(verb) ? this.#stops.get(call) : undefined;
    if (stop !== undefined) {
      stop.answeredAt = this.#now;
      stop.report = value as StopReport;
      this.#latecomers.stopped(stop);
      this.#checkAnswer(stop, stop.report, known);
    }
    if (verb !== 'stop.settled') return;
    const settled = this.#stops.get(known.calls.get(call)?.asked.args[0] as number);
    if (settled !== undefined) this.#checkSettled(settled, value as StopReport, known);
  }

  /** SRA1. */
  #checkAnswer(stop: Stop, report: StopReport, known: Known): void {
    const { name, runs, agents, jobs } = stop;
    const entries = entriesOf(report);
    const jobIds = new Set(entries.map(({ jobId }) => jobId));
    const executionIds = new Set(entries.map(({ executionId }) => executionId));
    for (const run of runs) {
      const body = known.bodies.get(run);
      const job = known.jobs.get(body?.called.jobId ?? '');
      if (body === undefined || body.settled !== null || job === undefined) continue;
      const { jobId } = body.called;
      if (body.told === null && !isTerminal(job.record.status))
        violate(`${name} is answered, and the body of ${jobId} (run ${run}) was not told to end`);
      if (!jobIds.has(jobId)) violate(`${name} does not tell of ${jobId}, whose body (run ${run}) is at work`);
    }
    for (const number of agents) {
      const agent = known.agents.get(number);
      if (agent === undefined || agent.isGone || !known.sessions.has(agent.started.sessionId)) continue;
      const { executionId, sessionId } = agent.started;
      if (agent.toldToEnd === null) violate(`${name} is answered, and agent ${number} of ${sessionId} was not told to end`);
      if (!executionIds.has(executionId)) violate(`${name} does not tell of ${executionId}, agent ${number} of ${sessionId}`);
    }
    for (const jobId of jobs) {
      const job = known.jobs.get(jobId);
      if (job === undefined || isTerminal(job.record.status) || job.state === 'ending' || !report.durable) continue;
      violate(`${name} is answered, and ${jobId} is ${job.state}`);
    }
    this.#checkEntries(stop, report, known);
  }

  #checkEntries({ name, scope }: Stop, report: StopReport, known: Known): void {
    const names = entriesOf(report).map(({ sessionId, executionId, jobId }) => jobId ?? executionId ?? sessionId);
    for (const [index, one] of names.entries()) if (names.indexOf(one) !== index) violate(`${name} tells of ${one} twice`);
    for (const { sessionId, jobId } of entriesOf(report)) {
      const isOf = jobId === undefined ? this.#reasons.covers(scope, sessionId, known) : this.#reasons.isWithin(scope, jobId);
      const isKnown = jobId === undefined ? this.#reasons.taskOf(sessionId, known) !== null : this.#reasons.records.has(jobId);
      if (isKnown && !isOf) violate(`${name} tells of ${jobId ?? sessionId}, which is not of it`);
    }
  }

  /** SRA2. */
  #checkSettled({ name, runs, agents, jobs }: Stop, report: StopReport, known: Known): void {
    const left = [...report.detached, ...report.failed];
    const jobIds = new Set(left.map(({ jobId }) => jobId));
    const executionIds = new Set(left.map(({ executionId }) => executionId));
    for (const run of runs) {
      const body = known.bodies.get(run);
      if (body === undefined || body.settled !== null || !known.jobs.has(body.called.jobId)) continue;
      if (!jobIds.has(body.called.jobId))
        violate(`${name} has settled, and the body of ${body.called.jobId} (run ${run}) is at work`);
    }
    for (const number of agents) {
      const agent = known.agents.get(number);
      if (agent === undefined || agent.isGone || executionIds.has(agent.started.executionId)) continue;
      if (known.sessions.has(agent.started.sessionId))
        violate(`${name} has settled, and agent ${number} of ${agent.started.sessionId} has not gone`);
    }
    for (const jobId of jobs) {
      const job = known.jobs.get(jobId);
      if (job !== undefined && !isTerminal(job.record.status) && report.durable)
        violate(`${name} has settled, and ${jobId} is ${job.state}`);
    }
    const over = [...report.stopped, ...report.recovered];
    for (const { called, settled } of known.bodies.values())
      if (settled === null && over.some(({ jobId }) => jobId === called.jobId))
        violate(`${name} says that ${called.jobId} is over, and its body (run ${called.run}) is at work`);
    for (const { started, isGone } of known.agents.values())
      if (!isGone && over.some(({ executionId, jobId }) => jobId === undefined && executionId === started.executionId))
        violate(`${name} says that ${started.executionId} is over, and agent ${started.agent} has not gone`);
  }

  /** SRA4. */
  #checkNothing(stop: Stop | undefined, known: Known): void {
    if (stop === undefined) return;
    const { name, runs, agents, jobs } = stop;
    for (const number of agents) {
      const agent = known.agents.get(number);
      if (agent !== undefined && isLoaded(agent) && known.sessions.has(agent.started.sessionId))
        violate(`${name} finds nothing, and agent ${number} of ${agent.started.sessionId} is loaded`);
    }
    if (this.#isTroubled) return;
    for (const run of runs) {
      const body = known.bodies.get(run);
      const job = known.jobs.get(body?.called.jobId ?? '');
      if (body?.settled === null && job !== undefined && !isTerminal(job.record.status))
        violate(`${name} finds nothing, and the body of ${body.called.jobId} (run ${run}) is at work`);
    }
    for (const jobId of jobs) {
      const job = known.jobs.get(jobId);
      if (job !== undefined && !isTerminal(job.record.status)) violate(`${name} finds nothing, and ${jobId} is ${job.state}`);
    }
  }

  /** What was at work in a session that was stopped leaves it cancelled. */
  #checkSessions(known: Known): void {
    for (const stop of this.#stops.values()) {
      if (stop.report === null || stop.hasRested) continue;
      stop.hasRested = true;
      for (const { sessionId, executionId, jobId } of stop.report.stopped) {
        const state = known.sessions.get(sessionId)?.state;
        const isAtWork = state === 'starting' || state === 'running' || state === 'waiting_for_input';
        if (jobId === undefined && executionId !== undefined && isAtWork && stop.atWork.has(sessionId))
          violate(`${stop.name} has ended ${executionId}, and ${sessionId} is ${state}`);
      }
    }
  }

  /** SRA5. */
  #bodyTold({ run, jobId, code }: FactOf<'body.told'>): void {
    if (this.#told.has(run)) violate(`the body of ${jobId} (run ${run}) is told to end twice`);
    this.#told.add(run);
    if (code !== 'job.cancelled' || !this.#reasons.records.has(jobId) || this.#reasons.isCancelled(jobId)) return;
    violate(`the body of ${jobId} (run ${run}) is told to end, and nobody has asked for that`);
  }

  #agentTold({ agent, sessionId, at }: FactOf<'agent.told-to-end'>, known: Known): void {
    if (!isOwn(known.agents.get(agent)) || this.#reasons.isAgentEnded(agent, sessionId, known)) return;
    if (this.#turns.mayHaveStalled(agent, at, known)) return;
    violate(`agent ${agent} of ${sessionId} is told to end, and nobody has asked for that`);
  }

  #stopTold(jobId: string): void {
    if (this.#reasons.records.has(jobId) && !this.#reasons.isStopped(jobId))
      violate(`${jobId} is told to be stopped, and neither it nor anything above it was`);
  }
}

const entriesOf = (report: StopReport): StopReport['stopped'] =>
  [report.stopped, report.recovered, report.alreadyStopping, report.detached, report.absent, report.failed].flat();
