/** A stop as it was asked for, with what was at work then of what it covers. */
import { isTerminal } from '../../../model/records.ts';
import type { StopReport } from '../../../model/stop.ts';
import type { FactOf } from '../facts.ts';
import type { Known } from '../known.ts';
import { coversJob, type EndReasons, type Scope, scopeOf } from './end-reasons.ts';
import { isLoaded, isOwn } from './turn-book.ts';

export interface Stop {
  /** For messages. */
  readonly name: string;
  readonly scope: Scope;
  /** Counts facts. */
  readonly askedAt: number;
  /** Bodies that had begun and not settled. */
  readonly runs: readonly number[];
  /** Agents that were loaded. */
  readonly agents: readonly number[];
  /** Jobs that were stored and had not ended. */
  readonly jobs: readonly string[];
  /** Sessions that a stop moves. */
  readonly atWork: ReadonlySet<string>;
  /** Infinity: not yet. */
  answeredAt: number;
  /** The first one. */
  report: StopReport | null;
  /** Everything has rested since its answer. */
  hasRested: boolean;
}

export const isStop = (verb: string): boolean => verb === 'tasks.stop' || verb === 'sessions.stop';

export function stopOf(asked: FactOf<'asked'>, askedAt: number, reasons: EndReasons, known: Known): Stop {
  const scope = scopeOf(asked);
  const isCovered = (jobId: string): boolean => {
    const record = reasons.records.get(jobId);
    return record !== undefined && coversJob(scope, record);
  };
  const isOf = (sessionId: string): boolean => reasons.covers(scope, sessionId, known);
  const bodies = [...known.bodies].filter(([, { settled, called }]) => settled === null && isCovered(called.jobId));
  const agents = [...known.agents].filter(([, agent]) => isOwn(agent) && isLoaded(agent) && isOf(agent.started.sessionId));
  const jobs = [...known.jobs.values()].filter(
    ({ record }) => !isTerminal(record.status) && !known.refused.has(record.jobId) && coversJob(scope, record),
  );
  const atWork = [...known.sessions.values()].filter(
    ({ sessionId, state }) => isOf(sessionId) && (state === 'running' || state === 'waiting_for_input'),
  );
  return {
    name: `call ${asked.call} (${asked.verb} ${String(asked.args[0])})`,
    scope,
    askedAt,
    runs: bodies.map(([run]) => run),
    agents: agents.map(([agent]) => agent),
    jobs: jobs.map(({ record }) => record.jobId),
    atWork: new Set(atWork.map(({ sessionId }) => sessionId)),
    answeredAt: Number.POSITIVE_INFINITY,
    report: null,
    hasRested: false,
  };
}
