/**
 * What must hold of every stop, whatever else happened meanwhile (G13, G15; liveness 11).
 *
 * SCK1  Older is what was asked for before the tick in which the stop decided: it is over, or named as what could not be ended.
 * SCK2  What was not covered, or is newer, is touched by no stop.
 */
import type { StopEntry, StopReport, StopResult } from '../../src/model/stop.ts';
import { codeOf } from './session-scene.ts';
import {
  type AgentNote,
  AT_WORK,
  isAgentLive,
  isBodyLive,
  type JobNote,
  type PromptNote,
  type StopLedger,
  type StopNote,
} from './stop-ledger.ts';

const OF_A_STOP = ['session.stopped', 'task.stopping'];

const entriesOf = (report: StopReport): readonly StopEntry[] =>
  [report.stopped, report.recovered, report.alreadyStopping, report.detached, report.absent, report.failed].flat();

/** From its call to its last report. Never rejects. */
export async function checkStop(ledger: StopLedger, stop: StopNote, answer: Promise<StopResult>): Promise<void> {
  let result: StopResult;
  try {
    result = await answer;
  } catch (error) {
    stop.answeredAt = ledger.now;
    stop.refused = codeOf(error);
    stop.isSettled = true;
    checkRefusal(ledger, stop, error);
    return;
  }
  stop.answeredAt = ledger.now;
  stop.report = result;
  stop.unreadable = result.loadErrors.map(({ sessionId }) => sessionId);
  checkNames(ledger, stop, result);
  const settled = await result.settled;
  stop.isSettled = true;
  checkSettled(ledger, stop, [...settled.detached, ...settled.failed], settled.durable);
  checkOnce(ledger, settled);
}

function checkRefusal(ledger: StopLedger, stop: StopNote, error: unknown): void {
  const { details } = error as { readonly details?: Partial<StopReport> };
  stop.unreadable = details?.loadErrors?.map(({ sessionId }) => sessionId) ?? [];
  // Before it has decided it has done nothing.
  if (stop.decidedAt === null) return;
  if (stop.refused !== 'stop.nothing_running' && stop.refused !== 'stop.failed')
    ledger.problems.push(`a stop is refused ${stop.refused}`);
  const left = [...(details?.detached ?? []), ...(details?.failed ?? [])];
  // What could not be told to end may still end, and need not have.
  if (stop.refused === 'stop.nothing_running') checkSettled(ledger, stop, left, !ledger.isDegraded);
}

/** Everything that it found is told of, once. */
function checkNames(ledger: StopLedger, stop: StopNote, report: StopReport): void {
  const { found } = stop;
  const entries = entriesOf(report);
  for (const agent of found.agents)
    if (!entries.some(({ executionId }) => executionId === agent.executionId))
      ledger.problems.push(`a stop does not tell of ${agent.executionId}`);
  for (const job of found.jobs) {
    const { jobId, bodyAt } = job;
    // Without a body it has ended as soon as that is decided, and is over when somebody else looks.
    const isOver = bodyAt === null && isToldToEnd(ledger, job, stop.decidedAt ?? 0, stop);
    if (!isOver && !entries.some((entry) => entry.jobId === jobId)) ledger.problems.push(`a stop does not tell of ${jobId}`);
  }
  // What could not be closed before is closed once more.
  const by = stop.answeredAt ?? ledger.now;
  for (const { executionId, closes } of found.agents) {
    const earlier = closes.filter(({ at }) => at < (stop.decidedAt ?? 0));
    const isOpen = earlier.some(({ settledAt }) => settledAt === null || settledAt > (stop.decidedAt ?? 0));
    const later = closes.filter(({ at }) => at >= (stop.decidedAt ?? 0) && at <= by);
    if (earlier.length > 0 && !isOpen && later.length === 0) ledger.problems.push(`${executionId} is not closed once more`);
  }
  for (const { executionId } of [...report.stopped, ...report.recovered]) {
    const agent = ledger.agents.find((one) => one.executionId === executionId);
    if (agent === undefined || agent.closes.some(({ settledAt }) => settledAt !== null)) continue;
    const earlier = ledger.stops.filter(
      (other) => other !== stop && (other.decidedAt ?? stop.decidedAt ?? 0) < (stop.decidedAt ?? 0),
    );
    if (earlier.some((other) => isOlderAgent(ledger, other, agent)))
      ledger.problems.push(`${executionId} is stopped a second time`);
  }
  checkOnce(ledger, report);
}

function checkOnce(ledger: StopLedger, report: StopReport): void {
  const names = entriesOf(report).map(({ sessionId, executionId, jobId }) => jobId ?? executionId ?? sessionId);
  for (const [index, name] of names.entries())
    if (names.indexOf(name) !== index) ledger.problems.push(`${name} is told of twice`);
  for (const { jobId } of report.detached) {
    const job = ledger.jobs.find((one) => one.jobId === jobId);
    // Also one whose body has settled meanwhile: its record says so for good. While the store refuses, nothing is told.
    if (report.durable && job !== undefined && ledger.toldOf(job)?.isDetached !== true)
      ledger.problems.push(`${jobId} is told to be detached, and is not`);
  }
}

/** Nothing older is live, but for what is named. */
function checkSettled(ledger: StopLedger, stop: StopNote, left: readonly StopEntry[], isDurable: boolean): void {
  for (const agent of ledger.agents) {
    if (!isOlderAgent(ledger, stop, agent) || !isAgentLive(agent)) continue;
    if (!left.some(({ executionId }) => executionId === agent.executionId))
      ledger.problems.push(`${agent.executionId} of ${agent.sessionId} is live after a stop has settled`);
  }
  for (const job of ledger.jobs) {
    if (!isOlderJob(ledger, stop, job)) continue;
    if (isBodyLive(job) && !left.some(({ jobId }) => jobId === job.jobId))
      ledger.problems.push(`the body of ${job.jobId} is live after a stop has settled`);
    // While the store refuses, ends are acted upon and told of later.
    if (ledger.isUnfinished(job) && isDurable) ledger.problems.push(`${job.jobId} has not ended after a stop has settled`);
  }
}

/** When nothing is left to do and no time has passed: a stop by force waits for nothing but the store. */
export function checkForced(ledger: StopLedger): void {
  for (const { isForced, isSettled } of ledger.stops)
    if (isForced && !isSettled) ledger.problems.push('a stop by force has not settled');
}

/** When everything that hung was let go, and everybody was answered. */
export function checkAll(ledger: StopLedger): void {
  for (const agent of ledger.agents) checkAgent(ledger, agent);
  for (const job of ledger.jobs) checkJob(ledger, job);
  for (const prompt of ledger.prompts) checkPrompt(ledger, prompt);
  for (const stop of ledger.stops) {
    for (const sessionId of stop.found.atWork) {
      const isOver = ledger.states.get(sessionId)?.some(({ to }) => to === 'cancelled' || to === 'failed') === true;
      if (!stop.unreadable.includes(sessionId) && !isOver)
        ledger.problems.push(`${sessionId} was at work when it was stopped, and is not cancelled`);
    }
  }
  for (const [sessionId, changes] of ledger.states) {
    for (const [index, { from, to }] of changes.entries()) {
      if (from === 'failed' || from === 'cancelled') ledger.problems.push(`${sessionId} was ${from}, and is ${to}`);
      if (to === 'cancelled' && !AT_WORK.includes(from)) ledger.problems.push(`${sessionId} was ${from}, and is cancelled`);
      if (to === 'cancelled' && !ledger.stops.some((stop) => ledger.covers(stop, sessionId)))
        ledger.problems.push(`${sessionId} is cancelled by a stop of another`);
      const next = changes[index + 1];
      if (next !== undefined && next.from !== to) ledger.problems.push(`${sessionId} was ${to}, and then ${next.from}`);
    }
  }
}

function checkAgent(ledger: StopLedger, agent: AgentNote): void {
  const { executionId, sessionId, signalAt, closes } = agent;
  if (ledger.stops.some((stop) => isOlderAgent(ledger, stop, agent)) && isAgentLive(agent))
    ledger.problems.push(`${executionId} of ${sessionId} was stopped, and is live when nothing holds it any more`);
  // Whatever it was that started it.
  const isOver = ['failed', 'cancelled'].includes(ledger.states.get(sessionId)?.at(-1)?.to ?? 'created');
  if (isOver && isAgentLive(agent)) ledger.problems.push(`${executionId} lives, and ${sessionId} is over`);
  for (const stop of ledger.stops) {
    const isLate = agent.startedAt !== null && agent.startedAt > (stop.decidedAt ?? Number.POSITIVE_INFINITY);
    if (
      isLate &&
      !stop.unreadable.includes(sessionId) &&
      isOlderAgent(ledger, stop, agent) &&
      ledger.prompts.some(({ reached }) => reached.some((one) => one.agent === agent))
    )
      ledger.problems.push(`${executionId} was stopped while it started, and is asked all the same`);
  }
  const ends = closes.map(({ at }) => at);
  if (signalAt !== null) ends.push(signalAt);
  for (const at of ends)
    if (!isExplained(ledger, agent, at))
      ledger.problems.push(`${executionId} of ${sessionId} was ended, and nobody has asked for it`);
}

/** Why it may have been told to end in that tick. */
function isExplained(ledger: StopLedger, agent: AgentNote, at: number): boolean {
  const { sessionId, launchedAt, startedAt, leftAt, refusedAt } = agent;
  const isPast = (then: number | null): boolean => then !== null && then <= at;
  if (isPast(leftAt) || isPast(refusedAt) || isPast(ledger.closedAt)) return true;
  if (ledger.stops.some((stop) => isOlderAgent(ledger, stop, agent) && isPast(stop.decidedAt))) return true;
  if (ledger.states.get(sessionId)?.some((change) => change.to === 'failed' && isPast(change.at)) === true) return true;
  // Whoever gives up a prompt gives up the start that was for it alone.
  return ledger.interrupts.some(
    (one) => one.sessionId === sessionId && one.at >= launchedAt && isPast(one.at) && (startedAt === null || one.at <= startedAt),
  );
}

function checkJob(ledger: StopLedger, job: JobNote): void {
  const { number, jobId, refused, bodyAt, cancels } = job;
  const name = `job ${number} (${jobId})`;
  const told = ledger.toldOf(job);
  if (!job.isAnswered) ledger.problems.push(`${name} was never answered`);
  if (cancels > 1) ledger.problems.push(`${name} was asked to end ${cancels} times`);
  const older = ledger.stops.filter((stop) => isOlderJob(ledger, stop, job));
  for (const stop of older) {
    if (bodyAt !== null && bodyAt > (stop.decidedAt ?? 0))
      ledger.problems.push(`${name} was asked for before a stop, and began after it`);
    if (ledger.isUnfinished(job)) ledger.problems.push(`${name} was asked for before a stop, and has not ended`);
    const hasOutlivedIt = bodyAt !== null && (job.bodyEndedAt ?? ledger.now) > (stop.answeredAt ?? ledger.now);
    if (hasOutlivedIt && job.signalAt === null) ledger.problems.push(`the body of ${name} was not told to end`);
  }
  if (older.length > 0) return;
  if (refused !== null && OF_A_STOP.includes(refused))
    ledger.problems.push(`${name} was refused ${refused}, and no stop is newer`);
  if (told?.reasonCode === 'cancel.stop') ledger.problems.push(`${name} was stopped, and no stop is newer`);
  if (job.signalAt !== null && !isToldToEnd(ledger, job, job.signalAt))
    ledger.problems.push(`${name} was told to end, and nobody has asked for it`);
}

/** By a person, by a stop, by the interrupt of the turn that waits for it, with its parent, or at the very end. */
function isToldToEnd(ledger: StopLedger, job: JobNote, by: number, except: StopNote | null = null): boolean {
  const { cancelledAt, parent, wait, host, caller } = job;
  if (by >= ledger.closedAt || (cancelledAt !== null && cancelledAt <= by)) return true;
  if (ledger.stops.some((stop) => stop !== except && isOlderJob(ledger, stop, job) && (stop.decidedAt ?? 0) <= by)) return true;
  if (wait && ledger.interrupts.some(({ sessionId, at }) => sessionId === (caller ?? host) && at <= by)) return true;
  return parent !== null && (wait || isToldToEnd(ledger, parent, by, except));
}

function checkPrompt(ledger: StopLedger, prompt: PromptNote): void {
  const { promptId, sessionId, answer, told } = prompt;
  if (answer === null) ledger.problems.push(`${promptId} was never answered`);
  if (answer === 'queued' && (told[0] !== 'queued' || told.length !== 2))
    ledger.problems.push(`the ticket of ${promptId} was told ${told.join(', ')}`);
  const covering = ledger.stops.filter((stop) => stop.decidedAt !== null && ledger.covers(stop, sessionId));
  const older = covering.filter(({ decidedAt }) => prompt.askedAt <= (decidedAt ?? 0));
  for (const { decidedAt } of older)
    for (const { agent } of prompt.reached)
      if (agent.launchedAt > (decidedAt ?? 0))
        ledger.problems.push(`${promptId} was asked before a stop, and reached an agent started after it`);
  if (older.length > 0) return;
  const code = answer !== null && typeof answer === 'object' ? answer.refused : null;
  // While the stop is being stored, its session looks as before, and its agent is still there.
  const isDoomed =
    ledger.states.get(sessionId)?.some(({ to }) => to === 'cancelled') === true ||
    prompt.reached.some(({ agent }) => covering.some((stop) => isOlderAgent(ledger, stop, agent))) ||
    covering.some(({ unreadable }) => unreadable.includes(sessionId));
  const isAmidst = isDoomed && covering.some(({ answeredAt }) => prompt.askedAt <= (answeredAt ?? Number.POSITIVE_INFINITY));
  if (code === 'task.stopping' || (code === 'session.stopped' && !isAmidst))
    ledger.problems.push(`${promptId} was refused ${code}, and no stop is newer`);
  if (told.includes('stopped')) ledger.problems.push(`the ticket of ${promptId} was stopped, and no stop is newer`);
}

const isOlderAgent = (ledger: StopLedger, stop: StopNote, { sessionId, launchedAt }: AgentNote): boolean =>
  stop.decidedAt !== null && launchedAt <= stop.decidedAt && ledger.covers(stop, sessionId);

const isOlderJob = (ledger: StopLedger, stop: StopNote, job: JobNote): boolean =>
  stop.decidedAt !== null && job.askedAt <= stop.decidedAt && ledger.coversJob(stop, job);
