/**
 * Stop: all that a task, or one session, still owns is told to end, also what the records say is over, and nothing else is touched (liveness 11).
 *
 * STP1  What is stopped is the union of three sources: sessions whose row is active, what runs (the registry), and jobs that have not ended.
 * STP2  It decides in one tick, the lock that everything else decides in too: what was asked for before is older, what is asked for after is not.
 * STP3  A row that says it is over stays as it is, and jobs never move a row.
 * STP4  Teardown goes by the executions that were found in that tick, never by their session: a successor is not touched.
 * STP5  Decided, stored, then told to end, jobs first; a store that refuses keeps nothing alive.
 * STP6  What is told to end already is joined: no transition, no second signal. What could not be ended is tried again.
 */
import { SESSION_STATES } from '../machines/session.ts';
import { isOffstageError, type OffstageError, offstageError } from '../model/errors.ts';
import type { SessionRow } from '../model/records.ts';
import type { StopOptions, StopResult } from '../model/stop.ts';
import { removeTicketOperation } from '../persistence/session-rows.ts';
import type { AgentExecution } from './agent-execution.ts';
import type { AgentRunner } from './agent-runner.ts';
import type { Canceller } from './canceller.ts';
import { namesOf, readFlag, readOptions } from './check-options.ts';
import type { Core } from './core.ts';
import type { Leftovers } from './leftovers.ts';
import type { LiveJob } from './live-job.ts';
import type { LiveSession } from './live-session.ts';
import type { Notices } from './notices.ts';
import { pass } from './pause-points.ts';
import type { Prompts } from './prompts.ts';
import { byAge, type Sessions } from './sessions.ts';
import { checkId, checkText } from './spawn-request.ts';
import type { RequestStamp, StopEpochs, StopScope } from './stop-epochs.ts';
import { agentTarget, jobTarget, type Outcome, reportOf, rowTarget, type StopTarget, settledReport } from './stop-report.ts';
import { type StopSources, sourcesOfSession, sourcesOfTask } from './stop-sources.ts';
import { whenEnded } from './when-ended.ts';

export interface StopsHost {
  readonly sessions: Sessions;
  readonly agents: AgentRunner;
  readonly prompts: Prompts;
  readonly canceller: Canceller;
  readonly notices: Notices;
}

const STOP_NAMES = namesOf<StopOptions>({ reason: true, force: true });

interface CheckedStop {
  readonly reason: string | null;
  readonly isForced: boolean;
}

/** A session of the scope as found in the tick of decision. */
interface FoundSession {
  readonly sessionId: string;
  /** As decided; null: it could not be read. */
  readonly row: SessionRow | null;
  readonly live: LiveSession | null;
  readonly agents: readonly AgentExecution[];
  readonly jobs: readonly LiveJob[];
  /** Some of them have not ended. */
  readonly hasUnfinished: boolean;
}

/** What was decided: who is told what, and when that is done. */
interface Told {
  readonly targets: StopTarget[];
  /** Bodies and agents beyond their grace. */
  readonly detached: StopTarget[];
  /** Active sessions in which nothing was live. */
  readonly absent: string[];
  /** Each resolves when its part was told to end: whether it is stored. */
  readonly told: Promise<boolean>[];
}

export class Stops {
  readonly #core: Core;
  readonly #host: StopsHost;

  constructor(core: Core, host: StopsHost) {
    this.#core = core;
    this.#host = host;
  }

  /** @throws OffstageError `task.not_found`, `stop.nothing_running`, `stop.failed`, `input.invalid`, `engine.closing` */
  async stopTask(taskId: string, given?: StopOptions): Promise<StopResult> {
    checkId('taskId', taskId);
    const options = checked(given);
    this.#core.assertOpen();
    return this.#stop(() => sourcesOfTask(this.#core, this.#host.sessions, taskId, options.isForced), options);
  }

  /** @throws OffstageError `session.not_found`, `stop.nothing_running`, `stop.failed`, `input.invalid`, `engine.closing` */
  async stopSession(sessionId: string, given?: StopOptions): Promise<StopResult> {
    checkId('sessionId', sessionId);
    const options = checked(given);
    this.#core.assertOpen();
    return this.#stop(() => sourcesOfSession(this.#core, this.#host.sessions, sessionId, options.isForced), options);
  }

  async #stop(read: () => Promise<StopSources>, options: CheckedStop): Promise<StopResult> {
    const { epochs, points, settings } = this.#core;
    const stamp = epochs.stamp();
    let sources: StopSources;
    let decided: Told;
    try {
      sources = await read();
      await new Promise<void>((resolve) => pass(points, 'snapshot', resolve));
      await new Promise<void>((resolve) => pass(points, 'lock', resolve));
      this.#core.assertOpen();
      decided = this.#decide(withoutRemoved(sources, epochs, stamp), options);
    } finally {
      epochs.release(stamp);
    }
    const isDurable = (await Promise.all(decided.told)).every((durable) => durable);
    // A close that throws, or rejects at once, has said so by then.
    await new Promise<void>((resolve) => settings.clock.nextTurn(resolve));
    const leftovers = await sources.leftovers;
    const outcome = outcomeOf(decided, sources, leftovers, isDurable);
    const report = reportOf(outcome);
    this.#log(sources.scope, outcome);
    assertStopped(outcome.sources, report);
    await this.#moveToReview(outcome.sources, report.failed.length > 0);
    return { ...report, settled: settledReport(outcome) };
  }

  /** STP2. */
  #decide(sources: StopSources, options: CheckedStop): Told {
    const core = this.#core;
    const { scope } = sources;
    const epoch = core.epochs.raise(scope);
    if (scope.sessionId === null) core.liveness.taskStopped(scope.taskId, epoch);
    const into: Told = { targets: [], detached: [], absent: [], told: [] };
    const found = this.#find(sources);
    const jobs = [...new Set(found.flatMap((session) => session.jobs))];
    const unfinished = jobs.filter((job) => !job.isDecidedEnd);
    const untold = this.#host.notices.stopped(new Set(found.map(({ sessionId }) => sessionId)), jobs);
    if (untold !== null) into.told.push(untold);
    for (const job of jobs) {
      if (!job.isDecidedEnd) continue;
      const hasOutlivedIt = job.execution !== null && !job.execution.hasSettled;
      if (hasOutlivedIt) into.detached.push(jobTarget(core, job, 'detached'));
      // Its end is on its way to the store: nobody is told that nothing runs while its record says otherwise.
      into.told.push(whenEnded(core, job).then(() => job.actedEnd === null));
    }
    if (unfinished.length > 0) this.#cancelJobs(unfinished, options, into);
    for (const session of found) {
      const isLive = this.#stopSession(session, options, into);
      if (!isLive && isActive(session.row)) into.absent.push(session.sessionId);
    }
    // An earlier request may have been decided, and nobody told yet: whoever joins it is answered when that is done, too.
    if (into.targets.some(({ kind }) => kind === 'alreadyStopping')) into.told.push(this.#whenCommitted());
    core.liveness.settle();
    return into;
  }

  /** Resolves when all that was decided before has had its effects: whether it is stored. */
  #whenCommitted(): Promise<boolean> {
    if (this.#core.loop.isIdle) return Promise.resolve(true);
    return new Promise((resolve) => this.#core.submit({ changes: [], effects: resolve }));
  }

  /** Everything of the scope, in the order in which it is ended. */
  #find({ scope, rows, loadErrors }: StopSources): readonly FoundSession[] {
    const { liveness, registry, jobs } = this.#core;
    const { agents } = registry.ofTask(scope.taskId);
    const isWanted = (sessionId: string): boolean => scope.sessionId === null || scope.sessionId === sessionId;
    const ids = new Set<string>();
    for (const row of rows.values()) ids.add(row.sessionId);
    for (const { sessionId } of loadErrors) ids.add(sessionId);
    for (const { sessionId } of agents) ids.add(sessionId);
    const jobsOf = new Map<string, LiveJob[]>();
    for (const job of jobs.values()) {
      const { base } = job;
      if (base.taskId !== scope.taskId) continue;
      // Those that it hosts, and those that it dispatched (W7).
      for (const sessionId of [base.sessionId, base.callerSessionId]) {
        if (sessionId === null || !isWanted(sessionId)) continue;
        ids.add(sessionId);
        const known = jobsOf.get(sessionId);
        if (known === undefined) jobsOf.set(sessionId, [job]);
        else known.push(job);
      }
    }
    for (const session of liveness.values()) if (session.taskId === scope.taskId) ids.add(session.sessionId);
    const unreadable = new Set(loadErrors.map(({ sessionId }) => sessionId));
    return [...ids]
      .filter(isWanted)
      .map((sessionId): FoundSession => {
        const live = liveness.find(sessionId);
        const row = unreadable.has(sessionId) ? null : (live?.row ?? rows.get(sessionId) ?? null);
        return {
          sessionId,
          row,
          live,
          agents: agents.filter((execution) => execution.sessionId === sessionId),
          jobs: jobsOf.get(sessionId) ?? [],
          hasUnfinished: (jobsOf.get(sessionId) ?? []).some((job) => !job.isDecidedEnd),
        };
      })
      .sort(inOrder);
  }

  #cancelJobs(jobs: readonly LiveJob[], options: CheckedStop, into: Told): void {
    const { canceller } = this.#host;
    // Wherever they run, and also those that were told to end before.
    const below = jobs.flatMap((job) => this.#descendants(job));
    const changes = canceller.decide(jobs, { code: 'cancel.stop', reason: options.reason });
    const decided = new Set(changes.map(({ job }) => job));
    const all = [...new Set([...jobs, ...below])];
    for (const job of all) {
      into.targets.push(jobTarget(this.#core, job, decided.has(job) ? 'stopped' : 'alreadyStopping'));
    }
    const told = new Promise<boolean>((resolve) => {
      this.#core.submit({
        changes,
        effects: (durable) =>
          pass(this.#core.points, 'terminal_write', () => {
            if (options.isForced) canceller.force(all);
            canceller.runEffectsOf(changes);
            resolve(durable);
          }),
      });
    });
    into.told.push(told);
  }

  #descendants({ base }: LiveJob): readonly LiveJob[] {
    const { jobs, lineage } = this.#core;
    const below = lineage.descendants(base.jobId).flatMap((jobId) => jobs.get(jobId) ?? []);
    return below.filter((job) => !job.isDecidedEnd);
  }

  /** Answers whether anything of it lives, or waits. */
  #stopSession(found: FoundSession, options: CheckedStop, into: Told): boolean {
    const { agents, prompts } = this.#host;
    const { sessionId, row } = found;
    const kind = isActive(row) ? 'stopped' : 'recovered';
    const { captured, isEnding } = this.#stopAgents(found, kind, options, into);
    const tickets = found.live === null ? [] : prompts.line.takeAll(found.live);
    // The one of this tick: by the time that this is stored another one may have taken its place.
    const claimant = found.live?.claimant ?? null;
    const isWaiting = tickets.length > 0 || claimant !== null;
    const isOpen = row?.state === 'starting' || row?.state === 'running';
    if (captured.length === 0 && !isEnding && !isOpen && !found.hasUnfinished && !isWaiting) return false;
    const session = row === null ? found.live : this.#liveOf(row);
    if (session === null) return true;
    const error = offstageError('session.stopped', { sessionId });
    const end = (event: { readonly type: 'session.cancel' } | null): boolean => {
      let isTaken = false;
      const done = new Promise<boolean>((resolve) => {
        isTaken = agents.end(session, captured, {
          error,
          event,
          isForced: options.isForced,
          rows: tickets.map(({ ticketId }) => removeTicketOperation(ticketId)),
          committed: () => claimant !== null && prompts.endClaim(session, claimant, error),
          effects: (durable) => {
            prompts.line.tellStopped(session, tickets, error);
            resolve(durable);
          },
        });
      });
      if (isTaken) into.told.push(done);
      return isTaken;
    };
    // Which states a stop moves, and which stay as they are, is the chart's to say.
    const hasMoved = isActive(row) && end({ type: 'session.cancel' });
    if (!hasMoved && (captured.length > 0 || isWaiting)) end(null);
    if (captured.length === 0 && !isEnding && (hasMoved || isWaiting)) into.targets.push(rowTarget(sessionId, kind));
    return true;
  }

  /** Those that are to be ended now, and whether others of the session are being ended. */
  #stopAgents(
    { agents }: FoundSession,
    kind: 'stopped' | 'recovered',
    { isForced }: CheckedStop,
    into: Told,
  ): { readonly captured: readonly AgentExecution[]; readonly isEnding: boolean } {
    const { teardown } = this.#host.agents;
    const captured: AgentExecution[] = [];
    let isEnding = false;
    for (const execution of agents) {
      if (!execution.hasRetired && execution.teardownAt === null) {
        captured.push(execution);
        into.targets.push(agentTarget(execution, kind));
        continue;
      }
      const isRetried = teardown.retry(execution);
      if (!isRetried && execution.phase === 'detached') {
        into.detached.push(agentTarget(execution, 'detached'));
        continue;
      }
      isEnding = true;
      into.targets.push(agentTarget(execution, isRetried ? kind : 'alreadyStopping'));
      if (isForced) teardown.force(execution);
    }
    return { captured, isEnding };
  }

  #liveOf(row: SessionRow): LiveSession {
    const session = this.#core.liveness.at(row.sessionId, row.taskId);
    session.row ??= this.#host.sessions.cached(row.sessionId) ?? row;
    this.#core.liveness.touch(session);
    return session;
  }

  /** A stop that leaves no session of the task at work puts it before somebody who looks at it. */
  async #moveToReview({ scope: { taskId }, failure }: StopSources, hasFailed: boolean): Promise<void> {
    const { sessions } = this.#host;
    if (hasFailed || failure !== null) return;
    try {
      const { rows, unreadable } = await sessions.readOfTask(taskId);
      // Nobody can say that nothing of it is at work.
      if (unreadable.length > 0) return;
      const isAtWork = rows.some((row) => {
        const { state } = this.#core.liveness.find(row.sessionId)?.row ?? row;
        return state === 'running' || state === 'starting';
      });
      if (!isAtWork) await sessions.setTaskState(taskId, 'review', 'in_progress');
    } catch (error) {
      if (isOffstageError(error, 'task.not_found')) return;
      // Everything was told to end all the same.
      this.#core.report('stop.review_failed', error);
    }
  }

  #log({ taskId }: StopScope, { targets, detached, leftovers, sources }: Outcome): void {
    const { log } = this.#core.settings;
    for (const entry of leftovers.ended)
      log('info', 'stop', { taskId, ...entry, source: 'registry', outcome: 'recovered', error: null });
    for (const { error, ...entry } of leftovers.unknown)
      log('warn', 'stop', { taskId, ...entry, source: 'registry', outcome: 'failed', error: error?.message });
    for (const { entry, kind, source, failure } of [...targets, ...detached]) {
      log('info', 'stop', {
        taskId,
        ...entry,
        source,
        outcome: failure() === null ? kind : 'failed',
        error: failure()?.message ?? null,
      });
    }
    for (const { sessionId, error } of sources.loadErrors)
      log('warn', 'stop.unreadable', { taskId, sessionId, error: error?.message });
    if (sources.failure !== null) log('warn', 'stop.source_failed', { taskId, error: sources.failure.message });
  }
}

/** What was removed since it was read is not stopped (EPO5). @throws OffstageError `task.not_found`, `session.not_found` */
function withoutRemoved(sources: StopSources, epochs: StopEpochs, stamp: RequestStamp): StopSources {
  const { scope, rows } = sources;
  if (epochs.isGone(scope, stamp)) {
    const { taskId, sessionId } = scope;
    throw sessionId === null ? offstageError('task.not_found', { taskId }) : offstageError('session.not_found', { sessionId });
  }
  return { ...sources, rows: new Map([...rows].filter(([, row]) => !epochs.isGone(row, stamp))) };
}

function outcomeOf(decided: Told, sources: StopSources, leftovers: Leftovers, isDurable: boolean): Outcome {
  const looked = new Set([...leftovers.ended, ...leftovers.unknown].map(({ sessionId }) => sessionId));
  return {
    ...decided,
    // Where something was left, or may be, it is told of there.
    absent: decided.absent.filter((sessionId) => !looked.has(sessionId)),
    sources: { ...sources, failure: sources.failure ?? leftovers.failure },
    leftovers,
    isDurable,
  };
}

const isActive = (row: SessionRow | null): boolean => row !== null && SESSION_STATES[row.state].active;

/** Active ones first, then those that are over, both by age; those whose rows could not be read come last. */
function inOrder({ row: a }: FoundSession, { row: b }: FoundSession): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return Number(isActive(b)) - Number(isActive(a)) || byAge(a, b);
}

/** @throws OffstageError `input.invalid` */
function checked(given: StopOptions | undefined): CheckedStop {
  const { reason, force } = readOptions('options', given, STOP_NAMES);
  return { reason: reason === undefined ? null : checkText('reason', reason, ''), isForced: readFlag('force', force) };
}

/** @throws OffstageError `stop.nothing_running`, `stop.failed` */
function assertStopped({ scope, failure }: StopSources, report: Omit<StopResult, 'settled'>): void {
  const { stopped, recovered, alreadyStopping, detached, failed, loadErrors } = report;
  if (stopped.length + recovered.length + alreadyStopping.length > 0) return;
  const id = scope.sessionId ?? scope.taskId;
  const cause: OffstageError | null = failure;
  if (failed.length === 0 && failure === null) throw offstageError('stop.nothing_running', { id, detached, loadErrors });
  const message = failed[0]?.error?.message ?? failure?.message ?? 'nobody knows why.';
  throw offstageError('stop.failed', { id, message, failed, detached, loadErrors }, cause === null ? undefined : { cause });
}
